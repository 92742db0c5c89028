"""The owner's side of the socket: listens, greets, and hands requests to the store."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from pathlib import Path

from helix_desktop.store.remote.address import (
    LOOPBACK,
    Address,
    forget_address,
    new_secret,
    new_socket_path,
    write_address,
)
from helix_desktop.store.remote.greeting import Proof, hello, welcome
from helix_desktop.store.remote.guest import Guest, Host
from helix_desktop.store.remote.wire import (
    GREETING,
    GREETING_CAP,
    HEAD_BYTES,
    Frame,
    FrameRefused,
    frame,
    read_head,
)

_GREETING_S = 5.0  # until a guest must have proved who it is
_MOST_GUESTS = 32
_ACCEPT_STEPS = 6  # turns of the loop until whoever was accepted last is known, and gone
_log = logging.getLogger(__name__)


class StoreServer:
    """Serves one store to other processes of the same person, from `start` to `close`."""

    def __init__(self, folder: Path, workspace: str, host: Host) -> None:
        self._folder, self._workspace, self._host = folder, workspace, host
        self._secret = new_secret()
        self._guests: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._closed = False

    async def start(self, loopback: bool = LOOPBACK) -> None:
        """Listen, and say in the store's folder where. Raises OSError."""
        forget_address(self._folder)
        # Not serving yet: cancelled while it begins to, asyncio would lose the socket that listens.
        if loopback:
            self._server = await asyncio.start_server(self._greet, "127.0.0.1", 0, start_serving=False)
            address = Address(self._secret, port=self._server.sockets[0].getsockname()[1])
        else:
            path = new_socket_path()
            # Written first, so that whoever comes after a sudden death finds what to remove.
            address = Address(self._secret, path=str(path))
            write_address(self._folder, address)
            self._server = await asyncio.start_unix_server(self._greet, str(path), start_serving=False)
        await self._server.start_serving()
        write_address(self._folder, address)

    async def close(self) -> None:
        """Listen no more, and part from every guest."""
        self._closed = True
        forget_address(self._folder)
        # asyncio loses a socket that was accepted and not yet attached when the server closes.
        for _ in range(_ACCEPT_STEPS):
            await asyncio.sleep(0)
        if self._server is not None:
            self._server.close()
        for task in self._guests:
            task.cancel()
        await asyncio.gather(*self._guests, return_exceptions=True)

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        this = asyncio.current_task()
        if this is None or self._closed or len(self._guests) >= _MOST_GUESTS:
            writer.transport.abort()
            return
        self._guests.add(this)
        try:
            async with asyncio.timeout(_GREETING_S):
                await self._check(reader, writer)
            await Guest(reader, writer, self._host).serve()
        except* (FrameRefused, OSError, asyncio.IncompleteReadError, TimeoutError) as refused:
            _log.info("a guest of the store was sent away: %s", refused.exceptions[0])
        except* asyncio.CancelledError:
            pass  # this server closes; nobody waits for more of this task
        finally:
            self._guests.discard(this)
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _check(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Let a guest prove itself, and prove ourselves. Raises FrameRefused."""
        greeted = hello()
        await _say(writer, frame(greeted))
        head = read_head(await reader.readexactly(HEAD_BYTES), GREETING_CAP)
        proof = Frame(await reader.readexactly(head.length), head.json).read(Proof)
        await _say(writer, frame(welcome(self._secret, greeted, proof, self._workspace, os.getpid())))


async def _say(writer: asyncio.StreamWriter, words: Frame) -> None:
    writer.writelines((words.head(GREETING), words.payload))
    await writer.drain()
