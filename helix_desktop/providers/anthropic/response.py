"""Assemble an answer of Anthropic Messages from its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from helix_desktop.domain.errors import UNNAMED_CALL, ContextWindowExceeded
from helix_desktop.domain.messages import (
    ModelResponse,
    ReasoningDelta,
    StopReason,
    ToolCall,
    Usage,
)
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.providers.answer_end import empty_answer_error, missing_answer_error, stop_reason
from helix_desktop.providers.anthropic.request import DIALECT
from helix_desktop.providers.dialect import AnswerDelta
from helix_desktop.providers.http import HttpError
from helix_desktop.providers.json_wire import (
    PART_SEPARATOR,
    arguments_object,
    as_integer,
    get_object,
    is_json_object,
    join_text_parts,
    unwrapped_arguments,
)
from helix_desktop.providers.thinking_tags import ThinkingTags, split_thinking

_text = TextContext("Providers")

_FIELD_OF = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""The block's field that a delta extends; `input_json_delta` is collected separately."""

_IDLE_EVENTS = ("ping", "message_start")
"""Events without content of an answer."""

_CACHE_FIELDS = ("cache_creation_input_tokens", "cache_read_input_tokens")
_COUNT_FIELDS = ("input_tokens", *_CACHE_FIELDS, "output_tokens")


