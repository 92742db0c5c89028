"""Folders opened one from another, never through a link, and what is read in them.

A path can be swapped for a link between a check and its use; an open folder's descriptor cannot.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
"""True where folders are opened one from another, by descriptors; elsewhere (Windows) by their paths."""

SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags of each open by a name in a folder."""
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFE
_FOLDER = os.O_RDONLY | SAFE | getattr(os, "O_DIRECTORY", 0)
_FILE = os.O_RDONLY | SAFE | getattr(os, "O_NONBLOCK", 0)
_REPARSE = getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)

Handle = int | str
"""An open folder: its descriptor, or its path."""


def is_folder(file_stat: os.stat_result) -> bool:
    """Return True for a folder that is no junction or the like."""
    return stat.S_ISDIR(file_stat.st_mode) and not getattr(file_stat, "st_file_attributes", 0) & _REPARSE


def open_top(root: str, follows_link: bool = True) -> Handle:
    """Open a folder by its path, which may be a link's: the user chose it. Raises OSError."""
    if not BY_DESCRIPTOR:
        os.lstat(root)
        return root
    return os.open(root, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0) if follows_link else _FOLDER)


def enter(folder: Handle, name: str) -> Handle:
    """Open a folder in another. Raises OSError, also if it is a link."""
    if isinstance(folder, int):
        return os.open(name, _FOLDER, dir_fd=folder)
    path = os.path.join(folder, name)
    if not is_folder(os.lstat(path)):
        raise NotADirectoryError(path)
    return path


def leave(folder: Handle) -> None:
    if isinstance(folder, int):
        os.close(folder)


def stat_in(folder: Handle, name: str) -> os.stat_result:
    """Return what stands under a name, a link as itself. Raises OSError."""
    if isinstance(folder, int):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    return os.lstat(os.path.join(folder, name))


def link_in(folder: Handle, name: str) -> str:
    if isinstance(folder, int):
        return os.readlink(name, dir_fd=folder)
    return os.readlink(os.path.join(folder, name))


def open_in(folder: Handle, name: str) -> int:
    """Open a file to read, never a link, never waiting for a pipe. Raises OSError."""
    if isinstance(folder, int):
        return os.open(name, _FILE, dir_fd=folder)
    path = os.path.join(folder, name)
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise OSError(f"{path} is no file")
    return os.open(path, _FILE)


@contextmanager
def open_file(folder: Handle, name: str) -> Iterator[int]:
    """Yield the descriptor of a file, opened as `open_in` does. Raises OSError."""
    file = open_in(folder, name)
    try:
        yield file
    finally:
        os.close(file)


class WorkspaceRoot:
    """The workspace's folder, known again by what it was when the workspace was opened.

    While it is away (renamed, its drive removed, another one in its place) nothing is known of its files:
    what is not found then is not gone.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._place: tuple[int, int] | None = None
        with suppress(OSError):
            self.check()

    def check(self) -> None:
        """Raise OSError if the folder is away; ENODEV: another drive's folder is in its place.

        A folder that was made anew on the same drive is as good, and so is its drive at another time.
        """
        now = os.stat(self._root)
        if not stat.S_ISDIR(now.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(self._root))
        drive, number = self._place = self._place or (now.st_dev, now.st_ino)
        if now.st_dev != drive and now.st_ino != number:
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), str(self._root))


class OpenFolders:
    """The open folders on a way down from a root; those to the last path stay open for the next."""

    def __init__(self, root: Path | str, follows_link: bool = True) -> None:
        self.root = root
        self._follows_link = follows_link
        self.names: list[str] = []
        self._handles: list[Handle] = []

    def __enter__(self) -> Self:
        """Open the root. Raises OSError."""
        self._handles.append(open_top(str(self.root), self._follows_link))
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def folder(self) -> Handle:
        """The folder reached."""
        return self._handles[-1]

    @property
    def descriptor(self) -> int:
        """The folder reached, where `BY_DESCRIPTOR`."""
        folder = self._handles[-1]
        assert isinstance(folder, int)
        return folder

    def go_to(self, path: str) -> Handle:
        """Return a folder by its path (empty: the root), good until the next call. Raises OSError."""
        if not self._handles:
            self._handles.append(open_top(str(self.root), self._follows_link))
        parts = path.split("/") if path else []
        same = 0
        while same < min(len(parts), len(self.names)) and parts[same] == self.names[same]:
            same += 1
        while len(self.names) > same:
            self.leave()
        for part in parts[same:]:
            self.enter(part)
        return self._handles[-1]

    def of(self, path: str) -> tuple[Handle, str]:
        """Return the open folder that a path is in, and the path's name there. Raises OSError."""
        parent, _, name = path.rpartition("/")
        return self.go_to(parent), name

    def enter(self, name: str) -> None:
        """Go down into a folder. Raises OSError, also if it is a link."""
        self._handles.append(enter(self._handles[-1], name))
        self.names.append(name)

    def leave(self) -> None:
        """Go up."""
        self.names.pop()
        leave(self._handles.pop())

    def close(self) -> None:
        self.names.clear()
        while self._handles:
            leave(self._handles.pop())
