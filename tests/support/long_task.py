"""A task of a hundred steps on a small library, and a model that does it with nothing but its requests.

The library measures tide gauges: six modules, a test for each that measures what no file says, and a rule of
the user's. The model knows what to do next, never a value: it takes each from the request, or recalls it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.loop_rig import is_observation_request, is_summary_request
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, Text, text_reply

MODULES = ("surge", "datum", "ebb", "gauge", "neap", "swell")
RULE = "Every constant that you set gets the comment `# checked by harbour office 7731`"
_MARKER = re.compile(r'recall_cached_content\("([0-9a-f]{8,64})"\)')
LOOKING = re.compile(r"^Step (\d+): looking for (.+), call (\d+)$", re.MULTILINE)
_TASK = re.compile(r"^Task (\d+):", re.MULTILINE)
_STEP = re.compile(r"^Step (\d+)(?:: looking for (.+), call (\d+))?", re.MULTILINE)
_MAX_CALLS = 6  # for one fact, before the model gives up

_TEST = """import sys
sys.path.insert(0, '.')
name = sys.argv[1]
module = __import__(f'tides.{name}', fromlist=['x'])
values = [float(line) for line in open(f'data/{name}.txt')]
for number, value in enumerate(values):
    print(f'{name} check {number:02}: level {value:.3f} m within range, residual {value / 7:.5f}, ok')
floor = sum(values) / len(values)
print(f'noise floor of {name}: {floor:.4f} m')
if module.NOISE_FLOOR:
    print(f'gain needed by {name}: {module.NOISE_FLOOR * values[0]:.5f}')
