"""What can be found in a store, and how: listing, sorting, and searching with every hit verified.

Both stores are finders: they say what is listed and what may hold some words; what is shown is decided here.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import msgspec

from helix_desktop.context.content import (
    EVERYTHING,
    Entry,
    Filter,
    Found,
    HandoverHit,
    Hit,
    Order,
    Page,
    Sort,
)
from helix_desktop.context.errors import ContentDamaged, DigestUnknown
from helix_desktop.context.event import Recorded
from helix_desktop.context.event_summary import HandoverMade
from helix_desktop.context.handover import said_in
from helix_desktop.context.listing import NEWEST
from helix_desktop.context.sighting import Sighting, look
from helix_desktop.context.words import words_of
from helix_desktop.store.ordering import Listing, cursor_of, listing

_CANDIDATES = 200  # asked for at once

Going = Callable[[int], bool]
"""Asked before another content is searched, with its size in bytes; False ends the search for now."""


class Finder(ABC):
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
    async def listed(self, asked: Listing, words: Sequence[str] = ()) -> Page:
        """The page of a listing; given folded words, without what surely does not hold them all."""

    @abstractmethod
    async def listed_digests(self, asked: Listing) -> bytes:
        """All digests of a listing, joined."""

    @abstractmethod
    async def handovers(self) -> list[tuple[str, Recorded]]:
        """Every handover with its session, in any order."""

    async def page(
        self,
        cursor: str = "",
        limit: int = 200,
        order: Order = "newest",
        prefix: str = "",
        wanted: Filter = EVERYTHING,
    ) -> Page:
        """Entries that pass a filter, in an order or (with a prefix) by digest, from a cursor on.

        Raises ValueError for a limit below 1, what is no prefix, and the cursor of another order.
        """
        if prefix:
            order, wanted = Sort("digest"), msgspec.structs.replace(wanted, prefix=prefix)
        return await self.listed(listing(cursor, limit, order, wanted))

    async def digests(self, order: Order = "newest", wanted: Filter = EVERYTHING) -> bytes:
        """The digests of all entries that pass, in order: 32 bytes each, joined."""
        return await self.listed_digests(listing("", _CANDIDATES, order, wanted))

    async def search(
        self,
        query: str,
        wanted: Filter = EVERYTHING,
        limit: int = 20,
        cursor: str = "",
        going: Going = lambda _: True,
    ) -> Found:
        """The newest contents that hold all words of a query, from a cursor on; each was read to see them.

        It ends at `limit` hits, or when `going` says no, but not before one content was looked at. Raises
        InputUnusable for a query without words or too long, ValueError for what is no cursor.
        """
        words = words_of(query)
        asked = listing(cursor, _CANDIDATES, "newest", wanted)
        hits: list[Hit] = []
        unreadable, looked = 0, False
        while True:
            page = await self.listed(asked, words)
            for entry in page.entries:
                if looked and (len(hits) >= limit or not going(entry.size)):
                    return Found(tuple(hits), cursor, unreadable)
                looked, cursor = True, cursor_of(entry, NEWEST)
                try:
                    sighting = await self._sighting(words, entry)
                except (ContentDamaged, DigestUnknown):
                    unreadable += 1
                else:
                    hits += [Hit(entry, sighting, cursor)] if sighting else []
            if not page.cursor:
                return Found(tuple(hits), "", unreadable)
            asked = asked.behind(page.entries[-1])

    async def search_handovers(self, query: str, limit: int = 20) -> tuple[HandoverHit, ...]:
        """The newest handovers that hold all words of a query. Raises InputUnusable."""
        words, kept = words_of(query), await self.handovers()
        kept.sort(key=lambda one: (one[1].at, one[0], one[1].seq), reverse=True)
        return await asyncio.to_thread(_matching, words, kept, limit)

    async def _sighting(self, words: Sequence[str], entry: Entry) -> Sighting | None:
        data = await self.get(entry.digest)
        about = about_of(entry)
        stopped = threading.Event()
        try:
            return await asyncio.to_thread(look, words, data, about, lambda: not stopped.is_set())
        finally:
            stopped.set()  # cancelling does not end a thread


def about_of(entry: Entry) -> str:
    """What is said of a content, which is searched with it."""
    return f"{entry.tool} {entry.target}\n{entry.first_line}"


def _matching(
    words: Sequence[str], kept: Sequence[tuple[str, Recorded]], limit: int
) -> tuple[HandoverHit, ...]:
    found: list[HandoverHit] = []
    for session, recorded in kept:
        if len(found) >= limit:
            break
        assert isinstance(recorded.event, HandoverMade)  # nothing else is indexed as a handover
        sighting = look(words, said_in(recorded.event).encode(), "", lambda: True)
        if sighting is not None:
            found.append(HandoverHit(session, recorded.seq, sighting))
    return tuple(found)
