"""What recalls would find, and what they would add: recorded agents made none.

**Look-ups** measure the way back: whether one call brings what the next call uses and the window does not
hold. From each recording 120 uses of identifiers are drawn by hash, the same ones under every policy. Where
such an identifier is not in the request, it is looked up with one call of the real tools, by a rule that an
agent can follow who sees nothing but the request:

- Each handle in the request has a context: a note or summary is that of its index, the call and the line
  that of an output's marker, the arguments that of an argument's. The newest handle whose context has
  every part of the identifier's words is recalled, with the identifier as pattern.
- Without such a handle the identifier is searched.

It is found if it is in the answer, apart from what the answer repeats of the question. What a call costs are
the tokens of an answer that has it.

**Simulated recalls** are inserted before recorded answers, so that the replay pays for and manages their
output. There are two kinds:

- A re-read: the recorded agent reads a file again whose last reading is no longer in the window. A managed
  agent may recall that reading first. The recorded reading stays: the model overestimates the cost.
- A need that the recording cannot show, because there the output was still in the window. At a share of the
  model calls, chosen by hashing, one missing output is recalled, each with equal probability.

A recall is one more model call. It brings what the real tool answers: the first page of the output. If only
an index leads to the output, the index in the window is recalled with a pattern: the first identifier of the
recorded answer that the output has, else what the output's own call was about. If what comes does not name
the output, its handle is recalled in a second call.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple, Protocol

import msgspec

from helix_desktop.domain.digest import HEX_DIGITS, MIN_PREFIX, RECALL_TOOL
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.identifiers import argument_text, identifiers_in
from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.replay.measure import OriginalOutputs, follow_handles, visible_call_ids
from helix_desktop.replay.next_call_identifiers import IdentifierUse, occurs_in
from helix_desktop.replay.recording import RawMessage, parse_arguments
from helix_desktop.replay.replayer import MechanismCounts
from helix_desktop.replay.token_counters import MessageTokenCounter


class Replay(Protocol):
    """A session under one policy and window: what is measured of a `Replayer`."""

    @property
    def summaries(self) -> Sequence[int]: ...
    @property
    def checkpoints(self) -> Sequence[int]: ...
    @property
    def longest_stretch(self) -> int: ...
    @property
    def counts(self) -> MechanismCounts: ...

    def feed(self, message: RawMessage) -> None: ...
    def end_turn(self) -> None: ...
    def prepare_request(self) -> object: ...
    def request(self) -> list[dict[str, Any]]: ...
    def recall(self, handle: str) -> bytes: ...
    def call_cache_tool(self, name: str, arguments: Mapping[str, object]) -> str: ...
    def close(self) -> None: ...


SAMPLE = 120
"""Uses drawn per recording: a thirtieth of them is outside a balanced window; a look-up takes 10 ms."""

SEARCH_TOOL = "search_cached_content"
_MARKER = re.compile(rf'{RECALL_TOOL}\(\\?"([0-9a-f]{{{MIN_PREFIX},{HEX_DIGITS}}})')
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_MIN_PART = 3  # characters


class Lookups(msgspec.Struct, frozen=True):
    """How many identifiers were looked up with one call, and found.

    `recalls` are those that the rule recalls, `found_by_recall` those of them that were found; the others are
    searched.
    """

    identifiers: int = 0
    found: int = 0
    recalls: int = 0
    found_by_recall: int = 0

    @property
    def share(self) -> float:
        """Return the share that was found; 1 where nothing was looked up."""
        return self.found / self.identifiers if self.identifiers else 1.0


def draw_sample(uses: Sequence[Sequence[IdentifierUse]]) -> set[tuple[int, str]]:
    """Return up to 120 uses of a recording by number of model call, from 1, and identifier."""
    pairs = ((call, use.name) for call, of_call in enumerate(uses, 1) for use in of_call)
    return set(heapq.nsmallest(SAMPLE, pairs, key=_draw))


def _draw(pair: tuple[int, str]) -> bytes:
    return hashlib.sha256(f"{pair[0]} {pair[1]}".encode("utf-8", "surrogatepass")).digest()


class HandleContext(NamedTuple):
    """A handle in a request, and what stands around it."""

    handle: str
    text: str


def handle_contexts(request: Sequence[Message]) -> list[HandleContext]:
    arguments = {call.id: argument_text(call.arguments) for message in request for call in message.calls}
    contexts: list[HandleContext] = []
    for message in request:
        if message.role == "tool":
            call = arguments.get(message.call_id, "")
            lines = (line for line in message.text.splitlines() if _MARKER.search(line))
            texts: Iterable[str] = (f"{line}\n{call}" for line in lines)
        else:
            texts = (message.text, *(call.arguments for call in message.calls))
        contexts += [HandleContext(handle, text) for text in texts for handle in _MARKER.findall(text)]
    return contexts[::-1]


def best_handle(name: str, contexts: Sequence[HandleContext]) -> str:
    """Return the handle to recall for an identifier; empty if no context has all of its parts."""
    parts = _parts(name)
    fitting = (context.handle for context in contexts if parts and parts <= _parts(context.text))
    return next(fitting, "")


def _parts(text: str) -> set[str]:
    return {part.lower() for part in _PART.findall(text) if len(part) >= _MIN_PART}


class LookupCounter:
    """Looks up identifiers in one replay, and counts what was found."""

    def __init__(self, replay: Replay, counter: MessageTokenCounter) -> None:
        self._replay = replay
        self._count = counter.text_tokens
        self._found = {True: list[bool](), False: list[bool]()}  # by the rule, with a recall and without
        self.tokens: list[int] = []  # of each answer that had the identifier

    def look_up(self, name: str, request: Sequence[Message]) -> None:
        handle = best_handle(name, handle_contexts(request))
        if handle:
            answer = self._call(name, RECALL_TOOL, {"hash": handle, "pattern": re.escape(name)})
        else:
            answer = self._call(name, SEARCH_TOOL, {"query": name})
        self._found[bool(handle)].append(bool(answer))
        if answer:
            self.tokens.append(self._count(answer))

    def _call(self, name: str, tool: str, arguments: dict[str, object]) -> str:
        """Return the answer to a call if it has the identifier; else an empty text."""
        try:
            answer = self._replay.call_cache_tool(tool, arguments)
        except ToolError:
            return ""
        return answer if occurs_in(name, _without_question(answer, (re.escape(name), name))) else ""

    @property
    def result(self) -> Lookups:
        """The counts so far."""
        by_recall = self._found[True]
        others = self._found[False]
        found = sum(by_recall) + sum(others)
        return Lookups(len(by_recall) + len(others), found, len(by_recall), sum(by_recall))


def median_tokens(tokens: Sequence[int]) -> float:
    """Return the median of the tokens of answers; 0 for none."""
    return median(tokens) if tokens else 0.0


def _without_question(answer: str, questions: Iterable[str]) -> str:
    first, line_end, rest = answer.partition("\n")
    for question in questions:
        for quoted in (repr(question), f'"{question}"', f"“{question}”", f"`{question}`"):
            first = first.replace(quoted, "")
    return first + line_end + rest


DEFAULT_RATE = 0.05
"""Recalls per model call in addition to re-reads. Recorded agents read a file again more than ten calls later
this often: 0.27 reads per call, 55 % of them repeats, 35 % of those so late."""

_READ_TOOLS = ("read", "view", "open", "cat", "get_file")
_MAX_PATTERN = 80  # characters of what a call was about
_PATH_ARGUMENTS = ("path", "file_path", "filename", "notebook_path")

RecallStep = list[dict[str, Any]]
"""An inserted model call: the assistant's message and the answers to it."""


