"""What stands at paths now, always by what is read, and around them: folders, and whether they get empty."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from helix_desktop.domain.file_history.changes import FileState, PlannedFile, RevertProblem, is_folder
from helix_desktop.domain.files.names import normalized_name
from helix_desktop.file_history.revert.folders import Folder, Folders, FolderUnreachable
from helix_desktop.file_history.tables import SeenPath
from helix_desktop.file_history.tree.rules import STAGED_PREFIX

_BLOCK = 1 << 20  # bytes read at once
_GIT = frozenset({".git", "git~1"})


class RevertTree(Protocol):
    """What reverts need of the tree as last seen."""

    def covers(self, path: str, size: int) -> bool:
        """Return True if a file of so many bytes may be stored with its content: no secret, not too large."""
        ...

    def is_busy(self, path: str) -> bool: ...

    def put(self, rows: Sequence[tuple[str, SeenPath]]) -> None:
        """Note what stands at paths; within the transaction of the revert, which may still be undone."""
        ...

    def remove(self, paths: Sequence[str]) -> None:
        """Note at which paths nothing stands any more; within that transaction."""
        ...


class CurrentPath(NamedTuple):
    """What stands at a path; `links` is how many names it has. With a problem it is not known, or nothing."""

    state: FileState | None = None
    problem: RevertProblem = ""
    links: int = 1


class CurrentPathReader:
    def __init__(self, folders: Folders, tree: RevertTree) -> None:
        self._folders = folders
        self._tree = tree

    def read(self, path: str, expected: FileState | None = None) -> CurrentPath:
        """Return what stands there, a file with the hash of what was read. Raises OSError.

        What is not covered is read only if it may be what is expected.
        """
        if not is_plain_path(path):
            return CurrentPath(None, "outside")
        parent, _, name = path.rpartition("/")
        try:
            folder = self._folders.open(parent)
        except FolderUnreachable as error:
            return CurrentPath(None, error.problem)
        try:
            return self._read(folder, name, path, expected)
        except PermissionError:
            return CurrentPath(None, "no_permission")

    def read_content(self, path: str) -> bytes:
        """Return the content of a file. Raises FolderUnreachable, OSError."""
        parent, _, name = path.rpartition("/")
        return read_bytes(self._folders.open(parent), name)

    def _read(self, folder: Folder, name: str, path: str, expected: FileState | None) -> CurrentPath:
        file_stat = folder.stat(name)
        if file_stat is None:
            return CurrentPath()
        if not stat.S_ISREG(file_stat.st_mode):
            state = read_path_state(folder, name)
            return CurrentPath(state, "" if state is not None else "not_covered")
        is_covered = self._tree.covers(path, file_stat.st_size)
        if expected is not None and _is_hidden(file_stat, expected):
            state = msgspec.structs.replace(expected, stored=is_covered)
        elif is_covered or (expected is not None and expected.digest and expected.size == file_stat.st_size):
            state = read_path_state(folder, name)
            if state is not None and not is_covered:
                state = msgspec.structs.replace(state, stored=False)
        else:
            mode = stat.S_IMODE(file_stat.st_mode)
            state = FileState("file", "", file_stat.st_size, mode, "", False, file_stat.st_mtime_ns)
        return CurrentPath(state, links=file_stat.st_nlink)


def _is_hidden(file_stat: os.stat_result, expected: FileState) -> bool:
    """Return True for a file that its owner may not read, and that may be what is expected.

    A revert lets its owner read it, and then it is read.
    """
    return (
        not file_stat.st_mode & stat.S_IRUSR
        and file_stat.st_uid == getattr(os, "geteuid", int)()
        and (expected.kind, expected.size, expected.mode)
        == ("file", file_stat.st_size, stat.S_IMODE(file_stat.st_mode))
        and expected.digest != ""
    )


def read_path_state(folder: Folder, name: str) -> FileState | None:
    """Return what stands at a name, None for nothing, and for what is not covered. Raises OSError."""
    file_stat = folder.stat(name)
    if file_stat is None:
        return None
    if stat.S_ISLNK(file_stat.st_mode):
        return FileState("link", target=folder.read_link(name))
    if stat.S_ISDIR(file_stat.st_mode):
        return FileState("folder", mode=stat.S_IMODE(file_stat.st_mode))
    if not stat.S_ISREG(file_stat.st_mode):
        return None
    digest = hashlib.sha256()
    size = 0
    with folder.open_file(name) as file:
        file_stat = os.fstat(file)
        if not stat.S_ISREG(file_stat.st_mode):
            return None
        while block := os.read(file, _BLOCK):
            digest.update(block)
            size += len(block)
    return FileState("file", digest.hexdigest(), size, stat.S_IMODE(file_stat.st_mode))


def read_bytes(folder: Folder, name: str) -> bytes:
    with folder.open_file(name) as file, os.fdopen(file, "rb", closefd=False) as reader:
        return reader.read()


def is_plain_path(path: str) -> bool:
    """Return True for a path below the root that no file system takes for another, or for one of git's."""
    parts = path.split("/")
    if "\0" in path or ("\\" in path and os.name == "nt") or path.startswith(STAGED_PREFIX):
        return False
    if os.name == "nt" and ":" in path:
        return False
    return all(part not in ("", ".", "..") and normalized_name(part) not in _GIT for part in parts)


