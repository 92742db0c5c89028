"""Serve MCP over this process's standard input and output until the other side closes.

The reading thread is a daemon that reads the bare descriptor: a signal may then end the process at any
moment, where a thread that waits inside a file object would hold it up until the next line.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

_CHUNK_BYTES = 64 * 1024
_MAX_LINE_BYTES = 4 * 1024 * 1024  # bytes of one message, as over HTTP
_STDIN, _STDOUT, _STDERR = 0, 1, 2

_Incoming = SessionMessage | Exception


async def serve_stdio(server: Server[Any]) -> None:
    """Serve until standard input ends. Meanwhile whatever else is printed goes to standard error."""
    to_server, incoming = anyio.create_memory_object_stream[_Incoming](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    wire = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        async with asyncio.TaskGroup() as group:
            reader = group.create_task(_read(to_server), name="read standard input")
            group.create_task(_write(from_server, wire), name="write standard output")
            try:
                await server.run(incoming, outgoing, server.create_initialization_options())
            finally:
                reader.cancel()
                await outgoing.aclose()
    finally:
        sys.stdout.flush()
        os.dup2(wire, _STDOUT)
        os.close(wire)


async def _read(to_server: MemoryObjectSendStream[_Incoming]) -> None:
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    slots = threading.Semaphore(64)  # bounds the queued lines, and so the memory

    def enqueue(line: bytes) -> None:
        slots.acquire()
        try:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        except RuntimeError:  # the loop has ended, and the process is about to
            raise SystemExit from None

    threading.Thread(target=_read_lines, args=(enqueue,), name="standard input", daemon=True).start()
    async with to_server:
        while line := await lines.get():
            slots.release()
            if line.strip():
                await to_server.send(_parse_message(line))


def _read_lines(on_line: Callable[[bytes], None]) -> None:
    """Pass each line to `on_line`, and an empty one at the end; lines over the limit are split."""
    partial = b""
    while chunk := _read_chunk():
        *lines, partial = (partial + chunk).split(b"\n")
        for line in lines:
            on_line(line + b"\n")
        if len(partial) > _MAX_LINE_BYTES:
            on_line(partial + b"\n")
            partial = b""
    if partial:
        on_line(partial)
    on_line(b"")


def _read_chunk() -> bytes:
    try:
        return os.read(_STDIN, _CHUNK_BYTES)
    except OSError:  # it was closed
        return b""


def _parse_message(line: bytes) -> _Incoming:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _write(from_server: MemoryObjectReceiveStream[SessionMessage], stdout_fd: int) -> None:
    async with from_server:
        async for message in from_server:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await asyncio.to_thread(_write_all, stdout_fd, f"{text}\n".encode())


def _write_all(stdout_fd: int, data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(stdout_fd, remaining) :]
