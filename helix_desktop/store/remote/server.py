"""The owner's side of the socket: listens, authenticates, and passes requests to the store."""

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
    read_frame_head,
)
from helix_desktop.store.remote.handshake import ClientProof, new_challenge, prove_owner
from helix_desktop.store.remote.server_connection import ClientConnection, RequestHandler

_HANDSHAKE_TIMEOUT_S = 5.0  # until a client must have proved its identity
_MAX_CLIENTS = 32
_ACCEPT_LOOP_TURNS = 6  # turns of the loop until the last accepted client is known, and gone
_log = logging.getLogger(__name__)


class StoreServer:
    """Serve one store to other processes of the same user, from `start` to `close`."""

    def __init__(self, folder: Path, workspace_id: str, handler: RequestHandler) -> None:
        self._folder, self._workspace_id, self._handler = folder, workspace_id, handler
        self._secret = new_secret()
        self._client_tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._closed = False

    async def start(self, loopback: bool = LOOPBACK) -> None:
        """Listen, and write the address into the store's folder. Raise OSError."""
        remove_endpoint(self._folder)
        # Not serving yet: if canceled while it starts to, asyncio would lose the listening socket.
        if loopback:
            self._server = await asyncio.start_server(self._serve_client, "127.0.0.1", 0, start_serving=False)
            endpoint = OwnerEndpoint(self._secret, port=self._server.sockets[0].getsockname()[1])
        else:
            path = new_socket_path()
            # Written first, so that after a sudden death the next owner finds what to remove.
            endpoint = OwnerEndpoint(self._secret, path=str(path))
            write_endpoint(self._folder, endpoint)
            self._server = await asyncio.start_unix_server(self._serve_client, str(path), start_serving=False)
        await self._server.start_serving()
        write_endpoint(self._folder, endpoint)

    async def close(self) -> None:
        """Stop listening, and disconnect all clients."""
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
        task = asyncio.current_task()
        if task is None or self._closed or len(self._client_tasks) >= _MAX_CLIENTS:
            writer.transport.abort()
            return
        self._client_tasks.add(task)
        try:
            async with asyncio.timeout(_HANDSHAKE_TIMEOUT_S):
                await self._authenticate(reader, writer)
            await ClientConnection(reader, writer, self._handler).serve()
        except* (InvalidFrame, OSError, asyncio.IncompleteReadError, TimeoutError) as refused:
            _log.info("a guest of the store was sent away: %s", refused.exceptions[0])
        except* asyncio.CancelledError:
            pass  # this server closes; nobody waits for more of this task
        finally:
            self._client_tasks.discard(task)
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _authenticate(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Verify a client's proof, and send ours. Raise InvalidFrame."""
        challenge = new_challenge()
        await _send_handshake(writer, encode_frame(challenge))
        head = read_frame_head(await reader.readexactly(HEAD_BYTES), MAX_HANDSHAKE_BYTES)
        proof = Frame(await reader.readexactly(head.length), head.is_json).decode(ClientProof)
        await _send_handshake(
            writer, encode_frame(prove_owner(self._secret, challenge, proof, self._workspace_id, os.getpid()))
        )


async def _send_handshake(writer: asyncio.StreamWriter, message: Frame) -> None:
    writer.writelines((message.encode_head(HANDSHAKE_ID), message.payload))
    await writer.drain()
