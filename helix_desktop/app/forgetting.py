"""Forgetting beyond the store: saved rules and MCP servers of the workspace, and the app's logs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from helix_desktop.agent.oblivion import forget
from helix_desktop.agent.room import Room
from helix_desktop.config.paths import DataDir
from helix_desktop.context.errors import StoreLocked
from helix_desktop.context.forgetting import Finds, Redaction, Wanted
from helix_desktop.context.mcp_server import ServerEntry
from helix_desktop.store.remote.client import RemoteStore
from helix_desktop.workspaces.registry import Registry

log = logging.getLogger(__name__)
Told = Callable[[int, int], None]


class Kept(Protocol):
    """What is kept beside the store."""

    @property
    def registry(self) -> Registry:
        """The workspaces and their saved rules."""
        ...

    @property
    def data(self) -> DataDir:
        """Where the logs lie."""
        ...


def _untold(done: int, total: int) -> None:
    """Nobody listens."""


async def preview_everywhere(kept: Kept, room: Room, wanted: Wanted, told: Told = _untold) -> Finds:
    """Where it stands, in the store and beside it; changes nothing. Raises InputUnusable."""
    redaction = Redaction(wanted, room.clock())
    finds = await room.store.forgetting.preview(wanted, told)
    return await _with_beside(kept, room.id, redaction, finds)


async def forget_everywhere(kept: Kept, room: Room, wanted: Wanted, told: Told = _untold) -> Finds:
    """Remove it for good, from the store and beside it; what was changed. The room's turns are ended.

    Raises InputUnusable, StoreWriteFailed; StoreLocked when another process owns the store.
    """
    redaction = Redaction(wanted, room.clock())
    if isinstance(room.store, RemoteStore):  # its owner's open conversations would go on saying it
        raise StoreLocked(
            "Nothing was forgotten: this workspace is open in another Helix Desktop.",
            room.store.owner_pid,
            "What it holds in memory would be written again.",
            "Forget it in that window, or close that and try again.",
        )
    beside = await _with_beside(kept, room.id, redaction, Finds())
    finds = await forget(room, wanted, told)
    if beside.rules:
        rules = kept.registry.get(room.id).rules
        clean = tuple(one for one in rules if redaction.text(one.subject) == one.subject)
        kept.registry.change(room.id, rules=clean)
    if beside.servers:
        servers = tuple(_clean_server(one, redaction.text) for one in kept.registry.get(room.id).servers)
        kept.registry.change(room.id, servers=servers)
    for name in beside.logs:
        await asyncio.to_thread(_clean, kept.data.logs_dir / name, redaction)
    return msgspec.structs.replace(finds, rules=beside.rules, logs=beside.logs, servers=beside.servers)


async def _with_beside(kept: Kept, workspace: str, redaction: Redaction, finds: Finds) -> Finds:
    if not redaction.needles:
        return finds
    said, record = redaction.text, kept.registry.get(workspace)
    rules = (said(one.text) for one in record.rules if said(one.subject) != one.subject)
    servers = tuple(one.name for one in record.servers if _clean_server(one, said) != one)
    logs = await asyncio.to_thread(_logs_with, kept.data.logs_dir, redaction)
    return msgspec.structs.replace(finds, rules=tuple(rules), logs=logs, servers=servers)


def _clean_server(entry: ServerEntry, said: Callable[[str], str]) -> ServerEntry:
    """A server without the secret; what the person agreed to was another."""
    return msgspec.structs.replace(
        entry,
        command=said(entry.command),
        args=tuple(map(said, entry.args)),
        env={name: said(value) for name, value in entry.env.items()},
        cwd=said(entry.cwd),
        url=said(entry.url),
        headers={name: said(value) for name, value in entry.headers.items()},
    )


def _logs_with(folder: Path, redaction: Redaction) -> tuple[str, ...]:
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            if path.is_file() and redaction.stands_in(path.read_bytes()):
                found.append(path.name)
        except OSError as error:
            log.warning("a log could not be looked through: %s", error)
    return tuple(found)


def _clean(path: Path, redaction: Redaction) -> None:
    # In place: the app goes on writing to the end of this very file.
    with path.open("r+b") as file:
        clean = redaction.data(file.read())
        file.seek(0)
        file.write(clean)
        file.truncate()


class Everywhere:
    """Forgetting in one open workspace and beside its store, as the window has it."""

    def __init__(self, kept: Kept, room: Room) -> None:
        self._kept, self._room = kept, room

    async def preview(self, wanted: Wanted, told: Told) -> Finds:
        """Where it stands; changes nothing. Raises InputUnusable."""
        return await preview_everywhere(self._kept, self._room, wanted, told)

    async def carry_out(self, wanted: Wanted, told: Told) -> Finds:
        """Remove it for good; what was changed. Raises InputUnusable, StoreWriteFailed."""
        return await forget_everywhere(self._kept, self._room, wanted, told)
