"""The database of one workspace's file history: its tables and its opening; a damaged one is salvaged.

A damaged one is copied into a new one, row by row, each content checked against its hash. The tree as last
seen is not among it: the workspace is read again.

file-history.db         the database, with -wal and -shm beside it while it is open
….db.lock               held while it is opened
….db.suspect            damage was met: the next opening looks through all of it
….db.damaged-<time>     one that was damaged or not ours, moved aside with its -wal

It is no part of the LevelDB: several processes write it, the tree as last seen and the contents change in one
transaction, and it has a quota of its own.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import StoreDamaged, StoreUnreadable, StoreWriteFailed
from helix_desktop.domain.file_history.changes import Capture, FileChange, FileHistoryTotals
from helix_desktop.domain.translatable_text import TextContext, system_reason, verbatim
from helix_desktop.file_history.tables import (
    BUSY_S,
    CaptureRows,
    Connection,
    ContentRows,
    JournalRows,
    MetaRows,
    RunningCallRow,
    TreeRows,
    unpack,
    unreadable,
)
from helix_desktop.system.clock import ClockMs
from helix_desktop.system.files import SQLITE_COMPANIONS

log = logging.getLogger(__name__)
text = TextContext("Changes")

_PER_COMMIT = 200  # rows
_MAX_ROWS = 1_000_000  # of a table that is read at once: damage can lead in circles
_MAX_MISSES = 10_000  # ids in a row at which nothing can be read: there is nothing more
_CONTENT = tuple[int, bytes, int, int, int, int, bytes]
_SALVAGED_TABLES: dict[str, tuple[Any, int, Any]] = {
    "removed": (tuple[bytes, int, bytes], -1, None),  # first: what the user had removed is not stored again
    "journal": (tuple[str, str, bytes], -1, None),  # by it a revert that was cut off is taken back
    "running": (tuple[str, str, str, int, bytes], 4, RunningCallRow),
    "running_changes": (tuple[str, str, str, bytes], 3, FileChange),
    "captures": (tuple[str, str, bytes, bytes, int, int], 3, Capture),
}
"""By table the types of a row, the column that holds JSON, and of what."""


def salvage(damaged: Path, connection: Connection) -> int:
    """Copy what is left of a damaged database into a new one; return how many contents that were.

    Raises StoreWriteFailed if the new one cannot be written.
    """
    try:
        source = sqlite3.connect(f"{damaged.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    except sqlite3.Error:
        return 0
    with closing(source):
        connection.begin()
        try:
            for table in _SALVAGED_TABLES:
                _insert(connection, table, _sound_rows(source, table))
            contents = _copy_contents(source, connection)
            connection.commit()
        finally:
            connection.roll_back()  # nothing, after a commit
    return contents


def _copy_contents(source: sqlite3.Connection, connection: Connection) -> int:
    contents = 0
    rows = _by_id(
        source,
        "SELECT c.id, c.digest, c.size, c.stored_size, c.encoding, c.used_ms, d.data"
        " FROM contents c JOIN content_data d ON d.id = c.id WHERE c.id > ? ORDER BY c.id LIMIT 1",
    )
    for row in rows:
        with suppress(msgspec.ValidationError):
            id_, digest, size, stored_size, encoding, used_ms, data = msgspec.convert(row, type=_CONTENT)
            if digest_of(unpack(encoding, size, data)) != digest.hex():
                continue
            contents += _insert(connection, "contents", [(id_, digest, size, stored_size, encoding, used_ms)])
            _insert(connection, "content_data", [(id_, data)])
            if contents % _PER_COMMIT == 0:
                connection.commit()
                connection.begin()
    return contents


def _insert(connection: Connection, table: str, rows: Iterable[Iterable[Any]]) -> int:
    """Add rows to a table, each whose key is not there; return how many rows these were."""
    count = 0
    for values in map(tuple, rows):
        marks = ", ".join("?" * len(values))
        count += connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)
    return count


def _sound_rows(source: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    types, json_column, kind = _SALVAGED_TABLES[table]
    if table in ("running_changes", "removed"):
        rows = _until_damage(source, f"SELECT * FROM {table}")
    else:
        found = _by_id(source, f"SELECT rowid, * FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT 1")
        rows = (row[1:] for row in found)
    for row in rows:
        with suppress(msgspec.MsgspecError):
            values = msgspec.convert(row, type=types)
            if kind is not None:
                msgspec.json.decode(values[json_column], type=kind)
            yield values


def _until_damage(source: sqlite3.Connection, sql: str) -> Iterator[tuple[Any, ...]]:
    try:
        yield from islice(source.execute(sql), _MAX_ROWS)
    except sqlite3.Error:
        return


def _by_id(source: sqlite3.Connection, sql: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table one after the other, by their ids, past those that are damaged."""
    id_ = misses = 0
    try:
        source.execute(f"EXPLAIN {sql}", (id_,))
    except sqlite3.Error:  # no database, or the table is not in it: no id can be read
        return
    while misses < _MAX_MISSES:
        try:
            row = source.execute(sql, (id_,)).fetchone()
        except sqlite3.Error:
            row = (id_,)
        if row is None:
            return
        if row[0] <= id_:  # damaged: not even the order of the ids holds
            id_ = id_ + 1
            misses = misses + 1
            continue
        id_ = row[0]
        misses = 0
        yield row


