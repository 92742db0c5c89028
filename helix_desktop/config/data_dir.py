"""A copy of a data directory to read and export from: the disk is full, or read-only.

LevelDB and SQLite write even to open what is only read. So the small files are copied to where there is room,
and the tables of LevelDB, which are never changed once they are there, are linked.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from helix_desktop.config.paths import DataDir
from helix_desktop.domain.errors import DataDirUnavailable
from helix_desktop.domain.translatable_text import TextContext

text = TextContext("Settings")

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
    return DataDir(copy, refusal)


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
