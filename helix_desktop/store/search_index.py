"""The search index: SQLite next to LevelDB, derived from it, deleted whenever in doubt; rows and queries.

An FTS5 table of trigrams holds the normalized texts; SQLite's own case folding is off, so that index and scan
normalize alike. A document cannot be deleted from it: its id is never reused, and what no entry names is not
found.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec.structs import astuple

from helix_desktop.domain.choices import SortColumn
from helix_desktop.domain.digest import HEX_DIGITS
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.store import EntryFilter, EntryPage, EntryRecord, text_key, tiebreak
from helix_desktop.domain.text_search import normalize, split_chunks
from helix_desktop.domain.unicode_safety import repair_surrogates
from helix_desktop.store.kinds import DIGEST_BYTES, ROWS, RowDamaged
from helix_desktop.store.store_search import EntryQuery, page_from_ordered

_log = logging.getLogger(__name__)

INDEX_VERSION = 5  # of the tables below; an index of another version is deleted
_NOT_SYNCED = -1  # sequence of an index that does not yet hold everything
_CACHE_KIB = 16 * 1024

_TABLES = """
CREATE TABLE state(version INTEGER, workspace TEXT, sequence INTEGER);
CREATE TABLE entries(
    id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, stamp BLOB, tie INTEGER,
    created INTEGER, used INTEGER, size INTEGER, stored INTEGER, tokens INTEGER, tool TEXT, target TEXT,
    line TEXT, kind TEXT, session TEXT, recalls INTEGER, refs INTEGER, pinned INTEGER, trashed INTEGER,
    record BLOB, place TEXT, target_key TEXT, line_key TEXT, text INTEGER NOT NULL DEFAULT 0);
CREATE INDEX by_created ON entries(created, tie);
CREATE INDEX by_text ON entries(text, id) WHERE text <> 1;
CREATE INDEX by_pinned ON entries(created, tie) WHERE pinned;
CREATE INDEX by_trashed ON entries(created, tie) WHERE trashed > 0;
CREATE TABLE logs(
    id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL, stamp BLOB);
CREATE TABLE passages(
    id INTEGER PRIMARY KEY, log INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL, path TEXT);
CREATE UNIQUE INDEX by_path ON passages(log, path) WHERE path IS NOT NULL;
"""
_SORTED_BY: dict[SortColumn, str] = {"target": "target_key", "line": "line_key", "references": "refs"}
# Created in an index that lacks one, which takes a second for a million entries.
_ORDERS = [
    f"CREATE INDEX IF NOT EXISTS by_{column} ON entries({column}, created, tie)"
    for column in ("session", *(_SORTED_BY.get(column, column) for column in get_args(SortColumn)))
    if column not in ("created", "digest")
] + [
    "CREATE INDEX IF NOT EXISTS by_tool_size ON entries(tool, size, created, tie)",
    # All are compared with the store's in this order: to look each up in the table takes five times longer.
    "CREATE INDEX IF NOT EXISTS by_stamp ON entries(digest, stamp)",
]
# The first condition is that of the index by_text.
_UNINDEXED_COUNT = "SELECT count(*) FROM entries WHERE text <> 1 AND text = 0"
_WORDS_TABLES = [
    f"CREATE VIRTUAL TABLE {name} USING fts5(text, content='', columnsize=0, detail=none,"
    " tokenize='trigram case_sensitive 1')"
    for name in ("passage_words", "words")
]


class SearchIndex:
    """An open index, for the thread that opened it. Every method may raise sqlite3.Error."""

    def __init__(self, path: Path | None, workspace_id: str) -> None:
        """Open the index, or create it if it is missing. Raise for another format or another store.

        Without a path it lives in a temporary file of SQLite's, and has no words.
        """
        self.is_temporary = path is None
        self._workspace_id = workspace_id
        self._unindexed: int | None = None
        self.db = _connect(path)
        try:
            self._create_or_check()
            self.has_words = self._query_int("SELECT count(*) FROM sqlite_schema WHERE name = 'words'") > 0
        except BaseException:
            self.db.close()
            raise

    @property
    def sequence(self) -> int:
        """Return the number of the store's last write that the entries include."""
        return self._query_int("SELECT sequence FROM state")

    def set_sequence(self, sequence: int) -> None:
        """Set the number of the last write that the entries include, within the transaction."""
        self.db.execute("UPDATE state SET sequence = ?", (sequence,))

    def invalidate(self) -> None:
        """Mark that the entries have to be compared with the store."""
        with self.db:
            self.set_sequence(_NOT_SYNCED)

    def unindexed(self) -> int:
        """Return how many texts are still to be indexed, counted once between two changes of entries."""
        if self._unindexed is None:
            self._unindexed = self._query_int(_UNINDEXED_COUNT) if self.has_words else 0
        return self._unindexed

    def note_indexed(self, count: int) -> None:
        self._unindexed = None if self._unindexed is None else self._unindexed - count

    def note_changes(self) -> None:
        """Count the texts still to be indexed again: entries were changed."""
        self._unindexed = None

    def close(self) -> None:
        self.db.close()

    def _query_int(self, sql: str) -> int:
        return int(self.db.execute(sql).fetchone()[0])

    def _create_or_check(self) -> None:
        has_state = self.db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'state'").fetchone()[0]
        if has_state:
            state = self.db.execute("SELECT version, workspace FROM state").fetchone()
            if state != (INDEX_VERSION, self._workspace_id):
                raise sqlite3.DatabaseError("the index is of another format or store")
        with self.db:
            if not has_state:
                self._create_tables()
            for statement in _ORDERS:
                self.db.execute(statement)

    def _create_tables(self) -> None:
        for statement in filter(str.strip, _TABLES.split(";")):
            self.db.execute(statement)
        with suppress(sqlite3.OperationalError):  # an SQLite without trigrams: contents are scanned instead
            for statement in () if self.is_temporary else _WORDS_TABLES:
                self.db.execute(statement)
        state = (INDEX_VERSION, self._workspace_id, _NOT_SYNCED)
        self.db.execute("INSERT INTO state VALUES (?, ?, ?)", state)


