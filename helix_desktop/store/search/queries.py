"""Queries to the search index: a listing, and the terms of a search, as SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from helix_desktop.domain.digest import HEX_DIGITS
from helix_desktop.domain.search_query import normalize
from helix_desktop.domain.store.entries import CacheEntry, EntryFilter
from helix_desktop.domain.store.sort_column import SortColumn
from helix_desktop.store.core.entry_query import EntryQuery
from helix_desktop.store.leveldb.entry_record import EntryRecord

TRIGRAM = 3  # characters
_MAX_TRIGRAMS = 48  # of a search: more narrow it down little, and FTS5 takes 256 at most
NOT_INDEXED = "text <> 1"  # entries whose text is pending, or must be scanned

COLUMNS = "digest, record"  # one value of each entry is read several times faster than fifteen
_RECORD = msgspec.msgpack.Decoder(EntryRecord)
_SORTED_BY: dict[SortColumn, str] = {
    "target": "target_key",
    "line": "line_key",
    "references": "refs",
}
_MATCHING_WORDS = "SELECT rowid FROM words WHERE words MATCH ?"
_MATCHING = f"{_MATCHING_WORDS} UNION ALL SELECT id FROM entries WHERE {NOT_INDEXED}"


@dataclass(slots=True)
class _Conditions:
    """SQL conditions and the values of their placeholders."""

    clauses: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def add(self, condition: str, *values: object) -> None:
        self.clauses.append(condition)
        self.values += values


def page_query(
    entry_query: EntryQuery, match: str = "", match_is_common: bool = False, columns: str = COLUMNS
) -> tuple[str, list[Any]]:
    """Return the query of a listing, one row more than its limit; with `match` only possible matches.

    `match_is_common`: many entries match; then the order is followed, and each entry looked up among them.
    """
    column = entry_query.sort.column
    keys = key_columns(column)
    where = _filter_conditions(entry_query.entry_filter)
    if match:
        where.add(
            f"({NOT_INDEXED} OR +id IN ({_MATCHING_WORDS}))" if match_is_common else f"id IN ({_MATCHING})",
            match,
        )
    if entry_query.after is not None:
        position = (
            [bytes.fromhex(str(entry_query.after[0]))] if column == "digest" else list(entry_query.after)
        )
        placeholders = ", ".join("?" * len(keys))
        operator = "<" if entry_query.sort.descending else ">"
        where.add(f"({', '.join(keys)}) {operator} ({placeholders})", *position)
    direction = " DESC" if entry_query.sort.descending else ""
    where_clause = f" WHERE {' AND '.join(where.clauses)}" if where.clauses else ""
    order = ", ".join(key + direction for key in keys)
    return f"SELECT {columns} FROM entries{where_clause} ORDER BY {order} LIMIT ?", [
        *where.values,
        entry_query.limit + 1,
    ]


def key_columns(column: SortColumn) -> tuple[str, ...]:
    """Return the columns that an order compares, the same as in `sort_position`."""
    if column == "digest":
        return ("digest",)
    ends = ("created", "tie")
    return ends if column == "created" else (_SORTED_BY.get(column, column), *ends)


def decode_entry(row: Sequence[Any]) -> CacheEntry:
    """Return the entry in a row of COLUMNS."""
    record: EntryRecord = _RECORD.decode(row[1])
    return record.to_entry(row[0].hex())


def match_expression(terms: Sequence[str]) -> str:
    """Return an FTS5 query that matches every text with all of the terms; empty if none is possible."""
    trigrams = list(dict.fromkeys(trigram for term in terms for trigram in _trigrams(to_indexed_text(term))))
    step = -(-len(trigrams) // _MAX_TRIGRAMS) or 1
    return " AND ".join('"' + trigram.replace('"', '""') + '"' for trigram in trigrams[::step])


def to_indexed_text(normalized: str) -> str:
    """Return a normalized text as it is indexed: FTS5 ends a text at a NUL."""
    return normalized.replace("\0", "\1")


def _trigrams(word: str) -> Iterator[str]:
    return (word[index : index + TRIGRAM] for index in range(len(word) - TRIGRAM + 1))


def _filter_conditions(entry_filter: EntryFilter) -> _Conditions:
    """Return a filter's conditions, as `matches_filter` reads it. A + keeps SQLite from choosing a range
    over the order's index.
    """
    where = _Conditions()
    if entry_filter.prefix:
        ends = (bytes.fromhex(entry_filter.prefix.ljust(HEX_DIGITS, filler)) for filler in "0f")
        where.add("digest BETWEEN ? AND ?", *ends)
    if entry_filter.tool:
        where.add("tool = ?", entry_filter.tool)
    for tool in entry_filter.except_tools:
        where.add("tool <> ?", tool)
    if entry_filter.kinds:
        where.add(f"kind IN ({', '.join('?' * len(entry_filter.kinds))})", *entry_filter.kinds)
    if entry_filter.session:
        where.add("session = ?", entry_filter.session)
    if entry_filter.target:
        where.add("instr(place, ?) > 0", normalize(entry_filter.target))
    _add_ranges(where, entry_filter)
    _add_states(where, entry_filter)
    return where


def _add_ranges(where: _Conditions, entry_filter: EntryFilter) -> None:
    if entry_filter.min_size:
        where.add("+size >= ?", entry_filter.min_size)
    if entry_filter.max_size is not None:
        where.add("+size <= ?", entry_filter.max_size)
    if entry_filter.since:
        where.add("created >= ?", entry_filter.since)
    if entry_filter.until is not None:
        where.add("created <= ?", entry_filter.until)


def _add_states(where: _Conditions, entry_filter: EntryFilter) -> None:
    if entry_filter.unused:
        where.add("recalls = 0")
    if entry_filter.orphan:
        where.add("refs = 0")
    if entry_filter.pinned is not None:
        where.add("pinned" if entry_filter.pinned else "NOT pinned")
    if entry_filter.trashed is not None:
        where.add("trashed > 0" if entry_filter.trashed else "+trashed = 0")
