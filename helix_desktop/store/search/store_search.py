"""What can be found in a store, and how: listing, sorting, and searching with every hit verified.

Both stores are finders: they say what is listed and what may hold some words; what is shown is decided here.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import msgspec

from helix_desktop.context.summaries.handover import searchable_text
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.events.session import RecordedEvent
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.search_query import parse_query
from helix_desktop.domain.store.entries import (
    DEFAULT_FILTER,
    CacheEntry,
    ContentHit,
    EntryFilter,
    EntryOrder,
    EntryPage,
    EntrySort,
    HandoverHit,
    SearchResults,
)
from helix_desktop.domain.store.entry_order import NEWEST
from helix_desktop.domain.text_search import MatchSummary, find_matches
from helix_desktop.store.core.entry_query import EntryQuery, build_query, cursor_of

_PAGE_ENTRIES = 200  # asked for at once

ShouldContinue = Callable[[int], bool]
"""Asked before another content is searched, with its size in bytes; False ends the search for now."""


class StoreSearch(ABC):
    """Lists and searches a store through the few questions that each store answers in its own way."""

    @abstractmethod
    async def get(self, digest: str) -> bytes:
        """The bytes of a full digest, verified. Raises DigestUnknown, ContentDamaged."""

    @abstractmethod
    async def tools(self) -> tuple[str, ...]:
        """The tools by whose name something is stored, in order."""

    @abstractmethod
    async def indexed(self) -> None:
        """Wait until all is indexed that ever will be; what is found is the same without."""

    @abstractmethod
    async def listed(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """The page of a listing; given folded words, without what surely does not hold them all."""

    @abstractmethod
    async def listed_digests(self, entry_query: EntryQuery) -> bytes:
        """All digests of a listing, joined."""

    @abstractmethod
    async def handovers(self) -> list[tuple[str, RecordedEvent]]:
        """Every handover with its session, in any order."""

    async def page(
        self,
        cursor: str = "",
        limit: int = 200,
        order: EntryOrder = "newest",
        prefix: str = "",
        entry_filter: EntryFilter = DEFAULT_FILTER,
    ) -> EntryPage:
        """Entries that pass a filter, in an order or (with a prefix) by digest, from a cursor on.

        Raises ValueError for a limit below 1, what is no prefix, and the cursor of another order.
        """
        if prefix:
            order, entry_filter = EntrySort("digest"), msgspec.structs.replace(entry_filter, prefix=prefix)
        return await self.listed(build_query(cursor, limit, order, entry_filter))

    async def digests(
        self, order: EntryOrder = "newest", entry_filter: EntryFilter = DEFAULT_FILTER
    ) -> bytes:
        """The digests of all entries that pass, in order: 32 bytes each, joined."""
        return await self.listed_digests(build_query("", _PAGE_ENTRIES, order, entry_filter))

    async def search(
        self,
        query: str,
        entry_filter: EntryFilter = DEFAULT_FILTER,
        limit: int = 20,
        cursor: str = "",
        should_continue: ShouldContinue = lambda _: True,
    ) -> SearchResults:
        """The newest contents that hold all words of a query, from a cursor on; each was read to see them.

        It ends at `limit` hits, or when `going` says no, but not before one content was looked at. Raises
        InputUnusable for a query without words or too long, ValueError for what is no cursor.
        """
        words = parse_query(query)
        asked = build_query(cursor, _PAGE_ENTRIES, "newest", entry_filter)
        hits: list[ContentHit] = []
        unreadable, looked = 0, False
        while True:
            page = await self.listed(asked, words)
            for entry in page.entries:
                if looked and (len(hits) >= limit or not should_continue(entry.size)):
                    return SearchResults(tuple(hits), cursor, unreadable)
                looked, cursor = True, cursor_of(entry, NEWEST)
                try:
                    sighting = await self._find_matches(words, entry)
                except (ContentDamaged, DigestUnknown):
                    unreadable += 1
                else:
                    hits += [ContentHit(entry, sighting, cursor)] if sighting else []
            if not page.cursor:
                return SearchResults(tuple(hits), "", unreadable)
            asked = asked.continue_after(page.entries[-1])

    async def search_handovers(self, query: str, limit: int = 20) -> tuple[HandoverHit, ...]:
        """The newest handovers that hold all words of a query. Raises InputUnusable."""
        words, kept = parse_query(query), await self.handovers()
        kept.sort(key=lambda one: (one[1].at, one[0], one[1].seq), reverse=True)
        return await asyncio.to_thread(_matching_handovers, words, kept, limit)

    async def _find_matches(self, terms: Sequence[str], entry: CacheEntry) -> MatchSummary | None:
        data = await self.get(entry.digest)
        about = description_of(entry)
        stopped = threading.Event()
        try:
            return await asyncio.to_thread(find_matches, terms, data, about, lambda: not stopped.is_set())
        finally:
            stopped.set()  # cancelling does not end a thread


def description_of(entry: CacheEntry) -> str:
    """What is said of a content, which is searched with it."""
    return f"{entry.tool} {entry.target}\n{entry.first_line}"


def _matching_handovers(
    terms: Sequence[str], handovers: Sequence[tuple[str, RecordedEvent]], limit: int
) -> tuple[HandoverHit, ...]:
    found: list[HandoverHit] = []
    for session, recorded in handovers:
        if len(found) >= limit:
            break
        assert isinstance(recorded.event, HandoverMade)  # nothing else is indexed as a handover
        sighting = find_matches(terms, searchable_text(recorded.event).encode(), "", lambda: True)
        if sighting is not None:
            found.append(HandoverHit(session, recorded.seq, sighting))
    return tuple(found)
