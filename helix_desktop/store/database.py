"""The one open LevelDB of a workspace, and the only module that imports its binding.

Closing LevelDB while another thread is inside it crashes the process, so every use goes through a gate.
After a failed write LevelDB refuses all further ones until it is reopened; that happens here, before the next
write.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar

import plyvel

from helix_desktop.domain.errors import StoreDamaged, StoreUnreadable, StoreWriteFailed
from helix_desktop.domain.translatable_text import (
    ByteSize,
    OptionalText,
    TextContext,
    TranslatableText,
    join_sentences,
    system_reason,
    verbatim,
)
from helix_desktop.store import store_errors
from helix_desktop.store.kinds import RowDamaged
from helix_desktop.store.threads import WriteBatch
from helix_desktop.system.files import ansi_path

_log = logging.getLogger(__name__)
_text = TextContext("Store")


class ReadWriteLock:
    """A lock shared by users and exclusive for the thread that replaces or closes; the latter goes first.

    `with lock.shared:` uses the resource, `with lock.exclusive:` replaces it; neither nests within a thread.
    """

    def __init__(self) -> None:
        lock = threading.Lock()
        changed = threading.Condition(lock)
        state = _LockState()
        self.shared: AbstractContextManager[None] = _SharedLock(lock, changed, state)
        self.exclusive: AbstractContextManager[None] = _ExclusiveLock(changed, state)


class _LockState:
    """The number of users, the number of threads waiting to replace, and whether one does."""

    readers = 0
    waiting_writers = 0
    is_exclusive = False


class _SharedLock(AbstractContextManager[None]):
    # This guards every single read: no generator, and the bare lock instead of the condition around it.
    def __init__(self, lock: threading.Lock, changed: threading.Condition, state: _LockState) -> None:
        self._lock = lock
        self._changed = changed
        self._state = state

    def __enter__(self) -> None:
        with self._lock:
            while self._state.is_exclusive or self._state.waiting_writers:
                self._changed.wait()
            self._state.readers += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._state.readers -= 1
            if not self._state.readers and self._state.waiting_writers:
                self._changed.notify_all()


class _ExclusiveLock(AbstractContextManager[None]):
    def __init__(self, changed: threading.Condition, state: _LockState) -> None:
        self._changed = changed
        self._state = state

    def __enter__(self) -> None:
        with self._changed:
            self._state.waiting_writers += 1
            while self._state.is_exclusive or self._state.readers:
                self._changed.wait()
            self._state.waiting_writers -= 1
            self._state.is_exclusive = True

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._state.is_exclusive = False
            self._changed.notify_all()


MAX_SLICE_BYTES = 4 * 1024 * 1024  # bytes of unreferenced rows per synced write
_CURRENT = "CURRENT"  # the file that names the state of a LevelDB
_PROBE_BYTES = 64 * 1024  # bytes written to test if the disk takes writes at all
_RESERVED_BYTES = 1024 * 1024  # free space that must remain beyond what reopening needs, in bytes

_FREE_SPACE_HINT = _text("Make the folder writable, or free up disk space.")
_READABLE_HINT = _text("Make the files readable, and check the disk they are on.")
_BACKUP_HINT = _text("Replace the data folder with a backup.")

Rows = Iterator[tuple[bytes, bytes]]
T = TypeVar("T")


class ReadView:
    """Reads of an open LevelDB, or of a snapshot of it; valid only inside `Database.read`."""

    def __init__(self, db: Any) -> None:
        self._db = db

    def get(self, key: bytes) -> bytes | None:
        """Return one row as it is on disk, unchecked. Raise RowDamaged, StoreUnreadable."""
        try:
            row: bytes | None = self._db.get(key)
        except plyvel.Error as error:
            raise _read_error(error) from error
        return row

    def get_verified(self, key: bytes) -> bytes | None:
        """Return one row whose block's checksum was verified. Raise RowDamaged, StoreUnreadable."""
        try:
            row: bytes | None = self._db.get(key, verify_checksums=True)
        except plyvel.Error as error:
            raise _read_error(error) from error
        return row

    def scan(self, span: tuple[bytes, bytes], reverse: bool = False, verify_checksums: bool = True) -> Rows:
        """Yield the rows of a range of keys, in order or from its end. Raise RowDamaged.

        Without `verify_checksums`, rows of a block with a wrong checksum come too, for callers that verify.
        Uses the raw iterator: the plain one ends silently at a damaged block, and backwards it omits a lone
        first key.
        """
        first, stop = span
        # Never shared: one iterator used by two threads crashes the process.
        rows = self._db.raw_iterator(verify_checksums=verify_checksums)
        try:
            yield from _scan_backward(rows, first, stop) if reverse else _scan_forward(rows, first, stop)
        except plyvel.Error as error:
            raise RowDamaged(_error_text(error)) from error
        finally:
            rows.close()

    def count(self, span: tuple[bytes, bytes]) -> int:
        """Return how many rows a range of keys has. Raise RowDamaged."""
        return sum(1 for _ in self.scan(span))


