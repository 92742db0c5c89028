"""How a list of entries is narrowed and ordered: the same rules for the store, its twin and its index."""

from __future__ import annotations

from helix_desktop.context.content import Entry, Filter, Sort, SortColumn
from helix_desktop.context.words import fold

NEWEST = Sort("created", descending=True)
OLDEST = Sort("created")
_KEY_CHARACTERS = 120  # of a text, by which it is sorted
_TIE_DIGITS = 16  # of a digest: they tell apart what was stored in the same millisecond
_HIGHEST = 2**63 - 1  # of the whole numbers that a database takes

Position = tuple[int | str, ...]
"""Where an entry stands in an order: what it is sorted by, then its age and a part of its digest."""


def passes(entry: Entry, wanted: Filter) -> bool:
    """Whether a filter lets an entry pass."""
    return _named(entry, wanted) and _measured(entry, wanted) and _kept(entry, wanted)


def position(entry: Entry, column: SortColumn) -> Position:
    """Where an entry stands among others; no two stand at the same place."""
    if column == "digest":
        return (entry.digest,)
    ends = (entry.created, tie(entry.digest))
    return ends if column == "created" else (_value(entry, column), *ends)


def tie(digest: str) -> int:
    """A number of 64 bits that is the greater, the earlier the digest comes."""
    return _HIGHEST - int(digest[:_TIE_DIGITS], 16)


def tie_start(tied: int) -> bytes:
    """The part of the digest that a tie stands for."""
    return (_HIGHEST - tied).to_bytes(_TIE_DIGITS // 2)


def text_key(text: str) -> str:
    """A text as it is sorted and compared, whatever its case."""
    return fold(text)[:_KEY_CHARACTERS]


def _value(entry: Entry, column: SortColumn) -> int | str:
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


def _named(entry: Entry, wanted: Filter) -> bool:
    return (
        entry.digest.startswith(wanted.prefix)
        and (not wanted.tool or entry.tool == wanted.tool)
        and entry.tool not in wanted.besides
        and (not wanted.kinds or entry.kind in wanted.kinds)
        and (not wanted.session or entry.session == wanted.session)
        and (not wanted.target or fold(wanted.target) in fold(entry.target))
    )


def _measured(entry: Entry, wanted: Filter) -> bool:
    return (
        entry.size >= wanted.least_size
        and (wanted.most_size is None or entry.size <= wanted.most_size)
        and entry.created >= wanted.since
        and (wanted.until is None or entry.created <= wanted.until)
    )


def _kept(entry: Entry, wanted: Filter) -> bool:
    return (
        not (wanted.unused and entry.recalls)
        and not (wanted.orphan and entry.references)
        and wanted.pinned in (None, entry.pinned)
        and wanted.trashed in (None, bool(entry.trashed))
    )
