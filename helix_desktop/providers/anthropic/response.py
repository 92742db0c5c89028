"""An answer of Anthropic Messages, put together from its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from helix_desktop.domain.errors import ContextWindowExceeded
from helix_desktop.domain.messages import (
    ModelResponse,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCall,
    Usage,
)
from helix_desktop.providers.anthropic.request import DIALECT
from helix_desktop.providers.dialect import AnswerDelta
from helix_desktop.providers.empty_response import (
    empty_answer_error,
    missing_answer_error,
    unnamed_call_error,
)
from helix_desktop.providers.json_wire import PART_SEPARATOR, arguments_object, get_object, join_text_parts

_STOPS: Mapping[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "refusal": "filter",
}
"""Why an answer ended, where it is not just done (Anthropic, "Handling stop reasons")."""

_FIELD_OF = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""What a delta adds to its block; `input_json_delta` is gathered apart."""

_IDLE_EVENTS = ("ping", "message_start")
"""Events that carry nothing of an answer."""

_COUNT_FIELDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class MessagesAssembler:
    """Folds the events of one answer. `new_id` makes ids for calls whose server gave none.

    `kept` is put beside the message, for when it goes back.
    """

    def __init__(self, provider: str, new_id: Callable[[], str], verbatim_fields: Mapping[str, Any]) -> None:
        self._provider, self._new_id, self._verbatim_fields = provider, new_id, verbatim_fields
        self._blocks: dict[int, _Block] = {}
        self._counts: dict[str, int] = {}
        self._stop = ""
        self._refusal_text = ""
        self.progress = 0
        self.done = False

    @property
    def is_complete(self) -> bool:
        """Whether the server has said that the answer is at its end."""
        return self.done or bool(self._stop)

    @property
    def is_settled(self) -> bool:
        """Whether nothing of interest is still to come."""
        return self.done

    def add(self, chunk: Mapping[str, Any]) -> list[AnswerDelta]:
        """Take one event in; gives what it adds for a reader."""
        kind = chunk.get("type")
        self.progress += kind not in _IDLE_EVENTS
        match kind:
            case "message_start":
                self._count(get_object(chunk, "message").get("usage"))
            case "content_block_start":
                return self._start_block(_index(chunk, len(self._blocks)), get_object(chunk, "content_block"))
            case "content_block_delta":
                return self._add_delta(_index(chunk, len(self._blocks) - 1), get_object(chunk, "delta"))
            case "message_delta":
                self._end(get_object(chunk, "delta"))
                self._count(chunk.get("usage"))
            case "message_stop":
                self.done = True
        return []

    def add_full_response(self, response: Mapping[str, Any]) -> list[AnswerDelta]:
        """Take in an answer that was not streamed."""
        content = response.get("content")
        pieces: list[AnswerDelta] = []
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                pieces += self._start_block(len(self._blocks), block)
        self._end(response)
        self._count(response.get("usage"))
        return pieces

    def answer(self) -> ModelResponse:
        """The whole answer. Raises ModelNonsense when it is none, ModelRefused, ModelOverflow."""
        if not self._blocks and not self._stop:
            raise missing_answer_error(self._provider, "content")
        stop = _STOPS.get(self._stop, "end")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        text = join_text_parts([block.text for block in blocks if block.kind == "text"])
        # What a refusal leaves behind is not to be acted upon.
        calls = () if stop == "filter" else self._calls(blocks)
        if not text.strip() and not calls:
            raise self._empty_error(stop)
        return ModelResponse(
            text=text,
            calls=calls,
            reasoning=join_text_parts([block.text for block in blocks if block.kind == "thinking"]),
            usage=self._usage(),
            stop="calls" if calls and stop == "end" else stop,
            verbatim=None if stop == "filter" else self._verbatim(blocks),
        )

    def _start_block(self, index: int, raw: Mapping[str, Any]) -> list[AnswerDelta]:
        if not isinstance(raw.get("type"), str):
            return []
        block = self._blocks[index] = _Block({**raw})
        first = block.text
        if block.field:
            block.raw[block.field] = ""
        return self._append(block, first)

    def _add_delta(self, index: int, delta: Mapping[str, Any]) -> list[AnswerDelta]:
        block = self._blocks.get(index)
        kind = str(delta.get("type"))
        if block is None:
            return []
        if kind == "input_json_delta":
            block.input_json += str(delta.get("partial_json") or "")
        elif kind == "citations_delta":
            block.raw["citations"] = [*(block.raw.get("citations") or ()), delta.get("citation")]
        elif kind in _FIELD_OF:
            field = _FIELD_OF[kind]
            piece = str(delta.get(field) or "")
            if field == block.field:
                return self._append(block, piece)
            block.raw[field] = str(block.raw.get(field) or "") + piece
        return []

    def _append(self, block: _Block, text: str) -> list[AnswerDelta]:
        """Add to a block's text; between two blocks of a kind a reader sees a paragraph's end."""
        if not text:
            return []
        begins = not block.text and any(
            other.text for other in self._blocks.values() if other is not block and other.kind == block.kind
        )
        block.raw[block.field] = block.text + text
        told = PART_SEPARATOR + text if begins else text
        if block.kind == "text":
            return [TextDelta(told)]
        return [ReasoningDelta(told)] if block.kind == "thinking" else []

    def _end(self, delta: Mapping[str, Any]) -> None:
        self._stop = str(delta.get("stop_reason") or self._stop)
        self._refusal_text = str(get_object(delta, "stop_details").get("explanation") or self._refusal_text)

    def _count(self, usage: Any) -> None:
        """Counts are cumulative: the newest of each holds."""
        if isinstance(usage, dict):
            self._counts.update({key: usage[key] for key in _COUNT_FIELDS if isinstance(usage.get(key), int)})

    def _usage(self) -> Usage | None:
        """Input is all that was read: afresh, into the cache, and out of it."""
        fresh, stored, cached, output = (max(0, self._counts.get(key, 0)) for key in _COUNT_FIELDS)
        given = fresh + stored + cached
        return Usage(given, output, cached) if given else None

    def _calls(self, blocks: list[_Block]) -> tuple[ToolCall, ...]:
        calls: list[ToolCall] = []
        for block in blocks:
            if block.kind != "tool_use":
                continue
            name, call_id = str(block.raw.get("name") or ""), str(block.raw.get("id") or "")
            if not name:
                raise unnamed_call_error(self._provider)
            if not call_id or any(call.id == call_id for call in calls):
                call_id = block.raw["id"] = self._new_id()
            calls.append(ToolCall(call_id, name, block.arguments()))
        return tuple(calls)

    def _verbatim(self, blocks: list[_Block]) -> dict[str, Any]:
        content = [
            {**block.raw, "input": arguments_object(block.arguments())}
            if block.kind == "tool_use"
            else block.raw
            for block in blocks
        ]
        return {"dialect": DIALECT, "provider": self._provider, **self._verbatim_fields, "content": content}

    def _empty_error(self, stop: StopReason) -> Exception:
        if self._stop == "model_context_window_exceeded":
            return ContextWindowExceeded(
                f"The request leaves {self._provider} no room for an answer.",
                "The model's window was full before its first word.",
                "Compact the session, or correct the model's window in Settings, Providers.",
            )
        return empty_answer_error(self._provider, stop, self._refusal_text)


class _Block:
    """One block of content while it comes in."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.kind = str(raw.get("type") or "")
        self.field = self.kind if self.kind in ("text", "thinking") else ""
        self.input_json = ""

    @property
    def text(self) -> str:
        """Its text so far, when it has one."""
        return str(self.raw.get(self.field) or "") if self.field else ""

    def arguments(self) -> str:
        """A call's arguments as JSON text: what was streamed, or what came with the block's beginning."""
        if self.input_json.strip():
            return self.input_json
        began = self.raw.get("input")
        return msgspec.json.encode(began).decode() if isinstance(began, dict) else "{}"


def _index(chunk: Mapping[str, Any], default: int) -> int:
    index = chunk.get("index")
    return index if isinstance(index, int) else default