FILE_NAME = "file-history.db"
VERSION = 1
SALVAGED = "salvaged"  # the single value that counts the contents saved from a damaged file
_APPLICATION = 0x48584648  # "HXFH": what says that a database is a file history
_MAX_WAL_BYTES = 64 * 1024 * 1024  # of a -wal file that nobody reads any more
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
    return sorted(file for file in candidates if not file.name.endswith(SQLITE_COMPANIONS))


def _open(path: Path) -> Connection:
    # Made here for its permissions, but never opened here where it exists: to close any descriptor of a file
    # takes all POSIX locks from it that the process has, those of its other connections as well.
    if path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
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
    name = f"{path.name}{_DAMAGED}{at:%Y%m%d-%H%M%S}"
    number = 1
    while (aside := path.with_name(name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    for suffix in (*SQLITE_COMPANIONS, ""):
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.rename(aside.with_name(aside.name + suffix))
    path.with_name(f"{path.name}.suspect").unlink(missing_ok=True)
    return aside


_PAGES_AT_ONCE = 2_000  # 8 MB
_PURGE = "purge"
_PURGE_WAIT_MS = 3_000
_REPORTED = "reported-damage"


class FileHistoryDatabase:
    """One open database, for one thread at a time; several processes may have it open.

    Every method of it and its parts may raise StoreClosed, StoreUnreadable and StoreWriteFailed, and no
    error of SQLite. What writes belongs in `write`: outside, each statement is a transaction of its own.
    """

    def __init__(self, path: Path, clock: ClockMs) -> None:
        """Open the file, or make it; a damaged one is moved aside (`damaged_file`).

        `clock` returns the time in milliseconds since 1970. Raises StoreUnreadable, StoreWriteFailed.
        """
        self.path = path
        self.clock = clock
        self._connection = open_database(path, clock)
        self._depth = 0
        self.contents = ContentRows(self._connection, clock)
        self.tree = TreeRows(self._connection)
        self.captures = CaptureRows(self._connection)
        self.journal = JournalRows(self._connection)
        self.meta = MetaRows(self._connection)
        if self.meta.get(_PURGE):
            try:
                self.purge()
            except StoreWriteFailed as error:
                log.warning("%s", error)

    @contextmanager
    def write(self) -> Iterator[None]:
        """Run a block as one transaction, durable at its end, alone among all processes; blocks may nest.

        What it raises rolls the whole back.
        """
        if self._depth:
            yield
            return
        self._connection.begin()
        self._depth = 1
        try:
            yield
            self._connection.commit()
        finally:
            self._depth = 0
            self._connection.roll_back()  # nothing, after a commit

    @property
    def version(self) -> int:
        """A number that changes when another process wrote."""
        return int(self._connection.query("PRAGMA data_version")[0][0])

    @property
    def damaged_file(self) -> str:
        """The name of a damaged file that this one replaced, until that was reported; mostly empty."""
        files = damaged_files(self.path)
        name = files[-1].name if files else ""
        return "" if self.meta.get(_REPORTED) == name.encode() else name

    @property
    def salvaged(self) -> int:
        return int(self.meta.get(SALVAGED) or 0)

    def mark_damage_reported(self) -> None:
        self.meta.put(_REPORTED, self.damaged_file.encode())

    def totals(self) -> FileHistoryTotals:
        contents, size, stored_size = self.contents.totals()
        versions = contents - sum(map(self.contents.has, self.captures.lists()))
        disk_size = sum(file.stat().st_size for file in self.path.parent.glob(f"{self.path.name}*"))
        return FileHistoryTotals(versions, size, stored_size, self.tree.stored_size(), disk_size)

    def integrity_problems(self) -> tuple[str, ...]:
        """Return what is wrong with the structure of the file, at most a few lines; it is read as a whole."""
        lines = [line for (line,) in self._connection.query("PRAGMA integrity_check(5)")]
        if lines == ["ok"]:
            return ()
        self._connection.damaged(verbatim(lines[0]))
        return tuple(lines)

    def shrink(self) -> None:
        """Give what was removed back to the system, in steps for which nobody waits long."""
        free = self._free_pages()
        before = -1
        while free not in (0, before):
            self._connection.query(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})")
            before = free
            free = self._free_pages()
        self._connection.query("PRAGMA wal_checkpoint(PASSIVE)")

    def begin_purge(self) -> None:
        """Note that what is removed now is to be gone from the files too, whatever is cut off."""
        self.meta.put(_PURGE, b"1")

    def purge(self) -> None:
        """Have nothing left in the files of what was removed. Raises StoreWriteFailed."""
        self.shrink()
        self._connection.query(f"PRAGMA busy_timeout = {_PURGE_WAIT_MS}")
        [[is_busy, _, _]] = self._connection.query("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.query(f"PRAGMA busy_timeout = {BUSY_S * 1000:.0f}")
        if is_busy:
            raise StoreWriteFailed(
                text("Removed text may still be in the files of the file history."),
                text("Another Helix Desktop is reading them."),
                text("It is removed when the workspace is opened next. Close its other windows before that."),
            )
        self.meta.put(_PURGE, b"")

    def _free_pages(self) -> int:
        return int(self._connection.query("PRAGMA freelist_count")[0][0])

    def close(self) -> None:
        self._connection.close()
