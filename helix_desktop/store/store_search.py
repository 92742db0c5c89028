"""Listing, sorting and search of a store's entries, page by page, with every hit verified.

The cursor of a list by age is a key of the time index, so that it is valid for the plain list and for every
filter. The cursor of any other order holds the order and the position in it.

A store answers the few queries that `StoreSearch` leaves abstract; the class decides which hits are returned.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from heapq import nlargest, nsmallest

import msgspec

from helix_desktop.context.summaries.handover import searchable_text
from helix_desktop.domain.choices import SortColumn
from helix_desktop.domain.digest import MIN_PREFIX, is_digest, is_digest_prefix
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.summary import HandoverMade, checkpoint_in
from helix_desktop.domain.passages import PassagePage, PassageQuery
from helix_desktop.domain.store import (
    DEFAULT_FILTER,
    NEWEST,
    OLDEST,
    CacheEntry,
    ContentHit,
    EntryFilter,
    EntryOrder,
    EntryPage,
    EntrySort,
    HandoverHit,
    Position,
    SearchResults,
    matches_filter,
    sort_position,
    tiebreak,
)
from helix_desktop.domain.text_search import MatchSummary, find_matches, parse_query, spelled_words
from helix_desktop.store import kinds

_CURSOR_DECODER = msgspec.msgpack.Decoder(tuple[SortColumn, bool, tuple[int | str, ...]])
_NUMBER_COLUMNS = ("used", "size", "stored", "tokens", "recalls", "references")
# How many values a position has.
_KEYED_VALUES = 3
_DIGEST_VALUES = 1


class EntryQuery(msgspec.Struct, frozen=True):
    """At most `limit` entries that match a filter, in the order of `sort`, after `after`."""

    sort: EntrySort
    entry_filter: EntryFilter = msgspec.field(name="wanted")  # as it crosses to other versions
    limit: int
    after: Position | None = None

    def includes(self, entry: CacheEntry) -> bool:
        """Return True if an entry matches and comes after the previous pages."""
        if not matches_filter(entry, self.entry_filter):
            return False
        if self.after is None:
            return True
        position = sort_position(entry, self.sort.column)
        return position < self.after if self.sort.descending else position > self.after

    def continue_after(self, entry: CacheEntry) -> EntryQuery:
        return msgspec.structs.replace(self, after=sort_position(entry, self.sort.column))


def build_query(cursor: str, limit: int, order: EntryOrder, entry_filter: EntryFilter) -> EntryQuery:
    """Return the query for a page. Raise ValueError for a limit below 1, a wrong prefix or cursor."""
    if limit < 1:
        raise ValueError(f"a page has at least one entry, not {limit}")
    if entry_filter.prefix and not is_digest_prefix(entry_filter.prefix):
        raise ValueError(f"not 1 to 64 lower-case hex digits: {entry_filter.prefix[:80]!r}")
    sort = NEWEST if order == "newest" else OLDEST
    if isinstance(order, EntrySort):
        sort = order
    return EntryQuery(sort, entry_filter, limit, _decode_cursor(cursor, sort) if cursor else None)


def cursor_of(entry: CacheEntry, sort: EntrySort) -> str:
    if sort.column == "created":
        return kinds.time_index_key(entry.created, entry.digest).hex()
    position = (sort.column, sort.descending, sort_position(entry, sort.column))
    return msgspec.msgpack.encode(position).hex()


def page_of(entry_query: EntryQuery, entries: Iterable[CacheEntry]) -> EntryPage:
    """Return the page of a listing from all entries, in any order."""
    column = entry_query.sort.column
    select = nlargest if entry_query.sort.descending else nsmallest
    found = select(
        entry_query.limit + 1,
        filter(entry_query.includes, entries),
        key=lambda entry: sort_position(entry, column),
    )
    return page_from_ordered(entry_query, found)


def page_from_ordered(entry_query: EntryQuery, entries: list[CacheEntry]) -> EntryPage:
    """Return the page from ordered entries: one more than `limit` if there is a next page."""
    if len(entries) <= entry_query.limit:
        return EntryPage(tuple(entries))
    page = entries[: entry_query.limit]
    return EntryPage(tuple(page), cursor_of(page[-1], entry_query.sort))


def _decode_cursor(cursor: str, sort: EntrySort) -> Position:
    try:
        raw = bytes.fromhex(cursor)
    except ValueError as error:
        raise ValueError("not a cursor of this store") from error
    if sort.column == "created":
        if not kinds.TIME_INDEX[0] <= raw < kinds.TIME_INDEX[1] or len(raw) != kinds.TIME_INDEX_BYTES:
            raise ValueError("the cursor belongs to another list")
        return kinds.created_ms_in(raw), tiebreak(kinds.digest_in(raw))
    try:
        column, descending, position = _CURSOR_DECODER.decode(raw)
    except msgspec.DecodeError as error:
        raise ValueError("the cursor belongs to another list") from error
    if (column, descending) != (sort.column, sort.descending) or not _is_valid_position(column, position):
        raise ValueError("the cursor belongs to another list")
    return position


def _is_valid_position(column: SortColumn, values: Position) -> bool:
    """Return True if a position from outside can be compared with those of a column."""
    if column == "digest":
        return len(values) == _DIGEST_VALUES and is_digest(str(values[0]))
    kind = int if column in _NUMBER_COLUMNS else str
    return (
        len(values) == _KEYED_VALUES
        and isinstance(values[0], kind)
        and all(isinstance(value, int) and abs(value) < 1 << 63 for value in values[1:])
        and not (isinstance(values[0], int) and abs(values[0]) >= 1 << 63)
    )


_PAGE_ENTRIES = 200  # requested at once
# So much is read and searched at once, unless one content is larger.
_READ_ENTRIES = 64
_READ_BYTES = 256 * 1024

ShouldContinue = Callable[[int], bool]
"""Called before another content is searched, with its size in bytes; False ends the search for now."""


class StoreSearch(ABC):
    """Listing and search of a store, on top of the few queries that each store answers in its own way."""

    @abstractmethod
    async def get(self, digest: str) -> bytes:
        """Return the verified bytes of a full digest. Raise DigestUnknown, ContentDamaged."""

    @abstractmethod
    async def entry(self, digest: str) -> CacheEntry:
        """Return the metadata of a content. Raise DigestUnknown, ContentDamaged."""

    @abstractmethod
    async def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that stored something, sorted."""

    @abstractmethod
    async def wait_until_indexed(self) -> None:
        """Wait until the index is complete; results are the same without."""

    @abstractmethod
    async def list_page(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """Return one page of a listing; with normalized terms, without entries that cannot hold them all."""

    @abstractmethod
    async def list_digests(self, entry_query: EntryQuery) -> bytes:
        """Return all digests of a listing, joined: the query's limit does not count."""

    async def read_contents(self, digests: Sequence[str]) -> list[bytes | None]:
        """Return the verified bytes of full digests, in their order; None for each that cannot be read."""
        contents: list[bytes | None] = []
        for digest in digests:
            try:
                contents.append(await self.get(digest))
            except (ContentDamaged, DigestUnknown):
                contents.append(None)
        return contents

    @abstractmethod
    async def handovers(self, with_checkpoints: bool = False) -> list[tuple[str, RecordedEvent]]:
        """Return every handover, and checkpoint if asked, with its session, in any order."""

    @abstractmethod
    async def find_passages(self, query: PassageQuery) -> PassagePage:
        """Return messages, handovers and names of files with all words of a query, newest first.

        A page takes at most about 0.1 s; with a cursor there may be more.
        """

    async def page(
        self,
        cursor: str = "",
        limit: int = 200,
        order: EntryOrder = "newest",
        prefix: str = "",
        entry_filter: EntryFilter = DEFAULT_FILTER,
    ) -> EntryPage:
        """Return entries that match a filter, in an order or (with a prefix) by digest, from a cursor on.

        Raise ValueError for a limit below 1, an invalid prefix, and the cursor of another order.
        """
        if prefix:
            order = EntrySort("digest")
            entry_filter = msgspec.structs.replace(entry_filter, prefix=prefix)
        return await self.list_page(build_query(cursor, limit, order, entry_filter))

    async def digests(
        self, order: EntryOrder = "newest", entry_filter: EntryFilter = DEFAULT_FILTER
    ) -> bytes:
        return await self.list_digests(build_query("", _PAGE_ENTRIES, order, entry_filter))

    async def search(
        self,
        query: str,
        entry_filter: EntryFilter = DEFAULT_FILTER,
        limit: int = 20,
        cursor: str = "",
        should_continue: ShouldContinue = lambda _: True,
    ) -> SearchResults:
        """Return the newest contents with all words of a query, and first the one whose SHA-256 it begins.

        `cursor` goes on behind a hit. Raise InvalidInput for a query without words.
        """
        terms = parse_query(query)
        spellings = spelled_words(query)
        page_query = build_query(cursor, _PAGE_ENTRIES, "newest", entry_filter)
        hits: list[ContentHit] = []
        if not cursor:
            hits += await self._named_by_digest(terms, entry_filter, limit)
        named = {hit.entry.digest for hit in hits}
        unreadable = 0
        is_first = True
        while True:
            page = await self.list_page(page_query, terms)
            position = 0
            while position < len(page.entries):
                # No more than the hits that are missing: nothing is read that the caller did not ask for.
                entries = page.entries[position : position + limit - len(hits)]
                batch, is_over = _next_batch(entries, should_continue, is_first=is_first)
                if batch:
                    contents = await self.read_contents([entry.digest for entry in batch])
                    found = await self._find_hits(terms, batch, contents, spellings)
                    hits += [hit for hit in found if hit.entry.digest not in named]
                    unreadable += contents.count(None)
                    is_first = False
                    position = position + len(batch)
                    cursor = cursor_of(batch[-1], NEWEST)
                if is_over or not batch:
                    return SearchResults(tuple(hits), cursor, unreadable, page.unindexed)
            if not page.cursor:
                return SearchResults(tuple(hits), "", unreadable, page.unindexed)
            page_query = page_query.continue_after(page.entries[-1])

    async def _named_by_digest(
        self, terms: Sequence[str], entry_filter: EntryFilter, limit: int
    ) -> list[ContentHit]:
        """Return the entries whose SHA-256 a query is, or begins with; none for other words.

        They come before what quotes it, but leave room for that.
        """
        word = terms[0]
        if len(terms) > 1 or len(word) < MIN_PREFIX or not is_digest_prefix(word) or entry_filter.prefix:
            return []
        page = await self.page(limit=max(1, limit - 1), prefix=word, entry_filter=entry_filter)
        nothing = MatchSummary(0, ())
        return [ContentHit(entry, nothing, cursor_of(entry, NEWEST)) for entry in page.entries]

    async def search_handovers(self, query: str, limit: int = 20) -> tuple[HandoverHit, ...]:
        """Return the newest handovers and checkpoints that hold all words of a query. Raise InvalidInput.

        Of checkpoints that update one another only the newest with the words is returned, and none if a
        handover with them was made from it.
        """
        terms = parse_query(query)
        handovers = await self.handovers(with_checkpoints=True)
        handovers.sort(key=lambda handover: (handover[1].at, handover[0], handover[1].seq), reverse=True)
        return await asyncio.to_thread(_matching_handovers, terms, handovers, limit)

    async def _find_hits(
        self,
        terms: Sequence[str],
        entries: Sequence[CacheEntry],
        contents: Sequence[bytes | None],
        spellings: Sequence[str],
    ) -> list[ContentHit]:
        stop_event = threading.Event()

        def should_continue() -> bool:
            return not stop_event.is_set()

        def find() -> list[ContentHit]:
            hits = []
            for entry, data in zip(entries, contents, strict=True):
                if data is not None and should_continue():
                    matches = find_matches(terms, data, description_of(entry), should_continue, spellings)
                    hits += [ContentHit(entry, matches, cursor_of(entry, NEWEST))] if matches else []
            return hits

        try:
            return await asyncio.to_thread(find)
        finally:
            stop_event.set()  # canceling does not end a thread


def _next_batch(
    entries: Sequence[CacheEntry], should_continue: ShouldContinue, *, is_first: bool
) -> tuple[Sequence[CacheEntry], bool]:
    """Return what to read next, and whether the search ends behind it; `is_first`: nothing was read yet."""
    size = 0
    for count, entry in enumerate(entries[:_READ_ENTRIES]):
        if count and size + entry.size > _READ_BYTES:
            return entries[:count], False
        if (count or not is_first) and not should_continue(entry.size):
            return entries[:count], True
        size += entry.size
    return entries[:_READ_ENTRIES], False


def description_of(entry: CacheEntry) -> str:
    """Return a content's description, which is searched with it."""
    return f"{entry.tool} {entry.target}\n{entry.first_line}"


def _matching_handovers(
    terms: Sequence[str], handovers: Sequence[tuple[str, RecordedEvent]], limit: int
) -> tuple[HandoverHit, ...]:
    hits: list[HandoverHit] = []
    updated: set[tuple[str, int]] = set()
    for session_id, recorded in handovers:
        if len(hits) >= limit:
            break
        checkpoint = checkpoint_in(recorded.event)
        handover = checkpoint.handover if checkpoint is not None else recorded.event
        assert isinstance(handover, HandoverMade)  # nothing else is marked as one
        summary = find_matches(terms, searchable_text(handover).encode(), "", lambda: True)
        if summary is None:
            continue
        if checkpoint is None or (session_id, recorded.seq) not in updated:
            hits.append(HandoverHit(session_id, recorded.seq, summary, checkpoint is not None))
        updated |= {(session_id, handover.checkpoint), (session_id, handover.revises)}
    return tuple(hits)
