"""The folder of a workspace, read link-safe: no folder of it is entered through a link, by any path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
"""True where folders are opened one from another, by descriptors; elsewhere (Windows) by their paths."""

_FOLDER = (
    os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)
_FILE = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_REPARSE = getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)

Handle = int | str
"""An open folder: its descriptor, or its path."""


def is_folder(file_stat: os.stat_result) -> bool:
    """Return True for a folder that is no junction or the like."""
    return stat.S_ISDIR(file_stat.st_mode) and not getattr(file_stat, "st_file_attributes", 0) & _REPARSE


def open_top(root: str) -> Handle:
    """Open the workspace's folder. Raises OSError."""
    if not BY_DESCRIPTOR:
        os.lstat(root)
        return root
    return os.open(root, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0))  # the user chose it, by a link perhaps


def enter(folder: Handle, name: str) -> Handle:
    """Open a folder in another. Raises OSError, also if it is a link."""
    if isinstance(folder, int):
        return os.open(name, _FOLDER, dir_fd=folder)
    path = os.path.join(folder, name)
    if not is_folder(os.lstat(path)):
        raise NotADirectoryError(path)
    return path


def leave(folder: Handle) -> None:
    """Close a folder."""
    if isinstance(folder, int):
        os.close(folder)


def stat_in(folder: Handle, name: str) -> os.stat_result:
    """Return what stands under a name, a link as itself. Raises OSError."""
    if isinstance(folder, int):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    return os.lstat(os.path.join(folder, name))


def link_in(folder: Handle, name: str) -> str:
    """Return where a link leads. Raises OSError."""
    if isinstance(folder, int):
        return os.readlink(name, dir_fd=folder)
    return os.readlink(os.path.join(folder, name))


@contextmanager
def open_file(folder: Handle, name: str) -> Iterator[int]:
    """Open a file to read, never a link, never waiting for a pipe; yields its descriptor. Raises OSError."""
    if isinstance(folder, int):
        file = os.open(name, _FILE, dir_fd=folder)
    else:
        path = os.path.join(folder, name)
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise OSError(f"{path} is no file")
        file = os.open(path, _FILE)
    try:
        yield file
    finally:
        os.close(file)


class OpenFolders:
    """Opens the folders of paths one from another; keeps those of the last path open for the next."""

    def __init__(self, root: str) -> None:
        """Raises OSError."""
        self._handles = [open_top(root)]
        self._names: list[str] = []

    def __enter__(self) -> OpenFolders:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._handles:
            leave(self._handles.pop())

    def of(self, path: str) -> tuple[Handle, str]:
        """Return the open folder that a path is in, and the path's name there. Raises OSError."""
        *parts, name = path.split("/")
        same = 0
        while same < min(len(parts), len(self._names)) and parts[same] == self._names[same]:
            same += 1
        while len(self._names) > same:
            self._names.pop()
            leave(self._handles.pop())
        for part in parts[same:]:
            self._handles.append(enter(self._handles[-1], part))
            self._names.append(part)
        return self._handles[-1], name
