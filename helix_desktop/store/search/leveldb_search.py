"""Listing and search of a store on disk: by its index if that can answer, else by a scan of LevelDB."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from helix_desktop.domain.events.session import RecordedEvent
from helix_desktop.domain.store.entries import DEFAULT_FILTER, EntryFilter, EntryPage
from helix_desktop.store.core.entry_query import EntryQuery
from helix_desktop.store.core.row_codec import Codec
from helix_desktop.store.leveldb import listings
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.event_log import read_handovers
from helix_desktop.store.search import index_rows
from helix_desktop.store.search.index_db import SearchIndex
from helix_desktop.store.search.index_thread import SearchThread
from helix_desktop.store.search.queries import match_expression
from helix_desktop.store.search.store_search import StoreSearch

_SCAN_PAGE_ENTRIES = 2_000  # entries per page when a scan lists all

T = TypeVar("T")


class LevelDbSearch(StoreSearch):
    """The listing and search half of the store on disk."""

    def __init__(self, codec: Codec, index: SearchThread) -> None:
        self._codec, self._index = codec, index

    @abstractmethod
    async def _run_query(self, query: Callable[[ReadView], T]) -> T:
        """Return the result of `query` on a reader's thread. Raise StoreError."""

    @abstractmethod
    def _check_open(self) -> None:
        """Raise StoreClosed if the store was closed."""

    async def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that stored something, sorted."""
        tools = await self._ask_index(lambda index: index_rows.read_tools(index.db))
        if tools is None:
            tools = await self._run_query(lambda view: listings.read_tools(view, self._codec))
        return tuple(tools)

    async def indexed(self) -> None:
        """Wait until the search index is complete; results are the same without."""
        self._check_open()
        await asyncio.wrap_future(self._index.indexed())

    async def listed(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """Return one page of a listing; with normalized terms, without entries that cannot hold them all."""
        match = match_expression(terms)
        if match or not _is_index_order(entry_query):
            page = await self._ask_index(
                lambda index: index_rows.read_page(index.db, entry_query, match if index.has_words else "")
            )
            if page is not None:
                return page
        return await self._run_query(lambda view: listings.read_page(view, self._codec, entry_query))

    async def listed_digests(self, entry_query: EntryQuery) -> bytes:
        """Return all digests of a listing, joined."""
        digests = bytearray()
        remaining: EntryQuery | None = replace(entry_query, limit=_SCAN_PAGE_ENTRIES)
        while remaining is not None:
            part = await self._ask_index(partial(index_rows.read_digests, remaining))
            if part is None:
                return await self._run_query(
                    partial(
                        listings.read_digests, self._codec, replace(entry_query, limit=_SCAN_PAGE_ENTRIES)
                    )
                )
            digests += part[0]
            remaining = part[1]
        return bytes(digests)

    async def handovers(self) -> list[tuple[str, RecordedEvent]]:
        """Return every handover with its session, in any order."""
        return await self._run_query(lambda view: read_handovers(view, self._codec))

    async def _ask_index(self, query: Callable[[SearchIndex], T]) -> T | None:
        """Return the index's answer; None if the store has to be scanned. Raise StoreClosed."""
        self._check_open()  # a closed index would never answer
        return await asyncio.wrap_future(self._index.submit(query))


def _is_index_order(entry_query: EntryQuery) -> bool:
    """Return True if LevelDB's own indexes give the page directly."""
    if entry_query.sort.column == "digest":
        return entry_query.entry_filter == EntryFilter(prefix=entry_query.entry_filter.prefix)
    return entry_query.sort.column == "created" and entry_query.entry_filter == DEFAULT_FILTER
