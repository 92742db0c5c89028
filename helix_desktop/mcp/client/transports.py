"""The transports: streamable HTTP to one origin with bounded answers, and two pipes of JSON lines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from helix_desktop.domain.body_decoding import ACCEPT_ENCODING, BodyDecoder, BodyUndecodable
from helix_desktop.mcp.client.message_repair import read_messages, repair_json
from helix_desktop.mcp.client.process import (
    MAX_MESSAGE_BYTES,
    NOT_TAKEN,
    ConnectionFailure,
    FailureListener,
    ProgramSpec,
    ServerProcess,
    SignInNeeded,
    StderrLog,
    answer_too_large,
    cut_off,
    no_answer,
    other_content,
    other_message,
    refused,
    session_lost,
    start_process,
    undecodable,
    unreachable,
)

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams  # named by no public module


_CONNECT_S = 10.0
_READ_S = 3_600.0  # a stream is silent while a user answers; calls have limits of their own
_JSON = "application/json"
_EVENTS = "text/event-stream"
_MISSING_SESSION = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)  # some say the first, not the second
_REFUSED_KEY = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class _ReadStream(httpx2.AsyncByteStream):
    """The bytes of a response as `pieces` yields them."""

    def __init__(self, stream: httpx2.AsyncByteStream, pieces: AsyncIterator[bytes]) -> None:
        self._stream = stream
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _unpacked(decoder: BodyDecoder, stream: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield a compressed response, unpacked in pieces of bounded size. Raises BodyUndecodable."""
    async for chunk in stream:
        for piece in decoder.feed(chunk):
            yield piece


