"""A server over two pipes with one JSON message per line, plus its standard error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from helix_desktop.mcp.client.connection_errors import FailureListener, answer_too_large
from helix_desktop.mcp.client.message_repair import read_messages
from helix_desktop.mcp.client.process import (
    MAX_MESSAGE_BYTES,
    ProgramSpec,
    ServerProcess,
    StderrLog,
    start_process,
)

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_THREAD_ABOVE_BYTES = 256 * 1024  # a larger message is parsed in a thread, so that the window never blocks
_CHUNK_BYTES = 64 * 1024
_OPENINGS, _CLOSINGS = (b"{", b"["), (b"}", b"]")  # as lines of JSON that is indented
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
            is_own_end = await asyncio.shield(process.end(error_reader)) and disconnected.is_set()
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
        """Note a message that goes to the server."""
        if isinstance(message, JSONRPCRequest):
            self._open.add(message.id)
            self._sent.add(str(message.id))
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._open.discard((message.params or {}).get("requestId", ""))

    @property
    def only_id(self) -> int | str | None:
        """The id of the one that is open, if there is just one."""
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
                is_opening, is_closing = line.strip() in _OPENINGS, line.rstrip() in _CLOSINGS
                if spread and (line.startswith(b"{") or len(spread) > MAX_MESSAGE_BYTES):
                    _log_text(spread, stderr_log)
                    spread = b""
                if is_opening or (spread and not is_closing):
                    spread += line
                    continue
                line, spread = spread + line, b""
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
    """Set an event at the end of the block, however it ends."""
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
