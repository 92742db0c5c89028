"""What one page of entries is asked for, and where the next one goes on: the same for both stores.

The cursor of a list by age is a key of the index by time, so that it holds for the plain list and for every
filter; that of another order names the order and the place in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from heapq import nlargest, nsmallest
from operator import itemgetter

import msgspec

from helix_desktop.context.content import Entry, Filter, Order, Page, Sort, SortColumn
from helix_desktop.context.digest import is_digest, is_prefix
from helix_desktop.context.listing import NEWEST, OLDEST, Position, passes, position, tie
from helix_desktop.store import keys

_PLACE = msgspec.msgpack.Decoder(tuple[SortColumn, bool, tuple[int | str, ...]])
_NUMBERS = ("used", "size", "stored", "tokens", "recalls", "references")
_KEYED, _DIGEST_ONLY = 3, 1  # values in a place


@dataclass(frozen=True, slots=True)
class Listing:
    """At most `limit` entries that pass `wanted`, in the order of `sort`, from behind `after` on."""

    sort: Sort
    wanted: Filter
    limit: int
    after: Position | None = None

    def left(self, entry: Entry) -> bool:
        """Whether an entry passes and has not been shown yet."""
        if not passes(entry, self.wanted):
            return False
        if self.after is None:
            return True
        place = position(entry, self.sort.column)
        return place < self.after if self.sort.descending else place > self.after

    def behind(self, entry: Entry) -> Listing:
        """What is left to list behind an entry."""
        return replace(self, after=position(entry, self.sort.column))


def listing(cursor: str, limit: int, order: Order, wanted: Filter) -> Listing:
    """What a page is asked for. Raises ValueError for a limit below 1, a wrong prefix or cursor."""
    if limit < 1:
        raise ValueError(f"a page has at least one entry, not {limit}")
    if wanted.prefix and not is_prefix(wanted.prefix):
        raise ValueError(f"not 1 to 64 lower-case hex digits: {wanted.prefix[:80]!r}")
    sort = order if isinstance(order, Sort) else NEWEST if order == "newest" else OLDEST
    return Listing(sort, wanted, limit, _after(cursor, sort) if cursor else None)


def cursor_of(entry: Entry, sort: Sort) -> str:
    """The cursor of the page that follows an entry."""
    if sort.column == "created":
        return keys.newest(entry.created, entry.digest).hex()
    place = (sort.column, sort.descending, position(entry, sort.column))
    return msgspec.msgpack.encode(place).hex()


def page_of(asked: Listing, entries: Iterable[Entry]) -> Page:
    """The page that a listing makes of entries in any order."""
    left = ((position(entry, asked.sort.column), entry) for entry in entries if asked.left(entry))
    first = nlargest if asked.sort.descending else nsmallest
    found = [entry for _, entry in first(asked.limit + 1, left, key=itemgetter(0))]
    return cut(asked, found)


def cut(asked: Listing, found: list[Entry]) -> Page:
    """The page out of entries in order, one more than fits if there are more."""
    if len(found) <= asked.limit:
        return Page(tuple(found))
    shown = found[: asked.limit]
    return Page(tuple(shown), cursor_of(shown[-1], asked.sort))


def _after(cursor: str, sort: Sort) -> Position:
    try:
        raw = bytes.fromhex(cursor)
    except ValueError as error:
        raise ValueError("not a cursor of this store") from error
    if sort.column == "created":
        if not keys.NEWEST[0] <= raw < keys.NEWEST[1] or len(raw) != keys.NEWEST_BYTES:
            raise ValueError("the cursor belongs to another list")
        return keys.created_in(raw), tie(keys.digest_in(raw))
    try:
        column, descending, place = _PLACE.decode(raw)
    except msgspec.DecodeError as error:
        raise ValueError("the cursor belongs to another list") from error
    if (column, descending) != (sort.column, sort.descending) or not _fits(column, place):
        raise ValueError("the cursor belongs to another list")
    return place


def _fits(column: SortColumn, place: Position) -> bool:
    """Whether a place from outside can be compared with those of a column."""
    if column == "digest":
        return len(place) == _DIGEST_ONLY and is_digest(str(place[0]))
    kind = int if column in _NUMBERS else str
    return (
        len(place) == _KEYED
        and isinstance(place[0], kind)
        and all(isinstance(one, int) and abs(one) < 1 << 63 for one in place[1:])
        and not (isinstance(place[0], int) and abs(place[0]) >= 1 << 63)
    )
