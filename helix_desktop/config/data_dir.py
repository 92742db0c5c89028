"""The data directory: its move by a pointer, and a copy to read from when it can't be written.

A move copies, verifies, switches by a pointer, and only then removes the old one. Until the pointer is
written the old folder is complete and in use; from then on the new one is. A mark file in the new folder says
that it is being filled, so that an interrupted move can be restarted there, and nothing else is ever deleted.

A copy of a data folder that can't be written, to read and export from: the disk is full, or read-only.
LevelDB and SQLite write even to open what is only read. So the small files are copied to where there is room,
and the tables of LevelDB, which are never changed once they are there, are linked.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from helix_desktop.config.paths import POINTER_FILE, DataDir, remove_pointers, write_pointer
from helix_desktop.domain.errors import DataDirUnavailable, HelixError, InvalidInput
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.translatable_text import ByteSize, TextContext, folder_reason
from helix_desktop.system.files import non_folder_in, sync_folder

text = TextContext("Settings")

MARK_FILE = "being-moved-here"
_LOCKS = frozenset(
    {"window.lock", "window.open", "workspaces.lock", "owner.lock", "owner.address", POINTER_FILE, MARK_FILE}
)
"""Files that belong to running processes or to a move: they are not moved."""
_SPARE_BYTES = 32 * 1024 * 1024  # bytes that stay free at the target
_CHUNK_BYTES = 1024 * 1024


class DataDirMove(msgspec.Struct, frozen=True):
    """A planned move: the files to copy, their size in bytes, and the places that point to the old folder."""

    source: Path
    target: Path
    files: tuple[Path, ...]
    size: int
    earlier_places: tuple[Path, ...] = ()
    digests: dict[Path, bytes] = msgspec.field(default_factory=dict)

    def copy(self, on_progress: OnProgress) -> None:
        """Fill the new folder, and verify it. Raises DataDirUnavailable; then the old one stays in use."""
        try:
            self._clear()
            done = 0
            for path in self.files:
                done = self._copy_file(path, done, on_progress)
            for path, digest in self.digests.items():
                copied_digest, done = _hash_file(
                    self.target / path, done, lambda now: on_progress(now, 2 * self.size)
                )
                if copied_digest != digest:
                    raise OSError(f"{path} was not copied correctly")
        except OSError as error:
            raise _move_error(self.target, error) from error

    def switch(self) -> None:
        """Switch to the new folder. Raises DataDirUnavailable; then the old one stays in use."""
        try:
            for folder, _, _ in os.walk(self.target):
                sync_folder(Path(folder))  # the new file names are durable, where the system needs that
            remove_pointers(self.target)  # where the data returns to a former place
            write_pointer(self.source, self.target)
            (self.target / MARK_FILE).unlink(missing_ok=True)
        except OSError as error:
            raise _move_error(self.target, error) from error
        for place in self.earlier_places:
            with suppress(OSError):  # it still leads there by the old folder
                if place.resolve() != self.target:
                    write_pointer(place, self.target)

    def remove_old(self) -> tuple[Path, ...]:
        """Remove what was moved from the old folder, except the pointer; return what could not be removed."""
        remaining = []
        for path in sorted(self.source.iterdir()):
            if path.name == POINTER_FILE:
                continue
            try:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            except OSError:
                remaining.append(path)
        return tuple(remaining)

    def _clear(self) -> None:
        """Create the new folder, or clear it of an interrupted move."""
        self.target.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (self.target / MARK_FILE).is_file():
            for path in self.target.iterdir():
                if path.name not in (MARK_FILE, POINTER_FILE):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        (self.target / MARK_FILE).write_text(str(self.source), encoding="utf-8")

    def _copy_file(self, path: Path, done: int, on_progress: OnProgress) -> int:
        here, there = self.source / path, self.target / path
        there.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if here.is_symlink():
            there.symlink_to(os.readlink(here))
            return done
        digest = hashlib.sha256()
        with here.open("rb") as source, there.open("xb") as target:
            while part := source.read(_CHUNK_BYTES):
                digest.update(part)
                target.write(part)
                done += len(part)
                on_progress(done, 2 * self.size)
            target.flush()
            os.fsync(target.fileno())
        shutil.copystat(here, there)
        self.digests[path] = digest.digest()
        return done


def plan_move(source: Path, target: Path, earlier_places: tuple[Path, ...] = ()) -> DataDirMove:
    """Check and plan a move without changing data. Raises InvalidInput, DataDirUnavailable.

    `earlier_places` are former places of the data, whose pointers will lead to the new one.
    """
    # Unlike those of a Path, these two take an unknown user's folder and a circle of links as they stand.
    source, target = source.resolve(), Path(os.path.realpath(os.path.expanduser(target)))
    if source == target or target.is_relative_to(source) or source.is_relative_to(target):
        raise InvalidInput(
            text("The data can't be moved to {folder}.", folder=target),
            text("It's in {folder}; neither folder can contain the other.", folder=source),
            text("Choose another folder."),
        )
    try:
        _check_target(source, target)
        files = tuple(sorted(_list_files(source)))
        size = sum((source / path).lstat().st_size for path in files)
        free = shutil.disk_usage(_existing_parent(target)).free
    except OSError as error:
        raise _move_error(target, error) from error
    if free < size + _SPARE_BYTES:
        raise InvalidInput(
            text("There isn't enough disk space in {folder}.", folder=target),
            text(
                "{needed} are needed; {free} are free.",
                needed=ByteSize(size + _SPARE_BYTES),
                free=ByteSize(free),
            ),
            text("Nothing was changed. Free up space there, or choose another folder."),
        )
    return DataDirMove(source, target, files, size, earlier_places)


def _check_target(source: Path, target: Path) -> None:
    (source / MARK_FILE).unlink(missing_ok=True)  # from the move that brought the data here
    if not target.exists():
        return
    fix = text("Choose an empty folder, or one that doesn't exist yet.")
    if not target.is_dir():
        raise InvalidInput(text("{path} isn't a folder.", path=target), fix=fix)
    names = {path.name for path in target.iterdir()}
    ours = (target / MARK_FILE).is_file() and (target / MARK_FILE).read_text(encoding="utf-8") == str(source)
    if not ours and names - {POINTER_FILE}:
        raise InvalidInput(
            text("{folder} isn't empty.", folder=target),
            text("Its files would mix with the data of Helix Desktop."),
            fix,
        )


def _list_files(source: Path) -> Iterator[Path]:
    """Yield every file and link below a folder, relative to it, except those of running processes."""
    for folder, folders, names in os.walk(source):
        parent = Path(folder)
        for name in [*names, *(link_name for link_name in folders if (parent / link_name).is_symlink())]:
            if name not in _LOCKS and not name.startswith(".probe-"):
                yield (parent / name).relative_to(source)


def _hash_file(path: Path, done: int, on_progress: Callable[[int], None]) -> tuple[bytes, int]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_CHUNK_BYTES):
            digest.update(part)
            done += len(part)
            on_progress(done)
    return digest.digest(), done


def _existing_parent(path: Path) -> Path:
    while not path.is_dir():
        path = path.parent
    return path


def _move_error(target: Path, error: OSError) -> HelixError:
    return DataDirUnavailable(
        text("The data couldn't be moved to {folder}.", folder=target),
        folder_reason(error, target, non_folder_in(target)),
        text("It stays where it was. Make the new folder writable, or choose another one."),
    )


_PREFIX = "helix-desktop-reading-"
_TABLES = frozenset({".ldb", ".sst"})
_NOT_COPIED = re.compile(r".*\.lock|LOCK|search\.db.*|.*\.damaged-.*|kept|quarantine|bytecode")
_OWNER_LOCK = "owner.lock"
_MAX_TOP_FILE = 1024 * 1024  # bytes of a settings file
_COPY_LOCKS: dict[Path, list[int]] = {}  # on the stores that were copied, by the copy
_COPY_SPARE_BYTES = 64 * 1024 * 1024  # for the logs and indexes that opening writes


def open_reading_copy(data: DataDir, refusal: DataDirUnavailable) -> DataDir:
    """Return a copy of a data folder that can't be written, until `remove_reading_copy` or the process's end.

    Raises `refusal`, which said why, where there is nothing to read, another process has it open, or no
    folder of the system has room for the copy.
    """
    if not os.path.isdir(data.workspaces_dir):
        raise refusal
    try:
        files = list(_files_of(data.root))
        locks = _lock_stores(data.workspaces_dir)
        copy = _new_folder(sum(size for *_, size, is_table in files if not is_table))
    except OSError:
        raise refusal from None
    if copy is None:
        raise refusal
    _COPY_LOCKS[copy] = locks
    atexit.register(_remove, copy)
    try:
        _copy(data.root, copy, files)
    except OSError:
        raise refusal from None
    return DataDir(copy, None, refusal)


def remove_reading_copy(data: DataDir) -> None:
    """Remove a copy; nothing happens to another data folder."""
    if data.refusal is not None:
        _remove(data.root)


def _files_of(root: Path) -> Iterator[tuple[str, int, bool]]:
    """Yield the files to copy: the path in the folder, the size, and whether it is a table of LevelDB."""
    for entry in os.scandir(root):
        is_own = entry.is_file(follow_symlinks=False) and not _NOT_COPIED.fullmatch(entry.name)
        if is_own and entry.stat().st_size <= _MAX_TOP_FILE:
            yield entry.name, entry.stat().st_size, False
    for top in ("commands", "workspaces"):
        for folder, folders, names in os.walk(root / top):
            folders[:] = [name for name in folders if not _NOT_COPIED.fullmatch(name)]
            for name in names:
                path = os.path.join(folder, name)
                found = os.lstat(path)
                if stat.S_ISREG(found.st_mode) and not _NOT_COPIED.fullmatch(name):
                    is_table = os.path.splitext(name)[1] in _TABLES
                    yield os.path.relpath(path, root), found.st_size, is_table


def _copy(root: Path, copy: Path, files: list[tuple[str, int, bool]]) -> None:
    for path, _, is_table in files:
        target = copy / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_table:
            with suppress(OSError):  # not everywhere may a user make links
                target.symlink_to(root / path)
                continue
        shutil.copyfile(root / path, target)
    for name in ("logs", "workspaces"):
        (copy / name).mkdir(mode=0o700, exist_ok=True)


def _lock_stores(workspaces: Path) -> list[int]:
    """Lock each store against a process that would change it. Raises OSError where one has it open."""
    locks: list[int] = []
    if sys.platform == "win32":
        return locks
    import fcntl

    for path in sorted(workspaces.glob(f"*/store/{_OWNER_LOCK}")):
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        locks.append(lock)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            for file in locks:
                os.close(file)
            raise
    return locks


def _new_folder(size: int) -> Path | None:
    """Return a new folder for so many bytes, for this user alone, where there is room; None: nowhere."""
    places = (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/dev/shm", os.getcwd())
    for place in places:
        if not os.path.isabs(place):
            continue
        _remove_old(Path(place))
        with suppress(OSError):
            if shutil.disk_usage(place).free >= size + _COPY_SPARE_BYTES:
                return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=place))
    return None


def _remove_old(place: Path) -> None:
    """Remove the copies of processes that were killed."""
    for folder in place.glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and not _is_running(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # a signal would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _remove(copy: Path) -> None:
    shutil.rmtree(copy, ignore_errors=True)
    for lock in _COPY_LOCKS.pop(copy, ()):
        os.close(lock)
