"""A real local HTTP server that speaks OpenAI Chat Completions, for tests.

A script decides what each request is answered with; every request is kept verbatim:

    async def script(request):                     # the request's JSON; may also be a plain function
        if request["messages"][-1]["role"] == "user":
            return Stream(Text("Let me look."), Call("read_file", '{"path": "a.py"}'))
        return say("Done.")

    async with ChatServer(script) as server:
        model = OpenAIChat(info, server.base_url, http=http)
        ...
        assert server.requests[0].json["model"] == "m"

Delays are events, never sleeps: `Wait(event)` holds a stream back until the test sets the event, and sets
`server.waiting` so that the test knows it is there. Faults are parts of a stream (`Cut`, `Raw`, `Hang`) or
whole replies (`Refusal`, `page`). Nothing here is taken from the product: it is an independent peer.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

ReplyHeaders = Mapping[str, str]


@dataclass(frozen=True)
class Text:
    """One piece of the answer's text."""

    text: str


@dataclass(frozen=True)
class Reasoning:
    """One piece of reasoning, under the name that the server gives it."""

    text: str
    field: str = "reasoning_content"


@dataclass(frozen=True)
class Call:
    """A whole tool call, its arguments sent in pieces of `piece` characters."""

    name: str
    arguments: str = "{}"
    id: str = ""
    piece: int = 7


@dataclass(frozen=True)
class Delta:
    """A delta exactly as given, for servers with habits of their own."""

    delta: Mapping[str, Any]


@dataclass(frozen=True)
class Raw:
    """Bytes put into the stream as they are."""

    data: bytes


@dataclass(frozen=True)
class Wait:
    """Sends nothing until the test sets the event."""

    until: asyncio.Event


@dataclass(frozen=True)
class Hang:
    """Sends nothing more; ends when the client goes away."""


@dataclass(frozen=True)
class Cut:
    """Breaks the connection off, in the middle of the transfer."""


@dataclass(frozen=True)
class Finish:
    """Sends the reason to end now; the stream sends none of its own then."""

    reason: str


Part = Text | Reasoning | Call | Delta | Raw | Wait | Hang | Cut | Finish


@dataclass(frozen=True)
class Counts:
    """Tokens as the server reports them."""

    input: int
    output: int
    cached: int = 0


class Stream:
    """An answer that streams its parts, then its reason to end, its usage when asked for, and `[DONE]`.

    `finish` "" sends no reason; `usage` None reports nothing, "estimate" a quarter of the characters.
    """

    def __init__(
        self,
        *parts: Part,
        finish: str | None = None,
        usage: Counts | Literal["estimate"] | None = "estimate",
        done: bool = True,
    ) -> None:
        self.parts, self.finish, self.usage, self.done = parts, finish, usage, done

    @property
    def reason(self) -> str:
        """The reason to end: the one given, or what fits the parts."""
        if self.finish is not None:
            return self.finish
        if any(isinstance(part, Finish) for part in self.parts):
            return ""
        return "tool_calls" if any(isinstance(part, Call) for part in self.parts) else "stop"


@dataclass(frozen=True)
class Refusal:
    """A whole reply that is no stream: an error, a page, a list."""

    status: int
    body: str | Mapping[str, Any] = ""
    headers: ReplyHeaders = field(default_factory=dict)
    content_type: str = "application/json"


Reply = Stream | Refusal
Script = Callable[[dict[str, Any]], Reply | Awaitable[Reply]]


def say(*texts: str) -> Stream:
    """An answer of these pieces of text."""
    return Stream(*(Text(text) for text in texts))


def page(status: int = 200) -> Refusal:
    """A web page where an answer should be."""
    return Refusal(status, "<!DOCTYPE html><html><body>Welcome</body></html>", content_type="text/html")


def error(status: int, message: str, code: str | None = None, headers: ReplyHeaders | None = None) -> Refusal:
    """An error as OpenAI sends it."""
    body = {"error": {"message": message, "type": "invalid_request_error", "code": code}}
    return Refusal(status, body, headers or {})


def in_turn(*replies: Reply) -> Script:
    """A script that gives each reply once, in order, and the last one for ever."""
    left = list(replies)
    return lambda _request: left.pop(0) if len(left) > 1 else left[0]


