"""How a store on disk is listed and searched: by its index where that knows, else by a scan of LevelDB."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from helix_desktop.context.content import EVERYTHING, Filter, Page
from helix_desktop.context.event import Recorded
from helix_desktop.store import listing, search_rows
from helix_desktop.store.codec import Codec
from helix_desktop.store.event_log import read_handovers
from helix_desktop.store.finder import Finder
from helix_desktop.store.handle import View
from helix_desktop.store.ordering import Listing
from helix_desktop.store.search_db import SearchDb
from helix_desktop.store.search_sql import match_of
from helix_desktop.store.search_thread import SearchThread

_AT_ONCE = 2_000  # entries, when all are listed by a scan

T = TypeVar("T")


class LevelFinder(Finder):
    """The finding half of the store on disk."""

    def __init__(self, codec: Codec, index: SearchThread) -> None:
        self._codec, self._index = codec, index

    @abstractmethod
    async def _read(self, ask: Callable[[View], T]) -> T:
        """What a reader's thread makes of the stored rows. Raises StoreError."""

    @abstractmethod
    def _check_open(self) -> None:
        """Raises StoreClosed when the store was closed."""

    async def tools(self) -> tuple[str, ...]:
        """The tools by whose name something is stored, in order."""
        found = await self._asked(lambda index: search_rows.read_tools(index.db))
        if found is None:
            found = await self._read(lambda view: listing.read_tools(view, self._codec))
        return tuple(found)

    async def indexed(self) -> None:
        """Wait until the search index holds all it ever will; what is found is the same without."""
        self._check_open()
        await asyncio.wrap_future(self._index.settled())

    async def listed(self, asked: Listing, words: Sequence[str] = ()) -> Page:
        """The page of a listing; given folded words, without what surely does not hold them all."""
        match = match_of(words)
        if match or not _reads_off(asked):
            page = await self._asked(
                lambda index: search_rows.read_page(index.db, asked, match if index.has_words else "")
            )
            if page is not None:
                return page
        return await self._read(lambda view: listing.read_page(view, self._codec, asked))

    async def listed_digests(self, asked: Listing) -> bytes:
        """All digests of a listing, joined."""
        found = bytearray()
        left: Listing | None = replace(asked, limit=_AT_ONCE)
        while left is not None:
            part = await self._asked(partial(search_rows.read_digests, left))
            if part is None:
                return await self._read(
                    partial(listing.read_digests, self._codec, replace(asked, limit=_AT_ONCE))
                )
            found += part[0]
            left = part[1]
        return bytes(found)

    async def handovers(self) -> list[tuple[str, Recorded]]:
        """Every handover with its session, in any order."""
        return await self._read(lambda view: read_handovers(view, self._codec))

    async def _asked(self, question: Callable[[SearchDb], T]) -> T | None:
        """The index's answer; None when the store has to be scanned. Raises StoreClosed."""
        self._check_open()  # a closed index would never answer
        return await asyncio.wrap_future(self._index.ask(question))


def _reads_off(asked: Listing) -> bool:
    """Whether LevelDB's own indexes give the page without a look at anything else."""
    if asked.sort.column == "digest":
        return asked.wanted == Filter(prefix=asked.wanted.prefix)
    return asked.sort.column == "created" and asked.wanted == EVERYTHING
