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
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import plyvel

from helix_desktop.context.digest import size_text
from helix_desktop.context.errors import StoreDamaged, StoreUnreadable, StoreWriteFailed
from helix_desktop.store import refusals
from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import RowDamaged
from helix_desktop.store.gate import Gate
from helix_desktop.system.files import narrow

_log = logging.getLogger(__name__)

WRITE_SLICE = 4 * 1024 * 1024  # bytes of early rows per synced write
_PROBE = 64 * 1024  # bytes written to see whether the disk takes writes at all
_SPARE = 1024 * 1024  # room that must be left beyond what reopening needs, in bytes

_ROOM = "Make the folder writable, or free some room on the disk."
_REACH = "Make its files readable, and check the disk that they lie on."

Rows = Iterator[tuple[bytes, bytes]]
T = TypeVar("T")


class View:
    """Reads of an open LevelDB, or of a snapshot of it; valid only inside `Handle.read`."""

    def __init__(self, db: Any) -> None:
        self._db = db

    def get(self, key: bytes) -> bytes | None:
        """One row as it is on disk, unchecked. Raises RowDamaged, StoreUnreadable."""
        try:
            row: bytes | None = self._db.get(key)
        except plyvel.Error as error:
            raise _unread(error) from error
        return row

    def get_checked(self, key: bytes) -> bytes | None:
        """One row whose block's checksum was verified. Raises RowDamaged, StoreUnreadable."""
        try:
            row: bytes | None = self._db.get(key, verify_checksums=True)
        except plyvel.Error as error:
            raise _unread(error) from error
        return row

    def scan(self, span: tuple[bytes, bytes], backwards: bool = False, checked: bool = True) -> Rows:
        """The rows of a range of keys, in order or from its end. Raises RowDamaged.

        Not `checked`, rows of a block with a wrong checksum come too, for who checks each by itself.
        By the raw iterator: the plain one ends silently at a damaged block, and backwards it omits a lone
        first key.
        """
        first, stop = span
        # Never shared: one iterator used by two threads crashes the process.
        rows = self._db.raw_iterator(verify_checksums=checked)
        try:
            yield from _down(rows, first, stop) if backwards else _up(rows, first, stop)
        except plyvel.Error as error:
            raise RowDamaged(_said(error)) from error
        finally:
            rows.close()

    def count(self, span: tuple[bytes, bytes]) -> int:
        """How many rows a range of keys has. Raises RowDamaged."""
        return sum(1 for _ in self.scan(span))


class Handle:
    """An open LevelDB that any thread may read, one thread writes, and nobody can close under a reader."""

    def __init__(self, path: Path, create: bool = False, strict: bool = True) -> None:
        """Open `path`. Raises StoreUnreadable. `create` is for a path where nothing is: see `create_db`.

        Not `strict`, LevelDB passes over what is damaged in the logs.
        """
        self._path = path
        self._gate = Gate()
        self._closed = False
        self._refuses = ""
        self._before: dict[bytes, bytes | None] = {}
        self._use(_open(path, create, strict))

    def read(self, ask: Callable[[View], T]) -> T:
        """What `ask` makes of the stored rows as they are now, whatever is written meanwhile.

        The view ends with it. Raises StoreClosed, StoreUnreadable.
        """
        self._revive()
        with self._gate.shared:
            snapshot = self._ready().snapshot()
            try:
                return ask(View(snapshot))
            finally:
                snapshot.close()

    def get(self, key: bytes) -> bytes | None:
        """One row. Raises RowDamaged, StoreClosed, StoreUnreadable."""
        self._revive()
        with self._gate.shared:
            self._ready()
            return self._view.get(key)

    def get_checked(self, key: bytes) -> bytes | None:
        """One row whose block's checksum was verified. Raises RowDamaged, StoreClosed, StoreUnreadable."""
        self._revive()
        with self._gate.shared:
            self._ready()
            return self._view.get_checked(key)

    def write(self, batch: Batch) -> None:
        """Write a batch durably: its early rows in parts, then everything else at once; one thread only.

        Raises StoreWriteFailed; then nothing of the batch is visible, nor comes back while this handle lives.
        """
        if self._refuses:
            self._reopen(batch)
        try:
            with self._gate.shared:
                for part in _slices(batch.early):
                    self._put(part)
                self._put(batch.rows)
        except plyvel.Error as error:
            self._refuses = _said(error)
            self._before = self._as_it_was(batch)
            _log.warning("A write to the store failed: %s", self._refuses)
            raise _write_failed(self._refuses) from error
        for act in batch.afterwards:
            act()

    def exchange(self, change: Callable[[], None]) -> None:
        """Close the files, let `change` put others in their place, and open these; on the writer's thread.

        Raises what `change` raises, StoreUnreadable.
        """
        with self._gate.exclusive:
            self._shut()
            try:
                change()
            finally:
                self._use(_open(self._path))

    def close(self) -> None:
        """Let go of the files once nobody reads; idempotent."""
        with self._gate.exclusive:
            self._closed = True
            self._shut()

    def _put(self, rows: dict[bytes, bytes | None] | dict[bytes, bytes]) -> None:
        # Always synced: a synced write does not cover earlier unsynced ones. Not a `with` block, which would
        # commit half a batch when an exception passes through it.
        written = self._ready().write_batch(sync=True)
        for key, row in rows.items():
            if row is None:
                written.delete(key)
            else:
                written.put(key, row)
        written.write()

    def _ready(self) -> Any:
        if self._closed:
            raise refusals.closed()
        if self._db is None:
            raise unreadable(self._refuses, _ROOM)
        return self._db

    def ensure_open(self) -> None:
        """Open the files again if a failure closed them, for who means to write. Raises StoreWriteFailed."""
        try:
            self._revive()
        except StoreUnreadable as error:
            raise _write_failed(error.why.rstrip(".")) from error

    def _reopen(self, batch: Batch) -> None:
        """Open the files anew, if there is room for it: on a full disk a closed LevelDB stays closed."""
        needed = sum(one.stat().st_size for one in self._path.glob("*.log")) + _bytes_in(batch) + _SPARE
        _check_room(self._path, needed)
        with self._gate.exclusive:
            self._shut()
        self.ensure_open()

    def _revive(self) -> None:
        """Open closed files and undo the refused batch before anybody sees it. Raises StoreUnreadable."""
        if self._db is not None or self._closed:
            return
        with self._gate.exclusive:
            if self._db is not None or self._closed:
                return
            self._use(_open(self._path))
            try:
                # The refused batch may have reached the log whole before the disk said no.
                self._put(self._before)
            except plyvel.Error as error:
                self._shut()
                raise unreadable(_said(error), _ROOM) from error
            self._before = {}
            self._refuses = ""
            _log.info("The store takes writes again.")

    def _as_it_was(self, batch: Batch) -> dict[bytes, bytes | None]:
        rows: dict[bytes, bytes | None] = {}
        for key in batch.rows:
            with suppress(RowDamaged, StoreUnreadable):
                rows[key] = self.get(key)
        return rows

    def _use(self, db: Any) -> None:
        self._db = db
        self._view = View(db)

    def _shut(self) -> None:
        if self._db is not None:
            self._db.close()
            self._use(None)