class Database:
    """An open LevelDB: any thread may read, one thread writes, and no reader sees it closed under it."""

    def __init__(self, path: Path, create: bool = False, strict: bool = True) -> None:
        """Open `path`. Raise StoreUnreadable. `create` is for a path where nothing is: see `create_db`.

        Without `strict`, LevelDB skips what is damaged in the logs.
        """
        self._path = path
        self._lock = ReadWriteLock()
        self._closed = False
        self._current: IO[bytes] | None = None
        self._write_error = ""
        self._rollback_rows: dict[bytes, bytes | None] = {}
        self._set_db(_open_leveldb(path, create, strict))

    def read(self, query: Callable[[ReadView], T]) -> T:
        """Return the result of `query` on a snapshot of the rows, unaffected by concurrent writes.

        The view is valid only within `query`. Raise StoreClosed, StoreUnreadable.
        """
        self._reopen_if_closed()
        with self._lock.shared:
            snapshot = self._open_db().snapshot()
            try:
                return query(ReadView(snapshot))
            finally:
                snapshot.close()

    def get(self, key: bytes) -> bytes | None:
        """Return one row. Raise RowDamaged, StoreClosed, StoreUnreadable."""
        self._reopen_if_closed()
        with self._lock.shared:
            self._open_db()
            return self._view.get(key)

    def get_verified(self, key: bytes) -> bytes | None:
        """Return one row, its block's checksum verified. Raise RowDamaged, StoreClosed, StoreUnreadable."""
        self._reopen_if_closed()
        with self._lock.shared:
            self._open_db()
            return self._view.get_verified(key)

    def write(self, batch: WriteBatch) -> None:
        """Write a batch durably: unreferenced rows in parts, then the rest at once; from one thread only.

        Raise StoreWriteFailed; then nothing of the batch is visible, nor returns while this object lives.
        """
        if self._write_error:
            self._reopen_for_write(batch)
        try:
            with self._lock.shared:
                for rows in _slices(batch.unreferenced_rows):
                    self._write_synced(rows)
                self._write_synced(batch.rows)
        except plyvel.Error as error:
            self._write_error = _error_text(error)
            self._rollback_rows = self._stored_rows(batch)
            _log.warning("A write to the store failed: %s", self._write_error)
            raise _write_failed(verbatim(f"{self._write_error}.")) from error
        for callback in batch.durable_callbacks:
            callback()

    def replace_files(self, replace: Callable[[], None]) -> None:
        """Close the files, let `replace` put others in their place, and open these; on the writer's thread.

        Raise what `replace` raises, StoreUnreadable.
        """
        with self._lock.exclusive:
            self._close_db()
            try:
                replace()
            finally:
                self._set_db(_open_leveldb(self._path))

    def close(self) -> None:
        """Close the files once no thread reads; idempotent."""
        with self._lock.exclusive:
            self._closed = True
            self._close_db()

    def _write_synced(self, rows: dict[bytes, bytes | None] | dict[bytes, bytes]) -> None:
        # Always synced: a synced write does not cover earlier unsynced ones. Not a `with` block, which would
        # commit half a batch when an exception passes through it.
        leveldb_batch = self._open_db().write_batch(sync=True)
        for key, row in rows.items():
            if row is None:
                leveldb_batch.delete(key)
            else:
                leveldb_batch.put(key, row)
        leveldb_batch.write()

    def _open_db(self) -> Any:
        if self._closed:
            raise store_errors.store_closed()
        if self._db is None:
            raise store_unreadable(verbatim(f"{self._write_error}."), _FREE_SPACE_HINT)
        return self._db

    def missing_files(self) -> StoreWriteFailed | None:
        """Return the error of a write while the files are not in their place; None: they are."""
        with self._lock.shared:
            try:
                status = (self._path / _CURRENT).stat()
            except OSError:
                missing = (
                    path for path in (*reversed(self._path.parents), self._path) if not os.path.exists(path)
                )
                return StoreWriteFailed(
                    _text("Nothing can be saved: the workspace data is gone."),
                    _text(
                        "{folder} was deleted or moved, or its drive was disconnected.",
                        folder=next(missing, self._path),
                    ),
                    _text("Put it back to continue, or export the workspace before you quit."),
                )
            if self._current is None or os.path.samestat(status, os.fstat(self._current.fileno())):
                return None
        return StoreWriteFailed(
            _text("Nothing can be saved: the workspace data was replaced."),
            _text("{folder} is no longer the folder that was opened.", folder=self._path),
            _text("Export the workspace to keep what is here, then quit and open it again."),
        )

    def ensure_open(self) -> None:
        """Reopen the files if a failure closed them, before a write. Raise StoreWriteFailed.

        Deleted files stay open and can be read: what is written to them is lost, and no system refuses it.
        """
        if (missing := self.missing_files()) is not None:
            raise missing
        try:
            self._reopen_if_closed()
        except StoreUnreadable as error:
            raise _write_failed(error.why) from error

    def _reopen_for_write(self, batch: WriteBatch) -> None:
        """Reopen the files, if there is space for it: on a full disk a closed LevelDB stays closed."""
        needed = (
            sum(path.stat().st_size for path in self._path.glob("*.log")) + _bytes_in(batch) + _RESERVED_BYTES
        )
        _check_free_space(self._path, needed)
        with self._lock.exclusive:
            self._close_db()
        self.ensure_open()

    def _reopen_if_closed(self) -> None:
        """Reopen closed files and undo the failed batch before it becomes visible. Raise StoreUnreadable."""
        if self._db is not None or self._closed:
            return
        with self._lock.exclusive:
            if self._db is not None or self._closed:
                return
            self._set_db(_open_leveldb(self._path))
            try:
                # The failed batch may have reached the log completely before the disk refused.
                self._write_synced(self._rollback_rows)
            except plyvel.Error as error:
                self._close_db()
                raise store_unreadable(_reason(error), _FREE_SPACE_HINT) from error
            self._rollback_rows = {}
            self._write_error = ""
            _log.info("The store takes writes again.")

    def _stored_rows(self, batch: WriteBatch) -> dict[bytes, bytes | None]:
        rows: dict[bytes, bytes | None] = {}
        for key in batch.rows:
            with suppress(RowDamaged, StoreUnreadable):
                rows[key] = self.get(key)
        return rows

    def _set_db(self, db: Any) -> None:
        self._db = db
        self._view = ReadView(db)
        if self._current is not None:
            self._current.close()
        # LevelDB replaces it only as it opens, and it keeps its number in every file system while it is open.
        self._current = (self._path / _CURRENT).open("rb") if db is not None else None

    def _close_db(self) -> None:
        if self._db is not None:
            self._db.close()
            self._set_db(None)


