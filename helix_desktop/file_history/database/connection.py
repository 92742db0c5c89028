"""The connection to a file history's database: what SQLite raises becomes an error for the user here."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from helix_desktop.domain.errors import (
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreUnreadable,
    StoreWriteFailed,
)
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, system_reason, verbatim

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
        """Return the struct that a row holds as JSON."""
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
        """Close the file; what was not committed is gone."""
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


def _closed() -> StoreClosed:
    return StoreClosed(text("The file history is closed."), fix=text("Open the workspace again."))


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