def is_alike(first: FileState | None, second: FileState | None) -> bool:
    """Return True if both are the same at a path, for certain: an unknown content is like no other."""
    if first is None or second is None:
        return first is second
    if first.kind == "file" and not first.digest:
        return False
    return (first.kind, first.digest, first.mode, first.target) == (
        second.kind,
        second.digest,
        second.mode,
        second.target,
    )


PlannedFiles = dict[str, PlannedFile]


def check_folders(files: PlannedFiles, folders: Folders, reader: CurrentPathReader) -> PlannedFiles:
    """Return the files of a plan by path; those that what is around them keeps from it are blocked."""
    checked = dict(sorted(files.items()))
    check = _Check(checked, folders, reader)
    for path in list(checked):  # parents stand before what is in them
        check.parents(path)
    check.note_needed()
    for path in sorted(checked, key=lambda path: path.count("/"), reverse=True):
        check.contents(path)
    for path in list(checked):
        check.permission(path)
    return checked


def parents_of(path: str) -> Iterator[str]:
    """Yield the folders that a path is in, the outermost first."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


class _Check:
    def __init__(self, files: PlannedFiles, folders: Folders, reader: CurrentPathReader) -> None:
        self._files = files
        self._folders = folders
        self._reader = reader
        self._found: dict[str, RevertProblem] = {}
        self._writable: dict[str, bool] = {}
        self._needed: set[str] = set()  # folders of what comes or stays

    def parents(self, path: str) -> None:
        """Block a path that is to come into what is no folder, and stays none."""
        file = self._files[path]
        if file.status in ("blocked", "same"):
            return
        for parent in parents_of(path):
            if self._is_undecided(parent):
                self._files[path] = msgspec.structs.replace(file, status="conflict")
                return
            problem = self._parent_problem(parent)
            if problem:
                self._block(path, problem)
                return

    def note_needed(self) -> None:
        for path, file in self._files.items():
            if file.former is not None and file.status not in ("blocked", "same"):
                self._needed.update(parents_of(path))

    def contents(self, path: str) -> None:
        """Block a folder that is to go while something in it stays, or is to come into it.

        Where that is the user's choice, the folder is their choice too, unless nothing is to replace it.
        """
        file = self._files[path]
        if file.status in ("blocked", "same") or not is_folder(file.present) or is_folder(file.former):
            return
        if path in self._needed:
            self._block(path, "not_empty")
            return
        try:
            names = self._folders.open(path).names()
        except FolderUnreachable as error:
            self._block(path, error.problem)
            return
        except OSError:
            self._block(path, "no_permission")
            return
        for name in names:
            entry = self._files.get(f"{path}/{name}")
            if entry is None or entry.status in ("blocked", "same") or entry.former is not None:
                self._block(path, "not_empty")
                return
            if entry.status != "ready" and file.former is not None:  # it stays, unless the user decides
                self._files[path] = msgspec.structs.replace(file, status="conflict")

    def permission(self, path: str) -> None:
        """Block a path in a folder in which its user may not write."""
        file = self._files[path]
        if file.status in ("blocked", "same"):
            return
        for parent in reversed(["", *parents_of(path)]):
            own = self._files.get(parent)
            if own is not None and own.status == "ready" and own.present is not None:
                return  # it is opened for the revert
            try:
                folder = self._folders.open(parent)
            except FolderUnreachable as error:
                if error.problem == "no_permission":
                    self._block(path, "no_permission")
                    return
                continue
            if not self._is_writable(parent, folder):
                self._block(path, "no_permission")
            return

    def _is_undecided(self, parent: str) -> bool:
        """Return True if the user decides whether a folder comes."""
        file = self._files.get(parent)
        return file is not None and file.status == "conflict" and is_folder(file.former)

    def _parent_problem(self, parent: str) -> RevertProblem:
        file = self._files.get(parent)
        if file is not None and file.status != "blocked" and (is_folder(file.former) or file.present is None):
            return ""
        if parent not in self._found:
            found = self._reader.read(parent)
            problem: RevertProblem = found.problem
            if found.state is not None and found.state.kind != "folder":
                problem = "outside" if found.state.kind == "link" else "not_a_folder"
            self._found[parent] = problem
        return self._found[parent]

    def _is_writable(self, path: str, folder: Folder) -> bool:
        if path not in self._writable:
            self._writable[path] = folder.is_writable()
        return self._writable[path]

    def _block(self, path: str, problem: RevertProblem) -> None:
        self._files[path] = msgspec.structs.replace(self._files[path], status="blocked", problem=problem)
