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

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.unicode_safety import escape_undecodable, unescape_name
from helix_desktop.system.folders import (
    NEW_FILE,
    Handle,
    OpenFolders,
    link_in,
    open_in,
    stat_in,
)
from helix_desktop.tools.files.jail import (
    DirEntry,
    FileStamp,
    OpenFile,
    RootedJail,
    SearchRoot,
    changed_file_refused,
    hard_link_refused,
    parts_of,
    special_file_refused,
)
from helix_desktop.tools.files.letters import composed
from helix_desktop.tools.tool import os_errors_as_tool_errors, path_refused

_MAX_LINKS = 40  # as the Linux kernel


class _Walk(OpenFolders):
    """A walk down from the root, through links that stay in it: the open folders, and what is still to go."""

    def __init__(self, root: Path, path: str, parts: Sequence[str], create: bool) -> None:
        super().__init__(root, follows_link=False)
        self._path = path
        self._make = create
        self._pending = list(parts)
        self._link_count = 0
        self.last = ""
        self.rest: tuple[str, ...] = ()

    @property
    def spelling(self) -> str:
        """The place reached as tools print it, and take it again."""
        return "/".join(map(escape_undecodable, self.parts))

    @property
    def parts(self) -> tuple[str, ...]:
        """The components of the place reached, links resolved; `rest` are those that do not exist."""
        return (*self.names, *((self.last,) if self.last else ()), *self.rest)

    def run(self) -> None:
        """Walk to the end, or to the first component that is not there."""
        while self._pending:
            name = self._pending.pop(0)
            if name == "..":
                self._up()
            elif not self._step(name):
                return

    def _step(self, name: str) -> bool:
        try:
            name, mode = self._look_up(name)
        except FileNotFoundError:
            if not (self._pending and self._make):
                self.last = name
                self.rest = tuple(self._pending)
                return False
            os.mkdir(name, dir_fd=self.descriptor)
            mode = stat.S_IFDIR
        if stat.S_ISLNK(mode):
            self._follow(name)
        elif self._pending or stat.S_ISDIR(mode):
            self.enter(name)
        else:
            self.last = name
        return True

    def _look_up(self, name: str) -> tuple[str, int]:
        """Return the name of an entry and its mode; a name as tools print it stands for what it spells.

        A name whose letters are composed otherwise counts where it is the only one.
        """
        try:
            return name, stat_in(self.folder, name).st_mode
        except FileNotFoundError:
            actual = unescape_name(name)
            if actual == name:
                actual = self._in_other_form(name)
            if actual == name or "/" in actual or "\0" in actual:
                raise
            return actual, stat_in(self.folder, actual).st_mode

    def _in_other_form(self, name: str) -> str:
        """Return the name in the folder that looks like `name`; `name` itself if there is none or several."""
        if name.isascii():
            return name
        names = [each for each in os.listdir(self.folder) if composed(each) == composed(name)]
        return names[0] if len(names) == 1 else name

    def _up(self) -> None:
        if not self.names:
            raise path_refused(self._path, "a link on the way leads out of the workspace.")
        self.leave()

    def _follow(self, name: str) -> None:
        self._link_count += 1
        if self._link_count > _MAX_LINKS:
            raise path_refused(self._path, "its links lead round in a circle.")
        target = link_in(self.folder, name)
        if target.startswith("/"):
            top = f"{self.root}/"
            if not f"{target}/".startswith(top):
                raise path_refused(self._path, "a link on the way leads out of the workspace.")
            while self.names:
                self._up()
            target = target[len(top) :]
        self._pending[:0] = [part for part in target.split("/") if part not in ("", ".")]


