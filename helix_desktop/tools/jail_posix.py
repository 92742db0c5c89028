"""The jail by directory descriptors: each path component is opened from its parent, and never through a link.

Prefix checks on path strings let six of seven known escapes through (CVE-2025-53109 and its kin), and a
checked path can be swapped before it is opened. A descriptor cannot.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from helix_desktop.context.errors import ToolError
from helix_desktop.tools.jail import (
    Item,
    Kind,
    Limits,
    Opened,
    Place,
    Stamp,
    refuse_changed,
    refuse_hard_link,
    refuse_special,
)
from helix_desktop.tools.paths import parts_of
from helix_desktop.tools.refusal import outside, told

_MOST_LINKS = 40  # as the Linux kernel
# Windows has none of these flags, and imports this module all the same.
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | _SAFE | getattr(os, "O_DIRECTORY", 0)
_FILE = os.O_RDONLY | _SAFE | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE


class _Walk:
    """A walk down from the root: the open folders, their names, and what is still to go."""

    def __init__(self, root: Path, path: str, parts: Sequence[str], make: bool) -> None:
        self._root, self._path, self._make = root, path, make
        self._todo = list(parts)
        self._links = 0
        self._folders = [os.open(root, _FOLDER)]
        self.names: list[str] = []
        self.last = ""
        self.rest: tuple[str, ...] = ()

    @property
    def folder(self) -> int:
        """The descriptor of the folder reached."""
        return self._folders[-1]

    @property
    def parts(self) -> tuple[str, ...]:
        """The components of the place reached, links resolved; `rest` are those that do not exist."""
        return (*self.names, *((self.last,) if self.last else ()), *self.rest)

    def go(self) -> None:
        """Walk to the end, or to the first component that is not there."""
        while self._todo:
            name = self._todo.pop(0)
            if name == "..":
                self._up()
            elif not self._enter(name):
                return

    def close(self) -> None:
        """Let go of every folder."""
        for folder in self._folders:
            os.close(folder)

    def _enter(self, name: str) -> bool:
        try:
            mode = os.stat(name, dir_fd=self.folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            if not (self._todo and self._make):
                self.last, self.rest = name, tuple(self._todo)
                return False
            os.mkdir(name, dir_fd=self.folder)
            mode = stat.S_IFDIR
        if stat.S_ISLNK(mode):
            self._follow(name)
        elif self._todo or stat.S_ISDIR(mode):
            self._folders.append(os.open(name, _FOLDER, dir_fd=self.folder))
            self.names.append(name)
        else:
            self.last = name
        return True

    def _up(self) -> None:
        if not self.names:
            raise outside(self._path, "a link on the way leads out of the workspace.")
        os.close(self._folders.pop())
        self.names.pop()

    def _follow(self, name: str) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise outside(self._path, "its links lead round in a circle.")
        target = os.readlink(name, dir_fd=self.folder)
        if target.startswith("/"):
            top = f"{self._root}/"
            if not f"{target}/".startswith(top):
                raise outside(self._path, "a link on the way leads out of the workspace.")
            while self.names:
                self._up()
            target = target[len(top) :]
        self._todo[:0] = [part for part in target.split("/") if part not in ("", ".")]


class DescriptorJail:
    """The jail of a system that can open relative to a directory descriptor (Linux, macOS)."""

    def __init__(self, root: Path, sealed: tuple[Path, ...] = (), unwritable: tuple[Path, ...] = ()) -> None:
        self._given, self._root = root.absolute(), root.resolve()
        self.limits = Limits(self._root, sealed, unwritable)

    @contextmanager
    def reading(self, path: str) -> Iterator[Opened]:
        """Open a regular file to read."""
        with told("read", path), self._walk(path) as walk:
            rel = "/".join(walk.parts)
            if not walk.last:
                raise ToolError(f"{rel or 'The workspace'} is a folder.", fix="Use list_directory.")
            _refuse_unless_file(rel, os.stat(walk.last, dir_fd=walk.folder, follow_symlinks=False))
            with os.fdopen(os.open(walk.last, _FILE, dir_fd=walk.folder), "rb") as file:
                found = os.fstat(file.fileno())
                _refuse_unless_file(rel, found)
                yield Opened(rel, file, Stamp.of(found))

    def items(self, path: str) -> tuple[str, list[Item]]:
        """A folder's path in the workspace and what is in it, unsorted."""
        with told("list", path), self._folder(path) as walk, os.scandir(walk.folder) as entries:
            return "/".join(walk.parts), [_item(entry.name, walk.folder) for entry in entries]

    @contextmanager
    def place(self, path: str) -> Iterator[Place]:
        """Hold a folder, or a file's folder, to search in."""
        with told("search", path), self._walk(path) as walk:
            if walk.last:
                found = os.stat(walk.last, dir_fd=walk.folder, follow_symlinks=False)
                _refuse_unless_file("/".join(walk.parts), found)
            rel = "/".join(walk.names)
            # Only Linux can enter a folder by a descriptor that has no path.
            cwd = f"/proc/self/fd/{walk.folder}" if sys.platform == "linux" else str(self._root / rel)
            yield Place(rel, cwd, walk.last)

    def writable(self, path: str) -> str:
        """The path that a write would really change. Raises ToolError when it may not be written."""
        with told("write", path), self._walk(path) as walk:
            self._check_target(path, walk)
            return "/".join(walk.parts)

    def write(self, path: str, data: bytes, stamp: Stamp | None) -> str:
        """Replace a file as a whole, or make it (folders too); gives its path in the workspace."""
        self.writable(path)
        with told("write", path), self._walk(path, make=True) as walk:
            self._check_target(path, walk)
            self._replace(walk, data, stamp)
            return "/".join(walk.parts)

    @contextmanager
    def _walk(self, path: str, make: bool = False) -> Iterator[_Walk]:
        walk = _Walk(self._root, path, parts_of(path, (self._given, self._root)), make)
        try:
            walk.go()
            self.limits.check_read(path, walk.parts)
            yield walk
        finally:
            walk.close()

    @contextmanager
    def _folder(self, path: str) -> Iterator[_Walk]:
        with self._walk(path) as walk:
            if walk.last:
                os.stat(walk.last, dir_fd=walk.folder, follow_symlinks=False)
                raise ToolError(f"{'/'.join(walk.parts)} is not a folder.", fix="Use read_file for a file.")
            yield walk

    def _check_target(self, path: str, walk: _Walk) -> None:
        self.limits.check_write(path, walk.parts)
        rel = "/".join(walk.parts)
        if not walk.last:
            raise ToolError(f"{rel} is a folder.", fix="Name a file in it.")
        with suppress(FileNotFoundError):
            found = os.stat(walk.last, dir_fd=walk.folder, follow_symlinks=False)
            _refuse_unless_file(rel, found)
            if found.st_nlink > 1:
                raise refuse_hard_link(rel, found.st_nlink)

    def _replace(self, walk: _Walk, data: bytes, stamp: Stamp | None) -> None:
        part = f".{secrets.token_hex(8)}.part"
        descriptor = os.open(part, _NEW, 0o666, dir_fd=walk.folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                self._refuse_if_changed(walk, stamp, file.fileno())
            os.replace(part, walk.last, src_dir_fd=walk.folder, dst_dir_fd=walk.folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(part, dir_fd=walk.folder)
            raise

    @staticmethod
    def _refuse_if_changed(walk: _Walk, stamp: Stamp | None, descriptor: int) -> None:
        try:
            found = os.stat(walk.last, dir_fd=walk.folder, follow_symlinks=False)
        except FileNotFoundError:
            found = None
        if (Stamp.of(found) if found else None) != stamp:
            raise refuse_changed("/".join(walk.parts))
        if found:
            os.fchmod(descriptor, stat.S_IMODE(found.st_mode))


def _refuse_unless_file(rel: str, found: os.stat_result) -> None:
    mode = found.st_mode
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise ToolError(f"{rel} is a folder.", fix="Use list_directory.")
    if stat.S_ISLNK(mode):
        raise outside(rel, "it changed into a link while it was being opened.")
    kinds = ((stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))
    raise refuse_special(rel, next((name for test, name in kinds if test(mode)), "a device"))


def _item(name: str, folder: int) -> Item:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            return Item(name, "link", leads_to=os.readlink(name, dir_fd=folder))
    except OSError:  # gone since the folder was read, or not ours to look at
        return Item(name, "other")
    is_file = stat.S_ISREG(found.st_mode)
    kind: Kind = "file" if is_file else "folder" if stat.S_ISDIR(found.st_mode) else "other"
    return Item(name, kind, found.st_size if is_file else 0)
