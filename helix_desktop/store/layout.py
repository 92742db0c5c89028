"""The files of a workspace's store, and the two small ones that say what it is and how it was left.

owner.lock   who has it open          db/           the LevelDB
format       schema and workspace     quarantine/   damaged rows
clean        the sequence at the last close: a smaller one later means that its tail was lost
search.db    the index for searching and sorting: made of db/, and made again whenever it is missing
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.context.errors import DataDirUnusable, StoreUnreadable

SCHEMA_NUMBER = 1

T = TypeVar("T")


class Format(msgspec.Struct, frozen=True):
    """What `format` says."""

    schema: int
    workspace: str


class Clean(msgspec.Struct, frozen=True):
    """What `clean` says: writes seen, entries and sessions held, when the store was last closed."""

    sequence: int
    entries: int
    sessions: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things lie in a store's folder."""

    folder: Path

    @property
    def owner(self) -> Path:
        """The owner lock."""
        return self.folder / "owner.lock"

    @property
    def db(self) -> Path:
        """The LevelDB."""
        return self.folder / "db"

    @property
    def new_db(self) -> Path:
        """A LevelDB in the making; it becomes `db` when it is whole."""
        return self.folder / "db.new"

    @property
    def old_db(self) -> Path:
        """A LevelDB that another one has replaced, until it is deleted."""
        return self.folder / "db.old"

    @property
    def quarantine(self) -> Path:
        """Damaged rows."""
        return self.folder / "quarantine"

    @property
    def search(self) -> Path:
        """The index for searching and sorting."""
        return self.folder / "search.db"

    def make(self) -> None:
        """Make the folders. Raises DataDirUnusable."""
        try:
            self.quarantine.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataDirUnusable(
                f"The folder for the workspace's store cannot be made: {self.folder}.",
                f"{error.strerror}.",
                "Make its parent writable, or choose another data directory.",
            ) from error

    def read_format(self) -> Format | None:
        """What `format` says; None when it is absent. Raises StoreUnreadable."""
        try:
            return _read(self.folder / "format", Format)
        except (msgspec.DecodeError, OSError) as error:
            raise StoreUnreadable(
                "The workspace's store cannot be read.",
                f"Its file `format` is damaged ({error}).",
                "Nothing was changed. Put a backup of its folder in place.",
            ) from error

    def write_format(self, form: Format) -> None:
        """Write `format` durably. Raises OSError."""
        _write(self.folder / "format", form)

    def read_clean(self) -> Clean | None:
        """What `clean` says; None when it is absent or says nothing."""
        try:
            return _read(self.folder / "clean", Clean)
        except (msgspec.DecodeError, OSError):
            return None

    def write_clean(self, clean: Clean) -> None:
        """Write `clean` durably. Raises OSError."""
        _write(self.folder / "clean", clean)

    def adopt_new_db(self) -> None:
        """Give the new LevelDB its name. Raises OSError."""
        self.new_db.rename(self.db)
        _sync_folder(self.folder)


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None


def _write(path: Path, value: object) -> None:
    """Replace a file so that a crash leaves the old or the new one, whole."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(msgspec.json.encode(value) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return  # NTFS journals names by itself; folders cannot be opened for syncing there
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
