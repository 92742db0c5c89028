"""How test servers encode an answer, by dialect. Nothing here is taken from the product."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from tests.support.model_servers.stream_parts import (
    Call,
    Delta,
    Finish,
    OpaqueReasoning,
    Reasoning,
    ReceivedRequest,
    StreamedReply,
    StreamPart,
    Text,
    TokenCounts,
)

_ANTHROPIC_STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
"""Chat Completions' reasons to end in Anthropic's words."""

_INCOMPLETE_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""The same in the words of Responses, where they leave an answer incomplete."""


class ReplyEncoder(Protocol):
    """Writes one answer."""

    def start(self) -> Iterator[bytes]: ...

    def encode_part(self, part: StreamPart) -> Iterator[bytes]: ...

    def end(self) -> Iterator[bytes]: ...


class WireFormat(Protocol):
    """The wire format of one dialect, on the server's side."""

    @property
    def path(self) -> str:
        """Where requests for an answer come."""
        ...

    @property
    def keep_alive(self) -> bytes:
        """A sign of life that carries nothing."""
        ...

    def create_encoder(self, reply: StreamedReply, request: ReceivedRequest) -> ReplyEncoder: ...

    def model_list(self, models: Sequence[str]) -> Mapping[str, Any]: ...

    def stream_error(self, kind: str, message: str) -> bytes: ...


class ChatWireFormat:
    """OpenAI Chat Completions."""

    path = "/chat/completions"
    keep_alive = b": keep-alive\n\n"

    def create_encoder(self, reply: StreamedReply, request: ReceivedRequest) -> ReplyEncoder:
        return _ChatEncoder(reply, request)

    def model_list(self, models: Sequence[str]) -> Mapping[str, Any]:
        return {"object": "list", "data": [{"id": name, "object": "model"} for name in models]}

    def stream_error(self, kind: str, message: str) -> bytes:
        return _data_event({"error": {"code": kind, "message": message}})


class AnthropicWireFormat:
    path = "/messages"
    keep_alive = b'event: ping\ndata: {"type": "ping"}\n\n'

    def create_encoder(self, reply: StreamedReply, request: ReceivedRequest) -> ReplyEncoder:
        return _AnthropicEncoder(reply, request)

    def model_list(self, models: Sequence[str]) -> Mapping[str, Any]:
        return {"data": [{"type": "model", "id": name} for name in models], "has_more": False}

    def stream_error(self, kind: str, message: str) -> bytes:
        return _event_with_type({"type": "error", "error": {"type": kind, "message": message}})


class ResponsesWireFormat:
    path = "/responses"
    keep_alive = b'event: keepalive\ndata: {"type": "keepalive", "sequence_number": 1}\n\n'

    def create_encoder(self, reply: StreamedReply, request: ReceivedRequest) -> ReplyEncoder:
        return _ResponsesEncoder(reply, request)

    def model_list(self, models: Sequence[str]) -> Mapping[str, Any]:
        return ChatWireFormat().model_list(models)

    def stream_error(self, kind: str, message: str) -> bytes:
        failed = {"id": "resp", "status": "failed", "error": {"code": kind, "message": message}, "output": []}
        return _event_with_type({"type": "response.failed", "response": failed})


class _ChatEncoder:
    def __init__(self, reply: StreamedReply, request: ReceivedRequest) -> None:
        self._reply = reply
        self._request = request
        self._calls = 0

    def start(self) -> Iterator[bytes]:
        yield from ()

    def encode_part(self, part: StreamPart) -> Iterator[bytes]:
        if isinstance(part, Finish):
            yield _data_event(_chunk({}, part.reason))
            return
        for delta in self._deltas(part):
            yield _data_event(_chunk(delta))

    def _deltas(self, part: StreamPart) -> Iterator[Mapping[str, Any]]:
        if isinstance(part, Text):
            yield {"role": "assistant", "content": part.text}
        elif isinstance(part, Reasoning):
            yield {"role": "assistant", part.field: part.text}
        elif isinstance(part, OpaqueReasoning):
            yield {"reasoning_details": [{"type": "reasoning.encrypted", "data": part.data}]}
        elif isinstance(part, Delta):
            yield part.delta
        elif isinstance(part, Call):
            position = self._calls
            self._calls = self._calls + 1
            call_id = part.id or f"call_{position}_{part.name}"
            start = {"name": part.name, "arguments": ""}
            yield {"tool_calls": [{"index": position, "id": call_id, "type": "function", "function": start}]}
            for piece in _pieces(part):
                yield {"tool_calls": [{"index": position, "function": {"arguments": piece}}]}

    def end(self) -> Iterator[bytes]:
        if self._reply.finish_reason:
            yield _data_event(_chunk({}, self._reply.finish_reason))
        options = self._request.json.get("stream_options") or {}
        counts = _token_counts(self._reply, self._request)
        if counts is not None and options.get("include_usage"):
            usage = {
                "prompt_tokens": counts.input,
                "completion_tokens": counts.output,
                "total_tokens": counts.input + counts.output,
                "prompt_tokens_details": _cache_details(counts),
            }
            yield _data_event({"object": "chat.completion.chunk", "choices": [], "usage": usage})
        if self._reply.send_done:
            yield b"data: [DONE]\n\n"


