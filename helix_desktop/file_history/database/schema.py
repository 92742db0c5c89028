"""Opens the database, and its tables."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

FILE_NAME = "file-history.db"
VERSION = 1
_BUSY_S = 20.0  # seconds another process may hold the lock: it writes a batch of the first copy at most

_TABLES = """
CREATE TABLE contents (
    digest BLOB PRIMARY KEY, size INTEGER NOT NULL, stored_size INTEGER NOT NULL, encoding INTEGER NOT NULL,
    created_ms INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE TABLE tree (
    path TEXT PRIMARY KEY, kind TEXT NOT NULL, digest BLOB NOT NULL, size INTEGER NOT NULL,
    mode INTEGER NOT NULL, target TEXT NOT NULL, stored INTEGER NOT NULL, modified_ns INTEGER NOT NULL,
    stamp BLOB NOT NULL, fresh INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE running (
    session TEXT NOT NULL, call_id TEXT NOT NULL, process TEXT NOT NULL, started_ms INTEGER NOT NULL,
    call BLOB NOT NULL, PRIMARY KEY (session, call_id)
);
CREATE TABLE running_changes (
    session TEXT NOT NULL, call_id TEXT NOT NULL, path TEXT NOT NULL, change BLOB NOT NULL,
    PRIMARY KEY (session, call_id, path)
) WITHOUT ROWID;
CREATE TABLE captures (
    id TEXT PRIMARY KEY, session TEXT NOT NULL, changes BLOB NOT NULL, capture BLOB NOT NULL,
    created_ms INTEGER NOT NULL, recorded INTEGER NOT NULL
);
CREATE INDEX captures_by_session ON captures (session, recorded);
CREATE TABLE journal (id TEXT PRIMARY KEY, state TEXT NOT NULL, entry BLOB NOT NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL);
"""


def open_database(path: Path) -> sqlite3.Connection:
    """Open the database, made if it is not there, for its user alone. Raises sqlite3.Error, OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # holds if set before the first table
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("PRAGMA user_version").fetchone()[0]:
            for statement in filter(str.strip, _TABLES.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection
