"""Listing and searching of the in-memory store, by a scan of everything."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from msgspec.structs import replace

from helix_desktop.domain.events.session import RecordedEvent
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.store.entries import CacheEntry, EntryPage
from helix_desktop.store.core.entry_query import EntryQuery, page_from_unordered
from helix_desktop.store.search.store_search import StoreSearch


class MemorySearch(StoreSearch):
    """The listing and search half of the in-memory store."""

    def __init__(self) -> None:
        self._entries: dict[str, CacheEntry] = {}
        self._logs: dict[str, list[RecordedEvent]] = {}

    @abstractmethod
    def _check_open(self) -> None:
        """Raise StoreClosed if the store was closed."""

    async def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that stored something, sorted."""
        self._check_open()
        return tuple(sorted({entry.tool for entry in self._entries.values()}))

    async def indexed(self) -> None:
        """Return at once: nothing is indexed here, every search scans everything."""
        self._check_open()

    async def listed(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """Return one page of a listing; `terms` are left to the caller's text search."""
        self._check_open()
        return page_from_unordered(entry_query, self._entries.values())

    async def listed_digests(self, entry_query: EntryQuery) -> bytes:
        """Return all digests of a listing, joined."""
        page = await self.listed(replace(entry_query, limit=len(self._entries) + 1))
        return b"".join(bytes.fromhex(entry.digest) for entry in page.entries)

    async def handovers(self) -> list[tuple[str, RecordedEvent]]:
        """Return every handover with its session, in any order."""
        self._check_open()
        events = ((session, recorded) for session, log in self._logs.items() for recorded in log)
        return [
            (session, recorded) for session, recorded in events if isinstance(recorded.event, HandoverMade)
        ]
