"""The query for one page of entries, and the cursor of the next page; the same for both stores.

The cursor of a list by age is a key of the time index, so that it is valid for the plain list and for every
filter. The cursor of any other order holds the order and the position in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest, nsmallest
from operator import itemgetter

import msgspec

from helix_desktop.domain.digest import is_digest, is_digest_prefix
from helix_desktop.domain.store.entries import CacheEntry, EntryFilter, EntryOrder, EntryPage, EntrySort
from helix_desktop.domain.store.entry_order import (
    NEWEST,
    OLDEST,
    Position,
    matches_filter,
    sort_position,
    tiebreak,
)
from helix_desktop.domain.store.sort_column import SortColumn
from helix_desktop.store.core import keys

_CURSOR_DECODER = msgspec.msgpack.Decoder(tuple[SortColumn, bool, tuple[int | str, ...]])
_NUMBER_COLUMNS = ("used", "size", "stored", "tokens", "recalls", "references")
_KEYED_VALUES, _DIGEST_VALUES = 3, 1  # values in a position


class EntryQuery(msgspec.Struct, frozen=True):
    """At most `limit` entries that match a filter, in the order of `sort`, after `after`."""

    sort: EntrySort
    entry_filter: EntryFilter = msgspec.field(name="wanted")
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
        """Return the query for the entries that follow `entry`."""
        return msgspec.structs.replace(self, after=sort_position(entry, self.sort.column))


def build_query(cursor: str, limit: int, order: EntryOrder, entry_filter: EntryFilter) -> EntryQuery:
    """Return the query for a page. Raise ValueError for a limit below 1, a wrong prefix or cursor."""
    if limit < 1:
        raise ValueError(f"a page has at least one entry, not {limit}")
    if entry_filter.prefix and not is_digest_prefix(entry_filter.prefix):
        raise ValueError(f"not 1 to 64 lower-case hex digits: {entry_filter.prefix[:80]!r}")
    sort = order if isinstance(order, EntrySort) else NEWEST if order == "newest" else OLDEST
    return EntryQuery(sort, entry_filter, limit, _decode_cursor(cursor, sort) if cursor else None)


def cursor_of(entry: CacheEntry, sort: EntrySort) -> str:
    """Return the cursor of the page that follows an entry."""
    if sort.column == "created":
        return keys.time_index(entry.created, entry.digest).hex()
    position = (sort.column, sort.descending, sort_position(entry, sort.column))
    return msgspec.msgpack.encode(position).hex()


def page_from_unordered(entry_query: EntryQuery, entries: Iterable[CacheEntry]) -> EntryPage:
    """Return the page of a listing, from entries in any order."""
    candidates = (
        (sort_position(entry, entry_query.sort.column), entry)
        for entry in entries
        if entry_query.includes(entry)
    )
    select = nlargest if entry_query.sort.descending else nsmallest
    entries_in_order = [entry for _, entry in select(entry_query.limit + 1, candidates, key=itemgetter(0))]
    return page_from_ordered(entry_query, entries_in_order)


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
        if not keys.TIME_INDEX[0] <= raw < keys.TIME_INDEX[1] or len(raw) != keys.TIME_INDEX_BYTES:
            raise ValueError("the cursor belongs to another list")
        return keys.created_ms_in(raw), tiebreak(keys.digest_in(raw))
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
