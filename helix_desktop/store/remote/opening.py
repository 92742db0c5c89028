"""Opens a store for this process: as its owner, or through the process that owns it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from helix_desktop.context.archive import Progress, silent
from helix_desktop.context.errors import StoreLocked, StoreUnreadable
from helix_desktop.store.commit import Clock, now
from helix_desktop.store.remote.address import Address, read_address
from helix_desktop.store.remote.client import RemoteStore
from helix_desktop.store.remote.connection import Connection, ConnectionGone
from helix_desktop.store.remote.greeting import Hello, Welcome, check_owner, prove
from helix_desktop.store.remote.shared import SharedStore
from helix_desktop.store.remote.way import Place
from helix_desktop.store.remote.wire import FrameRefused, VersionRefused, frame

_PATIENCE_S = 3.0  # for an owner that is just opening or closing, or does not answer
_PAUSE_S = 0.05


async def open_store(
    folder: Path,
    workspace: str,
    clock: Clock = now,
    patience_s: float = _PATIENCE_S,
    *,
    told: Progress = silent,
) -> SharedStore | RemoteStore:
    """Own the store in `folder`, or use it through its owner; `told` hears how far a mending is.

    Raises StoreLocked, naming the owner, when that does not answer in time; else as LevelStore.open does.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + patience_s
    while True:
        try:
            return await SharedStore.open(folder, workspace, clock, told=told)
        except StoreLocked as locked:
            if locked.owner_pid == os.getpid():
                raise
            joined = await _joined(folder, workspace, until - loop.time())
            if joined is not None:
                joined.follow(lambda: _followed(folder, workspace, clock, patience_s))
                return joined
            if loop.time() + _PAUSE_S > until:
                raise _silent(locked, patience_s) from locked
        await asyncio.sleep(_PAUSE_S)  # the owner may be about to listen, or about to end


async def own_store(
    folder: Path,
    workspace: str,
    clock: Clock = now,
    patience_s: float = _PATIENCE_S,
    *,
    told: Progress = silent,
) -> SharedStore:
    """Own the store in `folder`; one that another process is about to let go of is waited for.

    `told` hears how far a mending is.
    Raises StoreLocked, naming the owner, when it does not in time; else as LevelStore.open does.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + patience_s
    while True:
        try:
            return await SharedStore.open(folder, workspace, clock, told=told)
        except StoreLocked as locked:
            if locked.owner_pid == os.getpid() or loop.time() + _PAUSE_S > until:
                raise
        await asyncio.sleep(_PAUSE_S)


async def join(folder: Path, workspace: str) -> RemoteStore:
    """Use a store through its owner. Raises ConnectionGone, OSError, StoreUnreadable; FrameRefused."""
    address = read_address(folder)
    if address is None:
        raise ConnectionGone
    connection = await _connected(address)
    try:
        greeted = (await connection.greeting()).read(Hello)
        proof = prove(address.secret, greeted)
        connection.say(frame(proof))
        answer = (await connection.greeting()).read(Welcome)
        check_owner(address.secret, greeted, proof, answer)
        connection.trust()
        if answer.workspace != workspace:
            raise StoreUnreadable(
                "The store found here belongs to another workspace.",
                f"Its owner serves workspace {answer.workspace}, not {workspace}.",
                "Nothing was changed. Put each store's folder back where it was.",
            )
    except BaseException:
        await connection.close()
        raise
    return RemoteStore(connection, answer.pid)


async def _joined(folder: Path, workspace: str, patience_s: float) -> RemoteStore | None:
    """The store through its owner; None when that does not answer. Raises StoreUnreadable, StoreLocked."""
    try:
        async with asyncio.timeout(max(patience_s, _PAUSE_S)):
            return await join(folder, workspace)
    except VersionRefused as error:
        raise StoreLocked(
            "This workspace is in use by another version of Helix Desktop.",
            None,
            f"Between the two, {error}.",
            "Close that one, or use the same version.",
        ) from error
    except (ConnectionGone, FrameRefused, OSError, TimeoutError):
        return None


async def _followed(folder: Path, workspace: str, clock: Clock, patience_s: float) -> Place:
    """Where a store is used when its former owner has ended. Raises as `open_store` does."""
    found = await open_store(folder, workspace, clock, patience_s)
    return found.place if isinstance(found, RemoteStore) else found


async def _connected(address: Address) -> Connection:
    loop = asyncio.get_running_loop()
    if address.path:
        _, connection = await loop.create_unix_connection(Connection, address.path)
    else:
        _, connection = await loop.create_connection(Connection, address.host, address.port)
    return connection


def _silent(locked: StoreLocked, patience_s: float) -> StoreLocked:
    return StoreLocked(
        locked.what,
        locked.owner_pid,
        f"It has not answered for {patience_s:.0f} s, and only one process at a time may write a store.",
        locked.fix,
    )