async def _bounded(stream: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield a response up to a limit; event streams have their own limit per event."""
    size = 0
    async for chunk in stream:
        size += len(chunk)
        if size > MAX_MESSAGE_BYTES:
            raise answer_too_large()
        yield chunk


async def repaired_events(stream: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of an event stream; each message that is whole in a line as the protocol has it."""
    line = bytearray()
    async for chunk in stream:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield _repaired_line(bytes(line + end)) + b"\n"
            line.clear()
        line += rest
        if len(line) > MAX_MESSAGE_BYTES:
            raise answer_too_large()
    if line:
        yield _repaired_line(bytes(line))


def _repaired_line(line: bytes) -> bytes:
    if not line.startswith(b"data:"):
        return line
    data = line.removeprefix(b"data:").strip()
    return b"data: " + repair_json(data) if data.startswith(b"{") else line


class _Client(httpx2.AsyncClient):
    """A client that answers a message which got no answer of an MCP server itself, with the reason.

    The protocol's package would end all calls of the connection instead, each with the same words.
    """

    on_result: FailureListener
    has_keys: bool

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; of a message, return the server's answer or an error in its place."""
        if request.method != "POST":
            return await super().send(request, **options)
        try:
            response = await super().send(request, **options)
            if response.status_code == HTTPStatus.UNAUTHORIZED and self._asks_for_sign_in(response):
                await response.aclose()
                raise SignInNeeded(request.url.netloc.decode())
            response = await _read_answer(response)
        except (ConnectionFailure, httpx2.TransportError, BodyUndecodable) as error:
            return self._failed(request, failure_of(error, request.url))
        self.on_result(None)
        return response

    def _asks_for_sign_in(self, response: httpx2.Response) -> bool:
        """Return True unless it asks for a key: older servers do not say which of them they want."""
        challenge = response.headers.get("www-authenticate", "").lower()
        return self.auth is not None and (not self.has_keys or "bearer" in challenge)

    def _failed(self, request: httpx2.Request, failure: ConnectionFailure) -> httpx2.Response:
        message = json.loads(request.content)
        if "method" not in message:
            # A reply that the server doesn't take says nothing of the session: the next request does.
            return httpx2.Response(HTTPStatus.ACCEPTED, request=request)
        self.on_result(failure)
        if "id" not in message:
            return httpx2.Response(HTTPStatus.ACCEPTED, request=request)
        code = INTERNAL_ERROR if failure.is_taken else NOT_TAKEN
        error = {"code": code, "message": str(failure)}
        answer = {"jsonrpc": "2.0", "id": message["id"], "error": error}
        return httpx2.Response(HTTPStatus.OK, json=answer, request=request)


def failure_of(error: Exception, url: httpx2.URL) -> ConnectionFailure:
    """Return what went wrong with a request to `url`, or with one that signs it."""
    if isinstance(error, httpx2.TransportError):
        url = error.request.url
    host = url.netloc.decode()
    match error:
        case ConnectionFailure():
            return error
        case BodyUndecodable():
            return undecodable(host, error)
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return no_answer(host, _CONNECT_S, is_taken=False)
        case httpx2.TimeoutException():
            return no_answer(host, _READ_S)
        case httpx2.ConnectError() | httpx2.ProxyError() | httpx2.LocalProtocolError():
            return unreachable(host, error)
    return cut_off(host)


async def _read_answer(response: httpx2.Response) -> httpx2.Response:
    """Return an answer that says what an MCP server says. Raises ConnectionFailure."""
    host = response.request.url.netloc.decode()
    status = response.status_code
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if (
        response.is_redirect
        or status == HTTPStatus.ACCEPTED
        or (response.is_success and media_type == _EVENTS)
    ):
        return response
    try:
        content = await response.aread() if media_type == _JSON else b""
    finally:
        await response.aclose()
    error = _error_in(content) if response.is_error else None
    if status in _MISSING_SESSION and "mcp-session-id" in response.request.headers:
        is_unknown_method = error is not None and error.get("code") == METHOD_NOT_FOUND
        names_session = error is not None and "session" in str(error.get("message")).lower()
        if names_session or (status == HTTPStatus.NOT_FOUND and not is_unknown_method):
            raise session_lost(host)
    if response.is_error and (error is None or status in _REFUSED_KEY):
        raise refused(host, status, response.reason_phrase)
    if media_type != _JSON:
        raise other_content(host, media_type)
    repaired = repair_json(content, json.loads(response.request.content).get("id"))
    if not read_messages(repaired):
        raise other_message(host)
    headers = {"content-type": _JSON}
    if session_id := response.headers.get("mcp-session-id"):
        headers["mcp-session-id"] = session_id
    return httpx2.Response(status, headers=headers, content=repaired, request=response.request)


def _error_in(content: bytes) -> dict[str, Any] | None:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return None
    error = answer.get("error") if isinstance(answer, dict) else None
    return error if isinstance(error, dict) and isinstance(error.get("code"), int) else None


async def bound_response(response: httpx2.Response) -> None:
    """Have a response read in pieces of bounded size, up to a limit."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)  # the client is asynchronous
    # Taken out: the library would unpack without bounds.
    pieces: AsyncIterable[bytes] = response.stream
    if encoding := response.headers.pop("content-encoding", ""):
        pieces = _unpacked(BodyDecoder(encoding), pieces)
    is_events = response.headers.get("content-type", "").startswith(_EVENTS)
    pieces = repaired_events(pieces) if is_events else _bounded(pieces)
    response.stream = _ReadStream(response.stream, pieces)


@asynccontextmanager
async def connect_http(
    url: str,
    headers: Mapping[str, str],
    auth: httpx2.Auth | None,
    has_keys: bool,
    stderr_log: StderrLog,
    on_result: FailureListener,
) -> AsyncIterator[TransportStreams]:
    """Carry messages to and from a URL. Error statuses go to `stderr_log`.

    `auth` signs the requests where the user can sign in; `has_keys`: some of the headers are secret.
    """

    async def on_response(response: httpx2.Response) -> None:
        # Who offers no stream of its own answers a GET so, as the protocol has it.
        is_usual = response.request.method == "GET" and response.status_code == HTTPStatus.METHOD_NOT_ALLOWED
        if auth is not None and "authorization" not in response.request.headers:
            is_usual |= response.status_code == HTTPStatus.UNAUTHORIZED  # a sign-in is then looked up
        if response.is_error and not is_usual:
            stderr_log.add(f"{response.request.method}: {response.status_code} {response.reason_phrase}\n")
        await bound_response(response)

    client = _Client(
        headers={"Accept-Encoding": ACCEPT_ENCODING, **headers},
        timeout=httpx2.Timeout(_CONNECT_S, read=_READ_S),
        event_hooks={"response": [on_response]},
        auth=auth,
    )
    client.on_result = on_result
    client.has_keys = has_keys
    async with (
        client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams


Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_THREAD_ABOVE_BYTES = 256 * 1024  # a larger message is parsed in a thread, so that the window never blocks
_CHUNK_BYTES = 64 * 1024
_OPENINGS = (b"{", b"[")  # the first line of JSON that is indented
_CLOSINGS = (b"}", b"]")  # its last line
_STDERR_PAUSE_S = 0.05  # after a full chunk of errors: throttles a server that floods its stderr
_STREAM_CLOSED = (anyio.BrokenResourceError, anyio.ClosedResourceError)


@asynccontextmanager
async def connect_stdio(
    program: ProgramSpec, stderr_log: StderrLog, disconnected: asyncio.Event, on_result: FailureListener
) -> AsyncIterator[Streams]:
    """Start a server and carry its messages; leaving the block ends it and its whole process group.

    Its errors, and lines that are no messages, go to `stderr_log`; `disconnected` is set when its output
    ends, after `on_result` was called if it was cut off. Raises ServerStartError.
    """
    stderr_log.exit_text = ""
    process = await start_process(program)
    async with asyncio.TaskGroup() as outer:
        # It outlives the session: the last line of a server that ends says why.
        error_reader = outer.create_task(_read_stderr(process, stderr_log), name="mcp errors")
        try:
            async with _carry_messages(process, stderr_log, disconnected, on_result) as streams:
                yield streams
        finally:
            is_own_end = await process.end(error_reader) and disconnected.is_set()
            error_reader.cancel()
            stderr_log.exit_text = process.exit_text if is_own_end else ""
            if process.exit_text:
                stderr_log.note(process.exit_text)


@asynccontextmanager
async def _carry_messages(
    process: ServerProcess, stderr_log: StderrLog, disconnected: asyncio.Event, on_result: FailureListener
) -> AsyncIterator[Streams]:
    incoming, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbox, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    requests = _OpenRequests()
    async with incoming, inbox, outbox, outgoing, asyncio.TaskGroup() as group:
        tasks = (
            group.create_task(
                _read(process, incoming, stderr_log, disconnected, on_result, requests), name="mcp output"
            ),
            group.create_task(_write(process, outgoing, requests), name="mcp input"),
        )
        try:
            yield inbox, outbox
        finally:
            for task in tasks:
                task.cancel()


class _OpenRequests:
    """The requests that a server has not answered yet, to know what a reply without their id answers."""

    def __init__(self) -> None:
        self._open: set[int | str] = set()
        self._sent: set[str] = set()
        self._received: set[str] = set()  # of the server's own requests

    def add(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._open.add(message.id)
            self._sent.add(str(message.id))
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._open.discard((message.params or {}).get("requestId", ""))

    @property
    def only_id(self) -> int | str | None:
        return next(iter(self._open)) if len(self._open) == 1 else None

    def match(self, message: JSONRPCMessage) -> JSONRPCMessage:
        """Return a message from the server; a reply to what nobody asked answers the only open request.

        Not one with the id of a request of the server's own: it took the reply to that for a request.
        """
        if isinstance(message, JSONRPCRequest):
            self._received.add(str(message.id))
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            is_known = str(message.id) in self._sent or str(message.id) in self._received
            if not is_known and self.only_id is not None:
                message = message.model_copy(update={"id": self.only_id})
            self._open -= {request for request in self._open if str(request) == str(message.id)}
        return message


async def _read(
    process: ServerProcess,
    incoming: Incoming,
    stderr_log: StderrLog,
    disconnected: asyncio.Event,
    on_result: FailureListener,
    requests: _OpenRequests,
) -> None:
    """Forward its messages until it closes its output, which ends the session."""
    spread = b""  # the lines so far of a message over several
    async with incoming:
        with suppress(*_STREAM_CLOSED), _set_at_end(disconnected):
            while line := await _read_line(process, on_result):
                is_opening = line.strip() in _OPENINGS
                is_closing = line.rstrip() in _CLOSINGS
                if spread and (line.startswith(b"{") or len(spread) > MAX_MESSAGE_BYTES):
                    _log_text(spread, stderr_log)
                    spread = b""
                if is_opening or (spread and not is_closing):
                    spread += line
                    continue
                line = spread + line
                spread = b""
                messages = await _parse_messages(line, requests.only_id)
                if not messages:
                    _log_text(line, stderr_log)
                for message in messages:
                    await incoming.send(SessionMessage(requests.match(message)))
            _log_text(spread, stderr_log)


def _log_text(lines: bytes, stderr_log: StderrLog) -> None:
    if lines:
        stderr_log.add(lines[:_CHUNK_BYTES].decode("utf-8", "replace").rstrip("\n") + "\n")


@contextmanager
def _set_at_end(event: asyncio.Event) -> Iterator[None]:
    try:
        yield
    finally:
        event.set()


async def _read_line(process: ServerProcess, on_result: FailureListener) -> bytes:
    try:
        return await process.output.readline()
    except ValueError:  # raised by StreamReader for a line over its limit
        on_result(answer_too_large())
        return b""


async def _parse_messages(line: bytes, request_id: int | str | None) -> list[JSONRPCMessage]:
    """Parse the messages on a line; there is none on one that was printed by mistake."""
    if len(line) <= _THREAD_ABOVE_BYTES:
        return read_messages(line, request_id)
    return await asyncio.to_thread(read_messages, line, request_id)


async def _write(process: ServerProcess, outgoing: Outgoing, requests: _OpenRequests) -> None:
    async with outgoing:
        with suppress(OSError, *_STREAM_CLOSED):
            async for message in outgoing:
                requests.add(message.message)
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.input.write(f"{text}\n".encode())
                await process.input.drain()


async def _read_stderr(process: ServerProcess, stderr_log: StderrLog) -> None:
    with suppress(OSError):
        while chunk := await process.errors.read(_CHUNK_BYTES):
            stderr_log.add(chunk.decode("utf-8", "replace"))
            if len(chunk) == _CHUNK_BYTES:
                await asyncio.sleep(_STDERR_PAUSE_S)
