"""Model what recalls would add: recorded agents made none, so those a managed agent needs are inserted.

There are two kinds, both before a recorded answer, so that the replay pays for and manages their output:

- A re-read: the recorded agent reads a file again whose last reading is no longer in the window. A managed
  agent may recall that reading first. The recorded reading stays: the model overestimates the cost.
- A need that the recording cannot show, because there the output was still in the window. At a share of the
  model calls, chosen by hashing, one missing output is recalled, each with equal probability.

A recall is one more model call, and the first page of the original bytes. If only an index leads to them, the
handle of the index in the window is recalled in a call before it. An index behind an index costs no third
call: the agent can search.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.replay.message_tokens import MessageTokenCounter
from helix_desktop.replay.reachability import OriginalOutputs, follow_handles, visible_call_ids
from helix_desktop.replay.recording import parse_arguments
from helix_desktop.tools.cache.paging import Paginator, split_lines
from helix_desktop.tools.cache.recall import PAGE_TOKENS, RecallCachedContent

_RECALL_TOOL = RecallCachedContent.name
DEFAULT_RATE = 0.05
"""Recalls per model call in addition to re-reads. Recorded agents read a file again more than ten calls later
this often: 0.27 reads per call, 55 % of them repeats, 35 % of those so late."""

_READ_TOOLS = ("read", "view", "open", "cat", "get_file")
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

    def __init__(self, rate: float, tokens: MessageTokenCounter, recall: Callable[[str], bytes]) -> None:
        self._rate, self._tokens, self._recall = rate, tokens, recall
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
        contents = dict.fromkeys(originals.outputs[call_id] for call_id in call_ids if call_id in missing)
        return self._steps(list(contents), request, originals) if contents else []

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
        self, contents: list[bytes], request: Sequence[Message], originals: OriginalOutputs
    ) -> list[RecallStep]:
        paths: dict[bytes, tuple[str, ...]] = {}
        for path, content in follow_handles(request, originals, self._recall):
            if content in contents:
                paths.setdefault(content, path)
            if len(paths) == len(contents):
                break
        self._failed += len(contents) - len(paths)
        self._contents += len(paths)
        indexes = dict.fromkeys(path[0] for path in paths.values() if len(path) > 1)
        targets = dict.fromkeys(path[-1] for path in paths.values())
        return [self._step(list(handles)) for handles in (indexes, targets) if handles]

    def _step(self, handles: Sequence[str]) -> RecallStep:
        calls, answers = [], []
        self._calls += 1
        for number, handle in enumerate(handles, 1):
            call_id, content = f"recall-{self._calls}-{number}", self._recall(handle)
            page = asyncio.run(self._first_page(content.decode("utf-8", "replace")))
            self._pages[call_id, page] = content
            calls.append({"id": call_id, "name": _RECALL_TOOL, "arguments": json.dumps({"hash": handle})})
            answers.append({"role": "tool", "content": page, "tool_call_id": call_id, "name": _RECALL_TOOL})
        return [{"role": "assistant", "content": "", "tool_calls": calls}, *answers]

    async def _first_page(self, text: str) -> str:
        page = await Paginator(split_lines(text), PAGE_TOKENS, self._tokens.count).page_at(1, 0)
        if page.is_only:
            return page.text
        position = f"Lines {page.first}-{page.last}, page {page.number} of {page.count}"
        return f"{position}; next: start_line={page.next_line}.\n{page.text}"


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