def create_db(path: Path, rows: dict[bytes, bytes]) -> None:
    """Create a LevelDB at `path`, which must not exist, with `rows` durably. Raise StoreUnreadable."""
    # With `create_if_missing`, LevelDB deletes the tables of a database whose CURRENT is missing.
    if path.exists():
        raise store_unreadable(_text("{file} already exists.", file=path.name))
    handle = Database(path, create=True)
    try:
        batch = WriteBatch(handle.get)
        for key, row in rows.items():
            batch.put(key, row)
        handle.write(batch)
    finally:
        handle.close()


def store_unreadable(why: OptionalText, fix: TranslatableText = _BACKUP_HINT) -> StoreUnreadable:
    return StoreUnreadable(
        _text("The workspace data can't be read."), why, join_sentences(_text("Nothing was changed."), fix)
    )


def store_damaged(why: TranslatableText) -> StoreDamaged:
    reason = store_unreadable(why)
    return StoreDamaged(reason.what, reason.why, reason.fix)


def damage_behind(error: Exception) -> RowDamaged | None:
    """Return the damage for which LevelDB refused a write, found as it compacted; None: it was no damage."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, plyvel.CorruptionError):
        cause = cause.__cause__
    return RowDamaged(_error_text(cause)) if isinstance(cause, plyvel.CorruptionError) else None


def _read_error(error: Exception) -> RowDamaged | StoreUnreadable:
    return (
        RowDamaged(_error_text(error))
        if isinstance(error, plyvel.CorruptionError)
        else store_unreadable(_reason(error), _READABLE_HINT)
    )


def _open_leveldb(path: Path, create: bool = False, strict: bool = True) -> Any:
    try:
        return plyvel.DB(
            ansi_path(path),
            create_if_missing=create,
            error_if_exists=create,
            paranoid_checks=strict,
            compression=None,  # values are compressed by our codec
            write_buffer_size=16 * 1024 * 1024,
            max_file_size=8 * 1024 * 1024,
            bloom_filter_bits=10,
        )
    except plyvel.CorruptionError as error:
        raise store_damaged(_reason(error)) from error
    except plyvel.IOError as error:
        raise store_unreadable(_reason(error), _FREE_SPACE_HINT) from error
    except plyvel.Error as error:
        raise store_unreadable(_reason(error)) from error


def _scan_forward(rows: Any, first: bytes, stop: bytes) -> Rows:
    rows.seek(first)
    while rows.valid():
        key, row = rows.item()
        if key >= stop:
            return
        yield key, row
        rows.next()


def _scan_backward(rows: Any, first: bytes, stop: bytes) -> Rows:
    rows.seek(stop)
    if rows.valid():
        rows.prev()
    else:
        rows.seek_to_last()
    while rows.valid():
        key, row = rows.item()
        if key < first:
            return
        yield key, row
        rows.prev()


def _slices(rows: dict[bytes, bytes]) -> Iterator[dict[bytes, bytes]]:
    """Yield the rows in slices of about MAX_SLICE_BYTES."""
    remaining = iter(rows.items())
    while part := dict(islice(remaining, 1)):
        size = sum(map(len, part.values()))
        for key, row in remaining:
            part[key] = row
            size += len(row)
            if size >= MAX_SLICE_BYTES:
                break
        yield part


def _bytes_in(batch: WriteBatch) -> int:
    return sum(len(row or b"") for part in (batch.rows, batch.unreferenced_rows) for row in part.values())


def _check_free_space(folder: Path, needed: int) -> None:
    """Raise StoreWriteFailed if the disk has less than `needed` bytes free, or takes no writes."""
    try:
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise _write_failed(
                _text("{needed} are needed; {free} are free.", needed=ByteSize(needed), free=ByteSize(free))
            )
        _probe_write(folder.parent / "probe")
    except OSError as error:
        raise _write_failed(system_reason(error)) from error


# The same sync that LevelDB uses, so that the probe fails where LevelDB would.
if sys.platform == "linux":
    _sync = os.fdatasync
else:
    _sync = os.fsync


def _probe_write(path: Path) -> None:
    try:
        with path.open("wb") as file:
            file.write(bytes(_PROBE_BYTES))
            file.flush()
            _sync(file.fileno())
    finally:
        path.unlink(missing_ok=True)


def _write_failed(why: OptionalText) -> StoreWriteFailed:
    return StoreWriteFailed(
        _text("Couldn't save to disk. Earlier work is safe."),
        why,
        _text("Free up disk space or make the folder writable, then try again."),
    )


def _reason(error: Exception) -> TranslatableText:
    """Return LevelDB's message as a sentence."""
    return verbatim(f"{_error_text(error)}.")


def _error_text(error: Exception) -> str:
    """Return LevelDB's message; the binding passes it as bytes."""
    message = error.args[0] if error.args else ""
    text = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
    return text.rstrip(". ") or type(error).__name__
