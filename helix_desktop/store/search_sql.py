"""Questions to the search index: a listing, and the words of a search, as SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from helix_desktop.context.content import Entry, Filter, SortColumn
from helix_desktop.context.digest import HEX_DIGITS
from helix_desktop.context.words import fold
from helix_desktop.store.ordering import Listing
from helix_desktop.store.record import Record

TRIGRAM = 3  # characters
_MOST_TRIGRAMS = 48  # of a search: more narrow it little, and FTS5 takes 256 at most
NOT_INDEXED = "text <> 1"  # entries whose text waits, or is left to be scanned

COLUMNS = "digest, record"  # one value of each entry is read several times faster than fifteen
_RECORD = msgspec.msgpack.Decoder(Record)
_SORTED_BY: dict[SortColumn, str] = {
    "target": "target_key",
    "line": "line_key",
    "references": "refs",
}
_MATCHING = (
    f"SELECT rowid FROM words WHERE words MATCH ? UNION ALL SELECT id FROM entries WHERE {NOT_INDEXED}"
)


@dataclass(slots=True)
class _Where:
    """Conditions and what stands for their question marks."""

    said: list[str] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)

    def add(self, condition: str, *given: object) -> None:
        self.said.append(condition)
        self.given += given


def page_query(
    asked: Listing, match: str = "", often: bool = False, wanted: str = COLUMNS
) -> tuple[str, list[Any]]:
    """The rows of a listing, one more than its limit; with `match` only those that may hold the words.

    `often` says that many do: then the order is followed, and each entry looked up among them.
    """
    column = asked.sort.column
    keys = key_columns(column)
    where = _conditions(asked.wanted)
    if match:
        where.add(f"{'+' if often else ''}id IN ({_MATCHING})", match)
    if asked.after is not None:
        place = [bytes.fromhex(str(asked.after[0]))] if column == "digest" else list(asked.after)
        marks = ", ".join("?" * len(keys))
        sign = "<" if asked.sort.descending else ">"
        where.add(f"({', '.join(keys)}) {sign} ({marks})", *place)
    way = " DESC" if asked.sort.descending else ""
    said = f" WHERE {' AND '.join(where.said)}" if where.said else ""
    order = ", ".join(key + way for key in keys)
    return f"SELECT {wanted} FROM entries{said} ORDER BY {order} LIMIT ?", [*where.given, asked.limit + 1]


def key_columns(column: SortColumn) -> tuple[str, ...]:
    """The columns that an order compares, the same as in `position`."""
    if column == "digest":
        return ("digest",)
    ends = ("created", "tie")
    return ends if column == "created" else (_SORTED_BY.get(column, column), *ends)


def entry_of(row: Sequence[Any]) -> Entry:
    """An entry out of a row of COLUMNS."""
    record: Record = _RECORD.decode(row[1])
    return record.entry(row[0].hex())


def match_of(words: Sequence[str]) -> str:
    """An FTS5 question that every text with all of the folded words answers; empty when none can be asked."""
    found = list(dict.fromkeys(trigram for word in words for trigram in _trigrams(indexed(word))))
    step = -(-len(found) // _MOST_TRIGRAMS) or 1
    return " AND ".join('"' + trigram.replace('"', '""') + '"' for trigram in found[::step])


def indexed(folded: str) -> str:
    """A folded text as it is indexed: FTS5 ends a text at a NUL."""
    return folded.replace("\0", "\1")


def _trigrams(word: str) -> Iterator[str]:
    return (word[at : at + TRIGRAM] for at in range(len(word) - TRIGRAM + 1))


def _conditions(wanted: Filter) -> _Where:
    """A filter, as `passes` reads it. A + keeps a range from being chosen over the order's index."""
    where = _Where()
    if wanted.prefix:
        ends = (bytes.fromhex(wanted.prefix.ljust(HEX_DIGITS, filler)) for filler in "0f")
        where.add("digest BETWEEN ? AND ?", *ends)
    if wanted.tool:
        where.add("tool = ?", wanted.tool)
    for tool in wanted.besides:
        where.add("tool <> ?", tool)
    if wanted.kinds:
        where.add(f"kind IN ({', '.join('?' * len(wanted.kinds))})", *wanted.kinds)
    if wanted.session:
        where.add("session = ?", wanted.session)
    if wanted.target:
        where.add("instr(place, ?) > 0", fold(wanted.target))
    _add_measures(where, wanted)
    _add_standing(where, wanted)
    return where


def _add_measures(where: _Where, wanted: Filter) -> None:
    if wanted.least_size:
        where.add("+size >= ?", wanted.least_size)
    if wanted.most_size is not None:
        where.add("+size <= ?", wanted.most_size)
    if wanted.since:
        where.add("created >= ?", wanted.since)
    if wanted.until is not None:
        where.add("created <= ?", wanted.until)


def _add_standing(where: _Where, wanted: Filter) -> None:
    if wanted.unused:
        where.add("recalls = 0")
    if wanted.orphan:
        where.add("refs = 0")
    if wanted.pinned is not None:
        where.add("pinned" if wanted.pinned else "NOT pinned")
    if wanted.trashed is not None:
        where.add("trashed > 0" if wanted.trashed else "+trashed = 0")
