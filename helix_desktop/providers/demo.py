"""The offline demo model: it ships, needs no key and no network, and works by a script with the real tools.

It is a pure function of the request. In the sample project it follows a script; anywhere else it looks around
and says what it is. Handovers and observations it makes by extraction (see demo_points).
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from helix_desktop.context.message import Answer, Arrival, ModelInfo, Request, TextArrived, ToolCall
from helix_desktop.providers.demo_handover import OPENING, write_handover
from helix_desktop.providers.demo_observations import OBSERVE, REFINE, write_observations, write_reflection
from helix_desktop.providers.demo_script import Recall, Script, Step, Task, read_scripts
from helix_desktop.providers.demo_sight import Output, Place, Sight, note

DEMO_LABEL = "demo/offline"
_WINDOW, _RESERVE = 25_000, 1_500
_PIECE = re.compile(r"(?:\S+\s*){1,3}")
_GO_ON = re.compile(r"\s*(go on|continue|carry on|weiter|继续|继续吧)\s*[.!。]?\s*", re.IGNORECASE)
_SPECIAL = re.compile(r"[.+*?()\[\]{}|^$\\]")
_UNSEEN = "(not in my window)"
_LOOKING = re.compile(r"\(demo: looking around, step (\d) of 3\)")
_README = re.compile(r"^ *(readme(?:\.\w+)?) ", re.IGNORECASE | re.MULTILINE)
_BRING = """\
**To bring a real model**, open *Settings → Providers* and choose a server: one on this machine \
(Ollama, LM Studio, llama.cpp, vLLM) needs only its address, a hosted one its address and a key. \
Then pick it below the message field."""


Calls = tuple[tuple[str, dict[str, object]], ...]
"""Tool calls by name and arguments."""


@dataclass(frozen=True)
class Reply:
    """What is said, and the calls that follow it."""

    text: str
    calls: Calls = ()


class DemoModel:
    """The offline demo model. `folder` holds its scripts; `pause_s` is waited between pieces of text."""

    def __init__(self, folder: Path, pause_s: float = 0.02) -> None:
        self._folder, self._pause_s = folder, pause_s
        self._scripts: tuple[Script, ...] | None = None

    @property
    def info(self) -> ModelInfo:
        """Its name and its room; the window is small on purpose, so that handovers come soon."""
        provider, name = DEMO_LABEL.split("/")
        return ModelInfo(provider, name, window=_WINDOW, reserve=_RESERVE, demo=True)

    async def stream(self, request: Request) -> AsyncGenerator[Arrival, None]:
        """Answer a request in small pieces, an `Answer` last."""
        if self._scripts is None:
            self._scripts = await asyncio.to_thread(read_scripts, self._folder)
        reply = answer(request, self._scripts)
        for piece in _PIECE.findall(reply.text):
            await asyncio.sleep(self._pause_s)
            yield TextArrived(piece)
        calls = _calls(request, reply)
        yield Answer(reply.text, calls, stop="calls" if calls else "end")


def answer(request: Request, scripts: Sequence[Script]) -> Reply:
    """The reply to a request: the same one for the same request."""
    sight = Sight(request.messages)
    summary = write_summary(sight.ask)
    if summary:
        return Reply(summary)
    place = sight.place(scripts)
    if place is None and _GO_ON.fullmatch(sight.ask):
        place = sight.unfinished(scripts)
    if place is None:
        return _look_around(sight, request)
    return _follow(sight, place)


def write_summary(ask: str) -> str:
    """The handover, observations or reflection that a request asks for; empty when it asks for none."""
    writers = ((OPENING, write_handover), (OBSERVE, write_observations), (REFINE, write_reflection))
    return next((write(ask) for opening, write in writers if ask.startswith(opening)), "")


def _follow(sight: Sight, place: Place) -> Reply:
    steps = place.task.step
    again = _with_other_python(sight.newest)
    if again:
        said = "This system has no `python3`; I try `python`."
        return Reply(f"{said}\n\n{note(place.number + 1, place.done, len(steps))}", again)
    told = _troubles(sight.newest)
    for number, step in enumerate(steps[place.done :], place.done + 1):
        recall = _recall(sight, step.recall) if step.recall else None
        if recall is not None and recall.index:
            said = "\n\n".join([*told, recall.told])
            return Reply(f"{said}\n\n{note(place.number + 1, number, len(steps), True)}", recall.calls)
        calls = tuple((str(call["tool"]), _arguments(call)) for call in step.calls)
        told += [_filled(sight, step, place.task), recall.told if recall is not None else ""]
        calls += recall.calls if recall is not None else ()
        if calls or number == len(steps):
            said = "\n\n".join(part for part in told if part)
            return Reply(f"{said}\n\n{note(place.number + 1, number, len(steps))}", calls)
    return Reply("This part of the demo is done. The script's next message goes on from here.")


@dataclass(frozen=True)
class _Recalling:
    """How an output is got back: what is said of it, the call if one is needed, whether for an index."""

    told: str
    calls: Calls = ()
    index: bool = False


def _recall(sight: Sight, wanted: Recall) -> _Recalling:
    search = _SPECIAL.sub(r"\\\g<0>", wanted.target) + "|the index of everything before"
    index = sight.next_index(search, wanted.oldest)
    older = bool(index) and wanted.oldest and not sight.knows_oldest(wanted)
    digest = "" if older else sight.digest_of(wanted)
    if digest:
        return _Recalling("", _recall_call(digest, wanted.pattern))
    if sight.stands_whole(wanted) and not older:
        return _Recalling("It still stands whole in my window, so I need not recall it.")
    if index:
        told = "Its hash is not in my window any more. An index there names what was covered; I look there."
        if sight.has_searched(search):
            told = "That index does not have it all. There is another one; I look there as well."
        return _Recalling(told, _recall_call(index, search), index=True)
    beginning = sight.in_ledger(wanted)
    if beginning:
        return _Recalling("The ledger in my window gives its hash.", _recall_call(beginning, wanted.pattern))
    return _Recalling("I find no hash of it in my window, so I go on without it.")


def _recall_call(digest: str, pattern: str) -> Calls:
    arguments: dict[str, object] = {"hash": digest}
    if pattern:
        arguments["pattern"] = pattern
    return (("recall_cached_content", arguments),)


def _filled(sight: Sight, step: Step, task: Task) -> str:
    recalls = [one.recall for one in task.step if one.recall]
    said = step.say.strip()
    for name, pattern in step.find.items():
        said = said.replace(f"{{{name}}}", sight.fact(pattern, recalls) or _UNSEEN)
    return said


def _arguments(call: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in call.items() if name != "tool"}


def _troubles(newest: Sequence[Output]) -> list[str]:
    told = [f"`{one.tool}` was not allowed, so I leave it out and go on." for one in newest if one.denied]
    told += [f"`{one.tool}` did not work: {one.trouble} I go on." for one in newest if one.trouble]
    return list(dict.fromkeys(told))


def _with_other_python(newest: Sequence[Output]) -> Calls:
    commands = [str(one.arguments["command"]) for one in newest if one.lacks_python]
    return tuple(
        ("run_command", {"command": "python " + command.removeprefix("python3 ")}) for command in commands
    )


def _look_around(sight: Sight, request: Request) -> Reply:
    has = {spec.name for spec in request.tools}
    notes = [_LOOKING.findall(one.text) for one in sight.since if one.role == "assistant"]
    done = max((int(step) for found in notes for step in found), default=0)
    if done == 0 and "list_directory" in has:
        said = (
            "I am the **offline demo model**: a script, not a language model. I cannot work on that by "
            "myself, but the tools are real, so I look at what is here."
        )
        return Reply(f"{said}\n\n_(demo: looking around, step 1 of 3)_", (("list_directory", {"depth": 2}),))
    listing = next((one.text for one in sight.outputs if one.tool == "list_directory"), "")
    readme = _README.search(listing)
    if done == 1 and readme and "read_file" in has:
        said = f"There is a `{readme[1]}`. I read it."
        return Reply(
            f"{said}\n\n_(demo: looking around, step 2 of 3)_", (("read_file", {"path": readme[1]}),)
        )
    return Reply(f"{_seen(sight, listing)}\n\n_(demo: looking around, step 3 of 3)_")


def _seen(sight: Sight, listing: str) -> str:
    told = _troubles(sight.newest)
    counted = re.search(r"\(([\d,]+) entr(?:y|ies)\)", listing)
    if counted:
        told.append(f"**This folder** has {counted[1]} entries to a depth of two.")
    read = next((one for one in sight.outputs if one.tool == "read_file" and not one.trouble), None)
    if read is not None and not read.denied:
        told.append(_about(str(read.arguments.get("path")), read.text))
    told.append(
        "**What I can do:** follow the script of the sample project *tidewatch* (reading, searching, finding "
        "and fixing a bug, running its tests), recall cached outputs by their hash, and write handovers. "
        "Free questions need a real model."
    )
    return "\n\n".join([*told, _BRING])


def _about(path: str, text: str) -> str:
    blocks = [" ".join(block.split()) for block in text.split("\n\n")]
    prose = [block for block in blocks if block and not block.startswith(("#", "|", "-", "`", "[", "<", "!"))]
    title = next((block.lstrip("# ") for block in blocks if block.startswith("#")), path)
    return (
        f"**{title}**, says its `{path}`: {prose[0][:400]}" if prose else f"Its `{path}` begins with: {title}"
    )


def _calls(request: Request, reply: Reply) -> tuple[ToolCall, ...]:
    """The calls with ids that differ between any two requests, and are the same for the same request."""
    if not reply.calls:
        return ()
    seed = hashlib.sha256(msgspec.json.encode(request.messages)).hexdigest()[:16]
    return tuple(
        ToolCall(f"demo_{seed}_{number}", name, msgspec.json.encode(arguments).decode())
        for number, (name, arguments) in enumerate(reply.calls)
    )
