"""The jail by resolved paths, for Windows: no open there can be relative to a directory descriptor.

Every path is resolved, compared with the root, opened, and compared again by identity, several times over, so
that a swap between check and open is noticed before a byte is used. Who swaps in step with each of the looks
could still win; there, making a link takes a right that the agent's commands seldom have. Where directory
descriptors exist, `jail_posix` leaves no such gap.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from helix_desktop.context.errors import ToolError
from helix_desktop.system.files import replace
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

_JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT; `stat` has the name on Windows only
_LOOKS = 3  # at a path after it was opened


class PathJail:
    """The jail of a system without directory descriptors."""

    def __init__(self, root: Path, sealed: tuple[Path, ...] = (), unwritable: tuple[Path, ...] = ()) -> None:
        self._given, self._root = root.absolute(), root.resolve()
        self.limits = Limits(self._root, sealed, unwritable)

    @contextmanager
    def reading(self, path: str) -> Iterator[Opened]:
        """Open a regular file to read."""
        with told("read", path):
            target, rel = self._resolve(path)
            _refuse_unless_file(rel, target.stat())
            with target.open("rb") as file:
                found = os.fstat(file.fileno())
                self._refuse_swapped(path, target, found)
                yield Opened(rel, file, Stamp.of(found))

    def items(self, path: str) -> tuple[str, list[Item]]:
        """A folder's path in the workspace and what is in it, unsorted."""
        with told("list", path):
            target, rel = self._resolve(path)
            if target.exists() and not target.is_dir():
                raise ToolError(f"{rel} is not a folder.", fix="Use read_file for a file.")
            with os.scandir(target) as entries:
                found = [_item(entry) for entry in entries]
            self._resolve(path)
            return rel, found

    @contextmanager
    def place(self, path: str) -> Iterator[Place]:
        """Hold a folder, or a file's folder, to search in."""
        with told("search", path):
            target, rel = self._resolve(path)
            if target.is_dir():
                yield Place(rel, str(target))
                return
            _refuse_unless_file(rel, target.stat())
            yield Place(rel.rpartition("/")[0], str(target.parent), target.name)

    def writable(self, path: str) -> str:
        """The path that a write would really change. Raises ToolError when it may not be written."""
        with told("write", path):
            return self._target(path)[1]

    def write(self, path: str, data: bytes, stamp: Stamp | None) -> str:
        """Replace a file as a whole, or make it (folders too); gives its path in the workspace."""
        with told("write", path):
            target, rel = self._target(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f".{secrets.token_hex(8)}.part")
            try:
                with part.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                self._target(path)
                self._refuse_if_changed(rel, target, stamp)
                replace(part, target)
            except BaseException:
                with suppress(OSError):
                    part.unlink()
                raise
            return rel

    def _resolve(self, path: str) -> tuple[Path, str]:
        parts = parts_of(path, (self._given, self._root))
        try:
            target = self._root.joinpath(*parts).resolve()
        except (RuntimeError, ValueError) as error:
            raise outside(path, "its links lead round in a circle.") from error
        if not target.is_relative_to(self._root):
            raise outside(path, "a link on the way leads out of the workspace.")
        found = target.relative_to(self._root).parts
        self.limits.check_read(path, found)
        return target, "/".join(found)

    def _target(self, path: str) -> tuple[Path, str]:
        target, rel = self._resolve(path)
        self.limits.check_write(path, tuple(rel.split("/")) if rel else ())
        if target.is_dir():
            raise ToolError(f"{rel} is a folder.", fix="Name a file in it.")
        with suppress(FileNotFoundError):
            found = target.stat()
            _refuse_unless_file(rel, found)
            if found.st_nlink > 1:
                raise refuse_hard_link(rel, found.st_nlink)
        return target, rel

    def _refuse_swapped(self, path: str, target: Path, opened: os.stat_result) -> None:
        for _ in range(_LOOKS):
            again, _rel = self._resolve(path)
            if again != target or not os.path.samestat(opened, target.stat()):
                raise outside(path, "it was swapped while it was being opened.")

    @staticmethod
    def _refuse_if_changed(rel: str, target: Path, stamp: Stamp | None) -> None:
        found = Stamp.of(target.stat()) if target.exists() else None
        if found != stamp:
            raise refuse_changed(rel)


def _refuse_unless_file(rel: str, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise ToolError(f"{rel} is a folder.", fix="Use list_directory.")
    if not stat.S_ISREG(found.st_mode):
        raise refuse_special(rel, "a pipe, socket or device")


def _item(entry: os.DirEntry[str]) -> Item:
    try:
        tag = getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0)
        if entry.is_symlink() or tag == _JUNCTION:
            return Item(entry.name, "link", leads_to=os.readlink(entry.path))
        kind: Kind = "folder" if entry.is_dir() else "file" if entry.is_file() else "other"
        return Item(entry.name, kind, entry.stat().st_size if kind == "file" else 0)
    except OSError:  # gone since the folder was read, or not ours to look at
        return Item(entry.name, "other")
