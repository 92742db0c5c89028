"""An answer of Anthropic Messages, put together from its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from helix_desktop.context.errors import ModelOverflow
from helix_desktop.context.message import Answer, ReasoningArrived, Stop, TextArrived, ToolCall, Usage
from helix_desktop.providers.anthropic_request import DIALECT
from helix_desktop.providers.dialect import Piece
from helix_desktop.providers.shortfall import empty_answer, nothing_sent, unnamed_call
from helix_desktop.providers.wire import JOINT, arguments_object, joined, object_in

_STOPS: Mapping[str, Stop] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "refusal": "filter",
}
"""Why an answer ended, where it is not just done (Anthropic, "Handling stop reasons")."""

_FIELD_OF = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""What a delta adds to its block; `input_json_delta` is gathered apart."""

_IDLE = ("ping", "message_start")
"""Events that carry nothing of an answer."""

_COUNTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class Assembly:
    """Folds the events of one answer. `new_id` makes ids for calls whose server gave none.

    `kept` is put beside the message, for when it goes back.
    """

    def __init__(self, provider: str, new_id: Callable[[], str], kept: Mapping[str, Any]) -> None:
        self._provider, self._new_id, self._kept = provider, new_id, kept
        self._blocks: dict[int, _Block] = {}
        self._counts: dict[str, int] = {}
        self._stop = ""
        self._explained = ""
        self.progress = 0
        self.done = False

    @property
    def complete(self) -> bool:
        """Whether the server has said that the answer is at its end."""
        return self.done or bool(self._stop)

    @property
    def settled(self) -> bool:
        """Whether nothing of interest is still to come."""
        return self.done

    def add(self, chunk: Mapping[str, Any]) -> list[Piece]:
        """Take one event in; gives what it adds for a reader."""
        kind = chunk.get("type")
        self.progress += kind not in _IDLE
        match kind:
            case "message_start":
                self._count(object_in(chunk, "message").get("usage"))
            case "content_block_start":
                return self._begin(_index(chunk, len(self._blocks)), object_in(chunk, "content_block"))
            case "content_block_delta":
                return self._add_delta(_index(chunk, len(self._blocks) - 1), object_in(chunk, "delta"))
            case "message_delta":
                self._end(object_in(chunk, "delta"))
                self._count(chunk.get("usage"))
            case "message_stop":
                self.done = True
        return []

    def add_whole(self, reply: Mapping[str, Any]) -> list[Piece]:
        """Take in an answer that was not streamed."""
        content = reply.get("content")
        pieces: list[Piece] = []
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                pieces += self._begin(len(self._blocks), block)
        self._end(reply)
        self._count(reply.get("usage"))
        return pieces

    def answer(self) -> Answer:
        """The whole answer. Raises ModelNonsense when it is none, ModelRefused, ModelOverflow."""
        if not self._blocks and not self._stop:
            raise nothing_sent(self._provider, "content")
        stop = _STOPS.get(self._stop, "end")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        text = joined([block.text for block in blocks if block.kind == "text"])
        # What a refusal leaves behind is not to be acted upon.
        calls = () if stop == "filter" else self._calls(blocks)
        if not text.strip() and not calls:
            raise self._empty(stop)
        return Answer(
            text=text,
            calls=calls,
            reasoning=joined([block.text for block in blocks if block.kind == "thinking"]),
            usage=self._usage(),
            stop="calls" if calls and stop == "end" else stop,
            verbatim=None if stop == "filter" else self._verbatim(blocks),
        )

    def _begin(self, index: int, came: Mapping[str, Any]) -> list[Piece]:
        if not isinstance(came.get("type"), str):
            return []
        block = self._blocks[index] = _Block({**came})
        first = block.text
        if block.field:
            block.came[block.field] = ""
        return self._grow(block, first)

    def _add_delta(self, index: int, delta: Mapping[str, Any]) -> list[Piece]:
        block = self._blocks.get(index)
        kind = str(delta.get("type"))
        if block is None:
            return []
        if kind == "input_json_delta":
            block.input += str(delta.get("partial_json") or "")
        elif kind == "citations_delta":
            block.came["citations"] = [*(block.came.get("citations") or ()), delta.get("citation")]
        elif kind in _FIELD_OF:
            field = _FIELD_OF[kind]
            piece = str(delta.get(field) or "")
            if field == block.field:
                return self._grow(block, piece)
            block.came[field] = str(block.came.get(field) or "") + piece
        return []

    def _grow(self, block: _Block, piece: str) -> list[Piece]:
        """Add to a block's text; between two blocks of a kind a reader sees a paragraph's end."""
        if not piece:
            return []
        begins = not block.text and any(
            other.text for other in self._blocks.values() if other is not block and other.kind == block.kind
        )
        block.came[block.field] = block.text + piece
        told = JOINT + piece if begins else piece
        if block.kind == "text":
            return [TextArrived(told)]
        return [ReasoningArrived(told)] if block.kind == "thinking" else []

    def _end(self, delta: Mapping[str, Any]) -> None:
        self._stop = str(delta.get("stop_reason") or self._stop)
        self._explained = str(object_in(delta, "stop_details").get("explanation") or self._explained)

    def _count(self, usage: Any) -> None:
        """Counts are cumulative: the newest of each holds."""
        if isinstance(usage, dict):
            self._counts.update({key: usage[key] for key in _COUNTED if isinstance(usage.get(key), int)})

    def _usage(self) -> Usage | None:
        """Input is all that was read: afresh, into the cache, and out of it."""
        fresh, stored, cached, output = (max(0, self._counts.get(key, 0)) for key in _COUNTED)
        given = fresh + stored + cached
        return Usage(given, output, cached) if given else None

    def _calls(self, blocks: list[_Block]) -> tuple[ToolCall, ...]:
        calls: list[ToolCall] = []
        for block in blocks:
            if block.kind != "tool_use":
                continue
            name, call_id = str(block.came.get("name") or ""), str(block.came.get("id") or "")
            if not name:
                raise unnamed_call(self._provider)
            if not call_id or any(call.id == call_id for call in calls):
                call_id = block.came["id"] = self._new_id()
            calls.append(ToolCall(call_id, name, block.arguments()))
        return tuple(calls)

    def _verbatim(self, blocks: list[_Block]) -> dict[str, Any]:
        content = [
            {**block.came, "input": arguments_object(block.arguments())}
            if block.kind == "tool_use"
            else block.came
            for block in blocks
        ]
        return {"dialect": DIALECT, "provider": self._provider, **self._kept, "content": content}

    def _empty(self, stop: Stop) -> Exception:
        if self._stop == "model_context_window_exceeded":
            return ModelOverflow(
                f"The request leaves {self._provider} no room for an answer.",
                "The model's window was full before its first word.",
                "Compact the session, or correct the model's window in Settings, Providers.",
            )
        return empty_answer(self._provider, stop, self._explained)


class _Block:
    """One block of content while it comes in."""

    def __init__(self, came: dict[str, Any]) -> None:
        self.came = came
        self.kind = str(came.get("type") or "")
        self.field = self.kind if self.kind in ("text", "thinking") else ""
        self.input = ""

    @property
    def text(self) -> str:
        """Its text so far, when it has one."""
        return str(self.came.get(self.field) or "") if self.field else ""

    def arguments(self) -> str:
        """A call's arguments as JSON text: what was streamed, or what came with the block's beginning."""
        if self.input.strip():
            return self.input
        began = self.came.get("input")
        return msgspec.json.encode(began).decode() if isinstance(began, dict) else "{}"


def _index(chunk: Mapping[str, Any], other: int) -> int:
    index = chunk.get("index")
    return index if isinstance(index, int) else other
