"""Folders in which a revert works, never through a link, and its operations on the disk, as journaled."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from typing import Literal, NamedTuple

import msgspec

from helix_desktop.domain.errors import RevertRefused
from helix_desktop.domain.file_history.changes import FileState, RevertProblem
from helix_desktop.domain.translatable_text import OptionalText, TextContext, TranslatableText, system_reason
from helix_desktop.system.file_syscalls import exchange, rename_new, sync_disk
from helix_desktop.system.folders import (
    NEW_FILE,
    SAFE,
    Handle,
    OpenFolders,
    is_folder,
    link_in,
    open_file,
    stat_in,
)

text = TextContext("Changes")

_ONLY_PLACE = getattr(os, "O_PATH", 0)  # Linux: a descriptor that needs no permission on what it stands for


class FolderUnreachable(Exception):
    """A folder that is not there (no problem), or that cannot be worked in."""

    def __init__(self, path: str, problem: RevertProblem) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem


class Folder:
    """One open folder. Every method acts on a name in it, follows no link, and raises OSError."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._descriptor = handle if isinstance(handle, int) else None

    def stat(self, name: str) -> os.stat_result | None:
        """Return what stands at exactly this name; None: nothing, or only a name in other case."""
        try:
            file_stat = stat_in(self._handle, name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        twin = name.swapcase()
        if twin != name:
            with suppress(OSError):
                if os.path.samestat(file_stat, stat_in(self._handle, twin)) and name not in self.names():
                    return None
        return file_stat

    def own_stat(self) -> os.stat_result:
        return os.stat(self._handle)

    def names(self) -> list[str]:
        return os.listdir(self._handle)

    def open_file(self, name: str) -> AbstractContextManager[int]:
        return open_file(self._handle, name)

    def new_file(self, name: str) -> int:
        """Open a new file to write, for its user alone."""
        return os.open(self._at(name), NEW_FILE, 0o600, dir_fd=self._descriptor)

    def open_to_write(self, name: str) -> int:
        return os.open(self._at(name), os.O_RDWR | SAFE, dir_fd=self._descriptor)

    def read_link(self, name: str) -> str:
        return link_in(self._handle, name)

    def new_link(self, name: str, target: str) -> None:
        os.symlink(target, self._at(name), dir_fd=self._descriptor)

    def new_folder(self, name: str) -> None:
        """Make a folder, for its user alone."""
        os.mkdir(self._at(name), 0o700, dir_fd=self._descriptor)

    def remove(self, name: str, is_folder: bool) -> None:
        if is_folder:
            os.rmdir(self._at(name), dir_fd=self._descriptor)
            return
        try:
            os.unlink(self._at(name), dir_fd=self._descriptor)
        except PermissionError:
            if self._descriptor is not None:
                raise
            os.chmod(self._at(name), stat.S_IWRITE)  # Windows removes nothing that is read-only
            os.unlink(self._at(name))

    def move(self, name: str, folder: Folder, new_name: str) -> None:
        """Move to a name at which nothing stands. Raises FileExistsError."""
        rename_new(self._at(name), self._descriptor, folder._at(new_name), folder._descriptor)

    def exchange(self, name: str, folder: Folder, other_name: str) -> bool:
        """Exchange two entries in one step; return False where system or disk cannot."""
        return exchange(self._at(name), self._descriptor, folder._at(other_name), folder._descriptor)

    def set_mode(self, name: str, mode: int, syncs: bool = True) -> None:
        """Set the permissions of a file or folder, durably if it `syncs` and its user may read it."""
        if self._descriptor is None:
            os.chmod(self._at(name), mode)
            return
        try:
            descriptor = os.open(name, os.O_RDONLY | SAFE | os.O_NONBLOCK, dir_fd=self._descriptor)
        except PermissionError:
            self._set_hidden_mode(name, mode)
            return
        try:
            os.fchmod(descriptor, mode)
            if syncs:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _set_hidden_mode(self, name: str, mode: int) -> None:
        """Set the permissions of what its user may not open."""
        if not _ONLY_PLACE:
            os.chmod(name, mode, dir_fd=self._descriptor, follow_symlinks=False)
            return
        descriptor = os.open(name, _ONLY_PLACE | SAFE, dir_fd=self._descriptor)
        try:
            if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                raise FileNotFoundError(name)
            os.chmod(f"/proc/self/fd/{descriptor}", mode)
        finally:
            os.close(descriptor)

    def is_writable(self) -> bool:
        if self._descriptor is None:
            return os.access(self._handle, os.W_OK)
        return os.access(".", os.W_OK | os.X_OK, dir_fd=self._descriptor, effective_ids=True)

    def sync(self) -> None:
        """Make what was made, moved and removed in it durable."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)

    def sync_disk(self) -> None:
        """Make everything durable on the disk that it is on; where `CAN_SYNC_DISK`."""
        if self._descriptor is not None:
            sync_disk(self._descriptor)

    def _at(self, name: str) -> str:
        return name if self._descriptor is not None else os.path.join(str(self._handle), name)


class Folders(OpenFolders):
    """Opens the folders of one workspace, on the disk of its root."""

    def open(self, path: str) -> Folder:
        """Return a folder by its path (empty: the root), good until the next call.

        Raises FolderUnreachable, OSError.
        """
        return Folder(self.go_to(path))

    def enter(self, name: str) -> None:
        above = Folder(self.folder)
        path = "/".join((*self.names, name))
        try:
            super().enter(name)
        except OSError as error:
            raise FolderUnreachable(path, _reason(above, name, error)) from error
        problem: RevertProblem | None = None
        if os.stat(self.folder).st_dev != above.own_stat().st_dev:
            problem = "not_covered"
        elif above.stat(name) is None:  # only a name in other case
            problem = ""
        if problem is not None:
            self.leave()
            raise FolderUnreachable(path, problem)


def _reason(folder: Folder, name: str, error: OSError) -> RevertProblem:
    file_stat = folder.stat(name)
    if file_stat is None:
        return ""
    if stat.S_ISLNK(file_stat.st_mode) or (stat.S_ISDIR(file_stat.st_mode) and not is_folder(file_stat)):
        return "outside"
    if not stat.S_ISDIR(file_stat.st_mode):
        return "not_a_folder"
    if isinstance(error, PermissionError):
        return "no_permission"
    raise error


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class PathChanged(Exception):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def refused(why: TranslatableText, fix: OptionalText = "", paths: tuple[str, ...] = ()) -> RevertRefused:
    return RevertRefused(text("The files can't be reverted. None of them was changed."), why, fix, paths)


def refused_by_change(paths: tuple[str, ...]) -> RevertRefused:
    why = text.plural(
        len(paths),
        "{file} changed in the meantime.",
        "%n files changed in the meantime, {file} among them.",
        file=paths[0],
    )
    return refused(why, text("Look at the changes again, then revert."), paths)


def half_done() -> RevertRefused:
    return RevertRefused(
        text("The files can't be reverted, and some of them couldn't be put back yet."),
        text("Their contents are safe in the file history."),
        text("Check the disk and the permissions of the workspace, then close and reopen it."),
    )


def refusal_of(error: PathChanged | FolderUnreachable | OSError) -> RevertRefused:
    if isinstance(error, OSError):
        if error.errno in _NO_ROOM:
            return refused(text("The disk is full."), text("Free some disk space, then try again."))
        return refused(system_reason(error))
    return refused_by_change((error.path,))


OperationKind = Literal["open", "aside", "folder", "place", "swap", "mode"]
"""open: its user may read a file, or work in a folder. aside: what stands there is moved to the staging
folder. folder: one is made. place: what is staged comes to where nothing stands. swap: what is staged and
what stands there change places. mode: permissions are set."""

_NEEDED = {"file": 0o400, "folder": 0o700, "link": 0}  # what its user needs to read or empty it


class RevertOperation(msgspec.Struct, frozen=True, omit_defaults=True):
    kind: OperationKind
    path: str
    present: FileState | None = None
    target: FileState | None = None


class JournalEntry(msgspec.Struct, frozen=True):
    """What is needed to take back a revert that was cut off; `folder` is the staging folder in the root."""

    folder: str
    operations: tuple[RevertOperation, ...] = msgspec.field(name="steps")

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> JournalEntry:
        """Return the entry in its bytes. Raises msgspec.MsgspecError."""
        return msgspec.json.decode(data, type=cls)


class PathTarget(NamedTuple):
    """What stands at a path, and what shall."""

    present: FileState | None
    state: FileState | None


def build_operations(targets: Mapping[str, PathTarget]) -> tuple[RevertOperation, ...]:
    """Return the operations: what goes, deepest first; folders; what comes; permissions, deepest first."""
    opened, asides, folders, comes, modes = (list[RevertOperation]() for _ in range(5))
    for path in sorted(targets):
        present, target = targets[path]
        if present is not None and ~present.mode & _NEEDED[present.kind]:
            wider = msgspec.structs.replace(present, mode=present.mode | _NEEDED[present.kind])
            opened.append(RevertOperation("open", path, present, wider))
            present = wider
        if present is not None and target is not None and _has_same_content(present, target):
            if present.mode != target.mode:
                modes.append(RevertOperation("mode", path, present, target))
            continue
        is_swap = present is not None and target is not None and "folder" not in (present.kind, target.kind)
        if present is not None and not is_swap:
            asides.append(RevertOperation("aside", path, present))
        if target is None:
            continue
        if target.kind == "folder":
            folders.append(RevertOperation("folder", path, None, target))
            modes.append(
                RevertOperation("mode", path, msgspec.structs.replace(target, mode=_NEEDED["folder"]), target)
            )
        else:
            comes.append(
                RevertOperation("swap" if is_swap else "place", path, present if is_swap else None, target)
            )
    return (*opened, *reversed(asides), *folders, *comes, *reversed(modes))


def _has_same_content(first: FileState, second: FileState) -> bool:
    return (first.kind, first.digest, first.target) == (second.kind, second.digest, second.target)
