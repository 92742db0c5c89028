"""A real local HTTP server that speaks like a model's, for tests: Chat Completions by default.

A script decides how each request is answered; every request is recorded verbatim:

    async def script(request):                     # the request's JSON; may also be a plain function
        if request["messages"][-1]["role"] == "user":
            return StreamedReply(Text("Let me look."), Call("read_file", '{"path": "a.py"}'))
        return text_reply("Done.")

    async with ChatServer(script) as server:
        model = create_model("openai-chat", info, server.base_url, http=http)
        ...
        assert server.requests[0].json["model"] == "m"

Delays are events, never sleeps: `Wait(event)` pauses a stream until the test sets the event, and sets
`server.waiting` so that the test knows it is there. Faults are parts of a stream (`Disconnect`, `Raw`,
`Hang`)
or complete replies (`PlainReply`). Nothing here is taken from the product: it is an independent peer.

A `WireFormat` (model_servers/wire_formats.py) writes the bytes: one script serves every dialect.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from tests.support.model_servers.stream_parts import (
    Call,
    Delta,
    Disconnect,
    Finish,
    Hang,
    KeepAlives,
    OpaqueReasoning,
    PlainReply,
    Raw,
    Reasoning,
    ReceivedRequest,
    Reply,
    ReplyHeaders,
    StreamedReply,
    StreamPart,
    Text,
    TokenCounts,
    Wait,
)
from tests.support.model_servers.wire_formats import ChatWireFormat, WireFormat

__all__ = [
    "Call", "ChatServer", "Delta", "Disconnect", "Finish", "Hang", "KeepAlives", "OpaqueReasoning",
    "PlainReply", "Raw", "Reasoning", "ReceivedRequest", "Reply", "Script", "StreamPart", "StreamedReply",
    "Text", "TokenCounts", "Wait", "api_error", "html_page", "replies_in_order", "text_reply",
]  # fmt: skip


Script = Callable[[dict[str, Any]], Reply | Awaitable[Reply]]


def text_reply(*texts: str) -> StreamedReply:
    return StreamedReply(*(Text(text) for text in texts))


def html_page(status: int = 200) -> PlainReply:
    """A web page where an answer should be."""
    return PlainReply(status, "<!DOCTYPE html><html><body>Welcome</body></html>", content_type="text/html")


def api_error(
    status: int, message: str, code: str | None = None, headers: ReplyHeaders | None = None
) -> PlainReply:
    """An error as OpenAI sends it."""
    body = {"error": {"message": message, "type": "invalid_request_error", "code": code}}
    return PlainReply(status, body, headers or {})


def replies_in_order(*replies: Reply) -> Script:
    """A script that gives each reply once, in order, and the last one for ever."""
    left = list(replies)
    return lambda _request: left.pop(0) if len(left) > 1 else left[0]


_ROUNDS_TO_SERVE = 3  # of the loop, from the acceptance of a socket to the call of what serves it


class ChatServer:
    """Serves on a free port of 127.0.0.1 while its `async with` block runs; then no socket of it is open."""

    def __init__(
        self,
        script: Script,
        models: Sequence[str] = ("small", "large"),
        wire_format: WireFormat | None = None,
        port: int = 0,
    ) -> None:
        """`port` is that of a server that is down; 0: any free one."""
        self._port = port
        self._script = script
        self._models = models
        self._wire_format = wire_format or ChatWireFormat()
        self.requests: list[ReceivedRequest] = []
        self.waiting = asyncio.Event()
        """Set when a stream has come to a `Wait` or a `Hang`."""
        self.abandoned = asyncio.Event()
        """Set when a client closed its connection in the middle of a stream."""
        self.connections = 0
        """Connections accepted so far."""
        self._open_writers: set[asyncio.StreamWriter] = set()
        self._all_closed = asyncio.Event()
        self._server: asyncio.Server | None = None

    @property
    def base_url(self) -> str:
        assert self._server is not None, "the server is not running"
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    @property
    def port(self) -> int:
        return urlsplit(self.base_url).port or 0

    @property
    def bodies(self) -> list[Any]:
        """The JSON of all requests for an answer, in order."""
        return [request.json for request in self.requests if request.path.endswith(self._wire_format.path)]

    async def __aenter__(self) -> ChatServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_exc: object) -> None:
        assert self._server is not None
        # Closed at once, asyncio would leave a socket open that it has accepted but not attached yet.
        with suppress(NotImplementedError):  # on Windows
            for listening in self._server.sockets:
                asyncio.get_running_loop().remove_reader(listening.fileno())
        for _ in range(_ROUNDS_TO_SERVE):
            await asyncio.sleep(0)
        self._server.close()
        for writer in list(self._open_writers):
            writer.transport.abort()
        if self._open_writers:
            await self._all_closed.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open_writers.add(writer)
        self._all_closed.clear()
        try:
            while (request := await _read_request(reader)) is not None:
                self.requests.append(request)
                if not await self._respond(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.abandoned.set()
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            self._open_writers.discard(writer)
            if not self._open_writers:
                self._all_closed.set()

    async def _respond(
        self, request: ReceivedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; False when the connection is over."""
        path = request.path.partition("?")[0]
        if request.method == "GET" and path == "/v1/models":
            await _send_response(writer, PlainReply(200, self._wire_format.model_list(self._models)))
            return True
        if request.method != "POST" or path != f"/v1{self._wire_format.path}":
            await _send_response(writer, api_error(404, f"no such path: {request.path}"))
            return True
        answer = self._script(request.json)
        reply = await answer if inspect.isawaitable(answer) else answer
        if isinstance(reply, PlainReply):
            await _send_response(writer, reply)
            return True
        return await self._stream(reply, request, reader, writer)

    async def _stream(
        self,
        reply: StreamedReply,
        request: ReceivedRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        encoder = self._wire_format.create_encoder(reply, request)
        for data in encoder.start():
            await _send_chunk(writer, data)
        for part in reply.parts:
            if isinstance(part, Disconnect):
                await writer.drain()
                return False
            if isinstance(part, (Wait, Hang, KeepAlives)):
                await writer.drain()
                if not await self._pause_stream(part, reader, writer):
                    self.abandoned.set()
                    return False
                continue
            for data in (part.data,) if isinstance(part, Raw) else encoder.encode_part(part):
                await _send_chunk(writer, data)
        for data in encoder.end():
            await _send_chunk(writer, data)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _pause_stream(
        self, part: Wait | Hang | KeepAlives, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Wait as the part demands; return False if the client disconnected first."""
        self.waiting.set()
        if isinstance(part, KeepAlives):
            return await self._send_heartbeats(reader, writer)
        until = part.until if isinstance(part, Wait) else asyncio.Event()
        async with asyncio.TaskGroup() as group:
            gone = group.create_task(_wait_for_disconnect(reader))
            released = group.create_task(until.wait())
            await asyncio.wait((gone, released), return_when=asyncio.FIRST_COMPLETED)
            was_paused = released.done()
            gone.cancel()
            released.cancel()
        return was_paused

    async def _send_heartbeats(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Signs of life, a hundred a second, as long as anybody listens."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    await reader.read(1)
                return False
            await _send_chunk(writer, self._wire_format.keep_alive)


async def _wait_for_disconnect(reader: asyncio.StreamReader) -> None:
    """Return when the other side has gone, also by a reset: a killed process leaves so."""
    with suppress(ConnectionError):
        await reader.read(1)


async def _read_request(reader: asyncio.StreamReader) -> ReceivedRequest | None:
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
    return ReceivedRequest(method, path, headers, body)


async def _send_response(writer: asyncio.StreamWriter, reply: PlainReply) -> None:
    body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
    data = body.encode()
    headers = {"content-type": reply.content_type, "content-length": str(len(data)), **reply.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\n{lines}\r\n".encode() + data)
    await writer.drain()


async def _send_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()
