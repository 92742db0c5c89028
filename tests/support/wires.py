"""How test servers put an answer on the wire, by dialect. Nothing here is taken from the product."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from tests.support.stream_parts import (
    Call,
    Counts,
    Delta,
    Finish,
    Part,
    Reasoning,
    Received,
    Sealed,
    Stream,
    Text,
)

_ANTHROPIC = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
"""Chat Completions' reasons to end in Anthropic's words."""

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""The same in the words of Responses, where they leave an answer incomplete."""


class Encoder(Protocol):
    """Writes one answer."""

    def opening(self) -> Iterator[bytes]:
        """What comes before all parts."""
        ...

    def part(self, part: Part) -> Iterator[bytes]:
        """One part."""
        ...

    def ending(self) -> Iterator[bytes]:
        """What comes behind all parts."""
        ...


class Wire(Protocol):
    """One dialect, as a server speaks it."""

    @property
    def path(self) -> str:
        """Where requests for an answer come."""
        ...

    @property
    def beat(self) -> bytes:
        """A sign of life that carries nothing."""
        ...

    def encoder(self, reply: Stream, request: Received) -> Encoder:
        """What writes the answer to a request."""
        ...

    def listed(self, models: Sequence[str]) -> Mapping[str, Any]:
        """A list of models."""
        ...

    def failure(self, kind: str, message: str) -> bytes:
        """An error in the middle of a stream."""
        ...


class ChatWire:
    """OpenAI Chat Completions."""

    path = "/chat/completions"
    beat = b": keep-alive\n\n"

    def encoder(self, reply: Stream, request: Received) -> Encoder:
        """What writes the answer to a request."""
        return _Chat(reply, request)

    def listed(self, models: Sequence[str]) -> Mapping[str, Any]:
        """A list of models."""
        return {"object": "list", "data": [{"id": name, "object": "model"} for name in models]}

    def failure(self, kind: str, message: str) -> bytes:
        """An error in the middle of a stream."""
        return _event({"error": {"code": kind, "message": message}})


class AnthropicWire:
    """Anthropic Messages."""

    path = "/messages"
    beat = b'event: ping\ndata: {"type": "ping"}\n\n'

    def encoder(self, reply: Stream, request: Received) -> Encoder:
        """What writes the answer to a request."""
        return _Anthropic(reply, request)

    def listed(self, models: Sequence[str]) -> Mapping[str, Any]:
        """A list of models."""
        return {"data": [{"type": "model", "id": name} for name in models], "has_more": False}

    def failure(self, kind: str, message: str) -> bytes:
        """An error in the middle of a stream."""
        return _named({"type": "error", "error": {"type": kind, "message": message}})


class ResponsesWire:
    """OpenAI Responses."""

    path = "/responses"
    beat = b'event: keepalive\ndata: {"type": "keepalive", "sequence_number": 1}\n\n'

    def encoder(self, reply: Stream, request: Received) -> Encoder:
        """What writes the answer to a request."""
        return _Responses(reply, request)

    def listed(self, models: Sequence[str]) -> Mapping[str, Any]:
        """A list of models."""
        return ChatWire().listed(models)

    def failure(self, kind: str, message: str) -> bytes:
        """An error in the middle of a stream."""
        failed = {"id": "resp", "status": "failed", "error": {"code": kind, "message": message}, "output": []}
        return _named({"type": "response.failed", "response": failed})


