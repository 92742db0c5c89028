"""The stored bytes of a workspace's file history: what they are, and what of them may go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from msgspec.structs import replace

from helix_desktop.agent.ports import Store
from helix_desktop.domain.errors import StoreRepaired
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import FileHistoryCheck, FileHistoryCleanup, FileHistoryTotals
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.file_history.storage import FileHistoryStorage


class WorkspaceHistoryStorage:
    """The file history of one open workspace as it is stored. Every method may raise StoreError."""

    def __init__(
        self,
        storage: FileHistoryStorage,
        store: Store,
        quota: int,
        saved_copies_size: Callable[[], int] = lambda: 0,
    ) -> None:
        """`quota` is what it may take, in bytes as stored; `store` says which sessions there are.

        `saved_copies_size` returns the bytes of the copies of files that commands changed; it blocks.
        """
        self.quota, self._saved_copies_size = quota, saved_copies_size
        self._storage, self._store = storage, store

    async def notice(self) -> StoreRepaired | None:
        """Return that it was damaged when it was opened, once."""
        return await self._storage.notice()

    async def totals(self) -> FileHistoryTotals:
        """Return what it holds, and what it takes on disk."""
        totals = await self._storage.totals()
        return replace(totals, saved_copies_size=await asyncio.to_thread(self._saved_copies_size))

    async def plan(self) -> FileHistoryCleanup:
        """Return what a clean-up would remove."""
        return await self._storage.plan(await self._gone(), self.quota)

    async def plan_deletion(self, sessions: Collection[str]) -> FileHistoryCleanup:
        """Return what a clean-up would remove if these sessions were gone, beside what it would now."""
        captures, gone = await self._storage.captures(), await self._gone()
        listed = [*await self._store.sessions(), *(await self._store.retention.trash()).sessions]
        leaving = set[str]().union(*(captures.get(session_id, ()) for session_id in sessions))
        for branch in listed:
            # Its log may begin in any of them: between them another may be gone that it branched from.
            if leaving and branch.branch_of and branch.id not in sessions:
                leaving -= await self._recorded(branch.id)
        now = await self._storage.plan(gone, self.quota)
        then = await self._storage.plan(gone | leaving, self.quota)
        return FileHistoryCleanup(
            then.captures - now.captures,
            max(0, then.contents - now.contents),
            max(0, then.stored_size - now.stored_size),
        )

    async def clean_up(self) -> FileHistoryCleanup:
        """Remove what deleted sessions had, and over the quota the oldest; return what was removed.

        Sessions in the trash keep theirs.
        """
        return await self._storage.clean_up(await self._gone(), self.quota)

    async def check(self, on_progress: OnProgress = no_progress) -> FileHistoryCheck:
        """Check everything; changes nothing. Canceling ends it soon."""
        return await self._storage.check(on_progress)

    async def repair(self, found: FileHistoryCheck) -> None:
        """Remove what is damaged: versions of files that are still there are stored again."""
        await self._storage.repair(found)

    async def _gone(self) -> set[str]:
        """Return the captures that are in no log any more, and will come into none."""
        gone: set[str] = set()
        captures = await self._storage.captures()  # read first: a session is listed before it captures
        unlisted = captures.keys() - {summary.id for summary in await self._store.sessions()}
        if not unlisted:
            return gone  # the trash has no index: it is found by reading every entry's record
        trash = await self._store.retention.trash()
        for session_id in unlisted - {summary.id for summary in trash.sessions}:
            # Of a deleted session that branches begin with, the part of the log is left that they need.
            gone |= captures[session_id] - await self._recorded(session_id)
        return gone

    async def _recorded(self, session_id: str) -> set[str]:
        """Return the captures in a session's log."""
        events = (recorded.event for recorded in await self._store.events(session_id))
        return {event.capture for event in events if isinstance(event, ChangesRecorded)}
