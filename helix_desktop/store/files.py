"""The files of a workspace's store: the owner's lock, damaged rows that were saved, and small notes.

owner.lock   who has it open          db/           the LevelDB
format       schema and workspace     quarantine/   damaged rows
doubt        damage was met: repair   kept/1/ ...   damaged databases as they were found
db.mend/     made of a damaged one
untold       a repair's report that the user has not seen yet
clean        sequence, ends of logs and files at the last close: less than that means that data was lost
search.db    the index for searching and sorting: derived from db/, and rebuilt whenever it is missing
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.domain.errors import DataDirUnavailable, StoreLocked, StoreUnreadable
from helix_desktop.domain.store_reports import RepairReport
from helix_desktop.domain.translatable_text import TextContext, plain_text, system_reason
from helix_desktop.store.kinds import RowDamaged
from helix_desktop.system.files import delete_database, read_regular, replace_file, sync_folder

_log = logging.getLogger(__name__)

text = TextContext("Store")

if sys.platform == "win32":
    import msvcrt

    _BYTE = 1 << 30  # far after the pid, which must stay readable: Windows locks forbid reading

    def _lock(file: int) -> None:
        os.lseek(file, _BYTE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class _ProcessLocks:
    """The locks that this process holds.

    Network file systems turn flock into a lock per process, which a second opening here would pass, and its
    closing would drop: so the process checks itself before it touches the file.
    """

    def __init__(self) -> None:
        self._paths: set[Path] = set()
        self._guard = threading.Lock()

    def add(self, path: Path) -> bool:
        with self._guard:
            if path in self._paths:
                return False
            self._paths.add(path)
            return True

    def remove(self, path: Path) -> None:
        with self._guard:
            self._paths.discard(path)


# Process-wide state by nature: the file system sees one lock holder per process.
_PROCESS_LOCKS = _ProcessLocks()


class OwnerLock:
    """Ownership of one folder, from `acquire` to `release`; the file stays, with the last owner's pid."""

    def __init__(self, path: Path, file: int) -> None:
        self._path = path
        self._file = file

    @classmethod
    def acquire(cls, path: Path) -> OwnerLock:
        """Own the folder of `path`. Raise StoreLocked with the owner's pid, DataDirUnavailable.

        A lock left by a process that died is taken over.
        """
        path = path.resolve()
        if not _PROCESS_LOCKS.add(path):
            raise _store_locked(os.getpid())
        try:
            return cls(path, _lock_file(path))
        except BaseException:
            _PROCESS_LOCKS.remove(path)
            raise

    def release(self) -> None:
        os.close(self._file)
        _PROCESS_LOCKS.remove(self._path)


