"""Entries in and out of the search index, on the index's thread."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from helix_desktop.context.content import Page
from helix_desktop.context.listing import text_key, tie
from helix_desktop.context.words import fold
from helix_desktop.store import keys
from helix_desktop.store.codec import Codec, RowDamaged
from helix_desktop.store.ordering import Listing, cut
from helix_desktop.store.record import RECORD, Record
from helix_desktop.store.search_db import SearchDb
from helix_desktop.store.search_sql import entry_of, key_columns, page_query

STAMP_BYTES = 4  # of a record's row: its checksum, which differs whenever the record does
_RARE = 2_000  # matches up to which they are fetched and sorted, rather than looked up in order
_DIGESTS_AT_ONCE = 20_000  # about 20 ms

_log = logging.getLogger(__name__)

_PUT = (
    "INSERT INTO entries(digest, stamp, tie, created, used, size, stored, tokens, tool, target, line, kind,"
    " session, recalls, refs, pinned, trashed, record, place, target_key, line_key)"
    f" VALUES ({', '.join('?' * 21)}) ON CONFLICT(digest) DO UPDATE SET stamp = excluded.stamp,"
    " created = excluded.created, used = excluded.used, size = excluded.size, stored = excluded.stored,"
    " tokens = excluded.tokens, kind = excluded.kind, session = excluded.session,"
    " recalls = excluded.recalls, refs = excluded.refs, pinned = excluded.pinned, trashed = excluded.trashed,"
    " record = excluded.record"
)
# The texts of a document cannot be changed: what is called otherwise now is another document.
_RENAMED = "DELETE FROM entries WHERE digest = ? AND (tool, target, line) <> (?, ?, ?)"


def put_rows(db: sqlite3.Connection, codec: Codec, rows: Mapping[bytes, bytes | None]) -> None:
    """Take over records by their key; None removes one. A damaged record has no place in the index."""
    gone: list[tuple[bytes]] = []
    told: list[tuple[Any, ...]] = []
    for key, row in rows.items():
        raw = key[-keys.DIGEST_BYTES :]
        try:
            record = None if row is None else codec.unseal(key, row, RECORD)
        except RowDamaged as error:
            _log.warning("The record of %s is damaged (%s) and was not indexed.", raw.hex(), error)
            record = None
        if record is None or row is None:
            gone.append((raw,))
        else:
            told.append(_told(raw, row, record))
    db.executemany("DELETE FROM entries WHERE digest = ?", gone)
    db.executemany(_RENAMED, [(one[0], *one[8:11]) for one in told])
    db.executemany(_PUT, told)


def stamps(db: sqlite3.Connection, first: bytes, stop: bytes) -> dict[bytes, bytes]:
    """The stamps of the entries from one digest up to another, both included."""
    return dict(db.execute("SELECT digest, stamp FROM entries WHERE digest BETWEEN ? AND ?", (first, stop)))


def read_page(db: sqlite3.Connection, asked: Listing, match: str = "") -> Page:
    """The page of a listing; with `match` only of entries that may hold the words asked for."""
    often = bool(match) and _count(db, match) > _RARE
    query, given = page_query(asked, match, often)
    return cut(asked, [entry_of(row) for row in db.execute(query, given)])


def read_digests(asked: Listing, index: SearchDb) -> tuple[bytes, Listing | None]:
    """Some digests of a listing, joined, and what is left to be asked for."""
    part = Listing(asked.sort, asked.wanted, _DIGESTS_AT_ONCE, asked.after)
    columns = (
        "digest" if asked.sort.column == "digest" else f"digest, {', '.join(key_columns(asked.sort.column))}"
    )
    rows = index.db.execute(*page_query(part, wanted=columns)).fetchall()
    found = b"".join([row[0] for row in rows[:_DIGESTS_AT_ONCE]])
    if len(rows) <= _DIGESTS_AT_ONCE:
        return found, None
    last = rows[_DIGESTS_AT_ONCE - 1]
    after = (last[0].hex(),) if asked.sort.column == "digest" else tuple(last[1:])
    return found, Listing(asked.sort, asked.wanted, asked.limit, after)


def read_tools(db: sqlite3.Connection) -> list[str]:
    """The tools by whose name something is stored, in order; one look into the index for each."""
    found: list[str] = []
    row = db.execute("SELECT min(tool) FROM entries").fetchone()
    while row[0] is not None:
        found.append(row[0])
        row = db.execute("SELECT min(tool) FROM entries WHERE tool > ?", row).fetchone()
    return found


def _count(db: sqlite3.Connection, match: str) -> int:
    asked = f"SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT {_RARE + 1})"
    return int(db.execute(asked, (match,)).fetchone()[0])


def _told(raw: bytes, row: bytes, record: Record) -> tuple[Any, ...]:
    entry = record.entry(raw.hex())
    return (
        raw,
        row[-STAMP_BYTES:],
        tie(entry.digest),
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
        fold(entry.target),
        text_key(entry.target),
        text_key(entry.first_line),
    )
