"""Model what recalls would add: recorded agents made none, so those a managed agent needs are inserted.

There are two kinds, both before a recorded answer, so that the replay pays for and manages their output:

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
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from helix_desktop.domain.digest import MIN_PREFIX, RECALL_TOOL
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.identifiers import argument_identifiers
from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.replay.identifier_coverage import occurs_in
from helix_desktop.replay.ports import Replay
from helix_desktop.replay.reachability import OriginalOutputs, follow_handles, visible_call_ids
from helix_desktop.replay.recording import parse_arguments

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
        self._rate, self._replay = rate, replay
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
        """Return the recalls to insert between a request and the recorded answer to it."""
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
        """Return the steps that recall some outputs (with the call of each)."""
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
        calls, answers, texts = [], [], {}
        self._calls += 1
        for number, (content, arguments) in enumerate(recalls.items(), 1):
            call_id, text = f"recall-{self._calls}-{number}", self._answer(arguments)
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
    names = (name for call in answer.calls for name in argument_identifiers(call.arguments))
    needed = next((name for name in names if occurs_in(name, text)), "")
    if not needed and len(own_arguments) > 1:
        needed = own_arguments[1].decode("utf-8", "replace").strip().partition("\n")[0][:_MAX_PATTERN]
    return re.escape(needed)


def _read_path(call: ToolCall) -> str:
    """Return the path that a call reads; empty if it reads none."""
    if not call.name.lower().startswith(_READ_TOOLS):
        return ""
    args = parse_arguments(call.arguments)
    paths = (
        [args[key] for key in _PATH_ARGUMENTS if isinstance(args.get(key), str)]
        if isinstance(args, dict)
        else []
    )
    return paths[0] if paths else ""