def create_db(path: Path, rows: dict[bytes, bytes]) -> None:
    """Make a new LevelDB at `path`, where nothing may be, holding `rows` durably. Raises StoreUnreadable."""
    # LevelDB told to create deletes the tables of a database whose CURRENT is missing.
    if path.exists():
        raise unreadable(f"{path.name} exists already")
    handle = Handle(path, create=True)
    try:
        batch = Batch(handle.get)
        for key, row in rows.items():
            batch.put(key, row)
        handle.write(batch)
    finally:
        handle.close()


def unreadable(why: str, fix: str = "Put a backup of its folder in place.") -> StoreUnreadable:
    """The files cannot be used as they are."""
    return StoreUnreadable("The workspace's store cannot be read.", f"{why}.", f"Nothing was changed. {fix}")


def damaged(why: str) -> StoreDamaged:
    """The files are not what was written."""
    said = unreadable(why)
    return StoreDamaged(said.what, said.why, said.fix)


def _unread(error: Exception) -> RowDamaged | StoreUnreadable:
    """Why one row cannot be read."""
    said = _said(error)
    return RowDamaged(said) if isinstance(error, plyvel.CorruptionError) else unreadable(said, _REACH)


def _open(path: Path, create: bool = False, strict: bool = True) -> Any:
    try:
        return plyvel.DB(
            narrow(path),
            create_if_missing=create,
            error_if_exists=create,
            paranoid_checks=strict,
            compression=None,  # values are compressed by our codec
            write_buffer_size=16 * 1024 * 1024,
            max_file_size=8 * 1024 * 1024,
            bloom_filter_bits=10,
        )
    except plyvel.CorruptionError as error:
        raise damaged(_said(error)) from error
    except plyvel.IOError as error:
        raise unreadable(_said(error), _ROOM) from error
    except plyvel.Error as error:
        raise unreadable(_said(error)) from error


def _up(rows: Any, first: bytes, stop: bytes) -> Rows:
    rows.seek(first)
    while rows.valid():
        key, row = rows.item()
        if key >= stop:
            return
        yield key, row
        rows.next()


def _down(rows: Any, first: bytes, stop: bytes) -> Rows:
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
    """The rows in parts of about WRITE_SLICE bytes."""
    left = iter(rows.items())
    while first := dict(islice(left, 1)):
        size = sum(map(len, first.values()))
        for key, row in left:
            first[key] = row
            size += len(row)
            if size >= WRITE_SLICE:
                break
        yield first


def _bytes_in(batch: Batch) -> int:
    return sum(len(row or b"") for part in (batch.rows, batch.early) for row in part.values())


def _check_room(folder: Path, needed: int) -> None:
    """Raises StoreWriteFailed when the disk has less than `needed` bytes, or takes no writes."""
    try:
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise _write_failed(f"the disk has {size_text(free)} left, {size_text(needed)} are needed")
        _probe(folder.parent / "probe")
    except OSError as error:
        raise _write_failed(error.strerror or str(error)) from error


# What LevelDB itself asks of the system, so that the probe fails where it would.
if sys.platform == "linux":
    _sync = os.fdatasync
else:
    _sync = os.fsync


def _probe(path: Path) -> None:
    try:
        with path.open("wb") as file:
            file.write(bytes(_PROBE))
            file.flush()
            _sync(file.fileno())
    finally:
        path.unlink(missing_ok=True)


def _write_failed(why: str) -> StoreWriteFailed:
    return StoreWriteFailed(
        "The workspace's store could not be written; this was not saved, everything before it is safe.",
        f"{why[:1].upper()}{why[1:]}.",
        "Free some room on the disk, or make the folder writable, and try again: writing resumes by itself.",
    )


def _said(error: Exception) -> str:
    """What LevelDB said; the binding hands it over as bytes."""
    said = error.args[0] if error.args else ""
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    return text.rstrip(". ") or type(error).__name__
