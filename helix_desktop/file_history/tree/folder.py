"""The folder of a workspace, read link-safe, and the stamps by which a later look shows a change."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

_FILE_STAMP = struct.Struct("<qqqQQI")
_FOLDER_STAMP = struct.Struct("<I")
_SECOND_NS = 1_000_000_000
_COARSE_NS = 2 * _SECOND_NS  # the step of the times of FAT, the coarsest file system in use
_FINE_NS = 50_000_000  # three ticks of the slowest system clock, that of Windows: 15.6 ms
_LARGEST = (1 << 63) - 1


def file_stamp(file_stat: os.stat_result) -> bytes:
    """Return the stamp of anything but a folder: size, times, inode, device, mode."""
    try:
        return _FILE_STAMP.pack(
            file_stat.st_size,
            file_stat.st_mtime_ns,
            file_stat.st_ctime_ns,
            file_stat.st_ino,
            file_stat.st_dev,
            file_stat.st_mode,
        )
    except struct.error:  # a year far from ours, or a long inode of Windows
        numbers = (
            file_stat.st_size,
            file_stat.st_mtime_ns,
            file_stat.st_ctime_ns,
            file_stat.st_ino,
            file_stat.st_dev,
        )
        return _FILE_STAMP.pack(*(number % _LARGEST for number in numbers), file_stat.st_mode)


def modified_ns(file_stat: os.stat_result) -> int:
    """Return when a file was last changed, in nanoseconds since 1970 as far as they can be stored."""
    return max(-_LARGEST, min(file_stat.st_mtime_ns, _LARGEST))


def folder_stamp(mode: int) -> bytes:
    """Return the stamp of a folder: what is in it has stamps of its own."""
    return _FOLDER_STAMP.pack(stat.S_IMODE(mode))


def is_fresh(file_stat: os.stat_result, read_ns: int) -> bool:
    """Return True if a file may have changed after it was read from `read_ns` on, without another stamp.

    What counts is the time that only the system sets. One that is a whole second may be of a file system that
    knows no finer ones; one that lies ahead is of another clock, of which nothing is certain.
    """
    changed = file_stat.st_mtime_ns if os.name == "nt" else file_stat.st_ctime_ns
    step = _FINE_NS if changed % _SECOND_NS else _COARSE_NS
    return changed > read_ns - step


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
