"""Reads and writes of entries in the search index, on the index's thread."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from helix_desktop.domain.search_query import normalize
from helix_desktop.domain.store.entries import EntryPage
from helix_desktop.domain.store.entry_order import text_key, tiebreak
from helix_desktop.store.core import keys
from helix_desktop.store.core.entry_query import EntryQuery, page_from_ordered
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.leveldb.entry_record import EntryRecord
from helix_desktop.store.leveldb.rows import ROWS
from helix_desktop.store.search.index_db import SearchIndex
from helix_desktop.store.search.queries import decode_entry, key_columns, page_query

STAMP_BYTES = 4  # of a record's row: its checksum, which changes whenever the record does
_MAX_SORTED_MATCHES = 2_000  # up to so many matches are fetched and sorted, more are looked up in order
_DIGESTS_AT_ONCE = 20_000  # about 20 ms

_log = logging.getLogger(__name__)

_UPSERT = (
    "INSERT INTO entries(digest, stamp, tie, created, used, size, stored, tokens, tool, target, line, kind,"
    " session, recalls, refs, pinned, trashed, record, place, target_key, line_key)"
    f" VALUES ({', '.join('?' * 21)}) ON CONFLICT(digest) DO UPDATE SET stamp = excluded.stamp,"
    " created = excluded.created, used = excluded.used, size = excluded.size, stored = excluded.stored,"
    " tokens = excluded.tokens, kind = excluded.kind, session = excluded.session,"
    " recalls = excluded.recalls, refs = excluded.refs, pinned = excluded.pinned, trashed = excluded.trashed,"
    " record = excluded.record"
)
# The texts of a document cannot be changed: an entry with other labels is a new document.
_DELETE_RENAMED = "DELETE FROM entries WHERE digest = ? AND (tool, target, line) <> (?, ?, ?)"


def put_rows(db: sqlite3.Connection, rows: Mapping[bytes, bytes | None]) -> None:
    """Write records by their key; None deletes one. A damaged record is not indexed."""
    removed: list[tuple[bytes]] = []
    upserts: list[tuple[Any, ...]] = []
    for key, row in rows.items():
        raw = key[-keys.DIGEST_BYTES :]
        try:
            record = None if row is None else ROWS.record.decode(key, row)
        except RowDamaged as error:
            _log.warning("The record of %s is damaged (%s) and was not indexed.", raw.hex(), error)
            record = None
        if record is None or row is None:
            removed.append((raw,))
        else:
            upserts.append(_entry_values(raw, row, record))
    db.executemany("DELETE FROM entries WHERE digest = ?", removed)
    db.executemany(_DELETE_RENAMED, [(values[0], *values[8:11]) for values in upserts])
    db.executemany(_UPSERT, upserts)


def read_stamps(db: sqlite3.Connection, first: bytes, stop: bytes) -> dict[bytes, bytes]:
    """Return the stamps of the entries in a range of digests, both ends included."""
    return dict(db.execute("SELECT digest, stamp FROM entries WHERE digest BETWEEN ? AND ?", (first, stop)))


def read_page(index: SearchIndex, entry_query: EntryQuery, match: str = "") -> EntryPage:
    """Return the page of a listing; with `match` only entries that may hold the searched terms."""
    match = match if index.has_words else ""
    unindexed = index.unindexed() if match else 0
    is_common = bool(match) and (
        unindexed > _MAX_SORTED_MATCHES or _count_matches(index.db, match) > _MAX_SORTED_MATCHES
    )
    query, values = page_query(entry_query, match, is_common)
    page = page_from_ordered(entry_query, [decode_entry(row) for row in index.db.execute(query, values)])
    return msgspec.structs.replace(page, unindexed=unindexed) if unindexed else page


def read_digests(entry_query: EntryQuery, index: SearchIndex) -> tuple[bytes, EntryQuery | None]:
    """Return some digests of a listing, joined, and the query for the rest; None at the end."""
    query = EntryQuery(entry_query.sort, entry_query.entry_filter, _DIGESTS_AT_ONCE, entry_query.after)
    columns = (
        "digest"
        if entry_query.sort.column == "digest"
        else f"digest, {', '.join(key_columns(entry_query.sort.column))}"
    )
    rows = index.db.execute(*page_query(query, columns=columns)).fetchall()
    digests = b"".join([row[0] for row in rows[:_DIGESTS_AT_ONCE]])
    if len(rows) <= _DIGESTS_AT_ONCE:
        return digests, None
    last_row = rows[_DIGESTS_AT_ONCE - 1]
    after = (last_row[0].hex(),) if entry_query.sort.column == "digest" else tuple(last_row[1:])
    return digests, EntryQuery(entry_query.sort, entry_query.entry_filter, entry_query.limit, after)


def read_tools(db: sqlite3.Connection) -> list[str]:
    """Return the names of the tools that stored something, sorted; one index lookup for each."""
    tools: list[str] = []
    row = db.execute("SELECT min(tool) FROM entries").fetchone()
    while row[0] is not None:
        tools.append(row[0])
        row = db.execute("SELECT min(tool) FROM entries WHERE tool > ?", row).fetchone()
    return tools


def _count_matches(db: sqlite3.Connection, match: str) -> int:
    sql = f"SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT {_MAX_SORTED_MATCHES + 1})"
    return int(db.execute(sql, (match,)).fetchone()[0])


def _entry_values(digest: bytes, row: bytes, record: EntryRecord) -> tuple[Any, ...]:
    entry = record.to_entry(digest.hex())
    return (
        digest,
        row[-STAMP_BYTES:],
        tiebreak(entry.digest),
        entry.created,
        entry.last_used,
        entry.size,
        entry.stored_size,
        entry.tokens,
        entry.tool,
        entry.target,
        entry.first_line,
        entry.kind,
        entry.session,
        entry.recalls,
        entry.references,
        entry.pinned,
        entry.trashed,
        msgspec.msgpack.encode(record),
        normalize(entry.target),
        text_key(entry.target),
        text_key(entry.first_line),
    )