@dataclass(frozen=True)
class Received:
    """One request as it came in; header names are lower-case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class ChatServer:
    """Serves on a free port of 127.0.0.1 while its `async with` block runs."""

    def __init__(self, script: Script, models: Sequence[str] = ("small", "large")) -> None:
        self._script, self._models = script, models
        self.requests: list[Received] = []
        self.waiting = asyncio.Event()
        """Set when a stream has come to a `Wait` or a `Hang`."""
        self.abandoned = asyncio.Event()
        """Set when a client closed its connection in the middle of a stream."""
        self.connections = 0
        """Connections accepted so far."""
        self._open: set[asyncio.StreamWriter] = set()
        self._all_closed = asyncio.Event()
        self._server: asyncio.Server | None = None

    @property
    def base_url(self) -> str:
        """The address that clients are given."""
        assert self._server is not None, "the server is not running"
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    @property
    def bodies(self) -> list[Any]:
        """The JSON of all chat requests, in order."""
        return [request.json for request in self.requests if request.path.endswith("/chat/completions")]

    async def __aenter__(self) -> ChatServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_exc: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._open):
            writer.close()
        if self._open:
            await self._all_closed.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        self._all_closed.clear()
        try:
            while (request := await _receive(reader)) is not None:
                self.requests.append(request)
                if not await self._answer(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.abandoned.set()
        finally:
            writer.close()
            self._open.discard(writer)
            if not self._open:
                self._all_closed.set()

    async def _answer(
        self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; False when the connection is over."""
        if request.method == "GET" and request.path == "/v1/models":
            listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in self._models]}
            await _send_whole(writer, Refusal(200, listed))
            return True
        if request.method != "POST" or request.path != "/v1/chat/completions":
            await _send_whole(writer, error(404, f"no such path: {request.path}"))
            return True
        chosen = self._script(request.json)
        reply = await chosen if inspect.isawaitable(chosen) else chosen
        if isinstance(reply, Refusal):
            await _send_whole(writer, reply)
            return True
        return await self._stream(reply, request, reader, writer)

    async def _stream(
        self, reply: Stream, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        calls = 0
        for part in reply.parts:
            if isinstance(part, Cut):
                await writer.drain()
                return False
            if isinstance(part, (Wait, Hang)):
                await writer.drain()
                if not await self._hold(part, reader):
                    self.abandoned.set()
                    return False
                continue
            for data in _encode(part, calls):
                await _send_chunk(writer, data)
            calls += isinstance(part, Call)
        for data in _ending(reply, request):
            await _send_chunk(writer, data)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _hold(self, part: Wait | Hang, reader: asyncio.StreamReader) -> bool:
        """Wait as the part says; False when the client went away first."""
        self.waiting.set()
        until = part.until if isinstance(part, Wait) else asyncio.Event()
        async with asyncio.TaskGroup() as group:
            gone, released = group.create_task(reader.read(1)), group.create_task(until.wait())
            await asyncio.wait((gone, released), return_when=asyncio.FIRST_COMPLETED)
            held = released.done()
            gone.cancel()
            released.cancel()
        return held


async def _receive(reader: asyncio.StreamReader) -> Received | None:
    """The next request of a connection; None when there is no more."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip().split("\r\n")
    method, path, _version = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body)


async def _send_whole(writer: asyncio.StreamWriter, reply: Refusal) -> None:
    body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
    data = body.encode()
    headers = {"content-type": reply.content_type, "content-length": str(len(data)), **reply.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\n{lines}\r\n".encode() + data)
    await writer.drain()


async def _send_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


def _encode(part: Part, position: int) -> Iterator[bytes]:
    """A part as it goes over the wire; `position` counts the stream's calls from 0."""
    if isinstance(part, Raw):
        yield part.data
    elif isinstance(part, Finish):
        yield _event(_chunk({}, part.reason))
    else:
        for delta in _deltas(part, position):
            yield _event(_chunk(delta))


def _deltas(part: Part, position: int) -> Iterator[Mapping[str, Any]]:
    if isinstance(part, Text):
        yield {"role": "assistant", "content": part.text}
    elif isinstance(part, Reasoning):
        yield {"role": "assistant", part.field: part.text}
    elif isinstance(part, Delta):
        yield part.delta
    elif isinstance(part, Call):
        call_id = part.id or f"call_{position}_{part.name}"
        start = {"name": part.name, "arguments": ""}
        yield {"tool_calls": [{"index": position, "id": call_id, "type": "function", "function": start}]}
        for at in range(0, len(part.arguments), part.piece):
            piece = {"arguments": part.arguments[at : at + part.piece]}
            yield {"tool_calls": [{"index": position, "function": piece}]}


def _ending(reply: Stream, request: Received) -> Iterator[bytes]:
    if reply.reason:
        yield _event(_chunk({}, reply.reason))
    options = request.json.get("stream_options") or {}
    if reply.usage is not None and options.get("include_usage"):
        counts = reply.usage if isinstance(reply.usage, Counts) else _estimate(reply, request)
        usage = {
            "prompt_tokens": counts.input,
            "completion_tokens": counts.output,
            "total_tokens": counts.input + counts.output,
            "prompt_tokens_details": {"cached_tokens": counts.cached},
        }
        yield _event({"object": "chat.completion.chunk", "choices": [], "usage": usage})
    if reply.done:
        yield b"data: [DONE]\n\n"


def _estimate(reply: Stream, request: Received) -> Counts:
    sent = sum(len(part.text) for part in reply.parts if isinstance(part, (Text, Reasoning)))
    sent += sum(len(part.arguments) for part in reply.parts if isinstance(part, Call))
    return Counts(max(1, len(request.body) // 4), max(1, sent // 4))


def _chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-test", "object": "chat.completion.chunk", "choices": [choice]}


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
