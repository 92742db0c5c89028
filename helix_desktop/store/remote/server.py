"""The owner's side of the socket: listens, greets, and hands requests to the store."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from pathlib import Path

from helix_desktop.store.remote.endpoint_file import (
    LOOPBACK,
    OwnerEndpoint,
    new_secret,
    new_socket_path,
    remove_endpoint,
    write_endpoint,
)
from helix_desktop.store.remote.frames import (
    HANDSHAKE_ID,
    HEAD_BYTES,
    MAX_HANDSHAKE_BYTES,
    Frame,
    InvalidFrame,
    encode_frame,
    read_head,
)
from helix_desktop.store.remote.handshake import ClientProof, new_challenge, prove_owner
from helix_desktop.store.remote.server_connection import ClientConnection, RequestHandler

_HANDSHAKE_TIMEOUT_S = 5.0  # until a guest must have proved who it is
_MAX_CLIENTS = 32
_ACCEPT_LOOP_TURNS = 6  # turns of the loop until whoever was accepted last is known, and gone
_log = logging.getLogger(__name__)


class StoreServer:
    """Serves one store to other processes of the same user, from `start` to `close`."""

    def __init__(self, folder: Path, workspace_id: str, handler: RequestHandler) -> None:
        self._folder, self._workspace_id, self._handler = folder, workspace_id, handler
        self._secret = new_secret()
        self._client_tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._closed = False

    async def start(self, loopback: bool = LOOPBACK) -> None:
        """Listen, and say in the store's folder where. Raise OSError."""
        remove_endpoint(self._folder)
        # Not serving yet: cancelled while it begins to, asyncio would lose the socket that listens.
        if loopback:
            self._server = await asyncio.start_server(self._serve_client, "127.0.0.1", 0, start_serving=False)
            address = OwnerEndpoint(self._secret, port=self._server.sockets[0].getsockname()[1])
        else:
            path = new_socket_path()
            # Written first, so that whoever comes after a sudden death finds what to remove.
            address = OwnerEndpoint(self._secret, path=str(path))
            write_endpoint(self._folder, address)
            self._server = await asyncio.start_unix_server(self._serve_client, str(path), start_serving=False)
        await self._server.start_serving()
        write_endpoint(self._folder, address)

    async def close(self) -> None:
        """Listen no more, and part from every guest."""
        self._closed = True
        remove_endpoint(self._folder)
        # asyncio loses a socket that was accepted and not yet attached when the server closes.
        for _ in range(_ACCEPT_LOOP_TURNS):
            await asyncio.sleep(0)
        if self._server is not None:
            self._server.close()
        for task in self._client_tasks:
            task.cancel()
        await asyncio.gather(*self._client_tasks, return_exceptions=True)

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        this = asyncio.current_task()
        if this is None or self._closed or len(self._client_tasks) >= _MAX_CLIENTS:
            writer.transport.abort()
            return
        self._client_tasks.add(this)
        try:
            async with asyncio.timeout(_HANDSHAKE_TIMEOUT_S):
                await self._authenticate(reader, writer)
            await ClientConnection(reader, writer, self._handler).serve()
        except* (InvalidFrame, OSError, asyncio.IncompleteReadError, TimeoutError) as refused:
            _log.info("a guest of the store was sent away: %s", refused.exceptions[0])
        except* asyncio.CancelledError:
            pass  # this server closes; nobody waits for more of this task
        finally:
            self._client_tasks.discard(this)
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _authenticate(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Let a guest prove itself, and prove ourselves. Raise FrameRefused."""
        greeted = new_challenge()
        await _send_handshake(writer, encode_frame(greeted))
        head = read_head(await reader.readexactly(HEAD_BYTES), MAX_HANDSHAKE_BYTES)
        proof = Frame(await reader.readexactly(head.length), head.json).decode(ClientProof)
        await _send_handshake(
            writer, encode_frame(prove_owner(self._secret, greeted, proof, self._workspace_id, os.getpid()))
        )


async def _send_handshake(writer: asyncio.StreamWriter, message: Frame) -> None:
    writer.writelines((message.encode_head(HANDSHAKE_ID), message.payload))
    await writer.drain()