class Recalls(msgspec.Struct, frozen=True):
    """What was inserted: model calls, contents recalled by them, and outputs that no handle led to."""

    calls: int = 0
    contents: int = 0
    failed: int = 0


class RecallModel:
    """Determines the recalls to insert before each answer of one recording."""

    def __init__(self, rate: float, replay: Replay) -> None:
        self._rate = rate
        self._replay = replay
        self._readings: dict[tuple[str, str], str] = {}  # last reading call by (tool, path)
        self._pages: dict[tuple[str, str], bytes] = {}  # content by (call, text) of each inserted page
        self._model_calls = self._calls = self._contents = self._failed = 0

    @property
    def totals(self) -> Recalls:
        """What was inserted so far."""
        return Recalls(self._calls, self._contents, self._failed)

    def steps_before(
        self, answer: Message, request: Sequence[Message], originals: OriginalOutputs
    ) -> list[RecallStep]:
        self._model_calls += 1
        missing = self._missing_outputs(request, originals)
        call_ids = [*self._rereads(answer), *self._random_recalls(answer, missing)]
        outputs = {originals.outputs[call_id]: call_id for call_id in call_ids if call_id in missing}
        return self._steps(outputs, answer, request, originals) if outputs else []

    def _missing_outputs(self, request: Sequence[Message], originals: OriginalOutputs) -> dict[str, None]:
        """Return the ids of calls whose output is in the window neither complete nor as a recalled page."""
        visible = visible_call_ids(request, originals)
        paged = {
            self._pages.get((message.call_id, message.text)) for message in request if message.role == "tool"
        }
        return {
            call_id: None
            for call_id, content in originals.outputs.items()
            if content and call_id not in visible and content not in paged
        }

    def _rereads(self, answer: Message) -> list[str]:
        """Return the last readings of the files that an answer reads, and record its own readings instead."""
        call_ids = []
        for call in answer.calls:
            path = _read_path(call)
            if path:
                call_ids += [self._readings[call.name, path]] if (call.name, path) in self._readings else []
                self._readings[call.name, path] = call.id
        return call_ids

    def _random_recalls(self, answer: Message, missing: Iterable[str]) -> list[str]:
        draw = hashlib.sha256(b"%d " % self._model_calls + msgspec.json.encode(answer)).digest()
        ids = list(missing)
        if not ids or int.from_bytes(draw[:8]) >= self._rate * 2**64:
            return []
        return [ids[int.from_bytes(draw[8:16]) % len(ids)]]

    def _steps(
        self,
        outputs: dict[bytes, str],
        answer: Message,
        request: Sequence[Message],
        originals: OriginalOutputs,
    ) -> list[RecallStep]:
        paths: dict[bytes, tuple[str, ...]] = {}
        for path, content in follow_handles(request, originals, self._replay.recall):
            if content in outputs:
                paths.setdefault(content, path)
            if len(paths) == len(outputs):
                break
        self._failed += len(outputs) - len(paths)
        self._contents += len(paths)
        recalls: dict[bytes, dict[str, object]] = {}
        for content, path in paths.items():
            pattern = _pattern(answer, content, originals.calls.get(outputs[content], ()))
            recalls[content] = {"hash": path[0], "pattern": pattern} if path[1:] else {"hash": path[0]}
        if not recalls:
            return []
        step, texts = self._step(recalls)
        again: dict[bytes, dict[str, object]] = {
            content: {"hash": path[-1]}
            for content, path in paths.items()
            if path[1:] and path[-1][:MIN_PREFIX] not in texts[content]
        }
        return [step, self._step(again)[0]] if again else [step]

    def _step(self, recalls: Mapping[bytes, dict[str, object]]) -> tuple[RecallStep, dict[bytes, str]]:
        """Return a model call that makes these recalls, and the text of each answer."""
        calls = []
        answers = []
        texts = {}
        self._calls += 1
        for number, (content, arguments) in enumerate(recalls.items(), 1):
            call_id = f"recall-{self._calls}-{number}"
            text = self._answer(arguments)
            texts[content] = text
            self._pages[call_id, text] = content
            calls.append({"id": call_id, "name": RECALL_TOOL, "arguments": json.dumps(arguments)})
            answers.append({"role": "tool", "content": text, "tool_call_id": call_id, "name": RECALL_TOOL})
        return [{"role": "assistant", "content": "", "tool_calls": calls}, *answers], texts

    def _answer(self, arguments: Mapping[str, object]) -> str:
        try:
            return self._replay.call_cache_tool(RECALL_TOOL, arguments)
        except ToolError as error:
            return str(error)


def _pattern(answer: Message, content: bytes, own_arguments: Sequence[bytes]) -> str:
    """Return the pattern by which an agent that needs an output looks for it behind an index."""
    text = content.decode("utf-8", "replace")
    names = (name for call in answer.calls for name in identifiers_in(argument_text(call.arguments)))
    needed = next((name for name in names if occurs_in(name, text)), "")
    if not needed and len(own_arguments) > 1:
        needed = own_arguments[1].decode("utf-8", "replace").strip().partition("\n")[0][:_MAX_PATTERN]
    return re.escape(needed)


def _read_path(call: ToolCall) -> str:
    if not call.name.lower().startswith(_READ_TOOLS):
        return ""
    args = parse_arguments(call.arguments)
    paths = (
        [args[key] for key in _PATH_ARGUMENTS if isinstance(args.get(key), str)]
        if isinstance(args, dict)
        else []
    )
    return paths[0] if paths else ""
