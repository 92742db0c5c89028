"""The lock on a workspace's store: one process, once. The holder's death releases it."""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from pathlib import Path

from helix_desktop.domain.errors import DataDirUnavailable, StoreLocked
from helix_desktop.domain.translatable_text import TextContext, system_reason

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
        """Release the lock for another process, or a later opening."""
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
