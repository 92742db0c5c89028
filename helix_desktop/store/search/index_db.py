"""The file of the search index: SQLite next to LevelDB, derived from it, deleted whenever it is in doubt.

An FTS5 table of trigrams holds the normalized texts; SQLite's own case folding is off, so that index and scan
normalize alike. A document cannot be deleted from it: its id is never reused, and what no entry names is not
found.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

INDEX_VERSION = 2  # of the tables below; an index of another version is deleted
SORT_COLUMNS = ("used", "size", "stored", "tokens", "tool", "target_key", "line_key", "recalls", "refs")
_NOT_SYNCED = -1  # sequence of an index that does not yet hold everything
_CACHE_KIB = 16 * 1024

_TABLES = f"""
CREATE TABLE state(version INTEGER, workspace TEXT, sequence INTEGER);
CREATE TABLE entries(
    id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, stamp BLOB, tie INTEGER,
    created INTEGER, used INTEGER, size INTEGER, stored INTEGER, tokens INTEGER, tool TEXT, target TEXT,
    line TEXT, kind TEXT, session TEXT, recalls INTEGER, refs INTEGER, pinned INTEGER, trashed INTEGER,
    record BLOB, place TEXT, target_key TEXT, line_key TEXT, text INTEGER NOT NULL DEFAULT 0);
CREATE INDEX by_created ON entries(created, tie);
CREATE INDEX by_session ON entries(session, created, tie);
CREATE INDEX by_text ON entries(text, id) WHERE text <> 1;
CREATE INDEX by_pinned ON entries(created, tie) WHERE pinned;
CREATE INDEX by_trashed ON entries(created, tie) WHERE trashed > 0;
{"".join(f"CREATE INDEX by_{column} ON entries({column}, created, tie);" for column in SORT_COLUMNS)}
"""
# Newer than the tables: created in an index that lacks it, which takes a second for a million entries.
_TOOL_SIZE_INDEX = "CREATE INDEX IF NOT EXISTS by_tool_size ON entries(tool, size, created, tie)"
# The first condition is that of the index by_text.
_UNINDEXED_COUNT = "SELECT count(*) FROM entries WHERE text <> 1 AND text = 0"
_WORDS_TABLE = (
    "CREATE VIRTUAL TABLE words USING fts5(text, content='', columnsize=0, detail=none,"
    " tokenize='trigram case_sensitive 1')"
)


class SearchIndex:
    """An open index, for the thread that opened it. Every method may raise sqlite3.Error."""

    def __init__(self, path: Path, workspace_id: str) -> None:
        """Open the index, or create it if it is missing. Raise for another format or another store."""
        self._path, self._workspace_id = path, workspace_id
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
        """Count so many texts as indexed."""
        self._unindexed = None if self._unindexed is None else self._unindexed - count

    def note_changes(self) -> None:
        """Count the texts still to be indexed again: entries were changed."""
        self._unindexed = None

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    def _query_int(self, sql: str) -> int:
        return int(self.db.execute(sql).fetchone()[0])

    def _create_or_check(self) -> None:
        has_state = self.db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'state'").fetchone()[0]
        if has_state:
            state = self.db.execute("SELECT version, workspace FROM state").fetchone()
            if state == (INDEX_VERSION, self._workspace_id):
                with self.db:
                    self.db.execute(_TOOL_SIZE_INDEX)
                return
            raise sqlite3.DatabaseError("the index is of another format or store")
        with self.db:
            for statement in filter(str.strip, _TABLES.split(";")):
                self.db.execute(statement)
            self.db.execute(_TOOL_SIZE_INDEX)
            with suppress(
                sqlite3.OperationalError
            ):  # an SQLite without trigrams: contents are scanned instead
                self.db.execute(_WORDS_TABLE)
            self.db.execute(
                "INSERT INTO state VALUES (?, ?, ?)", (INDEX_VERSION, self._workspace_id, _NOT_SYNCED)
            )


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level="DEFERRED", cached_statements=256)
    try:
        _set_pragmas(db)
    except BaseException:
        db.close()
        raise
    return db


def _set_pragmas(db: sqlite3.Connection) -> None:
    # A power cut may cost the newest transactions, never the file's order: the sequence tells.
    for pragma in (
        "journal_mode = WAL",
        "synchronous = NORMAL",
        f"cache_size = -{_CACHE_KIB}",
        "cell_size_check = ON",
        "temp_store = MEMORY",
    ):
        db.execute(f"PRAGMA {pragma}")
