"""A lock that a process holds as long as it lives, so that others know whether it does."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

_PREFIX, _SUFFIX = "file-history-", ".lock"
_NEW_S = 60.0


class ProcessLock:
    """The lock of one open file history, in the folder of its database."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError."""
        self._folder, self.name = folder, uuid4().hex
        self._lock = self._of(self.name)
        self._lock.acquire(timeout=1)
        self._remove_left_over()

    def is_held(self, name: str) -> bool:
        """Return True if the process that holds the lock of this name is alive."""
        lock = self._of(name)
        try:
            lock.acquire(timeout=0)
        except (Timeout, OSError):
            return True
        lock.release()
        self._remove(name)
        return False

    def release(self) -> None:
        """Release the lock: nothing runs any more."""
        self._lock.release()
        self._remove(self.name)

    def _remove_left_over(self) -> None:
        """Remove the files of processes that were killed, but none that may just begin."""
        for path in self._folder.glob(f"{_PREFIX}*{_SUFFIX}"):
            name = path.name[len(_PREFIX) : -len(_SUFFIX)]
            with suppress(OSError):
                if len(name) == len(self.name) and time.time() - path.stat().st_mtime > _NEW_S:
                    self.is_held(name)

    def _of(self, name: str) -> FileLock:
        return FileLock(self._path(name), thread_local=False)

    def _path(self, name: str) -> Path:
        return self._folder / f"{_PREFIX}{name}{_SUFFIX}"

    def _remove(self, name: str) -> None:
        with suppress(OSError):
            self._path(name).unlink(missing_ok=True)
