"""What recalls would add: recorded agents never made any, so those that a managed agent needs are put in.

There are two kinds, both before a recorded answer, so that the replay pays and manages all they bring:

- A re-read: the recorded agent reads a file again whose last reading no longer stands in the window. A
  managed agent may recall that reading first. The recorded reading stays: the model errs on the dear side.
- A need that the recording cannot show, because there the output still stood in the window. At a share of the
  model calls, drawn by hashing, one output that is gone is recalled, each as likely as any other.

A recall is one more model call, and the first page of the original bytes. Where only an index leads to them,
the handle in the window that leads there is recalled in a call before it. An index behind an index costs no
third call: the agent can search.
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
from helix_desktop.tools.cache.recall import PAGE_TOKENS

RECALL_TOOL = "recall_cached_content"
DEFAULT_RATE = 0.05
"""Recalls per model call besides re-reads. As often do recorded agents read a file again more than ten calls
later: 0.27 reads a call, of them 55 % repeats, of those 35 % so late."""

_READ_TOOLS = ("read", "view", "open", "cat", "get_file")
_PATH_ARGUMENTS = ("path", "file_path", "filename", "notebook_path")

RecallStep = list[dict[str, Any]]
"""A model call that was put in: the assistant's message and the answers to it."""


class Recalls(msgspec.Struct, frozen=True):
    """What was put in: model calls, contents recalled by them, and outputs that no handle led to."""

    calls: int = 0
    contents: int = 0
    failed: int = 0


class RecallModel:
    """Says which recalls belong before each answer of one recording."""

    def __init__(self, rate: float, tokens: MessageTokenCounter, recall: Callable[[str], bytes]) -> None:
        self._rate, self._tokens, self._recall = rate, tokens, recall
        self._readings: dict[tuple[str, str], str] = {}  # tool and path: the call that read it last
        self._pages: dict[tuple[str, str], bytes] = {}  # the call and text of each page put in: its content
        self._model_calls = self._calls = self._contents = self._failed = 0

    @property
    def totals(self) -> Recalls:
        """What was put in so far."""
        return Recalls(self._calls, self._contents, self._failed)

    def steps_before(
        self, answer: Message, request: Sequence[Message], originals: OriginalOutputs
    ) -> list[RecallStep]:
        """The recalls that belong between a request and the recorded answer to it."""
        self._model_calls += 1
        gone = self._missing_outputs(request, originals)
        wanted = [*self._rereads(answer), *self._random_recalls(answer, gone)]
        contents = dict.fromkeys(originals.outputs[call_id] for call_id in wanted if call_id in gone)
        return self._steps(list(contents), request, originals) if contents else []

    def _missing_outputs(self, request: Sequence[Message], originals: OriginalOutputs) -> dict[str, None]:
        """The calls whose output stands in no form in the window that an agent would be content with."""
        here = visible_call_ids(request, originals)
        paged = {self._pages.get((one.call_id, one.text)) for one in request if one.role == "tool"}
        return {
            call_id: None
            for call_id, content in originals.outputs.items()
            if content and call_id not in here and content not in paged
        }

    def _rereads(self, answer: Message) -> list[str]:
        """The last readings of what an answer reads; its own are noted in their place."""
        found = []
        for call in answer.calls:
            path = _read_path(call)
            if path:
                found += [self._readings[call.name, path]] if (call.name, path) in self._readings else []
                self._readings[call.name, path] = call.id
        return found

    def _random_recalls(self, answer: Message, missing: Iterable[str]) -> list[str]:
        lot = hashlib.sha256(b"%d " % self._model_calls + msgspec.json.encode(answer)).digest()
        ids = list(missing)
        if not ids or int.from_bytes(lot[:8]) >= self._rate * 2**64:
            return []
        return [ids[int.from_bytes(lot[8:16]) % len(ids)]]

    def _steps(
        self, contents: list[bytes], request: Sequence[Message], originals: OriginalOutputs
    ) -> list[RecallStep]:
        ways: dict[bytes, tuple[str, ...]] = {}
        for way, content in follow_handles(request, originals, self._recall):
            if content in contents:
                ways.setdefault(content, way)
            if len(ways) == len(contents):
                break
        self._failed += len(contents) - len(ways)
        self._contents += len(ways)
        through = dict.fromkeys(way[0] for way in ways.values() if len(way) > 1)
        last = dict.fromkeys(way[-1] for way in ways.values())
        return [self._step(list(handles)) for handles in (through, last) if handles]

    def _step(self, handles: Sequence[str]) -> RecallStep:
        calls, answers = [], []
        self._calls += 1
        for number, handle in enumerate(handles, 1):
            call_id, content = f"recall-{self._calls}-{number}", self._recall(handle)
            page = asyncio.run(self._first_page(content.decode("utf-8", "replace")))
            self._pages[call_id, page] = content
            calls.append({"id": call_id, "name": RECALL_TOOL, "arguments": json.dumps({"hash": handle})})
            answers.append({"role": "tool", "content": page, "tool_call_id": call_id, "name": RECALL_TOOL})
        return [{"role": "assistant", "content": "", "tool_calls": calls}, *answers]

    async def _first_page(self, text: str) -> str:
        page = await Paginator(split_lines(text), PAGE_TOKENS, self._count).page_at(1, 0)
        if page.is_only:
            return page.text
        left = f"Lines {page.first}-{page.last}, page {page.number} of {page.count}"
        return f"{left}; next: start_line={page.next_line}.\n{page.text}"

    async def _count(self, texts: Sequence[str]) -> list[int]:
        return [self._tokens.text_tokens(text) for text in texts]


def _read_path(call: ToolCall) -> str:
    """The path that a call reads; empty when it reads none."""
    if not call.name.lower().startswith(_READ_TOOLS):
        return ""
    given = parse_arguments(call.arguments)
    paths = (
        [given[key] for key in _PATH_ARGUMENTS if isinstance(given.get(key), str)]
        if isinstance(given, dict)
        else []
    )
    return paths[0] if paths else ""