class PosixJail(RootedJail):
    """The jail of a system that can open relative to a directory descriptor (Linux, macOS)."""

    @contextmanager
    def open_file(self, path: str) -> Iterator[OpenFile]:
        with os_errors_as_tool_errors("read", path), self._walk(path) as walk:
            rel = walk.spelling
            if not walk.last:
                raise ToolError(f"{rel or 'The workspace'} is a folder.", fix="Use list_directory.")
            _refuse_unless_file(rel, stat_in(walk.folder, walk.last))
            with os.fdopen(open_in(walk.folder, walk.last), "rb") as file:
                file_stat = os.fstat(file.fileno())
                _refuse_unless_file(rel, file_stat)
                yield OpenFile(rel, file, FileStamp.of(file_stat))

    def list_entries(self, path: str) -> tuple[str, list[DirEntry]]:
        with (
            os_errors_as_tool_errors("list", path),
            self._folder(path) as walk,
            os.scandir(walk.folder) as entries,
        ):
            return walk.spelling, [_dir_entry(entry.name, walk.folder) for entry in entries]

    @contextmanager
    def hold_folder(self, path: str) -> Iterator[SearchRoot]:
        with os_errors_as_tool_errors("open", path), self._walk(path) as walk:
            if walk.last:
                file_stat = stat_in(walk.folder, walk.last)
                _refuse_unless_file(walk.spelling, file_stat)
            place = "/".join(walk.names)
            rel = escape_undecodable(place)
            # Only Linux can enter a folder by a descriptor that has no path.
            cwd = f"/proc/self/fd/{walk.descriptor}" if sys.platform == "linux" else str(self._root / place)
            yield SearchRoot(rel, cwd, walk.last)

    def resolve_writable(self, path: str) -> str:
        with os_errors_as_tool_errors("write", path), self._walk(path) as walk:
            self._check_target(path, walk)
            return walk.spelling

    def write(self, path: str, data: bytes, stamp: FileStamp | None) -> str:
        self.resolve_writable(path)
        with os_errors_as_tool_errors("write", path), self._walk(path, create=True) as walk:
            self._check_target(path, walk)
            self._replace(walk, data, stamp)
            return walk.spelling

    @contextmanager
    def _walk(self, path: str, create: bool = False) -> Iterator[_Walk]:
        self.check_root()
        with _Walk(self._root, path, parts_of(path, (self._unresolved_root, self._root)), create) as walk:
            walk.run()
            self.limits.check_read(path, walk.parts, is_folder=not walk.last)
            yield walk

    @contextmanager
    def _folder(self, path: str) -> Iterator[_Walk]:
        with self._walk(path) as walk:
            if walk.last:
                stat_in(walk.folder, walk.last)
                raise ToolError(f"{walk.spelling} is not a folder.", fix="Use read_file for a file.")
            yield walk

    def _check_target(self, path: str, walk: _Walk) -> None:
        self.limits.check_write(path, walk.parts)
        rel = walk.spelling
        if not walk.last:
            raise ToolError(f"{rel} is a folder.", fix="Name a file in it.")
        with suppress(FileNotFoundError):
            file_stat = stat_in(walk.folder, walk.last)
            _refuse_unless_file(rel, file_stat)
            if file_stat.st_nlink > 1:
                raise hard_link_refused(rel, file_stat.st_nlink)

    def _replace(self, walk: _Walk, data: bytes, stamp: FileStamp | None) -> None:
        part = f".{secrets.token_hex(8)}.part"
        folder = walk.descriptor
        descriptor = os.open(part, NEW_FILE, 0o666, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                self._refuse_if_changed(walk, stamp, file.fileno())
            os.replace(part, walk.last, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(part, dir_fd=folder)
            raise

    @staticmethod
    def _refuse_if_changed(walk: _Walk, stamp: FileStamp | None, descriptor: int) -> None:
        try:
            file_stat = stat_in(walk.folder, walk.last)
        except FileNotFoundError:
            file_stat = None
        if (FileStamp.of(file_stat) if file_stat else None) != stamp:
            raise changed_file_refused(walk.spelling)
        if file_stat:
            os.fchmod(descriptor, stat.S_IMODE(file_stat.st_mode))


def _refuse_unless_file(rel: str, file_stat: os.stat_result) -> None:
    mode = file_stat.st_mode
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise ToolError(f"{rel} is a folder.", fix="Use list_directory.")
    if stat.S_ISLNK(mode):
        raise path_refused(rel, "it changed into a link while it was being opened.")
    kinds = ((stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))
    raise special_file_refused(rel, next((name for test, name in kinds if test(mode)), "a device"))


def _dir_entry(name: str, folder: Handle) -> DirEntry:
    try:
        entry_stat = stat_in(folder, name)
        if stat.S_ISLNK(entry_stat.st_mode):
            return DirEntry(name, "link", link_target=link_in(folder, name))
    except OSError:  # gone since the folder was read, or not ours to look at
        return DirEntry(name, "other")
    if stat.S_ISREG(entry_stat.st_mode):
        return DirEntry(name, "file", entry_stat.st_size)
    return DirEntry(name, "folder" if stat.S_ISDIR(entry_stat.st_mode) else "other")
