"""The tables of a file history's database: contents, the tree as last seen, captures, reverts under way."""

from __future__ import annotations

import os
import sqlite3
import stat
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import zstandard

from helix_desktop.domain.digest import digest_of, is_digest_prefix
from helix_desktop.domain.errors import (
    ContentDamaged,
    ContentRedacted,
    DigestUnknown,
    StoreDamaged,
    StoreError,
    StoreUnreadable,
    StoreWriteFailed,
    WorkspaceClosed,
)
from helix_desktop.domain.file_history.changes import CallMark, Capture, FileChange, FileState
from helix_desktop.domain.retention import HOUR_MS
from helix_desktop.domain.text_format import utc_day
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, system_reason, verbatim
from helix_desktop.system.clock import ClockMs

text = TextContext("Changes")

BUSY_S = 20.0  # seconds another process may hold the lock: it writes a batch of the first copy at most

_CODE = 0xFF  # of an extended code of SQLite, the part that says what kind of error it is
_DAMAGE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,  # of a statement that holds for the schema: then that is not ours
    sqlite3.SQLITE_FORMAT,
)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

T = TypeVar("T")


class Connection:
    """An open database, for one thread at a time. Every method may raise StoreClosed and StoreDamaged."""

    def __init__(self, path: Path) -> None:
        """Open the file, which is there. Raises StoreUnreadable, OSError."""
        self.path = path
        stat = path.stat()
        self._file = stat.st_dev, stat.st_ino
        try:
            self._db = sqlite3.connect(
                path, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=64
            )
        except sqlite3.Error as error:
            raise self._translate(error, is_write=False) from error

    def query(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """Return all rows of a question. Raises StoreUnreadable."""
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise self._translate(error, is_write=False) from error

    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        """Run a statement; return how many rows it changed. Raises StoreWriteFailed."""
        try:
            return self._db.execute(sql, values).rowcount
        except sqlite3.Error as error:
            raise self._translate(error, is_write=True) from error

    def execute_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement for each of some rows. Raises StoreWriteFailed."""
        try:
            self._db.executemany(sql, rows)
        except sqlite3.Error as error:
            raise self._translate(error, is_write=True) from error

    def decode(self, data: bytes, kind: type[T]) -> T:
        with self.reading():
            return msgspec.json.decode(data, type=kind)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Run a block that takes values out of rows: what is of no such type was not written so."""
        try:
            yield
        except (TypeError, ValueError, AttributeError, msgspec.MsgspecError) as error:
            raise self.damaged(text("A row of it differs from what was written.")) from error

    def begin(self) -> None:
        """Begin a transaction, alone among all processes. Raises StoreWriteFailed, StoreUnreadable."""
        try:
            stat = self.path.stat()
        except OSError as error:
            raise unreadable(system_reason(error)) from error
        if (stat.st_dev, stat.st_ino) != self._file:  # what is written here, nobody would find again
            raise unreadable(
                text("Its file was replaced by another one."), text("Close and reopen the workspace.")
            )
        self.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """End the transaction; all of it is durable then. Raises StoreWriteFailed: nothing of it is."""
        try:
            self.execute("COMMIT")
        except BaseException:
            self.roll_back()
            raise

    def roll_back(self) -> None:
        """Undo the transaction, where SQLite did not do that itself."""
        with suppress(sqlite3.Error):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()

    @property
    def suspicion(self) -> Path:
        """The file that says that damage was met: the next opening looks through the whole database."""
        return self.path.with_name(f"{self.path.name}.suspect")

    def damaged(self, why: TranslatableText) -> StoreDamaged:
        """Return the error for what is not as it was written, and have the next opening repair it."""
        with suppress(OSError):
            self.suspicion.touch()
        return StoreDamaged(
            text("The file history is damaged."),
            why,
            text("Close and reopen the workspace to repair it. The damaged file is kept."),
        )

    def _translate(self, error: sqlite3.Error, *, is_write: bool) -> Exception:
        """Return the error for the user; a mistake of the code stays what it is."""
        code = getattr(error, "sqlite_errorcode", 0) & _CODE
        if isinstance(error, sqlite3.ProgrammingError):
            return _closed() if "closed" in str(error) else error
        is_torn = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ
        if code in _DAMAGE or is_torn or "decode to UTF-8" in str(error):
            return self.damaged(verbatim(f"{error}."))
        if is_write or code in _BUSY:
            return _write_failed(error, code, self.path)
        return unreadable(verbatim(f"{error}."))


def unreadable(why: TranslatableText, fix: TranslatableText | None = None) -> StoreUnreadable:
    """Return the error for a file that cannot be read, though nothing says that it is damaged."""
    return StoreUnreadable(
        text("The file history can't be read."),
        why,
        fix or text("Check the disk and the permissions of the data folder, then reopen the workspace."),
    )


def _closed() -> WorkspaceClosed:
    return WorkspaceClosed(text("The file history is closed."), fix=text("Open the workspace again."))


def _write_failed(error: sqlite3.Error, code: int, path: Path) -> StoreError:
    what = text("The change can't be saved in the file history.")
    if code == sqlite3.SQLITE_FULL:
        return StoreWriteFailed(
            what, text("The disk is full."), text("Free some disk space, then try again.")
        )
    if code in _BUSY:
        return StoreWriteFailed(
            what, text("Another Helix Desktop is writing to it."), text("Try again in a moment.")
        )
    return StoreWriteFailed(
        what,
        verbatim(f"{error}."),
        text("Check the disk and the permissions of {folder}.", folder=os.fspath(path.parent)),
    )


def blob(value: object) -> bytes:
    """Return a value that a row has to hold as bytes. Raises TypeError."""
    if not isinstance(value, bytes):
        raise TypeError(f"no bytes but {type(value).__name__}")
    return value


_RAW = 0
_ZSTD = 1
_LEVEL = 3
_SMALLEST = 64  # bytes; below, compressing saves nothing


class ContentRow(NamedTuple):
    """What is known of a content without reading it; `used_ms` is when it was last stored."""

    digest: bytes
    size: int
    stored_size: int
    used_ms: int


class ContentRows:
    def __init__(self, connection: Connection, clock: ClockMs) -> None:
        self._connection = connection
        self._clock = clock
        self._compressor = zstandard.ZstdCompressor(_LEVEL)

    def put(self, data: bytes) -> str:
        """Store bytes, once; return their digest. What the user had removed is not stored again."""
        digest = digest_of(data)
        at_ms = self._clock()
        rows = self._connection.query(
            "SELECT id, used_ms FROM contents WHERE digest = ?", (bytes.fromhex(digest),)
        )
        if rows:
            id_, used_ms = rows[0]
            if at_ms - used_ms > HOUR_MS // 4:  # a clean-up spares what was stored a short while ago
                self._connection.execute("UPDATE contents SET used_ms = ? WHERE id = ?", (at_ms, id_))
        elif not self.removed_at(digest):
            encoding = _RAW
            stored = data
            if len(data) >= _SMALLEST and len(packed := self._compressor.compress(data)) < len(data):
                encoding = _ZSTD
                stored = packed
            self._connection.execute(
                "INSERT INTO contents (digest, size, stored_size, encoding, used_ms) VALUES (?, ?, ?, ?, ?)",
                (bytes.fromhex(digest), len(data), len(stored), encoding, at_ms),
            )
            self._connection.execute(
                "INSERT INTO content_data VALUES ((SELECT id FROM contents WHERE digest = ?), ?)",
                (bytes.fromhex(digest), stored),
            )
        return digest

    def has(self, digest: str) -> bool:
        return bool(
            self._connection.query("SELECT 1 FROM contents WHERE digest = ?", (bytes.fromhex(digest),))
        )

    def get(self, digest: str) -> bytes:
        """Return a content; of a list of changes with a secret, the list without it.

        Raises DigestUnknown, ContentRedacted, ContentDamaged.
        """
        rows = self._connection.query(
            "SELECT c.encoding, c.size, d.data FROM contents c LEFT JOIN content_data d ON d.id = c.id"
            " WHERE c.digest = ?",
            (bytes.fromhex(digest),),
        )
        if not rows:
            successor = self._successor(digest)
            if successor:
                return self.get(successor)
            raise self._unknown(digest)
        encoding, size, stored = rows[0]
        data = unpack(encoding, size, stored) if isinstance(stored, bytes) else b""
        if digest_of(data) != digest:
            raise ContentDamaged(
                text("This version of the file is damaged on disk, and can't be restored."),
                fix=text("Choose another version."),
            )
        return data

    def find(self, prefix: str) -> str:
        """Return the digest that begins so; empty if none does, or several do."""
        if not is_digest_prefix(prefix):
            return ""
        low = bytes.fromhex(prefix.ljust(64, "0"))
        high = bytes.fromhex(prefix.ljust(64, "f"))
        rows = self._connection.query(
            "SELECT digest FROM contents WHERE digest BETWEEN ? AND ? LIMIT 2", (low, high)
        )
        return rows[0][0].hex() if len(rows) == 1 else ""

    def totals(self) -> tuple[int, int, int]:
        """Return how many contents there are, their bytes, and those stored."""
        [totals] = self._connection.query(
            "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(stored_size), 0) FROM contents"
        )
        with self._connection.reading():
            return int(totals[0]), int(totals[1]), int(totals[2])

    def rows(self) -> list[ContentRow]:
        """Return what is known of every content, in the order in which they were first stored."""
        rows = self._connection.query("SELECT digest, size, stored_size, used_ms FROM contents ORDER BY id")
        with self._connection.reading():
            return [
                ContentRow(blob(digest), int(size), int(stored_size), int(used_ms))
                for digest, size, stored_size, used_ms in rows
            ]

    def remove(self, digests: Iterable[bytes]) -> None:
        keys = [(digest,) for digest in digests]
        self._connection.execute_many(
            "DELETE FROM content_data WHERE id = (SELECT id FROM contents WHERE digest = ?)", keys
        )
        self._connection.execute_many("DELETE FROM contents WHERE digest = ?", keys)

    def redact(self, digest: str, successor: str = "") -> None:
        """Delete a content; a list of changes has a successor, which is read in its place."""
        self.remove([bytes.fromhex(digest)])
        self._connection.execute(
            "INSERT OR REPLACE INTO removed VALUES (?, ?, ?)",
            (bytes.fromhex(digest), self._clock(), bytes.fromhex(successor)),
        )

    def removed_at(self, digest: str) -> int:
        """Return when the user had a content removed, in milliseconds since 1970; 0: they had not."""
        rows = self._connection.query("SELECT at_ms FROM removed WHERE digest = ?", (bytes.fromhex(digest),))
        with self._connection.reading():
            return int(rows[0][0]) if rows else 0

    def lift(self, digest: str) -> bool:
        """Allow a removed content to be stored again; return True if it was removed."""
        return self._connection.execute("DELETE FROM removed WHERE digest = ?", (bytes.fromhex(digest),)) > 0

    def _successor(self, digest: str) -> str:
        rows = self._connection.query(
            "SELECT successor FROM removed WHERE digest = ?", (bytes.fromhex(digest),)
        )
        with self._connection.reading():
            return blob(rows[0][0]).hex() if rows else ""

    def _unknown(self, digest: str) -> DigestUnknown:
        what = text("This version of the file is not in the file history.")
        if at_ms := self.removed_at(digest):
            return ContentRedacted(
                what,
                text("It contained a secret; the user removed it on {day}.", day=utc_day(at_ms)),
                text("Choose another version."),
            )
        return DigestUnknown(
            what, text("It was never saved, or a clean-up removed it."), text("Choose another version.")
        )


def unpack(encoding: int, size: int, stored: bytes) -> bytes:
    """Return the bytes of a content as it is stored; none, or others, if it is damaged."""
    if encoding == _RAW:
        return stored
    try:
        if zstandard.frame_content_size(stored) == size:  # else a damaged one could fill the memory
            return zstandard.ZstdDecompressor().decompress(stored)
    except zstandard.ZstdError:
        pass
    return b""


class MetaRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, name: str) -> bytes | None:
        rows = self._connection.query("SELECT value FROM meta WHERE name = ?", (name,))
        with self._connection.reading():
            return blob(rows[0][0]) if rows else None

    def put(self, name: str, value: bytes) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


