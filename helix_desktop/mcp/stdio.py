"""A server at the other end of two pipes: one JSON message per line, its standard error beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from helix_desktop.mcp.chatter import Chatter
from helix_desktop.mcp.process import LARGEST_MESSAGE, Program, Running, start

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_THREADED = 256 * 1024  # bytes; a larger message is read in a thread, so that the window never waits
_GULP = 64 * 1024
_BREATH_S = 0.05  # after a full gulp of errors: a server that only spams waits for us
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError)


@asynccontextmanager
async def pipes(program: Program, chatter: Chatter, gone: asyncio.Event) -> AsyncIterator[Streams]:
    """Start a server and carry its messages; leaving the block ends it and all it has started.

    Its errors, and lines that are no messages, go to `chatter`; `gone` is set when it says no more. Raises
    NotStarted.
    """
    running = await start(program)
    try:
        incoming, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outbox, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with incoming, inbox, outbox, outgoing, asyncio.TaskGroup() as group:
            tasks = (
                group.create_task(_read(running, incoming, chatter, gone), name="mcp output"),
                group.create_task(_write(running, outgoing), name="mcp input"),
                group.create_task(_listen(running, chatter), name="mcp errors"),
            )
            try:
                yield inbox, outbox
            finally:
                for task in tasks:
                    task.cancel()
    finally:
        await asyncio.shield(running.end())
        if running.ending:
            chatter.note(running.ending)


async def _read(running: Running, incoming: Incoming, chatter: Chatter, gone: asyncio.Event) -> None:
    """Pass on its messages until it closes its output; that ends the session."""
    async with incoming:
        with suppress(*_GONE), _set_at_end(gone):
            while line := await _line(running, chatter):
                message = await _message(line)
                if message is None:
                    chatter.add(line[:_GULP].decode("utf-8", "replace").rstrip("\n") + "\n")
                else:
                    await incoming.send(message)


@contextmanager
def _set_at_end(event: asyncio.Event) -> Iterator[None]:
    """Set an event however the block ends."""
    try:
        yield
    finally:
        event.set()


async def _line(running: Running, chatter: Chatter) -> bytes:
    try:
        return await running.output.readline()
    except ValueError:  # a reader's own word for a line over its limit
        chatter.note(f"It sent a message of over {LARGEST_MESSAGE // 2**20} MB, and was cut off.")
        return b""


async def _message(line: bytes) -> SessionMessage | None:
    """The message on a line; None for what is none, such as words printed by mistake."""
    try:
        if len(line) <= _THREADED:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        parsed = await asyncio.to_thread(jsonrpc_message_adapter.validate_json, line, by_name=False)
        return SessionMessage(parsed)
    except ValueError:
        return None


async def _write(running: Running, outgoing: Outgoing) -> None:
    async with outgoing:
        with suppress(OSError, *_GONE):
            async for one in outgoing:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                running.input.write(f"{text}\n".encode())
                await running.input.drain()


async def _listen(running: Running, chatter: Chatter) -> None:
    with suppress(OSError):
        while piece := await running.errors.read(_GULP):
            chatter.add(piece.decode("utf-8", "replace"))
            if len(piece) == _GULP:
                await asyncio.sleep(_BREATH_S)