def _lock_file(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
    except OSError as error:
        raise DataDirUnavailable(
            text("The workspace data can't be written: {folder}.", folder=path.parent),
            system_reason(error),
            text("Make the folder writable, or choose another data directory."),
        ) from error
    try:
        _lock(file)
    except OSError as error:
        os.close(file)
        raise _store_locked(_read_pid(path)) from error
    os.lseek(file, 0, os.SEEK_SET)
    os.ftruncate(file, 0)
    os.write(file, f"{os.getpid()}\n".encode())
    return file


def _read_pid(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _store_locked(pid: int | None) -> StoreLocked:
    if pid == os.getpid():
        return StoreLocked(
            text("This workspace is already open here."), pid, fix=text("Use the window it is open in.")
        )
    return StoreLocked(
        text(
            "This workspace is in use by another running Helix Desktop (process {process}).", process=str(pid)
        )
        if pid
        else text("This workspace is in use by another process."),
        pid,
        text("Only one process at a time can write workspace data."),
        text("If it's a window, use that one or close it. If it's a command, wait until it ends."),
    )


_ROW_SUFFIX = ".row"


class Quarantine:
    """A folder with one file per damaged row; the name begins with the digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Read at every put of known content, so cached: only the store's owner writes the folder.
        self._digests: set[str] | None = None
        self._load_lock = threading.Lock()

    def holds(self, digest: str) -> bool:
        digests = self._digests
        return digest in (self._load_digests() if digests is None else digests)

    def save(self, digest: str, rows: Iterable[bytes]) -> str:
        """Save a copy of the raw rows, once; return the first file's name, or "" if the disk refuses."""
        first = self._first_path(digest)
        self._load_digests().add(digest)
        try:
            if not first.exists():
                self._write(digest, rows)
        except OSError as error:
            _log.warning("A damaged row of %s could not be copied aside: %s", digest, error)
            return ""
        return f"{self._folder.name}/{first.name}"

    def _write(self, digest: str, rows: Iterable[bytes]) -> None:
        """Write the rows of a content; the first file, which says that they are there, comes last."""
        paths: list[tuple[Path, Path]] = []
        for number, row in enumerate(rows):
            path = self._folder / f"{digest}.{number}" if number else self._first_path(digest)
            part = path.with_name(f"{path.name}.{threading.get_ident()}.part")
            part.write_bytes(row)
            paths.append((part, path))
        for part, path in reversed(paths):
            replace_file(part, path)

    def mark_healed(self, digest: str) -> None:
        """Mark a damaged content as intact again; its damaged rows stay, under another name."""
        if not self.holds(digest):
            return
        first = self._first_path(digest)
        try:
            self._load_digests().discard(digest)
            if first.exists():  # the disk may have refused it
                first.replace(first.with_suffix(".healed"))
        except OSError as error:
            _log.warning("%s could not be renamed: %s", first.name, error)

    def find_suspects(
        self,
        digests: Collection[str],
        content_of: Callable[[bytes], bytes],
        holds_secret: Callable[[bytes], bool] | None,
    ) -> list[str]:
        """Return the files with a row of these contents, or with a secret (None: no search for one).

        An unreadable row counts as holding the secret: its content is not known.
        """
        names = []
        for path in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            has_digest = path.name.partition(".")[0] in digests
            if has_digest or (holds_secret is not None and _may_hold_secret(path, content_of, holds_secret)):
                names.append(path.name)
        return names

    def delete(self, name: str) -> None:
        """Delete one file that `find_suspects` returned."""
        (self._folder / name).unlink(missing_ok=True)
        self._load_digests().discard(name.removesuffix(_ROW_SUFFIX))

    def remove(self, digest: str) -> None:
        for path in self._folder.glob(f"{digest}.*"):
            try:
                path.unlink()
            except OSError as error:
                _log.warning("%s could not be deleted: %s", path.name, error)
        self._load_digests().discard(digest)

    def _load_digests(self) -> set[str]:
        with self._load_lock:
            if self._digests is None:
                self._digests = {
                    path.name.removesuffix(_ROW_SUFFIX) for path in self._folder.glob(f"*{_ROW_SUFFIX}")
                }
            return self._digests

    def _first_path(self, digest: str) -> Path:
        return self._folder / f"{digest}{_ROW_SUFFIX}"


def _may_hold_secret(
    path: Path, content_of: Callable[[bytes], bytes], holds_secret: Callable[[bytes], bool]
) -> bool:
    try:
        row = path.read_bytes()
        return holds_secret(row) or holds_secret(content_of(row))
    except (OSError, RowDamaged):
        return True


T = TypeVar("T")


def read_struct(path: Path, kind: type[T]) -> T | None:
    """Return the content of a file; None if it is absent. Raise msgspec.DecodeError, OSError."""
    try:
        return msgspec.json.decode(read_regular(path), type=kind)
    except FileNotFoundError:
        return None
    except RecursionError as error:
        raise msgspec.DecodeError("nested too deeply") from error


def write_struct(path: Path, value: object) -> None:
    """Replace a file so that a crash leaves the complete old or new one. Raise OSError."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(msgspec.json.encode(value, enc_hook=plain_text) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    replace_file(part, path)
    sync_folder(path.parent)


class RepairNotes:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def backups(self) -> Path:
        """Return the folder of damaged databases as they were found, one numbered folder for each."""
        return self._folder / "kept"

    def create_backup_folder(self) -> Path:
        """Create and return an empty folder for the next damaged database. Raise OSError."""
        number = 1
        while (self.backups / str(number) / "db").exists():
            number += 1
        folder = self.backups / str(number)
        shutil.rmtree(folder, ignore_errors=True)  # of an interrupted repair
        folder.mkdir(parents=True)
        return folder

    def back_up_torn_log(self, log: Path) -> None:
        """Copy a log whose torn end will be dropped. Raise OSError."""
        number = 1
        while (folder := self.backups / f"torn-{number}").exists():
            number += 1
        folder.mkdir(parents=True)
        shutil.copy2(log, folder / log.name)

    @property
    def suspicion(self) -> str:
        """Return the damage that was met while the store was open; "" if none was."""
        try:
            return (self._folder / "doubt").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def mark_suspect(self, why: str) -> None:
        """Have the store repaired at its next opening. Raise OSError."""
        (self._folder / "doubt").write_text(why, encoding="utf-8")

    def clear_suspect(self) -> None:
        (self._folder / "doubt").unlink(missing_ok=True)

    def read_unreported(self) -> RepairReport | None:
        """Return the report of a repair that the user has not seen yet."""
        try:
            report = read_struct(self._folder / "untold", RepairReport)
        except (msgspec.DecodeError, OSError):
            return None
        # Without its copy the repair was interrupted before it took effect.
        return report if report and (not report.copy or Path(report.copy).exists()) else None

    def write_unreported(self, report: RepairReport) -> None:
        """Save a report until the user has seen it, and next to its copy for good. Raise OSError."""
        if report.aside:
            write_struct(Path(report.aside) / "report.json", report)
        write_struct(self._folder / "untold", report)

    def mark_reported(self) -> None:
        (self._folder / "untold").unlink(missing_ok=True)


CURRENT_SCHEMA = 1


class StoreFormat(msgspec.Struct, frozen=True):
    """The content of `format`."""

    schema: int
    workspace_id: str = msgspec.field(name="workspace")


class CleanState(msgspec.Struct, frozen=True):
    """The content of `clean`: the store's state when it was last closed.

    Number of writes, entries and sessions, the last seq of each session, the size in bytes of each file, and
    the content of CURRENT: every opening changes that, so while it is the same, all the files must be too.
    """

    sequence: int
    entries: int
    sessions: int
    ends: dict[str, int] = msgspec.field(default_factory=dict)
    files: dict[str, int] = msgspec.field(default_factory=dict)
    current: str = ""


class StoreFiles(msgspec.Struct, frozen=True):
    folder: Path

    def last_written_ms(self) -> int:
        """Return when a file of the database was written last, in ms since 1970; 0 without one."""
        try:
            return max((int(path.stat().st_mtime * 1000) for path in self.db.iterdir()), default=0)
        except OSError:
            return 0

    @property
    def owner_lock(self) -> Path:
        return self.folder / "owner.lock"

    @property
    def db(self) -> Path:
        return self.folder / "db"

    @property
    def new_db(self) -> Path:
        """Return the path of a new LevelDB, which becomes `db` when it is complete."""
        return self.folder / "db.new"

    @property
    def repair_db(self) -> Path:
        """Return the path of a LevelDB that is being made of a damaged one."""
        return self.folder / "db.mend"

    @property
    def old_db(self) -> Path:
        """Return the path of a LevelDB that another one has replaced, until it is deleted."""
        return self.folder / "db.old"

    @property
    def quarantine(self) -> Path:
        return self.folder / "quarantine"

    @property
    def repair_notes(self) -> RepairNotes:
        return RepairNotes(self.folder)

    @property
    def search_index(self) -> Path:
        return self.folder / "search.db"

    def create_folders(self) -> None:
        try:
            self.quarantine.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataDirUnavailable(
                text("The folder for workspace data can't be created: {folder}.", folder=self.folder),
                system_reason(error),
                text("Make its parent folder writable, or choose another data directory."),
            ) from error

    def read_format(self) -> StoreFormat | None:
        """Return the content of `format`; None if it is absent. Raise StoreUnreadable."""
        try:
            return read_struct(self.folder / "format", StoreFormat)
        except (msgspec.DecodeError, OSError) as error:
            raise StoreUnreadable(
                text("The workspace data can't be read."),
                text("Its format file is damaged ({detail}).", detail=str(error)),
                text("Nothing was changed. Replace the data folder with a backup."),
            ) from error

    def write_format(self, store_format: StoreFormat) -> None:
        """Write `format` durably. Raise OSError."""
        write_struct(self.folder / "format", store_format)

    def read_clean(self) -> CleanState | None:
        """Return the content of `clean`; None if it is absent or invalid."""
        try:
            return read_struct(self.folder / "clean", CleanState)
        except (msgspec.DecodeError, OSError):
            return None

    def write_clean(self, clean_state: CleanState) -> None:
        """Write `clean` durably. Raise OSError."""
        write_struct(self.folder / "clean", clean_state)

    def swap_in_repair_db(self, backup_folder: Path) -> None:
        """Move the LevelDB into a backup folder, and put the repaired one in its place. Raise OSError.

        Interrupted before the old one is moved, the repair is redone; after that the new one is adopted.
        """
        backup_folder.mkdir(parents=True, exist_ok=True)
        delete_database(self.search_index)  # made of rows that may be gone
        shutil.rmtree(self.new_db, ignore_errors=True)
        self.repair_db.rename(self.new_db)
        self.db.rename(backup_folder / "db")
        sync_folder(backup_folder)
        self.adopt_new_db()

    def adopt_new_db(self) -> None:
        """Rename the new LevelDB to `db`. Raise OSError."""
        clean_state = self.read_clean()
        if clean_state is not None and clean_state.files:  # those of the LevelDB that was there before
            self.write_clean(msgspec.structs.replace(clean_state, files={}, current=""))
        self.new_db.rename(self.db)
        sync_folder(self.folder)
