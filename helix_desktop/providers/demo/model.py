"""The offline demo model: bundled, without key and network, it follows a script with the real tools.

It is a pure function of the request: nothing is remembered between two. In the sample project it follows a
script; anywhere else it looks around and says what it is. Handovers and observations it makes by extraction.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from helix_desktop.context.intake.output_forms import EXTRACT_OPENING, FORMS_OPENING
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.extractive_handover import CHANGED, DONE, RAN, extractive_handover
from helix_desktop.context.summaries.extractive_handover import OPENING as BEGINNING
from helix_desktop.context.summaries.handover import parse_bullets, parse_heading, section_title
from helix_desktop.context.summaries.message_facts import sentences_in, statements_in
from helix_desktop.context.summaries.observation import (
    OBSERVE,
    REFINE,
    extract_observations,
    merge_observations,
    observation_bullet,
)
from helix_desktop.context.summaries.sections import (
    BACKGROUND,
    COMPLETED,
    DETAILS,
    ISSUES,
    SECTIONS,
    TITLES,
    TODO_ITEMS,
)
from helix_desktop.context.summaries.summary_task import MERGE_TITLE, OPENING
from helix_desktop.context.window.side_question_text import SIDE_QUESTION_OPENING, TITLE_OPENING, question_in
from helix_desktop.domain.digest import RECALL_TOOL
from helix_desktop.domain.events.conversation import AssistantSpoke, MessageEvent, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import Bullet, HandoverMade, Observation, ObservationsMade, Section
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    StreamItem,
    TextDelta,
    ToolCall,
)
from helix_desktop.providers.demo.script import (
    LargeOutputForm,
    Script,
    ScriptedRecall,
    ScriptPosition,
    ScriptStep,
    Task,
    last_step,
    newest_position,
    placed_step,
    read_scripts,
)

_PART = re.compile(r"^part \d+: ", re.MULTILINE)
_RECORD_START = re.compile(r"^The (?:messages|observations) to \w+(?: \w+)?:$", re.MULTILINE)
_EVENT_LINE = re.compile(r"^e(\d+) (user|assistant|tool)\b(?:: ?| )(.*)$")
_OUTPUT_LINE = re.compile(r"(\S+) (.*?)(?: exit (-?\d+))?( FAILED)?: ?(.*)", re.DOTALL)
_CALLS = " -> calls "
_FACT = re.compile(
    r"^(?:known \d+: )?observed \(([123])\) \S+: (.+?)(?: \[(e\d+(?:, e\d+)*)\])?$", re.MULTILINE
)
_PLACE = re.compile(r"^- Request \d+: .+ steps? done\..*\n?", re.MULTILINE)
_RUN = re.compile(rf"{RAN} `(\S+ \S+ \S+)")  # a program with what it runs, such as `python3 -m unittest`
_SOURCE = re.compile(r"\be(\d+)\b")
_BULLET = "- "
_MAX_POINTS = 8  # of a section
_MAX_CHARS = 1_950  # characters of all bullets: about 700 tokens with their citations
_NEWEST = 60  # messages
_OF_MESSAGE = 20  # statements of each message
_STATEMENT_CHARS = 320  # characters of a statement
_NOTHING = "None."
_BEGINNINGS = (
    (BACKGROUND.title, (BEGINNING,)),
    (COMPLETED.title, (f"{CHANGED} ", f"{RAN} ", f"{DONE}: ")),
)


def write_handover(request: str, scripts: Sequence[Script] = ()) -> str:
    """Return the handover for the text of a summary request, with its place in one of the scripts."""
    head, merges, parts = request.partition(MERGE_TITLE)
    if merges:
        sections = _sections_of(head)
        for part in _PART.split(parts)[1:]:
            sections = _joined(sections, _sections_of(part.replace("\n| ", "\n")))
        return _text(sections, 0)
    head, body = _split(request)
    items = _items_of(body)
    previous = _joined(_sections_of(_PLACE.sub("", head)), _by_section(_facts_of(body)))
    former = tuple(Section(title, tuple(previous.get(title, ()))) for title in TITLES)
    last = items[-1].seq if items else 0
    handover = HandoverMade(0, 0, former, "", "", 0, 0, 0, 0, 0, "", HandoverTrigger.CONTINUED)
    written = extractive_handover(items, handover if previous else None)
    sections = {section.title: [*section.bullets] for section in written}
    done = sections[COMPLETED.title]
    issues = sections[ISSUES.title]
    runs = {bullet: run[1] for bullet in done if (run := _RUN.match(bullet.text))}
    done = [bullet for bullet in done if bullet not in runs]
    sections[COMPLETED.title] = sorted([*[*runs][-1:], *done], key=_is_other)
    sections[ISSUES.title] = [
        it
        for it in issues
        if not any(run.sources > it.sources and f"`{program}" in it.text for run, program in runs.items())
    ]
    known = "".join(bullet.text for bullets in sections.values() for bullet in bullets)
    sections[DETAILS.title] += [
        Bullet(statement, (item.seq,))
        for item in items[-_NEWEST:]
        if isinstance(item.event, AssistantSpoke)
        for statement in statements_in(item.event.text, _OF_MESSAGE, _STATEMENT_CHARS)
        if statement not in known
    ]
    sections[TODO_ITEMS.title] += _place(items, scripts)
    return _text(sections, last)


def write_observations(request: str) -> str:
    head, body = _split(request)
    return _facts_text(extract_observations(_items_of(body), _facts_of(head)))


def write_reflection(request: str) -> str:
    """Return the observations of a request in fewer words."""
    facts = tuple(_facts_of(_split(request)[1]))
    made = ObservationsMade(0, 0, facts, (), "", "", 0, 0, 0, 0, "")
    return _facts_text(merge_observations([made]))


def _split(request: str) -> tuple[str, str]:
    match = _RECORD_START.search(request)
    return (request[: match.start()], request[match.end() :]) if match else (request, "")


def _items_of(body: str) -> list[LogItem]:
    """Return the messages of a record, with what the extraction reads of them."""
    found: list[tuple[int, str, str]] = []
    for line in body.splitlines():
        entry = _EVENT_LINE.match(line)
        if entry and int(entry[1]) > (found[-1][0] if found else 0):
            found.append((int(entry[1]), entry[2], entry[3]))
        elif found and not _FACT.match(line):
            seq, role, text = found[-1]
            found[-1] = seq, role, f"{text}\n{line.removeprefix('| ')}"
    return [LogItem(seq, seq, 0, 0, _event(role, text), 0, 0) for seq, role, text in found]


def _event(role: str, text: str) -> MessageEvent:
    if role == "user":
        return UserSpoke(text, 0)
    if role == "assistant":
        words, calls, names = f" {text}".partition(_CALLS)
        return AssistantSpoke(words.strip(), "", 0, (ToolCall("", names, "{}"),) if calls else ())
    output = _OUTPUT_LINE.fullmatch(text)
    name, target, code, failed, printed = output.groups() if output else ("", "", None, None, text)
    return ToolAnswered(
        *("", name, printed, "", 0, 0, 0, target),
        ok=not failed,
        exit_code=int(code) if code else None,
        first_line=printed.split("\n", 1)[0],
    )


def _facts_of(text: str) -> list[Observation]:
    found = [
        (int(priority), fact, tuple(map(int, _SOURCE.findall(sources))))
        for priority, fact, sources in _FACT.findall(text)
    ]
    return [
        Observation(max(sources, default=0), priority, fact, sources) for priority, fact, sources in found
    ]


def _sections_of(text: str) -> dict[str, list[Bullet]]:
    """Return the bullets of a handover in a text, by section."""
    sections: dict[str, list[Bullet]] = {}
    current: list[Bullet] = []
    for line in text.splitlines():
        if heading := parse_heading(line):
            title = section_title(heading)
            current = sections.setdefault(title, []) if title else []
        elif line.startswith(_BULLET):
            sources = frozenset(map(int, _SOURCE.findall(line)))
            current += parse_bullets([line.removeprefix(_BULLET)], sources)
    return sections


def _by_section(facts: Iterable[Observation]) -> dict[str, list[Bullet]]:
    sections: dict[str, list[Bullet]] = {}
    for fact in facts:
        title = next((title for title, begins in _BEGINNINGS if fact.text.startswith(begins)), DETAILS.title)
        sections.setdefault(title, []).append(Bullet(fact.text, fact.sources))
    return sections


def _joined(
    sections: Mapping[str, Sequence[Bullet]], later: Mapping[str, Sequence[Bullet]]
) -> dict[str, list[Bullet]]:
    """Return the bullets of both, each once; what is open is as the later one says, if it says anything."""
    joined: dict[str, list[Bullet]] = {}
    for kind in SECTIONS:
        old = sections.get(kind.title, ())
        new = later.get(kind.title, ())
        both = new if kind.is_replaced and new else (*old, *new)
        joined[kind.title] = list({bullet.text: bullet for bullet in both}.values())
    return {title: bullets for title, bullets in joined.items() if bullets}


def _place(items: Sequence[LogItem], scripts: Sequence[Script]) -> list[Bullet]:
    for item in reversed(items):
        text = item.event.text if isinstance(item.event, AssistantSpoke) else ""
        if text and (position := newest_position([text], scripts)) is not None:
            return [Bullet(position.place, (item.seq,))]
    return []


def _text(sections: Mapping[str, Sequence[Bullet]], last_seq: int) -> str:
    """Return the handover; until all fit, what states least goes from the longest section."""
    points = {title: list(sections.get(title, ())) for title in TITLES}

    def excess(bullets: list[Bullet]) -> tuple[bool, int]:
        return len(bullets) > _MAX_POINTS, sum(len(_line(bullet)) for bullet in bullets[1:])

    while True:
        fullest = max(points.values(), key=excess)
        chars = sum(len(_line(bullet)) for bullets in points.values() for bullet in bullets)
        if len(fullest) <= 1 or (chars <= _MAX_CHARS and not excess(fullest)[0]):
            break
        fullest.remove(min(fullest[1:], key=lambda it: (not _is_other(it), _worth(it))))
    nothing = [Bullet(_NOTHING, (last_seq,) if last_seq else ())]
    parts = ((f"## {title}", *map(_line, points[title] or nothing)) for title in TITLES)
    return "\n".join(line for part in parts for line in part)


def _is_other(bullet: Bullet) -> bool:
    return not bullet.text.startswith(f"{CHANGED} ")


def _worth(bullet: Bullet) -> int:
    return max((sentence.worth for sentence in sentences_in(bullet.text)), default=0)


def _line(bullet: Bullet) -> str:
    cited = f" [{', '.join(f'e{seq}' for seq in bullet.sources)}]" if bullet.sources else ""
    return f"{_BULLET}{bullet.text}{cited}"


def _facts_text(facts: Iterable[Observation]) -> str:
    return "\n".join(map(observation_bullet, facts)) or "- (3) Nothing of note was said."


SUMMARY_OPENING = "[Conversation History Summary]"
_REFERENCE = (
    SUMMARY_OPENING,
    "[Summary of older messages]",
    "[Summary of older steps]",
)
_HANDLE = re.compile(r'\[CACHED\] recall_cached_content\("([0-9a-f]{8,64})"\)')
_INDEX = re.compile(
    rf"{_HANDLE.pattern}(?= [\d,]+ outputs? covered here)"
    rf"|(?:(?<=outputs in )|(?<= 1 output in )){_HANDLE.pattern}"
)
_ENTRY = re.compile(r"^([0-9a-f]{12}) e(\d+) (\w+) (.+)$", re.MULTILINE)
_DENIED = "The user did not allow this call."
_ERROR_LINE = re.compile(
    r"^(Cannot |There is no |old_text |This workspace's cache |The command was refused"
    r"|.{0,200}? was refused: |.{0,200}? was not written|\w+ was called with wrong arguments|\w+ failed)"
)
_CUT_OFF = (
    "The user stopped the turn before this call ended",
    "The app stopped before this call",
    "This call did not run: ",
    "no exit code: its turn ended",
    "no exit code: the app stopped",
)
_NO_PYTHON = re.compile(r"^exit code (127|9009)\b")


class ToolOutput(msgspec.Struct, frozen=True):
    tool: str
    arguments: dict[str, object]
    text: str

    @property
    def is_denied(self) -> bool:
        return self.text.startswith(_DENIED)

    @property
    def error_line(self) -> str:
        return self.text.split("\n", 1)[0][:200] if _ERROR_LINE.match(self.text) else ""

    @property
    def lacks_python(self) -> bool:
        """True if the command failed because this system has no program named `python3`."""
        return bool(_NO_PYTHON.match(self.text)) and str(self.arguments.get("command")).startswith("python3 ")


class RequestReader:
    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self._user_index = max(
            (
                index
                for index, message in enumerate(messages)
                if message.role == "user" and not message.text.startswith(_REFERENCE)
            ),
            default=-1,
        )
        self.user_message = messages[self._user_index].text if self._user_index >= 0 else ""
        self.messages_since = messages[self._user_index + 1 :]
        self.outputs = list(_tool_outputs(self.messages_since))

    @property
    def summary_text(self) -> str:
        """The texts in place of older messages, in order: handover, observations, notes of folds."""
        texts = (message.text for message in self.messages if message.role == "user")
        return "\n".join(text for text in texts if text.startswith(_REFERENCE))

    @property
    def newest_outputs(self) -> list[ToolOutput]:
        last = max(
            (index for index, message in enumerate(self.messages_since) if message.role == "assistant"),
            default=0,
        )
        return list(_tool_outputs(self.messages_since[last:]))

    def position(self, scripts: Sequence[Script]) -> ScriptPosition | None:
        """Return the position in a script, if the newest message is one of its messages.

        Notes of the app may stand before it, such as that of a mode, or of files that changed meanwhile.
        """
        paragraphs = self.user_message.split("\n\n")
        texts = [" ".join(" ".join(paragraphs[first:]).split()) for first in range(len(paragraphs))]
        for script in scripts:
            for number, script_message in enumerate(script.user_messages):
                if any(text.startswith(" ".join(script_message.split())) for text in texts):
                    return ScriptPosition(script, number, self._steps_done(number, script.task[number]))
        return None

    def unfinished_position(self, scripts: Sequence[Script]) -> ScriptPosition | None:
        """Return the last unfinished task, for a user who says "go on"; None if there is none."""
        answers = [message.text for message in reversed(self.messages) if message.role == "assistant"]
        position = newest_position(answers, scripts)
        if position is None or position.is_finished:
            return None
        last = max(index for index, message in enumerate(self.messages) if message.role == "assistant")
        was_cut_off = any(message.text.startswith(_CUT_OFF) for message in self.messages[last:])
        cut_off_step = bool(was_cut_off and last_step(self.messages[last].text, position.task))
        return replace(position, steps_done=position.steps_done - cut_off_step)

    def _steps_done(self, number: int, task: Task) -> int:
        answers = [message.text for message in self.messages_since if message.role == "assistant"]
        if answers:
            return max(last_step(text, task) for text in answers)
        step = placed_step(self.summary_text, number)
        return step if step < len(task.step) else 0

    def find_fact(self, pattern: str, recalls: Sequence[ScriptedRecall] = ()) -> str:
        """Return the first group of a pattern in the newest matching output since the question; or empty.

        Else in what stands for older messages, and in older outputs only when they are what the task set out
        to recall: a figure of another run must not pass for one of this run.
        """
        texts = [output.text for output in reversed(self.outputs)]
        for recall in recalls:
            matching_texts = [
                output.text for output in _tool_outputs(self.messages) if _is_output_of(output, recall)
            ]
            texts += matching_texts if recall.oldest else matching_texts[::-1]
        matches = (re.search(pattern, text) for text in [*texts, self.summary_text])
        return next((match[1].strip() for match in matches if match), "")

    def has_full_output(self, recall: ScriptedRecall) -> bool:
        """Return True if the request still contains the whole output, so that no recall is needed."""
        outputs = [output for output in _tool_outputs(self.messages) if _is_output_of(output, recall)]
        return bool(outputs) and not _HANDLE.search(outputs[-1].text) and not outputs[-1].error_line

    def find_digest(self, recall: ScriptedRecall) -> str:
        """Return the output's digest from a marker or a recalled index; empty if neither has it."""
        in_window = [digest for output in _tool_outputs(self.messages) for digest in _handles(output, recall)]
        in_indexes = sorted(entry for text in self._index_texts() for entry in _entries(text, recall))
        # What an index names is older than what stands in the window.
        digests = [*(digest for _, digest in in_indexes), *in_window]
        if not digests:
            return ""
        return digests[0] if recall.oldest else digests[-1]

    def has_oldest(self, recall: ScriptedRecall) -> bool:
        """Return True if an index lists the output: it leads to all that is older, too."""
        return any(_entries(text, recall) for text in self._index_texts())

    def next_index(self, pattern: str, oldest: bool = False) -> str:
        """Return the digest of an index not yet searched for this pattern; empty if all were.

        The newest comes first or, with `oldest`, last. A search goes through the indexes inside by itself.
        """
        newest_indexes = [first or second for first, second in _INDEX.findall(self.summary_text)]
        newest_indexes = newest_indexes if oldest else newest_indexes[::-1]
        searched = {output.arguments.get("hash") for output in self.searched(pattern)}
        return next((digest for digest in newest_indexes if digest not in searched), "")

    def searched(self, pattern: str) -> list[ToolOutput]:
        return [output for output in self.outputs if output.arguments.get("pattern") == pattern]

    def ledger_digest(self, recall: ScriptedRecall) -> str:
        """Return the digest's first digits from a ledger in the window; empty if none lists it."""
        pattern = rf"^(?:\w+|[$!]) {re.escape(recall.target)}(?: \(exit \S+\))? ([0-9a-f]{{12}}) e\d+(?::|$)"
        match = re.search(pattern, self.summary_text, re.MULTILINE)
        return match[1] if match else ""

    def _index_texts(self) -> list[str]:
        return [
            output.text
            for output in self.outputs
            if output.tool == RECALL_TOOL and _ENTRY.search(output.text)
        ]


