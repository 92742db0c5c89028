"""The sessions of workspaces that are not open: read from their stores, while nothing starts there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.services.lazy_store import BorrowStore, LazyStore
from helix_desktop.services.message_search import SearchedSession
from helix_desktop.workspaces.registry import WorkspaceRegistry

_log = logging.getLogger(__name__)


class ClosedSessions:
    """Opens a store when its sessions are listed or read, and closes it a moment after, or on `release`."""

    def __init__(
        self,
        registry: WorkspaceRegistry,
        borrow_store: BorrowStore,
        is_open: Callable[[str], bool],
    ) -> None:
        """`is_open` says of a workspace's id whether it is open in this app, so that others list it."""
        self._registry, self._borrow_store, self._is_open = registry, borrow_store, is_open
        self._stores: dict[str, LazyStore] = {}

    async def list_by_workspace(self) -> AsyncGenerator[tuple[str, list[SearchedSession] | None]]:
        """Yield the name and the sessions of each workspace; None if its store can't be opened.

        Opening the workspace says why; also what was repaired in its store.
        """
        for record in self._registry.list_workspaces():
            folder = self._registry.store_folder(record.id)
            if self._is_open(record.id) or not await asyncio.to_thread(folder.is_dir):
                continue
            store = self._store_of(record.id)
            try:
                async with store.acquire() as opened:
                    summaries = await opened.sessions()
            except HelixError as error:
                _log.warning("The sessions of the workspace %s are not listed: %s", record.name, error)
                yield record.name, None
                continue
            yield (
                record.name,
                [
                    SearchedSession(record.id, summary, self._log_reader(record.id, summary.id))
                    for summary in summaries
                ],
            )

    async def release(self) -> None:
        """Close the stores that are open."""
        stores, self._stores = self._stores, {}
        for store in stores.values():
            await store.close()

    def _store_of(self, workspace_id: str) -> LazyStore:
        if workspace_id not in self._stores:
            self._stores[workspace_id] = LazyStore(lambda: self._borrow_store(workspace_id))
        return self._stores[workspace_id]

    def _log_reader(self, workspace_id: str, session_id: str) -> Callable[[], Awaitable[list[RecordedEvent]]]:
        async def read() -> list[RecordedEvent]:
            async with self._store_of(workspace_id).acquire() as store:
                return await store.events(session_id)

        return read