class _Chat:
    def __init__(self, reply: Stream, request: Received) -> None:
        self._reply, self._request, self._calls = reply, request, 0

    def opening(self) -> Iterator[bytes]:
        yield from ()

    def part(self, part: Part) -> Iterator[bytes]:
        if isinstance(part, Finish):
            yield _event(_chunk({}, part.reason))
            return
        for delta in self._deltas(part):
            yield _event(_chunk(delta))

    def _deltas(self, part: Part) -> Iterator[Mapping[str, Any]]:
        if isinstance(part, Text):
            yield {"role": "assistant", "content": part.text}
        elif isinstance(part, Reasoning):
            yield {"role": "assistant", part.field: part.text}
        elif isinstance(part, Sealed):
            yield {"reasoning_details": [{"type": "reasoning.encrypted", "data": part.seal}]}
        elif isinstance(part, Delta):
            yield part.delta
        elif isinstance(part, Call):
            position, self._calls = self._calls, self._calls + 1
            call_id = part.id or f"call_{position}_{part.name}"
            start = {"name": part.name, "arguments": ""}
            yield {"tool_calls": [{"index": position, "id": call_id, "type": "function", "function": start}]}
            for piece in _pieces(part):
                yield {"tool_calls": [{"index": position, "function": {"arguments": piece}}]}

    def ending(self) -> Iterator[bytes]:
        if self._reply.reason:
            yield _event(_chunk({}, self._reply.reason))
        options = self._request.json.get("stream_options") or {}
        counts = _counts(self._reply, self._request)
        if counts is not None and options.get("include_usage"):
            usage = {
                "prompt_tokens": counts.input,
                "completion_tokens": counts.output,
                "total_tokens": counts.input + counts.output,
                "prompt_tokens_details": {"cached_tokens": counts.cached},
            }
            yield _event({"object": "chat.completion.chunk", "choices": [], "usage": usage})
        if self._reply.done:
            yield b"data: [DONE]\n\n"