def _tool_outputs(messages: Sequence[Message]) -> Iterator[ToolOutput]:
    calls = {call.id: call for message in messages for call in message.calls}
    for message in messages:
        if message.role != "tool" or message.call_id not in calls:
            continue
        call = calls[message.call_id]
        try:
            arguments = msgspec.json.decode(call.arguments, type=dict[str, object])
        except (msgspec.MsgspecError, RecursionError):
            arguments = {}
        yield ToolOutput(call.name, arguments, message.text)


def _is_output_of(output: ToolOutput, recall: ScriptedRecall) -> bool:
    arguments = output.arguments
    target = arguments.get("path" if output.tool == "read_file" else "command")
    if "start_line" in arguments:
        target = f"{target}:{arguments['start_line']}-{arguments.get('end_line', '')}"
    return output.tool == recall.tool and target == recall.target


def _entries(text: str, recall: ScriptedRecall) -> list[tuple[int, str]]:
    """Return event and digest of each entry of an index for this output."""
    return [
        (int(event), digest)
        for digest, event, tool, rest in _ENTRY.findall(text)
        if tool == recall.tool and rest.startswith(recall.target + ",")
    ]


def _handles(output: ToolOutput, recall: ScriptedRecall) -> list[str]:
    return _HANDLE.findall(output.text)[-1:] if _is_output_of(output, recall) else []