def _connect(path: Path | None) -> sqlite3.Connection:
    db = sqlite3.connect(path or "", isolation_level="DEFERRED", cached_statements=256)
    try:
        # A power cut may cost the newest transactions, never the file's order: the sequence tells.
        for pragma in (
            "journal_mode = WAL",
            "synchronous = NORMAL",
            f"cache_size = -{_CACHE_KIB}",
            "cell_size_check = ON",
            "temp_store = MEMORY",
        ):
            db.execute(f"PRAGMA {pragma}")
    except BaseException:
        db.close()
        raise
    return db


TRIGRAM = 3  # characters
_MAX_TRIGRAMS = 48  # of a search: more narrow it down little, and FTS5 takes 256 at most
NOT_INDEXED = "text <> 1"  # entries whose text is pending, or must be scanned

COLUMNS = "digest, record"  # one value of each entry is read several times faster than fifteen
_RECORD = msgspec.msgpack.Decoder(EntryRecord)
_MAX_INTEGER = 2**63 - 1
_MATCHING_WORDS = "SELECT rowid FROM words WHERE words MATCH ?"
_MATCHING = f"{_MATCHING_WORDS} UNION ALL SELECT id FROM entries WHERE {NOT_INDEXED}"


@dataclass(slots=True)
class _Conditions:
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
    values = [_storable(value) for value in (*where.values, entry_query.limit + 1)]
    return f"SELECT {columns} FROM entries{where_clause} ORDER BY {order} LIMIT ?", values


def _storable(value: Any) -> Any:
    """Return a value for SQLite in place of one that it cannot take: no row has either."""
    if isinstance(value, int):
        return max(-_MAX_INTEGER, min(value, _MAX_INTEGER))
    return repair_surrogates(value) if isinstance(value, str) else value


def key_columns(column: SortColumn) -> tuple[str, ...]:
    """Return the columns that an order compares, the same as in `sort_position`."""
    if column == "digest":
        return ("digest",)
    ends = ("created", "tie")
    return ends if column == "created" else (_SORTED_BY.get(column, column), *ends)


