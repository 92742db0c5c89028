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

from helix_desktop.domain.errors import ToolError
from helix_desktop.system.files import replace_file
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
from helix_desktop.tools.tool import os_errors_as_tool_errors, path_refused

_JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT; `stat` has the name on Windows only
_LOOKS = 3  # at a path after it was opened


class WindowsJail(RootedJail):
    """The jail of a system without directory descriptors."""

    @contextmanager
    def open_file(self, path: str) -> Iterator[OpenFile]:
        with os_errors_as_tool_errors("read", path):
            target, rel = self._resolve(path)
            _refuse_unless_file(rel, target.stat())
            with target.open("rb") as file:
                file_stat = os.fstat(file.fileno())
                for _ in range(_LOOKS):
                    again, _rel = self._resolve(path)
                    if again != target or not os.path.samestat(file_stat, target.stat()):
                        raise path_refused(path, "it was swapped while it was being opened.")
                yield OpenFile(rel, file, FileStamp.of(file_stat))

    def list_entries(self, path: str) -> tuple[str, list[DirEntry]]:
        with os_errors_as_tool_errors("list", path):
            target, rel = self._resolve(path)
            if target.exists() and not target.is_dir():
                raise ToolError(f"{rel} is not a folder.", fix="Use read_file for a file.")
            with os.scandir(target) as entries:
                dir_entries = [_dir_entry(entry) for entry in entries]
            self._resolve(path)
            return rel, dir_entries

    @contextmanager
    def hold_folder(self, path: str) -> Iterator[SearchRoot]:
        with os_errors_as_tool_errors("open", path):
            target, rel = self._resolve(path)
            if target.is_dir():
                yield SearchRoot(rel, str(target))
                return
            _refuse_unless_file(rel, target.stat())
            yield SearchRoot(rel.rpartition("/")[0], str(target.parent), target.name)

    def resolve_writable(self, path: str) -> str:
        with os_errors_as_tool_errors("write", path):
            return self._target(path)[1]

    def write(self, path: str, data: bytes, stamp: FileStamp | None) -> str:
        with os_errors_as_tool_errors("write", path):
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
                replace_file(part, target)
            except BaseException:
                with suppress(OSError):
                    part.unlink()
                raise
            return rel

    def _resolve(self, path: str) -> tuple[Path, str]:
        self.check_root()
        parts = parts_of(path, (self._unresolved_root, self._root))
        try:
            target = self._root.joinpath(*parts).resolve()
        except (RuntimeError, ValueError) as error:
            raise path_refused(path, "its links lead round in a circle.") from error
        if not target.is_relative_to(self._root):
            raise path_refused(path, "a link on the way leads out of the workspace.")
        relative = target.relative_to(self._root).parts
        self.limits.check_read(path, relative, target.is_dir())
        return target, "/".join(relative)

    def _target(self, path: str) -> tuple[Path, str]:
        target, rel = self._resolve(path)
        self.limits.check_write(path, tuple(rel.split("/")) if rel else ())
        if target.is_dir():
            raise ToolError(f"{rel} is a folder.", fix="Name a file in it.")
        with suppress(FileNotFoundError):
            file_stat = target.stat()
            _refuse_unless_file(rel, file_stat)
            if file_stat.st_nlink > 1:
                raise hard_link_refused(rel, file_stat.st_nlink)
        return target, rel

    @staticmethod
    def _refuse_if_changed(rel: str, target: Path, stamp: FileStamp | None) -> None:
        current = FileStamp.of(target.stat()) if target.exists() else None
        if current != stamp:
            raise changed_file_refused(rel)


def _refuse_unless_file(rel: str, file_stat: os.stat_result) -> None:
    if stat.S_ISDIR(file_stat.st_mode):
        raise ToolError(f"{rel} is a folder.", fix="Use list_directory.")
    if not stat.S_ISREG(file_stat.st_mode):
        raise special_file_refused(rel, "a pipe, socket or device")


def _dir_entry(entry: os.DirEntry[str]) -> DirEntry:
    try:
        tag = getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0)
        if entry.is_symlink() or tag == _JUNCTION:
            return DirEntry(entry.name, "link", link_target=os.readlink(entry.path))
        if entry.is_dir():
            return DirEntry(entry.name, "folder")
        if entry.is_file():
            return DirEntry(entry.name, "file", entry.stat().st_size)
    except OSError:  # gone since the folder was read, or not ours to look at
        pass
    return DirEntry(entry.name, "other")
