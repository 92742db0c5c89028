"""Opening of a store for this process: as its owner, or through the process that owns it."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path

from helix_desktop.domain.errors import StoreLocked, StoreUnreadable
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.store.remote.client import Backend, ConnectionClosed, OwnerConnection, RemoteStore, Reopen
from helix_desktop.store.remote.handshake import (
    Challenge,
    OwnerEndpoint,
    OwnerProof,
    check_owner,
    prove_client,
    read_endpoint,
)
from helix_desktop.store.remote.rpc import InvalidFrame, UnsupportedVersion, encode_frame
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.system.clock import ClockMs, wall_clock_ms

text = TextContext("Store")

_OPEN_TIMEOUT_S = 3.0  # for an owner that is just opening or closing, or does not answer
_PAUSE_S = 0.05


async def open_store(
    folder: Path,
    workspace_id: str,
    clock: ClockMs = wall_clock_ms,
    timeout_s: float = _OPEN_TIMEOUT_S,
    *,
    on_progress: OnProgress = no_progress,
) -> SharedStore | RemoteStore:
    """Own the store in `folder`, or use it through its owner; `on_progress` reports a repair's progress.

    Raise StoreLocked, naming the owner, if that does not answer in time; else as LevelDbStore.open does.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while True:
        try:
            return await SharedStore.open(folder, workspace_id, clock, on_progress=on_progress)
        except StoreLocked as locked:
            if locked.owner_pid == os.getpid():
                raise
            reopen = partial(_reopen, folder, workspace_id, clock, timeout_s)
            remote_store = await _try_connect(folder, workspace_id, deadline - loop.time(), reopen)
            if remote_store is not None:
                return remote_store
            if loop.time() + _PAUSE_S > deadline:
                raise _owner_not_answering(locked, timeout_s) from locked
        await asyncio.sleep(_PAUSE_S)  # the owner may be about to listen, or about to end


async def open_as_owner(
    folder: Path,
    workspace_id: str,
    clock: ClockMs = wall_clock_ms,
    timeout_s: float = _OPEN_TIMEOUT_S,
    *,
    on_progress: OnProgress = no_progress,
) -> SharedStore:
    """Own the store in `folder`; wait for one that another process is about to release.

    `on_progress` reports a repair's progress.
    Raise StoreLocked, naming the owner, if it is not released in time; else as LevelDbStore.open does.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while True:
        try:
            return await SharedStore.open(folder, workspace_id, clock, on_progress=on_progress)
        except StoreLocked as locked:
            if locked.owner_pid == os.getpid() or loop.time() + _PAUSE_S > deadline:
                raise
        await asyncio.sleep(_PAUSE_S)


async def connect(folder: Path, workspace_id: str, reopen: Reopen | None = None) -> RemoteStore:
    """Use a store through its owner; `reopen` opens it again when that ends.

    Raise ConnectionClosed, OSError, StoreUnreadable, InvalidFrame.
    """
    endpoint = read_endpoint(folder)
    if endpoint is None:
        raise ConnectionClosed
    connection = await _open_connection(endpoint)
    try:
        challenge = (await connection.receive_handshake()).decode(Challenge)
        proof = prove_client(endpoint.secret, challenge)
        connection.send_handshake(encode_frame(proof))
        answer = (await connection.receive_handshake()).decode(OwnerProof)
        check_owner(endpoint.secret, challenge, proof, answer)
        connection.mark_authenticated()
        if answer.workspace_id != workspace_id:
            raise StoreUnreadable(
                text("The data found here belongs to another workspace."),
                text(
                    "It is from workspace {actual}, not {expected}.",
                    actual=answer.workspace_id,
                    expected=workspace_id,
                ),
                text("Nothing was changed. Move each data folder back to where it was."),
            )
    except BaseException:
        await connection.close()
        raise
    return RemoteStore(connection, answer.pid, reopen)


async def _try_connect(
    folder: Path, workspace_id: str, timeout_s: float, reopen: Reopen
) -> RemoteStore | None:
    """Connect to the store's owner; None if it does not answer. Raise StoreUnreadable, StoreLocked."""
    try:
        async with asyncio.timeout(max(timeout_s, _PAUSE_S)):
            return await connect(folder, workspace_id, reopen)
    except UnsupportedVersion as error:
        raise StoreLocked(
            text("This workspace is in use by another version of Helix Desktop."),
            None,
            text("The two can't communicate ({detail}).", detail=str(error)),
            text("Close the other one, or use the same version."),
        ) from error
    except (ConnectionClosed, InvalidFrame, OSError, TimeoutError):
        return None


async def _reopen(folder: Path, workspace_id: str, clock: ClockMs, timeout_s: float) -> Backend:
    """Return where a store is used after its previous owner has ended. Raise as `open_store` does."""
    store = await open_store(folder, workspace_id, clock, timeout_s)
    return store.backend if isinstance(store, RemoteStore) else store


async def _open_connection(endpoint: OwnerEndpoint) -> OwnerConnection:
    loop = asyncio.get_running_loop()
    if endpoint.path:
        _, connection = await loop.create_unix_connection(OwnerConnection, endpoint.path)
    else:
        _, connection = await loop.create_connection(OwnerConnection, endpoint.host, endpoint.port)
    return connection


def _owner_not_answering(locked: StoreLocked, timeout_s: float) -> StoreLocked:
    return StoreLocked(
        locked.what,
        locked.owner_pid,
        join_sentences(
            text("It hasn't answered for {seconds} s.", seconds=round(timeout_s)),
            text("Only one process at a time can write workspace data."),
        ),
        locked.fix,
    )