class JournalRows:
    """The rows of the journal in one database; an entry's bytes are the revert's own."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, revert_id: str, state: str, entry: bytes) -> None:
        self._connection.execute("INSERT OR REPLACE INTO journal VALUES (?, ?, ?)", (revert_id, state, entry))

    def all(self) -> list[tuple[str, str, bytes]]:
        """Return the reverts under way: id, state, entry."""
        rows = self._connection.query("SELECT id, state, entry FROM journal ORDER BY rowid")
        with self._connection.reading():
            return [(str(id_), str(state), blob(entry)) for id_, state, entry in rows]

    def remove(self, revert_id: str) -> None:
        self._connection.execute("DELETE FROM journal WHERE id = ?", (revert_id,))


_FILE_STAMP = struct.Struct("<qqqQQI")
_FOLDER_STAMP = struct.Struct("<I")
_SECOND_NS = 1_000_000_000
_COARSE_NS = 2 * _SECOND_NS  # the step of the times of FAT, the coarsest file system in use
_FINE_NS = 50_000_000  # three ticks of the slowest system clock, that of Windows: 15.6 ms
_LARGEST = (1 << 63) - 1


def file_stamp(file_stat: os.stat_result) -> bytes:
    """Return the stamp of anything but a folder: size, times, inode, device, mode."""
    try:
        return _FILE_STAMP.pack(
            file_stat.st_size,
            file_stat.st_mtime_ns,
            file_stat.st_ctime_ns,
            file_stat.st_ino,
            file_stat.st_dev,
            file_stat.st_mode,
        )
    except struct.error:  # a year far from ours, or a long inode of Windows
        numbers = (
            file_stat.st_size,
            file_stat.st_mtime_ns,
            file_stat.st_ctime_ns,
            file_stat.st_ino,
            file_stat.st_dev,
        )
        return _FILE_STAMP.pack(*(number % _LARGEST for number in numbers), file_stat.st_mode)


def modified_ns(file_stat: os.stat_result) -> int:
    """Return when a file was last changed, in nanoseconds since 1970 as far as they can be stored."""
    return max(-_LARGEST, min(file_stat.st_mtime_ns, _LARGEST))


def folder_stamp(mode: int) -> bytes:
    """Return the stamp of a folder: what is in it has stamps of its own."""
    return _FOLDER_STAMP.pack(stat.S_IMODE(mode))


def is_fresh(file_stat: os.stat_result, read_ns: int) -> bool:
    """Return True if a file may have changed after it was read from `read_ns` on, without another stamp.

    What counts is the time that only the system sets. One that is a whole second may be of a file system that
    knows no finer ones; one that lies ahead is of another clock, of which nothing is certain.
    """
    changed = file_stat.st_mtime_ns if os.name == "nt" else file_stat.st_ctime_ns
    step = _FINE_NS if changed % _SECOND_NS else _COARSE_NS
    return changed > read_ns - step


class SeenPath(NamedTuple):
    """A path as last seen. `stamp` is what a stat said; `is_fresh`: it may have changed without another.

    `state.stored` is False for what is known by hash only.
    """

    state: FileState
    stamp: bytes
    is_fresh: bool


class TreeRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def load(self) -> dict[str, SeenPath]:
        rows = self._connection.query(
            "SELECT path, kind, digest, size, mode, target, stored, modified_ns, stamp, fresh FROM tree"
        )
        with self._connection.reading():
            return {
                _text(path): SeenPath(
                    FileState(kind, blob(digest).hex(), size, mode, target, bool(stored), modified_ns),
                    blob(stamp),
                    bool(fresh),
                )
                for path, kind, digest, size, mode, target, stored, modified_ns, stamp, fresh in rows
            }

    def digests(self) -> set[bytes]:
        """Return the contents that the files have which are stored."""
        return {digest for (digest,) in self._connection.query("SELECT digest FROM tree WHERE stored = 1")}

    def stored_size(self) -> int:
        [[size]] = self._connection.query(
            "SELECT coalesce(sum(stored_size), 0) FROM contents"
            " WHERE digest IN (SELECT digest FROM tree WHERE stored = 1)"
        )
        with self._connection.reading():
            return int(size)

    def paths_of(self, digests: Iterable[str]) -> list[str]:
        """Return the files that have one of these contents, sorted."""
        rows = (
            self._connection.query("SELECT path FROM tree WHERE digest = ?", (bytes.fromhex(digest),))
            for digest in digests
        )
        with self._connection.reading():
            return sorted(path for found in rows for (path,) in found)

    def mark_not_stored(self, digests: Iterable[str]) -> None:
        """Note that contents are not stored any more, until their files change."""
        self._connection.execute_many(
            "UPDATE tree SET stored = 0 WHERE digest = ?", ((bytes.fromhex(digest),) for digest in digests)
        )

    def mark_unread(self, digests: Iterable[str]) -> None:
        """Have the files with these contents read again by the next scan."""
        self._connection.execute_many(
            "UPDATE tree SET fresh = 1 WHERE digest = ?", ((bytes.fromhex(digest),) for digest in digests)
        )

    def put(self, rows: Iterable[tuple[str, SeenPath]]) -> None:
        self._connection.execute_many(
            "INSERT OR REPLACE INTO tree VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    path,
                    row.state.kind,
                    bytes.fromhex(row.state.digest),
                    row.state.size,
                    row.state.mode,
                    row.state.target,
                    row.state.stored,
                    row.state.modified_ns,
                    row.stamp,
                    row.is_fresh,
                )
                for path, row in rows
            ),
        )

    def remove(self, paths: Iterable[str]) -> None:
        self._connection.execute_many("DELETE FROM tree WHERE path = ?", ((path,) for path in paths))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text but {type(value).__name__}")
    return value


class RunningCallRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that runs in a process, or ran when that ended; `others` ran at the same time, by their titles.

    `process` names the lock that the process holds as long as it lives.
    """

    mark: CallMark
    process: str
    started_ms: int
    others: tuple[str, ...] = ()


class CaptureRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put_running(self, call: RunningCallRow) -> None:
        """Add a running call, or replace what is stored of it."""
        mark = call.mark
        self._connection.execute(
            "INSERT INTO running VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (session, call_id) DO UPDATE SET call = excluded.call",
            (mark.session, mark.call_id, call.process, call.started_ms, msgspec.json.encode(call)),
        )

    def running(self) -> list[RunningCallRow]:
        """Return the running calls of all processes, oldest first."""
        rows = self._connection.query("SELECT call FROM running ORDER BY started_ms, rowid")
        return [self._connection.decode(row[0], RunningCallRow) for row in rows]

    def put_changes(self, mark: CallMark, changes: Iterable[FileChange]) -> None:
        self._connection.execute_many(
            "INSERT OR REPLACE INTO running_changes VALUES (?, ?, ?, ?)",
            ((mark.session, mark.call_id, change.path, msgspec.json.encode(change)) for change in changes),
        )

    def changes(self, mark: CallMark) -> dict[str, FileChange]:
        rows = self._connection.query(
            "SELECT path, change FROM running_changes WHERE session = ? AND call_id = ? ORDER BY path",
            (mark.session, mark.call_id),
        )
        return {path: self._connection.decode(change, FileChange) for path, change in rows}

    def end(self, mark: CallMark) -> None:
        """Remove a running call and its changes."""
        key = (mark.session, mark.call_id)
        self._connection.execute("DELETE FROM running WHERE session = ? AND call_id = ?", key)
        self._connection.execute("DELETE FROM running_changes WHERE session = ? AND call_id = ?", key)

    def add(self, capture: Capture) -> None:
        self._connection.execute(
            "INSERT INTO captures VALUES (?, ?, ?, ?, ?, 0)",
            (
                capture.id,
                capture.session,
                bytes.fromhex(capture.changes),
                msgspec.json.encode(capture),
                capture.created_ms,
            ),
        )

    def unrecorded(self, session_id: str) -> list[Capture]:
        """Return a session's captures that were not acknowledged, oldest first."""
        return self._captures("WHERE session = ? AND recorded = 0 ORDER BY created_ms, rowid", session_id)

    def acknowledge(self, ids: Sequence[str]) -> None:
        self._connection.execute_many(
            "UPDATE captures SET recorded = 1 WHERE id = ?", ((id_,) for id_ in ids)
        )

    def all(self) -> list[Capture]:
        """Return every capture, oldest first."""
        return self._captures("ORDER BY created_ms, rowid")

    def since(self, created_ms: int) -> list[Capture]:
        """Return the captures made from a time on, newest first."""
        return self._captures("WHERE created_ms >= ? ORDER BY created_ms DESC", created_ms)

    def _captures(self, which: str, *values: object) -> list[Capture]:
        rows = self._connection.query(f"SELECT capture FROM captures {which}", values)
        return [self._connection.decode(row[0], Capture) for row in rows]

    def lists(self) -> set[str]:
        rows = self._connection.query("SELECT changes FROM captures")
        with self._connection.reading():
            return {blob(digest).hex() for (digest,) in rows}

    def replace(self, capture: Capture) -> None:
        self._connection.execute(
            "UPDATE captures SET changes = ?, capture = ? WHERE id = ?",
            (bytes.fromhex(capture.changes), msgspec.json.encode(capture), capture.id),
        )

    def remove(self, ids: Iterable[str]) -> None:
        """Remove captures whose session is gone; their contents go with the next clean-up."""
        self._connection.execute_many("DELETE FROM captures WHERE id = ?", ((id_,) for id_ in ids))
