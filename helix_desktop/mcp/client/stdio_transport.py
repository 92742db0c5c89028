"""A server over two pipes with one JSON message per line, plus its standard error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from helix_desktop.mcp.client.connection_errors import FailureListener, answer_too_large
from helix_desktop.mcp.client.message_repair import read_message
from helix_desktop.mcp.client.process import ProgramSpec, ServerProcess, start_process
from helix_desktop.mcp.client.stderr_log import StderrLog

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_THREAD_ABOVE_BYTES = 256 * 1024  # a larger message is parsed in a thread, so that the window never blocks
_CHUNK_BYTES = 64 * 1024
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
    process = await start_process(program)
    try:
        incoming, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outbox, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with incoming, inbox, outbox, outgoing, asyncio.TaskGroup() as group:
            tasks = (
                group.create_task(
                    _read(process, incoming, stderr_log, disconnected, on_result), name="mcp output"
                ),
                group.create_task(_write(process, outgoing), name="mcp input"),
                group.create_task(_read_stderr(process, stderr_log), name="mcp errors"),
            )
            try:
                yield inbox, outbox
            finally:
                for task in tasks:
                    task.cancel()
    finally:
        await asyncio.shield(process.end())
        if process.exit_text:
            stderr_log.note(process.exit_text)


async def _read(
    process: ServerProcess,
    incoming: Incoming,
    stderr_log: StderrLog,
    disconnected: asyncio.Event,
    on_result: FailureListener,
) -> None:
    """Forward its messages until it closes its output, which ends the session."""
    async with incoming:
        with suppress(*_STREAM_CLOSED), _set_at_end(disconnected):
            while line := await _read_line(process, on_result):
                message = await _parse_message(line)
                if message is None:
                    stderr_log.add(line[:_CHUNK_BYTES].decode("utf-8", "replace").rstrip("\n") + "\n")
                else:
                    await incoming.send(message)


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


async def _parse_message(line: bytes) -> SessionMessage | None:
    """Parse the message on a line; None if it is none, such as text printed by mistake."""
    is_small = len(line) <= _THREAD_ABOVE_BYTES
    message = read_message(line) if is_small else await asyncio.to_thread(read_message, line)
    return None if message is None else SessionMessage(message)


async def _write(process: ServerProcess, outgoing: Outgoing) -> None:
    async with outgoing:
        with suppress(OSError, *_STREAM_CLOSED):
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.input.write(f"{text}\n".encode())
                await process.input.drain()


async def _read_stderr(process: ServerProcess, stderr_log: StderrLog) -> None:
    with suppress(OSError):
        while chunk := await process.errors.read(_CHUNK_BYTES):
            stderr_log.add(chunk.decode("utf-8", "replace"))
            if len(chunk) == _CHUNK_BYTES:
                await asyncio.sleep(_STDERR_PAUSE_S)