class _Anthropic:
    def __init__(self, reply: Stream, request: Received) -> None:
        self._reply, self._counts = reply, _counts(reply, request) or Counts(0, 0)
        self._index, self._open, self._calls = -1, "", 0

    def opening(self) -> Iterator[bytes]:
        counts = self._counts
        usage = {
            "input_tokens": (counts.input - counts.cached) // 2,
            "cache_creation_input_tokens": (counts.input - counts.cached + 1) // 2,
            "cache_read_input_tokens": counts.cached,
            "output_tokens": 1,
        }
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage}
        yield _named({"type": "message_start", "message": message})

    def part(self, part: Part) -> Iterator[bytes]:
        if isinstance(part, Text):
            yield from self._begin("text", {"type": "text", "text": ""})
            yield self._delta({"type": "text_delta", "text": part.text})
        elif isinstance(part, Reasoning):
            yield from self._begin("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            yield self._delta({"type": "thinking_delta", "thinking": part.text})
        elif isinstance(part, Sealed) and self._open == "thinking":
            yield self._delta({"type": "signature_delta", "signature": part.seal})
            yield from self._end()
        elif isinstance(part, Sealed):
            yield from self._begin("sealed", {"type": "redacted_thinking", "data": part.seal})
            yield from self._end()
        elif isinstance(part, Call):
            yield from self._call(part)
        elif isinstance(part, Delta):
            yield _named(part.delta)
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
        self._index, self._open = self._index + 1, kind
        yield _named({"type": "content_block_start", "index": self._index, "content_block": block})

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        return _named({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _end(self) -> Iterator[bytes]:
        if self._open:
            self._open = ""
            yield _named({"type": "content_block_stop", "index": self._index})

    def _finish(self, reason: str) -> Iterator[bytes]:
        yield from self._end()
        delta = {"stop_reason": _ANTHROPIC.get(reason, reason), "stop_sequence": None}
        usage = {"output_tokens": self._counts.output}
        yield _named({"type": "message_delta", "delta": delta, "usage": usage})

    def ending(self) -> Iterator[bytes]:
        if self._reply.reason:
            yield from self._finish(self._reply.reason)
        if self._reply.done:
            yield _named({"type": "message_stop"})


class _Responses:
    def __init__(self, reply: Stream, request: Received) -> None:
        self._reply, self._counts = reply, _counts(reply, request)
        self._seals = "reasoning.encrypted_content" in request.json.get("include", ())
        self._items: list[dict[str, Any]] = []
        self._open, self._seal, self._number = "", "", 0

    def opening(self) -> Iterator[bytes]:
        for status in ("created", "in_progress"):
            response = {"id": "resp_1", "status": "in_progress", "output": list[str](), "error": None}
            yield self._named(f"response.{status}", response=response)

    def part(self, part: Part) -> Iterator[bytes]:
        if isinstance(part, Text):
            yield from self._begin("message", {"role": "assistant", "content": []})
            yield self._about("output_text.delta", delta=part.text, content_index=0)
            self._add("content", {"type": "output_text", "text": part.text, "annotations": []})
        elif isinstance(part, Reasoning):
            yield from self._begin("reasoning", {"summary": []})
            yield self._about("reasoning_summary_text.delta", delta=part.text, summary_index=0)
            self._add("summary", {"type": "summary_text", "text": part.text})
        elif isinstance(part, Sealed):
            if self._open != "reasoning":
                yield from self._begin("reasoning", {"summary": []})
            self._seal = part.seal
            yield from self._end()
        elif isinstance(part, Call):
            yield from self._call(part)
        elif isinstance(part, Delta):
            yield _named(part.delta)
        elif isinstance(part, Finish):
            yield from self._finish(part.reason)

    def _call(self, part: Call) -> Iterator[bytes]:
        yield from self._end()
        call_id = part.id or f"call_{len(self._items)}_{part.name}"
        yield from self._begin("function_call", {"call_id": call_id, "name": part.name, "arguments": ""})
        for piece in _pieces(part):
            yield self._about("function_call_arguments.delta", delta=piece)
        self._items[-1]["arguments"] = part.arguments
        yield from self._end()

    def _begin(self, kind: str, fields: Mapping[str, Any]) -> Iterator[bytes]:
        if self._open == kind:
            return
        yield from self._end()
        self._open = kind
        item = {"id": f"{kind[:2]}_{len(self._items)}", "type": kind, **fields}
        self._items.append(item)
        yield self._about("output_item.added", item={**item, "status": "in_progress"})

    def _add(self, key: str, part: dict[str, Any]) -> None:
        parts = self._items[-1][key]
        if parts:
            part["text"] = parts[0]["text"] + part["text"]
        self._items[-1][key] = [part]

    def _end(self) -> Iterator[bytes]:
        if not self._open:
            return
        if self._open == "reasoning":
            seal = self._seal or f"sealed-{len(self._items)}"
            self._items[-1]["encrypted_content"] = seal if self._seals else None
        else:
            self._items[-1]["status"] = "completed"
        self._open = self._seal = ""
        yield self._about("output_item.done", item=self._items[-1])

    def _finish(self, reason: str) -> Iterator[bytes]:
        yield from self._end()
        response: dict[str, Any] = {
            "id": "resp_1",
            "error": None,
            "output": self._items,
            "status": "completed",
        }
        if reason in _INCOMPLETE:
            details = {"reason": _INCOMPLETE[reason]}
            response |= {"status": "incomplete", "incomplete_details": details}
        if self._counts is not None:
            response["usage"] = {
                "input_tokens": self._counts.input,
                "input_tokens_details": {"cached_tokens": self._counts.cached},
                "output_tokens": self._counts.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": self._counts.input + self._counts.output,
            }
        yield self._named(f"response.{response['status']}", response=response)

    def ending(self) -> Iterator[bytes]:
        if self._reply.reason:
            yield from self._finish(self._reply.reason)
        elif self._reply.done:
            yield b"data: [DONE]\n\n"

    def _about(self, kind: str, **fields: Any) -> bytes:
        named = {"output_index": len(self._items) - 1, "item_id": self._items[-1]["id"]}
        return self._named(f"response.{kind}", **named, **fields)

    def _named(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        return _named({"type": kind, "sequence_number": self._number, **fields})


def _pieces(call: Call) -> list[str]:
    return [call.arguments[at : at + call.piece] for at in range(0, len(call.arguments), call.piece)]


def _counts(reply: Stream, request: Received) -> Counts | None:
    if isinstance(reply.usage, Counts) or reply.usage is None:
        return reply.usage
    sent = sum(len(part.text) for part in reply.parts if isinstance(part, (Text, Reasoning)))
    sent += sum(len(part.arguments) for part in reply.parts if isinstance(part, Call))
    return Counts(max(1, len(request.body) // 4), max(1, sent // 4))


def _chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-test", "object": "chat.completion.chunk", "choices": [choice]}


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _named(value: Mapping[str, Any]) -> bytes:
    return f"event: {value['type']}\n".encode() + _event(value)