class MessagesAssembler:
    """Assembles the events of one answer. `new_id` creates ids for calls whose server sent none.

    `verbatim_fields` are stored with the original message, for when it is sent back.
    """

    def __init__(
        self,
        provider: str,
        new_id: Callable[[], str],
        verbatim_fields: Mapping[str, Any],
        cache_lifetime_s: int = 0,
    ) -> None:
        self._provider, self._new_id, self._verbatim_fields = provider, new_id, verbatim_fields
        self._cache_lifetime_s = cache_lifetime_s
        self._tags = ThinkingTags()
        self._blocks: dict[int, _Block] = {}
        self._counts: dict[str, int] = {}
        self._stored_1h: int | None = None
        self._stop = ""
        self._refusal_text = ""
        self.progress = 0
        self.done = False

    @property
    def is_complete(self) -> bool:
        """True once the server has reported the end of the answer."""
        return self.done or bool(self._stop)

    @property
    def is_settled(self) -> bool:
        """True once nothing of interest is still to come."""
        return self.done

    def add(self, chunk: Mapping[str, Any]) -> list[AnswerDelta]:
        """Add one event; return the deltas to display. Raises HttpError if the message begins again."""
        kind = chunk.get("type")
        self.progress += kind not in _IDLE_EVENTS
        match kind:
            case "message_start" if self.is_complete:
                self.done = True  # another message belongs to no request of ours
            case "message_start" if self._blocks:
                raise HttpError("cut", "the message began again")
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
        """Add a response that was not streamed."""
        content = response.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        pieces: list[AnswerDelta] = []
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                pieces += self._start_block(len(self._blocks), block)
        self._end(response)
        self._count(response.get("usage"))
        return pieces

    def answer(self) -> ModelResponse:
        """Return the answer. Raises InvalidModelResponse, ModelRequestRejected, ContextWindowExceeded."""
        if not self._blocks and not self._stop:
            raise missing_answer_error(self._provider, "content")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        text, thinking = split_thinking(
            join_text_parts([block.text for block in blocks if block.kind == "text"])
        )
        calls = self._calls(blocks)
        stop = stop_reason(self._stop, has_calls=bool(calls), has_text=bool(text.strip()))
        is_refused = stop in ("filter", "refusal")
        calls = () if is_refused else calls  # those before a refusal must not be executed
        if not text.strip() and not calls:
            raise self._empty_error(stop)
        return ModelResponse(
            text=text,
            calls=calls,
            reasoning=join_text_parts(
                [*(block.text for block in blocks if block.kind == "thinking"), thinking]
            ),
            usage=self._usage(),
            stop=stop,
            verbatim=None if is_refused else self._verbatim(blocks),
            cache_lifetime_s=self._lifetime_s(),
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
        if block is None:  # a server forgot to start it
            if kind not in ("text_delta", "thinking_delta"):
                return []
            block = self._blocks[max(index, 0)] = _Block({"type": _FIELD_OF[kind]})
        if kind == "input_json_delta":
            part = delta.get("partial_json") or ""
            block.input_json += part if isinstance(part, str) else msgspec.json.encode(part).decode()
        elif kind == "citations_delta":
            block.raw["citations"] = [*(block.raw.get("citations") or ()), delta.get("citation")]
        elif kind in _FIELD_OF:
            field = _FIELD_OF[kind]
            text = str(delta.get(field) or "")
            if field == block.field:
                return self._append(block, text)
            block.raw[field] = str(block.raw.get(field) or "") + text
        return []

    def _append(self, block: _Block, text: str) -> list[AnswerDelta]:
        """Append to a block's text; two blocks of the same kind are displayed as paragraphs."""
        if not text:
            return []
        begins = not block.text and any(
            other.text for other in self._blocks.values() if other is not block and other.kind == block.kind
        )
        block.raw[block.field] = block.text + text
        displayed = PART_SEPARATOR + text if begins else text
        if block.kind == "text":
            return list(self._tags.add_deltas(displayed))
        return [ReasoningDelta(displayed)] if block.kind == "thinking" else []

    def _end(self, delta: Mapping[str, Any]) -> None:
        self._stop = str(delta.get("stop_reason") or self._stop)
        self._refusal_text = str(get_object(delta, "stop_details").get("explanation") or self._refusal_text)

    def _count(self, usage: Any) -> None:
        """Update the counts, which are cumulative: the newest of each is valid."""
        if isinstance(usage, dict):
            counts = {key: as_integer(usage.get(key)) for key in _COUNT_FIELDS}
            self._counts.update({key: count for key, count in counts.items() if count is not None})
            for_an_hour = as_integer(get_object(usage, "cache_creation").get("ephemeral_1h_input_tokens"))
            if for_an_hour is not None:
                self._stored_1h = for_an_hour

    def _usage(self) -> Usage | None:
        """Return the usage; input is the sum of uncached, cache-written and cache-read tokens."""
        fresh, stored, cached, output = (max(0, self._counts.get(key, 0)) for key in _COUNT_FIELDS)
        input_tokens = fresh + stored + cached
        if not input_tokens:
            return None
        stored_1h = min(max(0, self._stored_1h or 0), stored)
        writes, reads = (key in self._counts for key in _CACHE_FIELDS)
        return Usage(input_tokens, output, cached, stored, stored_1h, reads, writes)

    def _lifetime_s(self) -> int:
        """Return the lifetime that was asked for, unless the server reports that it stored for less."""
        stored = self._counts.get("cache_creation_input_tokens", 0)
        return 0 if stored and self._stored_1h == 0 else self._cache_lifetime_s

    def _calls(self, blocks: list[_Block]) -> tuple[ToolCall, ...]:
        calls: list[ToolCall] = []
        for block in blocks:
            if block.kind != "tool_use":
                continue
            name, call_id = str(block.raw.get("name") or UNNAMED_CALL), str(block.raw.get("id") or "")
            block.raw["name"] = name
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
                _text("The request leaves {provider} no room to answer.", provider=self._provider),
                _text("The context window was full before the first word."),
                _text("Compact the conversation, or correct the context window in Settings → Providers."),
            )
        return empty_answer_error(self._provider, stop, self._stop, self._refusal_text)


class _Block:
    """One content block while it arrives."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.kind = str(raw.get("type") or "")
        self.field = self.kind if self.kind in ("text", "thinking") else ""
        self.input_json = ""

    @property
    def text(self) -> str:
        """Its text so far; empty if its kind has none."""
        return str(self.raw.get(self.field) or "") if self.field else ""

    def arguments(self) -> str:
        """Return a call's arguments as JSON text: the streamed ones, or those from the start of the block."""
        if self.input_json.strip():
            return unwrapped_arguments(self.input_json)
        initial = self.raw.get("input")
        if isinstance(initial, str) and is_json_object(initial):
            return initial
        return msgspec.json.encode(initial).decode() if isinstance(initial, dict) else "{}"


def _index(chunk: Mapping[str, Any], default: int) -> int:
    index = as_integer(chunk.get("index"))
    return default if index is None else index