_OUTPUT = re.compile(r'^(\d+)\. "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)" \(.*Options: (.+)$', re.MULTILINE)
_EXTRACT = re.compile(
    r"^\[Extract\][^\n]*\n(?P<instructions>[\s\S]*?)\n\nWrite at most (?P<words>\d+) words\.[^\n]*\n"
    r"<output \w+>\n(?P<output>[\s\S]*)\n</output \w+>\n"
)
_PATTERN = re.compile(r"`([^`]+)`")
_WORD = re.compile(r"\w{4,}")


def choose_forms(question: str, scripts: Sequence[Script]) -> str:
    """Return a line for each large output in the question: what a script says, else a preview."""
    forms = [form for script in scripts for form in script.large]
    return "\n".join(
        f"{number}: {_choice(tool, target, options, forms)}"
        for number, tool, target, options in _OUTPUT.findall(question)
    )


def _choice(tool: str, target: str, options: str, forms: Sequence[LargeOutputForm]) -> str:
    for form in forms:
        if (form.tool, form.target) == (tool, target) and form.form in options.split(", "):
            return f"compact: the lines with `{form.extract}` only" if form.form == "compact" else form.form
    return "preview"


def write_extract(request: str) -> str:
    """Return the lines of an output that match the instructions: words in backticks, else its long words.

    `a|b` is one or the other. No other sign means anything: a pattern of the user's could take for ever.
    """
    parts = _EXTRACT.match(request)
    if parts is None:
        return "Not in the output: the offline demo model can't read this request."
    quoted = _PATTERN.search(parts["instructions"])
    words = [*filter(None, quoted[1].split("|") if quoted else _WORD.findall(parts["instructions"]))]
    matches = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    lines = [line for line in parts["output"].splitlines() if words and matches.search(line)]
    if not lines:
        return f"Not in the output: lines with `{'|'.join(words)}`."
    return _within(lines, int(parts["words"]))


