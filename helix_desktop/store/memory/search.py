"""How a store in memory is listed and searched: by looking through everything."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from helix_desktop.domain.events.session import RecordedEvent
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.store.entries import CacheEntry, EntryPage
from helix_desktop.store.core.entry_query import EntryQuery, page_from_unordered
from helix_desktop.store.search.store_search import StoreSearch


class MemorySearch(StoreSearch):
    """The finding half of the store in memory."""

    def __init__(self) -> None:
        self._entries: dict[str, CacheEntry] = {}
        self._logs: dict[str, list[RecordedEvent]] = {}

    @abstractmethod
    def _check_open(self) -> None:
        """Raises StoreClosed when the store was closed."""

    async def tools(self) -> tuple[str, ...]:
        """The tools by whose name something is stored, in order."""
        self._check_open()
        return tuple(sorted({entry.tool for entry in self._entries.values()}))

    async def indexed(self) -> None:
        """Nothing is indexed here: everything is always looked through."""
        self._check_open()

    async def listed(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """The page of a listing; words are left to be looked for."""
        self._check_open()
        return page_from_unordered(entry_query, self._entries.values())

    async def listed_digests(self, entry_query: EntryQuery) -> bytes:
        """All digests of a listing, joined."""
        found = await self.listed(replace(entry_query, limit=len(self._entries) + 1))
        return b"".join(bytes.fromhex(entry.digest) for entry in found.entries)

    async def handovers(self) -> list[tuple[str, RecordedEvent]]:
        """Every handover with its session, in any order."""
        self._check_open()
        kept = ((session, one) for session, log in self._logs.items() for one in log)
        return [(session, one) for session, one in kept if isinstance(one.event, HandoverMade)]