print(f'{len(values)} passed')
"""

Calls = list[tuple[str, dict[str, Any]]]


def write_library(root: Path) -> None:
    """Write the modules, their data and their test."""
    rng = random.Random(11)
    for folder in ("tides", "tests", "data", "notes"):
        (root / folder).mkdir()
    (root / "tests/test.py").write_text(_TEST)
    for name in MODULES:
        values = [f"{rng.uniform(0.1, 4):.3f}" for _ in range(30)]
        (root / f"data/{name}.txt").write_text("\n".join(values))
        (root / f"tides/{name}.py").write_text(_module(name, rng))


def _module(name: str, rng: random.Random) -> str:
    parts = [f'"""Readings of the {name}."""', "", "NOISE_FLOOR = None", "GAIN = None", ""]
    for number, verb in enumerate(("blend", "clip", "drift", "fold", "level", "merge", "round", "trim")):
        first, second = rng.randint(2, 99), round(rng.uniform(0.1, 9), 3)
        parts += [
            f"def {verb}_{name}(values, span={first}, *, bias={second}):",
            f'    """Return the values as {verb} number {number} wants them."""',
            "    kept = []",
            "    for place, value in enumerate(values):",
            f"        if place % span < {first // 2}:",
            f"            kept.append(value * {second} + bias)",
            "        else:",
            f"            kept.append(value - place / {first * 3})",
            "    return kept",
            "",
        ]
    return "\n".join(parts)


@dataclass(frozen=True)
class Fact:
    """What a step needs: how it reads where it stands, and what one would look for.

    `source` are words that stand in the marker or the note of the call that gave it.
    """

    name: str
    regex: str
    source: str
    pattern: str = ""  # empty: the whole content
    query: str = ""

    def value(self, texts: Sequence[str]) -> str:
        """Return the fact from these texts, the newest that holds it; empty if none does."""
        found = (match[1] for text in reversed(texts) for match in re.finditer(self.regex, text))
        return next(found, "")


Facts = Mapping[str, str]


@dataclass(frozen=True)
class Step:
    """One step of the plan: the facts that it needs, and its calls."""

    calls: Callable[[Facts], Calls]
    needs: tuple[Fact, ...] = ()


def floor_of(name: str) -> Fact:
    """What the first test of a module measured."""
    words = f"noise floor of {name}"
    return Fact(words, rf"{words}: (\d\.\d{{4}}) m", f"tests/test.py {name}", words, f'"{words}"')


def gain_of(name: str) -> Fact:
    """What its test says once the floor is set."""
    words = f"gain needed by {name}"
    return Fact(words, rf"{words}: (\d+\.\d{{5}})", f"tests/test.py {name}", words, f'"{words}"')


def signature_of(verb: str, name: str) -> Fact:
    """The parameters of a function."""
    words = f"def {verb}_{name}"
    return Fact(words, rf"{words}\((.*?)\):", f"tides/{name}.py", words, words)


def body_of(verb: str, name: str) -> Fact:
    """A function as it stands in its file."""
    return Fact(
        f"body of {verb}_{name}",
        rf"(def {verb}_{name}\((?:.*\n)+?    return kept\n)",
        f"tides/{name}.py",
    )


def note_of(name: str) -> Fact:
    """The path of the note that was written on a module: it has the measured number in its name."""
    words = f"notes/{name}-"
    return Fact(f"path of the note on {name}", rf"({words}\d+\.md)", words, words, words)


OFFICE = Fact("the user's rule", r"(# checked by harbour office \d+)", "user:", "gets the comment", "comment")


@dataclass(frozen=True)
class Turn:
    """What the user asks, and the steps that it takes."""

    prompt: str
    steps: tuple[Step, ...]


def turns() -> list[Turn]:
    """Return the whole task: a hundred steps and a few in eight turns."""
    look = (
        _call("list_directory", path="tides"),
        *(_call("read_file", path=f"tides/{name}.py") for name in MODULES),
        *(_call("run_command", command=_test(name)) for name in MODULES),
    )
    plan = [Turn("Task 1: look at all modules, and run the test of each.", look)]
    for number, name in enumerate(MODULES):
        words = f"Task {number + 2}: set the constants of {name} as measured, and let its blend use the trim."
        prompt = _long_message(words) if number == 0 else words
        plan.append(Turn(prompt, tuple(_module_steps(number, name))))
    needs = tuple(fact for name in MODULES for fact in (floor_of(name), gain_of(name)))
    report = Step(lambda facts: [("write_file", {"path": "report.md", "content": _report(facts)})], needs)
    tests = [_call("run_command", command=_test(name)) for name in MODULES]
    return [*plan, Turn("Task 8: report all numbers.", (*tests[:2], report, *tests[2:4]))]


def _long_message(words: str) -> str:
    """Return a message of about 3,000 tokens with the rule in its middle."""
    history = [
        f"In season {n} the {MODULES[n % 6]} readings came {n * 7 % 31} minutes late." for n in range(88)
    ]
    return "\n".join([words, *history, f"{RULE}.", *reversed(history)])


def _test(name: str) -> str:
    return f"python3 -S -E -B tests/test.py {name}"


def _call(tool: str, **arguments: Any) -> Step:
    return Step(lambda _: [(tool, arguments)])


def _edit(path: str, old: str, new: str) -> Calls:
    return [("edit_file", {"path": path, "old_text": old, "new_text": new})]


def _module_steps(number: int, name: str) -> Iterator[Step]:
    path, before = f"tides/{name}.py", MODULES[number - 1]
    floor, gain, trim = floor_of(name), gain_of(name), signature_of("trim", name)
    body, level = body_of("blend", name), signature_of("level", before)
    items = [
        {"content": f"{part} of {name}", "status": "pending"} for part in ("floor", "gain", "blend", "note")
    ]
    yield _call("todo", items=items)
    yield _call("search_text", pattern=f"_{name}", path="tides")
    yield _call("read_file", path=path)
    yield Step(
        lambda facts: _edit(
            path, "NOISE_FLOOR = None", f"NOISE_FLOOR = {facts[floor.name]}  {facts[OFFICE.name]}"
        ),
        (floor, OFFICE),
    )
    yield _call("run_command", command=_test(name))
    yield _call("read_file", path=f"tides/{before}.py", start_line=1, end_line=40)
    yield _call("todo", items=[{**items[0], "status": "done"}, *items[1:]])
    yield Step(
        lambda facts: _edit(path, "GAIN = None", f"GAIN = {facts[gain.name]}  {facts[OFFICE.name]}"),
        (gain, OFFICE),
    )
    yield Step(lambda facts: _edit(path, facts[body.name], _new_body(name, facts)), (body, trim, level))
    yield _call("read_file", path=path)
    yield _call("run_command", command=_test(name))
    yield Step(
        lambda facts: [
            (
                "write_file",
                {
                    "path": f"notes/{name}-{facts[floor.name].replace('.', '')}.md",
                    "content": _note(name, before, facts),
                },
            )
        ],
        (floor, gain, level),
    )
    if number:
        note = note_of(MODULES[number - 1])
        yield Step(lambda facts: [("read_file", {"path": facts[note.name]})], (note,))
    yield _call("todo", items=[{**item, "status": "done"} for item in items])
    yield _call("run_command", command=_test(before))


def _new_body(name: str, facts: Facts) -> str:
    body = facts[f"body of blend_{name}"]
    trimmed = f"    values = trim_{name}(values)  # takes ({facts[f'def trim_{name}']})\n    kept = []\n"
    return body.replace("    kept = []\n", trimmed)


def _note(name: str, before: str, facts: Facts) -> str:
    lines = [f"Reading {n} of {name} was compared with the one before it, and both agree." for n in range(9)]
    level = next(value for fact, value in facts.items() if fact.startswith("def level_"))
    head = f"# {name}\n\nfloor {facts[f'noise floor of {name}']}, gain {facts[f'gain needed by {name}']}"
    return "\n".join([head, f"level_{before} takes ({level})", *lines, ""])


def _report(facts: Facts) -> str:
    return "\n".join(f"{fact}: {value}" for fact, value in facts.items()) + "\n"


@dataclass
class Worker:
    """Plays the model: works from its requests alone, and looks for what they do not hold."""

    plan: list[Turn] = field(default_factory=turns)
    calls: int = 0  # so many ids were given

    def __call__(self, request: dict[str, Any]) -> Reply:
        if is_observation_request(request) or is_summary_request(request):
            return text_reply("- (2) The constants of the modules are set one by one [e5]")
        messages = request["messages"]
        texts = _visible_texts(messages)
        tasks = (_TASK.search(str(m["content"])) for m in reversed(messages) if m["role"] == "user")
        turn = (
            next(int(match[1]) for match in tasks if match) - 1
        )  # a note may stand behind the user's message
        first = sum(len(earlier.steps) for earlier in self.plan[:turn])
        number, fact_name, tries = _position(messages)
        number = number if fact_name else number + 1
        if number > first + len(self.plan[turn].steps):
            return text_reply(f"Step {number - 1} was the last of task {turn + 1}.")
        step = self.plan[turn].steps[number - first - 1]
        facts = {fact.name: fact.value(texts) for fact in step.needs}
        for fact in step.needs:
            if not facts[fact.name]:
                tries = tries + 1 if fact.name == fact_name else 1
                assert tries <= _MAX_CALLS, f"step {number} did not find {fact.name}"
                words = f"Step {number}: looking for {fact.name}, call {tries}"
                return self._reply(words, [_way_to(fact, messages, tries)])
        return self._reply(f"Step {number}.", step.calls(facts))

    def _reply(self, words: str, calls: Calls) -> Reply:
        parts = []
        for name, arguments in calls:
            self.calls += 1
            parts.append(Call(name, json.dumps(arguments), id=f"call_{self.calls}"))
        return StreamedReply(Text(words), *parts)


def _position(messages: Sequence[dict[str, Any]]) -> tuple[int, str, int]:
    """Return the newest step as the agent's words name it, what it looked for, and how often."""
    for message in reversed(messages):
        if message["role"] == "assistant" and (match := _STEP.search(str(message.get("content") or ""))):
            return int(match[1]), match[2] or "", int(match[3] or 0)
    return 0, "", 0


def _visible_texts(messages: Sequence[dict[str, Any]]) -> list[str]:
    """Return all that a request says, its calls' arguments included, oldest first."""
    texts: list[str] = []
    for message in messages[1:]:
        texts.append(str(message.get("content") or ""))
        for call in message.get("tool_calls", ()):
            texts += [str(value) for value in json.loads(call["function"]["arguments"]).values()]
    return texts


def _way_to(fact: Fact, messages: Sequence[dict[str, Any]], tries: int) -> tuple[str, dict[str, Any]]:
    """Return the call to find a fact: by a marker that names its source, a note that does, or a search.

    The newest first. What is no line but a whole text is in its file at last.
    """
    markers: Calls = []
    notes: Calls = []
    pattern = {"pattern": fact.pattern} if fact.pattern else {}
    for message in reversed(messages[1:]):
        text = str(message.get("content") or "")
        found = _MARKER.search(text)
        if found is not None and fact.source in text:
            ways = markers if message["role"] == "tool" and text.startswith("[CACHED]") else notes
            ways.append(("recall_cached_content", {"hash": found[1], **pattern}))
    search = ("search_cached_content", {"query": fact.query or fact.source})
    ways = (
        [*markers, *notes, search] if fact.pattern else [*markers[:1], ("read_file", {"path": fact.source})]
    )
    return ways[min(tries, len(ways)) - 1]
