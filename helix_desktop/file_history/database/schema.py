"""The file of the database: its tables, and its opening, damaged ones too.

file-history.db         the database, with -wal and -shm beside it while it is open
….db.lock               held while it is opened
….db.suspect            damage was met: the next opening looks through all of it
….db.damaged-<time>     one that was damaged or not ours, moved aside with its -wal

It is no part of the LevelDB: several processes write it, the tree as last seen and the contents change in one
transaction, and it has a quota of its own.
"""

from __future__ import annotations

import logging
import os
import re
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from helix_desktop.domain.errors import StoreDamaged, StoreUnreadable, StoreWriteFailed
from helix_desktop.domain.translatable_text import TextContext, system_reason, verbatim
from helix_desktop.file_history.database.capture_rows import CaptureRows
from helix_desktop.file_history.database.connection import BUSY_S, Connection, unreadable
from helix_desktop.file_history.database.contents import ContentRows
from helix_desktop.file_history.database.journal import JournalRows
from helix_desktop.file_history.database.salvage import salvage
from helix_desktop.file_history.database.tree_rows import TreeRows
from helix_desktop.system.clock import ClockMs

text = TextContext("Changes")
log = logging.getLogger(__name__)

FILE_NAME = "file-history.db"
VERSION = 1
SALVAGED = "salvaged"  # the single value that counts the contents saved from a damaged file
_APPLICATION = 0x48584648  # "HXFH": what says that a database is a file history
_MAX_WAL_BYTES = 64 * 1024 * 1024  # of a -wal file that nobody reads any more
_COMPANIONS = ("-wal", "-shm", "-journal")
_DAMAGED = ".damaged-"

_TABLES = """
CREATE TABLE contents (
    id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, stored_size INTEGER NOT NULL,
    encoding INTEGER NOT NULL, used_ms INTEGER NOT NULL
);
CREATE TABLE content_data (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE removed (
    digest BLOB PRIMARY KEY, at_ms INTEGER NOT NULL, successor BLOB NOT NULL
) WITHOUT ROWID;
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
_TABLE_NAMES = frozenset(re.findall(r"CREATE TABLE (\w+)", _TABLES))


def open_database(path: Path, clock: ClockMs) -> Connection:
    """Open the database, made if it is not there, for its user alone.

    One that is damaged, or none of ours, is moved aside first, and what is left of it is copied. `clock`
    returns milliseconds since 1970. Raises StoreUnreadable, StoreWriteFailed.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock", timeout=BUSY_S):
            try:
                return _open(path)
            except StoreDamaged as error:
                log.warning("the file history %s is damaged: %s", path, error)
                aside = _move_aside(path, clock())
            return _open_with_rest_of(aside, path)
    except Timeout as error:
        raise unreadable(
            text("Another Helix Desktop is opening or repairing it."), text("Try again in a moment.")
        ) from error
    except OSError as error:
        raise unreadable(system_reason(error)) from error


def damaged_files(path: Path) -> list[Path]:
    """Return the databases that were moved aside, oldest first, without their companions. Raises OSError."""
    candidates = path.parent.glob(f"{path.name}{_DAMAGED}*") if path.parent.is_dir() else ()
    return sorted(file for file in candidates if not file.name.endswith(_COMPANIONS))


def remove_database(path: Path) -> None:
    """Delete a database with its companion files, which need not exist. Raises OSError."""
    for suffix in ("", *_COMPANIONS):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _open(path: Path) -> Connection:
    no_follow = getattr(os, "O_NOFOLLOW", 0)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | no_follow, 0o600))
    connection = Connection(path)
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # holds if set before the first table
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute(f"PRAGMA journal_size_limit = {_MAX_WAL_BYTES}")
        connection.begin()
        _create_or_check(connection)
        connection.commit()
        connection.execute("PRAGMA journal_mode = WAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _create_or_check(connection: Connection) -> None:
    tables = {name for (name,) in connection.query("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not tables:
        for statement in filter(str.strip, _TABLES.split(";")):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        return
    [[application]] = connection.query("PRAGMA application_id")
    [[version]] = connection.query("PRAGMA user_version")
    if application != _APPLICATION:
        raise connection.damaged(text("It is the database of another program."))
    if version > VERSION:
        raise StoreUnreadable(
            text("The file history was written by a newer Helix Desktop."),
            text(
                "Its version is {version}; this Helix Desktop reads up to {own}.",
                version=version,
                own=VERSION,
            ),
            text("Update Helix Desktop. Nothing was changed."),
        )
    if not tables >= _TABLE_NAMES:
        raise connection.damaged(text("Tables are missing."))
    if connection.suspicion.exists():
        [[verdict]] = connection.query("PRAGMA integrity_check(1)")
        if verdict != "ok":
            raise connection.damaged(verbatim(f"{verdict}."))
        _read_all_rows(connection)
        connection.suspicion.unlink(missing_ok=True)


def _read_all_rows(connection: Connection) -> None:
    """Read every row, but no content. Raises StoreDamaged for one that no use could read."""
    captures = CaptureRows(connection)
    captures.all()
    captures.lists()
    for call in captures.running():
        captures.changes(call.mark)
    TreeRows(connection).load()
    JournalRows(connection).all()
    ContentRows(connection, lambda: 0).rows()
    connection.query("SELECT * FROM meta")


def _open_with_rest_of(aside: Path, path: Path) -> Connection:
    connection = _open(path)
    try:
        salvaged = salvage(aside, connection)
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (SALVAGED, str(salvaged).encode()))
    except StoreWriteFailed as error:
        log.warning("what is left of %s could not be copied: %s", aside, error)
    except BaseException:
        connection.close()
        raise
    return connection


def _move_aside(path: Path, at_ms: int) -> Path:
    """Rename the database, companions first: what is left after a kill is moved aside by the next opening."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    name, number = f"{path.name}{_DAMAGED}{at:%Y%m%d-%H%M%S}", 1
    while (aside := path.with_name(name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    for suffix in (*_COMPANIONS, ""):
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.rename(aside.with_name(aside.name + suffix))
    path.with_name(f"{path.name}.suspect").unlink(missing_ok=True)
    return aside