def match_expression(terms: Sequence[str]) -> str:
    """Return an FTS5 query that matches every text with all of the terms; empty if none is possible."""
    words = (to_indexed_text(repair_surrogates(term)) for term in terms)
    trigrams = list(
        dict.fromkeys(
            trigram
            for word in words
            for trigram in (word[index : index + TRIGRAM] for index in range(len(word) - TRIGRAM + 1))
        )
    )
    step = -(-len(trigrams) // _MAX_TRIGRAMS) or 1
    return " AND ".join('"' + trigram.replace('"', '""') + '"' for trigram in trigrams[::step])


def to_indexed_text(normalized: str) -> str:
    """Return a normalized text as it is indexed: FTS5 ends a text at a NUL."""
    return normalized.replace("\0", "\1")


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
    if entry_filter.min_size:
        where.add("+size >= ?", entry_filter.min_size)
    if entry_filter.max_size is not None:
        where.add("+size <= ?", entry_filter.max_size)
    if entry_filter.since:
        where.add("created >= ?", entry_filter.since)
    if entry_filter.until is not None:
        where.add("created <= ?", entry_filter.until)
    if entry_filter.unused:
        where.add("recalls = 0")
    if entry_filter.orphan:
        where.add("refs = 0")
    if entry_filter.pinned is not None:
        where.add("pinned" if entry_filter.pinned else "NOT pinned")
    if entry_filter.trashed is not None:
        where.add("trashed > 0" if entry_filter.trashed else "+trashed = 0")
    return where


STAMP_BYTES = 4  # of a record's row: its checksum, which changes whenever the record does
_MAX_SORTED_MATCHES = 2_000  # up to so many matches are fetched and sorted, more are looked up in order
_DIGESTS_AT_ONCE = 20_000  # about 20 ms


_UPSERT = (
    "INSERT INTO entries(digest, stamp, tie, created, used, size, stored, tokens, tool, target, line, kind,"
    " recalls, refs, session, pinned, trashed, record, place, target_key, line_key)"
    f" VALUES ({', '.join('?' * 21)}) ON CONFLICT(digest) DO UPDATE SET stamp = excluded.stamp,"
    " created = excluded.created, used = excluded.used, size = excluded.size, stored = excluded.stored,"
    " tokens = excluded.tokens, kind = excluded.kind, session = excluded.session,"
    " recalls = excluded.recalls, refs = excluded.refs, pinned = excluded.pinned, trashed = excluded.trashed,"
    " record = excluded.record"
)
# The texts of a document cannot be changed: an entry with other labels is a new document.
_DELETE_RENAMED = "DELETE FROM entries WHERE digest = ? AND (tool, target, line) <> (?, ?, ?)"


def put_rows(
    db: sqlite3.Connection, rows: Mapping[bytes, bytes | None], read_copy: Callable[[str], EntryRecord | None]
) -> None:
    """Write records by their key; None deletes one. `read_copy` returns a damaged one, if it can."""
    removed: list[tuple[bytes]] = []
    upserts: list[tuple[Any, ...]] = []
    for key, row in rows.items():
        raw = key[-DIGEST_BYTES:]
        try:
            record = None if row is None else ROWS.record.decode(key, row)
        except RowDamaged as error:
            _log.warning("The record of %s is damaged: %s", raw.hex(), error)
            record = read_copy(raw.hex())
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
    page = page_from_ordered(
        entry_query,
        [_RECORD.decode(row[1]).to_entry(row[0].hex()) for row in index.db.execute(query, values)],
    )
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
    return (
        digest,
        row[-STAMP_BYTES:],
        tiebreak(digest.hex()),
        *astuple(record),
        msgspec.msgpack.encode(record),
        normalize(record.target),
        text_key(record.target),
        text_key(record.first_line),
    )


MAX_INDEXED_BYTES = 1024 * 1024  # of a content whose text is indexed; every search scans larger ones
_PENDING, _INDEXED, _NOT_INDEXABLE = range(3)
# So much is indexed in one transaction, which takes about 20 ms.
_MAX_BATCH_BYTES = 256 * 1024
_MAX_BATCH_CONTENTS = 64
_NUL_CHECK_BYTES = 8_192  # bytes that are checked for a NUL

ReadContent = Callable[[str], bytes]
"""Return the verified bytes of a digest. Raise StoreError."""

_NEXT_PENDING = (
    "SELECT id, digest, size, tool || ' ' || target || char(10) || line FROM entries"
    f" WHERE text <> {_INDEXED} AND text = {_PENDING} ORDER BY id LIMIT {_MAX_BATCH_CONTENTS}"
)


def has_pending_texts(db: sqlite3.Connection) -> bool:
    """Return True if there are contents whose text could be indexed and is not."""
    return db.execute(_NEXT_PENDING).fetchone() is not None


def index_texts(db: sqlite3.Connection, read: ReadContent) -> int:
    """Index the texts of some pending contents; return how many there were."""
    used_bytes = 0
    done = []
    with db:
        for number, digest, size, description in db.execute(_NEXT_PENDING).fetchall():
            text = _indexed_text(digest.hex(), description, read) if size <= MAX_INDEXED_BYTES else None
            if text is not None:
                db.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (number, text))
            done.append((_NOT_INDEXABLE if text is None else _INDEXED, number))
            used_bytes += size
            if used_bytes >= _MAX_BATCH_BYTES:
                break
        db.executemany("UPDATE entries SET text = ? WHERE id = ?", done)
    return len(done)


def _indexed_text(digest: str, description: str, read: ReadContent) -> str | None:
    """Return a content's text for the index, normalized as the scan does; None if it must be scanned."""
    try:
        data = read(digest)
    except (ContentDamaged, DigestUnknown):
        return None
    if b"\0" in data[:_NUL_CHECK_BYTES]:
        return None
    return to_indexed_text(
        "\n".join([normalize(description), *(normalize(piece.text) for piece in split_chunks(data))])
    )
