"""The store of the process that owns it, open to the person's other processes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from helix_desktop.context.archive import Exported, Imported, Progress, silent
from helix_desktop.context.content import Content, SessionSummary
from helix_desktop.context.event import Recorded
from helix_desktop.store.archive.transfer import export_store, import_store
from helix_desktop.store.commit import Clock, now
from helix_desktop.store.leveldb import INDEX_AFTER_S, LevelStore
from helix_desktop.store.remote.address import LOOPBACK
from helix_desktop.store.remote.calls import (
    CARRY_OUT,
    COMMIT,
    EMPTY_TRASH,
    EXPORT,
    IMPORT,
    RESTORE_SESSION,
    TRASH_SESSION,
    Call,
)
from helix_desktop.store.remote.leases import Holds, Leases
from helix_desktop.store.remote.server import StoreServer

_log = logging.getLogger(__name__)

_LISTED_ANEW = (IMPORT, TRASH_SESSION, RESTORE_SESSION, EMPTY_TRASH)  # after these other sessions are listed


class SharedStore(LevelStore):
    """A LevelStore that serves guests while it is open; it works as well where no socket can be made."""

    _leases: Leases
    _server: StoreServer | None = None
    _hear_guests: Callable[[str], None] | None = None

    @classmethod
    async def open(
        cls,
        folder: Path,
        workspace: str,
        clock: Clock = now,
        loopback: bool = LOOPBACK,
        *,
        index_after: float | None = INDEX_AFTER_S,
        told: Progress = silent,
    ) -> Self:
        """Open a store as LevelStore does, and listen for other processes."""
        store = await super().open(folder, workspace, clock, index_after=index_after, told=told)
        store._leases = Leases()
        server = StoreServer(folder, workspace, store)
        try:
            await server.start(loopback)
        except OSError as error:
            _log.warning("Other processes cannot use this store while it is open: %s", error)
        except BaseException:
            await server.close()
            await store.close()
            raise
        store._server = server
        return store

    def reserve(self, holds: Holds) -> None:
        """Say which sessions are open in this process: no other may write them."""
        self._leases.held_here = holds

    def hear_guests(self, listener: Callable[[str], None]) -> None:
        """Tell it what guests change: the session whose line in the list is another now; empty: any."""
        self._hear_guests = listener

    async def commit(
        self,
        session: str,
        events: Sequence[Recorded] = (),
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
        summary: SessionSummary | None = None,
    ) -> None:
        """Store as LevelStore does. Raises StoreLocked while another process writes the session."""
        if events:
            self._leases.own(session)
        elif summary:
            self._leases.check(session)
        await super().commit(session, events, contents, recalls, summary)

    async def export_to(self, path: Path, name: str, progress: Progress = silent) -> Exported:
        """Write the store to a file, from a snapshot. Raises as `export_store`."""
        return await export_store(self, str(path), name, self._clock(), progress)

    async def import_from(self, path: Path, progress: Progress = silent) -> Imported:
        """Merge a file into the store, but for sessions that are open. Raises as `import_store`."""
        return await import_store(self, str(path), self._leases.free, progress)

    async def close(self) -> None:
        """Part from the guests, then close as LevelStore does."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.close()
        await super().close()

    async def serve(self, guest: object, call: Call[Any], given: tuple[Any, ...], told: Progress) -> Any:
        """Do what a guest asks for. Raises what the method raises; StoreLocked for a session not its own."""
        result = await self._served(guest, call, given, told)
        if self._hear_guests is not None:
            if call is COMMIT and (given[1] or given[4]):
                self._hear_guests(given[0])
            elif call in _LISTED_ANEW:
                self._hear_guests("")
        return result

    async def _served(self, guest: object, call: Call[Any], given: tuple[Any, ...], told: Progress) -> Any:
        if call is EXPORT:
            path, name, at = given
            return await export_store(self, path, name, at, told)
        if call is IMPORT:
            (path,) = given
            return await import_store(self, path, self._leases.free, told)
        if call is CARRY_OUT:
            raise self._leases.refused("Something can be forgotten only where nothing of it is open.")
        if call is TRASH_SESSION and not self._leases.free(given[0], guest):
            raise self._leases.refused("A session that is open cannot go to the trash.")
        if call is not COMMIT:
            heard = {call.tells: told} if call.tells else {}
            return await attrgetter(call.path)(self)(*given, **heard)
        session, events, _, _, summary = given
        if events or summary:
            self._leases.take(session, guest)
        return await super().commit(*given)

    def part(self, guest: object) -> None:
        """Free the sessions that a guest wrote."""
        self._leases.leave(guest)