class _AnthropicEncoder:
    def __init__(self, reply: StreamedReply, request: ReceivedRequest) -> None:
        self._reply = reply
        self._counts = _token_counts(reply, request) or TokenCounts(0, 0)
        self._index = -1
        self._open = ""
        self._calls = 0

    def start(self) -> Iterator[bytes]:
        counts = self._counts
        cache_writes = (
            (counts.input - counts.cached + 1) // 2 if counts.cache_writes is None else counts.cache_writes
        )
        usage: dict[str, Any] = {
            "input_tokens": counts.input - counts.cached - cache_writes,
            "cache_creation_input_tokens": cache_writes,
            "cache_read_input_tokens": counts.cached,
            "output_tokens": 1,
        }
        if counts.cache_writes is not None:
            usage["cache_creation"] = {
                "ephemeral_5m_input_tokens": counts.cache_writes - counts.cache_writes_1h,
                "ephemeral_1h_input_tokens": counts.cache_writes_1h,
            }
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage}
        yield _event_with_type({"type": "message_start", "message": message})

    def encode_part(self, part: StreamPart) -> Iterator[bytes]:
        if isinstance(part, Text):
            yield from self._begin("text", {"type": "text", "text": ""})
            yield self._delta({"type": "text_delta", "text": part.text})
        elif isinstance(part, Reasoning):
            yield from self._begin("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            yield self._delta({"type": "thinking_delta", "thinking": part.text})
        elif isinstance(part, OpaqueReasoning) and self._open == "thinking":
            yield self._delta({"type": "signature_delta", "signature": part.data})
            yield from self._end()
        elif isinstance(part, OpaqueReasoning):
            yield from self._begin("sealed", {"type": "redacted_thinking", "data": part.data})
            yield from self._end()
        elif isinstance(part, Call):
            yield from self._call(part)
        elif isinstance(part, Delta):
            yield _event_with_type(part.delta)
        elif isinstance(part, Finish):
            yield from self._finish(part.reason)

    def _call(self, part: Call) -> Iterator[bytes]:
        call_id = part.id or f"toolu_{self._calls}_{part.name}"
        self._calls += 1
        yield from self._end()
        yield from self._begin("call", {"type": "tool_use", "id": call_id, "name": part.name, "input": {}})
        for piece in ("", *_pieces(part)) if part.arguments != "{}" else ():
            yield self._delta({"type": "input_json_delta", "partial_json": piece})
        yield from self._end()

    def _begin(self, kind: str, block: Mapping[str, Any]) -> Iterator[bytes]:
        if self._open == kind:
            return
        yield from self._end()
        self._index = self._index + 1
        self._open = kind
        yield _event_with_type({"type": "content_block_start", "index": self._index, "content_block": block})

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        return _event_with_type({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _end(self) -> Iterator[bytes]:
        if self._open:
            self._open = ""
            yield _event_with_type({"type": "content_block_stop", "index": self._index})

    def _finish(self, reason: str) -> Iterator[bytes]:
        yield from self._end()
        delta = {"stop_reason": _ANTHROPIC_STOP_REASONS.get(reason, reason), "stop_sequence": None}
        usage = {"output_tokens": self._counts.output}
        yield _event_with_type({"type": "message_delta", "delta": delta, "usage": usage})

    def end(self) -> Iterator[bytes]:
        if self._reply.finish_reason:
            yield from self._finish(self._reply.finish_reason)
        if self._reply.send_done:
            yield _event_with_type({"type": "message_stop"})


class _ResponsesEncoder:
    def __init__(self, reply: StreamedReply, request: ReceivedRequest) -> None:
        self._reply = reply
        self._counts = _token_counts(reply, request)
        self._wants_encrypted = "reasoning.encrypted_content" in request.json.get("include", ())
        self._items: list[dict[str, Any]] = []
        self._open = ""
        self._encrypted = ""
        self._number = 0

    def start(self) -> Iterator[bytes]:
        for status in ("created", "in_progress"):
            response = {"id": "resp_1", "status": "in_progress", "output": list[str](), "error": None}
            yield self._numbered_event(f"response.{status}", response=response)

    def encode_part(self, part: StreamPart) -> Iterator[bytes]:
        if isinstance(part, Text):
            yield from self._begin("message", {"role": "assistant", "content": []})
            yield self._item_event("output_text.delta", delta=part.text, content_index=0)
            self._add("content", {"type": "output_text", "text": part.text, "annotations": []})
        elif isinstance(part, Reasoning):
            yield from self._begin("reasoning", {"summary": []})
            yield self._item_event("reasoning_summary_text.delta", delta=part.text, summary_index=0)
            self._add("summary", {"type": "summary_text", "text": part.text})
        elif isinstance(part, OpaqueReasoning):
            if self._open != "reasoning":
                yield from self._begin("reasoning", {"summary": []})
            self._encrypted = part.data
            yield from self._end()
        elif isinstance(part, Call):
            yield from self._call(part)
        elif isinstance(part, Delta):
            yield _event_with_type(part.delta)
        elif isinstance(part, Finish):
            yield from self._finish(part.reason)

    def _call(self, part: Call) -> Iterator[bytes]:
        yield from self._end()
        call_id = part.id or f"call_{len(self._items)}_{part.name}"
        yield from self._begin("function_call", {"call_id": call_id, "name": part.name, "arguments": ""})
        for piece in _pieces(part):
            yield self._item_event("function_call_arguments.delta", delta=piece)
        self._items[-1]["arguments"] = part.arguments
        yield from self._end()

    def _begin(self, kind: str, fields: Mapping[str, Any]) -> Iterator[bytes]:
        if self._open == kind:
            return
        yield from self._end()
        self._open = kind
        item = {"id": f"{kind[:2]}_{len(self._items)}", "type": kind, **fields}
        self._items.append(item)
        yield self._item_event("output_item.added", item={**item, "status": "in_progress"})

    def _add(self, key: str, part: dict[str, Any]) -> None:
        parts = self._items[-1][key]
        if parts:
            part["text"] = parts[0]["text"] + part["text"]
        self._items[-1][key] = [part]

    def _end(self) -> Iterator[bytes]:
        if not self._open:
            return
        if self._open == "reasoning":
            seal = self._encrypted or f"sealed-{len(self._items)}"
            self._items[-1]["encrypted_content"] = seal if self._wants_encrypted else None
        else:
            self._items[-1]["status"] = "completed"
        self._open = self._encrypted = ""
        yield self._item_event("output_item.done", item=self._items[-1])

    def _finish(self, reason: str) -> Iterator[bytes]:
        yield from self._end()
        response: dict[str, Any] = {
            "id": "resp_1",
            "error": None,
            "output": self._items,
            "status": "completed",
        }
        if reason in _INCOMPLETE_REASONS:
            details = {"reason": _INCOMPLETE_REASONS[reason]}
            response |= {"status": "incomplete", "incomplete_details": details}
        if self._counts is not None:
            response["usage"] = {
                "input_tokens": self._counts.input,
                "input_tokens_details": _cache_details(self._counts),
                "output_tokens": self._counts.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": self._counts.input + self._counts.output,
            }
        yield self._numbered_event(f"response.{response['status']}", response=response)

    def end(self) -> Iterator[bytes]:
        if self._reply.finish_reason:
            yield from self._finish(self._reply.finish_reason)
        elif self._reply.send_done:
            yield b"data: [DONE]\n\n"

    def _item_event(self, kind: str, **fields: Any) -> bytes:
        position = {"output_index": len(self._items) - 1, "item_id": self._items[-1]["id"]}
        return self._numbered_event(f"response.{kind}", **position, **fields)

    def _numbered_event(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        return _event_with_type({"type": kind, "sequence_number": self._number, **fields})


def _pieces(call: Call) -> list[str]:
    return [
        call.arguments[at : at + call.piece_length] for at in range(0, len(call.arguments), call.piece_length)
    ]


def _token_counts(reply: StreamedReply, request: ReceivedRequest) -> TokenCounts | None:
    if isinstance(reply.usage, TokenCounts) or reply.usage is None:
        return reply.usage
    sent = sum(len(part.text) for part in reply.parts if isinstance(part, (Text, Reasoning)))
    sent += sum(len(part.arguments) for part in reply.parts if isinstance(part, Call))
    return TokenCounts(max(1, len(request.body) // 4), max(1, sent // 4))


def _cache_details(counts: TokenCounts) -> dict[str, int]:
    details = {"cached_tokens": counts.cached}
    return details if counts.cache_writes is None else {**details, "cache_write_tokens": counts.cache_writes}


def _chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "chatcmpl-test", "object": "chat.completion.chunk", "choices": [choice]}


def _data_event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _event_with_type(value: Mapping[str, Any]) -> bytes:
    return f"event: {value['type']}\n".encode() + _data_event(value)
