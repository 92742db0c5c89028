"""The stored bytes of a workspace's file history: what they are, and what of them may go."""

from __future__ import annotations

from helix_desktop.agent.ports import Store
from helix_desktop.domain.events.file_changes import ChangesRecorded
from helix_desktop.domain.file_history.coverage import CoverageSettings
from helix_desktop.domain.file_history.storage import HistoryCleanup
from helix_desktop.file_history.storage import HistoryStorage


class HistoryCleaner:
    """Cleans up the file history of one workspace, by what its store still has of sessions."""

    def __init__(self, storage: HistoryStorage, store: Store, settings: CoverageSettings) -> None:
        self._storage, self._store, self._quota = storage, store, settings.quota

    async def plan(self) -> HistoryCleanup:
        """Return what would be removed. Raises StoreError."""
        return await self._storage.plan(await self._gone(), self._quota)

    async def clean_up(self) -> HistoryCleanup:
        """Remove what sessions had that are deleted for good, and the oldest of all over the quota.

        Raises StoreError.
        """
        return await self._storage.clean_up(await self._gone(), self._quota)

    async def _gone(self) -> set[str]:
        """Return the captures that are in no log any more, nor will come into one."""
        gone: set[str] = set()
        captures = await self._storage.captures()  # read first: a session is listed before it captures
        sessions = await self._store.sessions()
        trash = await self._store.retention.trash()
        listed = {summary.id for summary in (*sessions, *trash.sessions)}
        for session in captures.keys() - listed:
            # Of a deleted session that branches begin with, the part of the log is left that they need.
            log = await self._store.events(session)
            events = (recorded.event for recorded in log)
            gone |= captures[session] - {
                event.capture for event in events if isinstance(event, ChangesRecorded)
            }
        return gone
