"""Filter and order entries: the same rules for LevelDB, the store in memory, and the search index."""

from __future__ import annotations

from helix_desktop.domain.search_query import normalize
from helix_desktop.domain.store.entries import CacheEntry, EntryFilter, EntrySort
from helix_desktop.domain.store.sort_column import SortColumn

NEWEST = EntrySort("created", descending=True)
OLDEST = EntrySort("created")
_KEY_CHARACTERS = 120  # of a text, by which it is sorted
_TIE_DIGITS = 16  # of a digest: they tell apart what was stored in the same millisecond
_MAX_TIEBREAK = 2**63 - 1  # of the whole numbers that a database takes

Position = tuple[int | str, ...]
"""The sort key of an entry: the column's value, then its age and a part of its digest."""


def matches_filter(entry: CacheEntry, entry_filter: EntryFilter) -> bool:
    """Return True if an entry matches a filter."""
    return (
        _matches_names(entry, entry_filter)
        and _matches_ranges(entry, entry_filter)
        and _matches_state(entry, entry_filter)
    )


def sort_position(entry: CacheEntry, column: SortColumn) -> Position:
    """Return the sort key of an entry; no two entries have the same."""
    if column == "digest":
        return (entry.digest,)
    ends = (entry.created, tiebreak(entry.digest))
    return ends if column == "created" else (_value(entry, column), *ends)


def tiebreak(digest: str) -> int:
    """Return a 64-bit number that decreases with the digest's order."""
    return _MAX_TIEBREAK - int(digest[:_TIE_DIGITS], 16)


def tiebreak_prefix(value: int) -> bytes:
    """Return the part of the digest that a tiebreak number was made from."""
    return (_MAX_TIEBREAK - value).to_bytes(_TIE_DIGITS // 2)


def text_key(text: str) -> str:
    """Return the key by which a text is sorted and compared, regardless of case."""
    return normalize(text)[:_KEY_CHARACTERS]


def _value(entry: CacheEntry, column: SortColumn) -> int | str:
    match column:
        case "tool":
            return entry.tool
        case "target":
            return text_key(entry.target)
        case "line":
            return text_key(entry.first_line)
    numbers: dict[SortColumn, int] = {
        "used": entry.last_used,
        "size": entry.size,
        "stored": entry.stored_size,
        "tokens": entry.tokens,
        "recalls": entry.recalls,
        "references": entry.references,
    }
    return numbers[column]


def _matches_names(entry: CacheEntry, entry_filter: EntryFilter) -> bool:
    return (
        entry.digest.startswith(entry_filter.prefix)
        and (not entry_filter.tool or entry.tool == entry_filter.tool)
        and entry.tool not in entry_filter.except_tools
        and (not entry_filter.kinds or entry.kind in entry_filter.kinds)
        and (not entry_filter.session or entry.session == entry_filter.session)
        and (not entry_filter.target or normalize(entry_filter.target) in normalize(entry.target))
    )


def _matches_ranges(entry: CacheEntry, entry_filter: EntryFilter) -> bool:
    return (
        entry.size >= entry_filter.min_size
        and (entry_filter.max_size is None or entry.size <= entry_filter.max_size)
        and entry.created >= entry_filter.since
        and (entry_filter.until is None or entry.created <= entry_filter.until)
    )


def _matches_state(entry: CacheEntry, entry_filter: EntryFilter) -> bool:
    return (
        not (entry_filter.unused and entry.recalls)
        and not (entry_filter.orphan and entry.references)
        and entry_filter.pinned in (None, entry.pinned)
        and entry_filter.trashed in (None, bool(entry.trashed))
    )
