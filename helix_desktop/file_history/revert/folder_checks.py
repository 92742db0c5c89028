"""What a revert needs around each path: the folder it is in, and of a folder, that it gets empty."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from helix_desktop.domain.file_history.revert import PlannedFile, RevertProblem
from helix_desktop.domain.file_history.state import is_folder
from helix_desktop.file_history.revert.current_paths import CurrentPathReader
from helix_desktop.file_history.revert.folders import Folder, Folders, FolderUnreachable

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
        self._files, self._folders, self._reader = files, folders, reader
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
        """Note which folders are needed for what comes into them."""
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
