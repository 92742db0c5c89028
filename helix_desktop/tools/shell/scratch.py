"""A workspace's temporary folder, `$TMPDIR` for its commands while the workspace is open."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

_LOCK = ".lock"


def temporary_base() -> Path:
    """Return the parent of all workspaces' temporary folders; it is private to this user."""
    user = os.getuid() if hasattr(os, "getuid") else "user"  # Windows' folder is each user's own
    return Path(os.path.realpath(tempfile.gettempdir()), f"helix-desktop-{user}")


class ScratchDir:
    """A temporary folder, created on first use, removed with this object or when the process ends.

    The folders of killed processes are removed when the next one is created.
    """

    def __init__(self, base: Path | None = None) -> None:
        """Create it in `base`; by default in that of all workspaces."""
        self._base = base
        self._path: Path | None = None
        self._private: ScratchDir | None = None

    def folder(self) -> Path:
        """Return the folder, links resolved; blocks. Raises OSError."""
        if self._path is None or not self._path.is_dir():
            base = _private(self._base or temporary_base())
            _remove_abandoned(base)
            path = base / secrets.token_hex(4)
            lock = FileLock(_lock_of(path))
            lock.acquire(timeout=0)
            path.mkdir(mode=0o700)
            self._path = path
            weakref.finalize(self, _remove, path, lock)
        return self._path

    def private_folder(self) -> Path:
        """Return a folder for what is made for commands, which don't see it; blocks. Raises OSError."""
        if self._private is None:
            self._private = ScratchDir(self._base)
        return self._private.folder()

    def new_file(self) -> Path:
        """Return an unused path for a file in it; blocks. Raises OSError."""
        return self.folder() / f"output-{secrets.token_hex(4)}.txt"


def _private(base: Path) -> Path:
    """Return the folder if only this user has access, else a new one: others could own its name."""
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    base_stat = base.lstat()
    is_private = not hasattr(os, "getuid") or (
        base_stat.st_uid == os.getuid() and not base_stat.st_mode & 0o077
    )
    if is_private and stat.S_ISDIR(base_stat.st_mode):
        return base
    return Path(os.path.realpath(tempfile.mkdtemp(prefix="helix-desktop-")))


def _remove_abandoned(base: Path) -> None:
    """Remove the folders that no process has locked."""
    for path in base.iterdir():
        if path.is_dir() and not path.is_symlink():
            lock = FileLock(_lock_of(path))
            try:
                lock.acquire(timeout=0)
            except (Timeout, OSError):
                continue
            _remove(path, lock)


def _remove(path: Path, lock: FileLock) -> None:
    _make_removable(path)
    shutil.rmtree(path, ignore_errors=True)
    lock.release()
    Path(lock.lock_file).unlink(missing_ok=True)


def _make_removable(folder: Path) -> None:
    """Let the owner remove what is in a folder: some package managers make their folders read-only."""
    for parent, names, _ in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if not os.path.islink(path) and not os.access(path, os.W_OK | os.X_OK):
                with suppress(OSError):
                    os.chmod(path, 0o700)


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + _LOCK)