def _within(lines: Sequence[str], max_words: int) -> str:
    """Return the first lines that have so few words, and say how many were left out."""
    words = 0
    count = 0
    for line in lines:
        words += max(len(line.split()), len(line) // 4)
        if words > max_words and count:
            break
        count += 1
    left_out = len(lines) - count
    return "\n".join([*lines[:count], *([f"{left_out} more lines were left out."] if left_out else [])])


DEMO_LABEL = "demo/offline"
_WINDOW = 20_000
_RESERVE = 1_500
_CHUNK = re.compile(r"(?:\S+\s*){1,3}")
_CONTINUE_REQUEST = re.compile(r"\s*(go on|continue|carry on|weiter|继续|继续吧)\s*[.!。]?\s*", re.IGNORECASE)
_SPECIAL = re.compile(r"[.+*?()\[\]{}|^$\\]")
_NOT_FOUND = "(not found, an earlier session may have changed it)"
_DONE_BEFORE = """\
**Some of this was done before**: an earlier session changed the sample's files. It is the newest \
other session whose *Changes* page lists `{path}`. To see it from the start, open that session, choose \
*Revert everything in this session* in the menu of *Changes*, and send this message again here."""
_README = re.compile(r"^ *(readme(?:\.\w+)?) ", re.IGNORECASE | re.MULTILINE)
_ADD_MODEL_HELP = """\
**To use a real model**, open *Settings → Providers* and add a server: one on this computer \
(Ollama, LM Studio, llama.cpp, vLLM) needs only its address, a hosted one its address and a key. \
Then choose it below the message box."""


Calls = tuple[tuple[str, dict[str, object]], ...]
"""Tool calls by name and arguments."""


class DemoReply(msgspec.Struct, frozen=True):
    text: str
    calls: Calls = ()


class DemoModel:
    """The offline demo model; `folder` holds its scripts, `pause_s` is the pause between chunks of text."""

    def __init__(self, folder: Path, pause_s: float = 0.02) -> None:
        self._folder = folder
        self._pause_s = pause_s
        self._scripts: tuple[Script, ...] | None = None

    @property
    def info(self) -> ModelInfo:
        """Its name and limits; the window is small on purpose, so that handovers come soon."""
        provider, name = DEMO_LABEL.split("/")
        return ModelInfo(provider, name, window=_WINDOW, reserve=_RESERVE, demo=True)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Yield the answer in small chunks, and a `ModelResponse` last."""
        if self._scripts is None:
            self._scripts = await asyncio.to_thread(read_scripts, self._folder)
        reply = reply_to(request, self._scripts)
        for chunk in _CHUNK.findall(reply.text):
            await asyncio.sleep(self._pause_s)
            yield TextDelta(chunk)
        calls = _tool_calls(request, reply)
        yield ModelResponse(reply.text, calls, stop="calls" if calls else "end")


def reply_to(request: ModelRequest, scripts: Sequence[Script]) -> DemoReply:
    """Return the reply to a request: always the same for the same request."""
    reader = RequestReader(request.messages)
    if reader.user_message.startswith(TITLE_OPENING):
        matching = (script for script in scripts if script.task[0].ask in reader.user_message)
        return DemoReply(next((script.title for script in matching), ""))
    summary = write_summary(reader.user_message, scripts)
    if summary:
        return DemoReply(summary)
    position = reader.position(scripts)
    if position is None and _CONTINUE_REQUEST.fullmatch(reader.user_message):
        position = reader.unfinished_position(scripts)
    if position is None:
        return _look_around(reader, request)
    return _follow_script(reader, position)


def write_summary(request_text: str, scripts: Sequence[Script] = ()) -> str:
    """Return the text for a request that is no message of a user; empty if it is one."""
    writers: tuple[tuple[str, Callable[[str], str]], ...] = (
        (OPENING, lambda request: write_handover(request, scripts)),
        (OBSERVE, write_observations),
        (REFINE, write_reflection),
        (SIDE_QUESTION_OPENING, _answer_side_question),
        (FORMS_OPENING, lambda question: choose_forms(question, scripts)),
        (EXTRACT_OPENING, write_extract),
    )
    return next((write(request_text) for opening, write in writers if request_text.startswith(opening)), "")


def _answer_side_question(request_text: str) -> str:
    question = question_in(request_text)
    return (
        f"You ask: *{question}*. I follow a script, so I can't say. A real model would answer from what is "
        "in the context now; neither question nor answer enters it."
    )


def _follow_script(reader: RequestReader, position: ScriptPosition) -> DemoReply:
    steps = position.task.step
    retries = _python_retries(reader.newest_outputs)
    if retries:
        return DemoReply("This system has no `python3`; I try `python`.", retries)
    texts = _error_texts(reader.newest_outputs)
    is_as_expected = True
    for number, step in enumerate(steps[position.steps_done :], position.steps_done + 1):
        recall = _plan_recall(reader, step.recall) if step.recall else None
        if recall is not None and recall.in_index:
            return DemoReply("\n\n".join([*texts, recall.text]), recall.calls)
        calls = tuple((str(call["tool"]), _arguments(call)) for call in step.calls)
        text, has_facts = _fill_text(reader, step, position.task)
        is_as_expected = is_as_expected and has_facts
        texts += [text, recall.text if recall is not None else ""]
        calls += recall.calls if recall is not None else ()
        if calls or number == len(steps):
            if not calls and _was_done_before(reader.outputs, is_as_expected):
                texts.append(_done_before(reader.outputs, position.script))
            return DemoReply("\n\n".join(part for part in texts if part), calls)
    return DemoReply("This part of the demo is done. The script's next message goes on from here.")


def _was_done_before(outputs: Sequence[ToolOutput], is_as_expected: bool) -> bool:
    """Return True if the sample's files are no longer what the script expects of them."""
    if any(output.is_denied for output in outputs):
        return False
    has_errors = any(output.error_line for output in outputs)
    return bool(_failed_edits(outputs)) or (not has_errors and not is_as_expected)


def _failed_edits(outputs: Sequence[ToolOutput]) -> list[str]:
    """Return the paths of the edits whose old text is not there any more."""
    return [
        str(output.arguments.get("path"))
        for output in outputs
        if output.tool == "edit_file" and output.error_line.startswith("old_text")
    ]


def _done_before(outputs: Sequence[ToolOutput], script: Script) -> str:
    """Return the advice on files that an earlier session changed, with one by which that session is found.

    Sessions are not in a request, and those of the sample share their title.
    """
    edits = [
        str(call["path"])
        for task in script.task
        for step in task.step
        for call in step.calls
        if call["tool"] == "edit_file"
    ]
    return _DONE_BEFORE.format(path=[*_failed_edits(outputs), *edits][0])


class _RecallPlan(msgspec.Struct, frozen=True):
    """How an output is recalled: the text about it, the calls if needed, and whether they read an index."""

    text: str
    calls: Calls = ()
    in_index: bool = False


def _plan_recall(reader: RequestReader, target: ScriptedRecall) -> _RecallPlan:
    escaped_target = _SPECIAL.sub(r"\\\g<0>", target.target)
    search = f"^{target.tool} {escaped_target},"  # as an index describes an output
    index = reader.next_index(search, target.oldest)
    needs_older_index = bool(index) and target.oldest and not reader.has_oldest(target)
    digest = "" if needs_older_index else reader.find_digest(target)
    if digest:
        return _RecallPlan("", _recall_call(digest, target.pattern))
    if reader.has_full_output(target) and not needs_older_index:
        return _RecallPlan("It is still whole in my context, so I don't need to recall it.")
    if index:
        text = (
            "Its digest is no longer in my context. An index there lists what was covered, so I look there."
        )
        if reader.searched(search):
            text = "That index doesn't have all of it. There is another one, so I look there too."
        return _RecallPlan(text, _recall_call(index, search), in_index=True)
    prefix = reader.ledger_digest(target)
    if prefix:
        return _RecallPlan("The ledger in my context gives its digest.", _recall_call(prefix, target.pattern))
    return _RecallPlan("I can't find its digest in my context, so I continue without it.")


def _recall_call(digest: str, pattern: str) -> Calls:
    arguments: dict[str, object] = {"hash": digest}
    if pattern:
        arguments["pattern"] = pattern
    return ((RECALL_TOOL, arguments),)


def _fill_text(reader: RequestReader, step: ScriptStep, task: Task) -> tuple[str, bool]:
    """Return a step's text, and whether it says what the script expects."""
    recalls = [other_step.recall for other_step in task.step if other_step.recall]
    facts = {name: reader.find_fact(pattern, recalls) or _NOT_FOUND for name, pattern in step.find.items()}
    text = step.say.strip()
    is_as_expected = True
    for name, variants in step.variants.items():
        filled = [_replace_facts(variant, facts).lstrip("\n") for variant in variants]
        sentence = next((variant for variant in filled if _NOT_FOUND not in variant), filled[0])
        text = text.replace(f"{{{name}}}", sentence)
        is_as_expected = is_as_expected and sentence == filled[0]
    text = _replace_facts(text, facts)
    return text, is_as_expected and _NOT_FOUND not in text


def _replace_facts(text: str, facts: Mapping[str, str]) -> str:
    for name, fact in facts.items():
        text = text.replace(f"{{{name}}}", fact)
    return text


def _arguments(call: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in call.items() if name != "tool"}


def _error_texts(outputs: Sequence[ToolOutput]) -> list[str]:
    texts = [
        f"`{output.tool}` was not allowed, so I leave it out and go on."
        for output in outputs
        if output.is_denied
    ]
    texts += [
        f"`{output.tool}` did not work: {output.error_line} I go on."
        for output in outputs
        if output.error_line
    ]
    return list(dict.fromkeys(texts))


def _python_retries(outputs: Sequence[ToolOutput]) -> Calls:
    commands = [str(output.arguments["command"]) for output in outputs if output.lacks_python]
    return tuple(
        ("run_command", {"command": "python " + command.removeprefix("python3 ")}) for command in commands
    )


def _look_around(reader: RequestReader, request: ModelRequest) -> DemoReply:
    tool_names = {spec.name for spec in request.tools}
    called = {call.name for message in reader.messages_since for call in message.calls}
    if not called and "list_directory" in tool_names:
        text = (
            "I am the **offline demo model**: a script, not a language model. I cannot work on that by "
            "myself, but the tools are real, so I look at what is here."
        )
        return DemoReply(text, (("list_directory", {"depth": 2}),))
    listing = next((entry.text for entry in reader.outputs if entry.tool == "list_directory"), "")
    readme = _README.search(listing)
    if "read_file" not in called and readme and "read_file" in tool_names:
        return DemoReply(f"There is a `{readme[1]}`. I read it.", (("read_file", {"path": readme[1]}),))
    return DemoReply(_folder_report(reader, listing))


def _folder_report(reader: RequestReader, listing: str) -> str:
    paragraphs = _error_texts(reader.newest_outputs)
    match = re.search(r"\(([\d,]+) entr(?:y|ies)\)", listing)
    if match:
        paragraphs.append(
            f"**This folder** has {match[1]} {'entry' if match[1] == '1' else 'entries'}, two levels deep."
        )
    readme_output = next(
        (output for output in reader.outputs if output.tool == "read_file" and not output.error_line), None
    )
    if readme_output is not None and not readme_output.is_denied:
        paragraphs.append(_describe_readme(str(readme_output.arguments.get("path")), readme_output.text))
    paragraphs.append(
        "**What I can do:** follow the script of the sample project *tidewatch* (reading, searching, finding "
        "and fixing a bug, running its tests), recall cached outputs by their digest, and write summaries. "
        "Free questions need a real model."
    )
    return "\n\n".join([*paragraphs, _ADD_MODEL_HELP])


def _describe_readme(path: str, text: str) -> str:
    blocks = [" ".join(block.split()) for block in text.split("\n\n")]
    prose = [block for block in blocks if block and not block.startswith(("#", "|", "-", "`", "[", "<", "!"))]
    title = next((block.lstrip("# ") for block in blocks if block.startswith("#")), path)
    return (
        f"**{title}**, says its `{path}`: {prose[0][:400]}" if prose else f"Its `{path}` begins with: {title}"
    )


def _tool_calls(request: ModelRequest, reply: DemoReply) -> tuple[ToolCall, ...]:
    """Return the calls with ids that differ between requests, and are the same for the same request."""
    if not reply.calls:
        return ()
    seed = hashlib.sha256(msgspec.json.encode(request.messages)).hexdigest()[:16]
    return tuple(
        ToolCall(f"demo_{seed}_{number}", name, msgspec.json.encode(arguments).decode())
        for number, (name, arguments) in enumerate(reply.calls)
    )
