"""The folders of a workspace at any depth, with what of their names git and other programs look for."""

from __future__ import annotations

import os
import time

from helix_desktop.permissions.auto_run import WAITING_NAMES
from helix_desktop.tools.shell.file_lookups import is_inside
from helix_desktop.tools.shell.scratch import temporary_base

_RACY_NS = 100_000_000  # a folder that changed so shortly before it was read may change unseen
_GIT = ".git"
_NAMES = frozenset({_GIT, "HEAD", "objects", "refs", "commondir"})

_Folder = tuple[tuple[int, ...], dict[str, bool], tuple[str, ...], tuple[str, ...]]
"""When it was read, its names that matter, the folders in it, and the links to temporary folders."""


class FolderTree:
    """The folders of a workspace with their names that matter; a folder is read again if it changed.

    A folder's time of change can't be set by a program, unlike its time of modification.
    """

    def __init__(self, root: str) -> None:
        self._root, self._temporary = root, str(temporary_base())
        self._known: dict[str, _Folder] = {}

    @property
    def temporary_links(self) -> list[str]:
        """The links in the folders that were returned last to what commands alone have written."""
        return [link for _, _, _, links in self._known.values() for link in links]

    def folders(self) -> dict[str, dict[str, bool]]:
        """Return all folders with those of their names that matter."""
        known, found = self._known, dict[str, _Folder]()
        pending = [self._root]
        while pending:
            path = pending.pop()
            try:
                status = os.lstat(path)
                stamp = (status.st_dev, status.st_ino, status.st_ctime_ns, status.st_mtime_ns)
                before = known.get(path)
                if before is None or before[0] != stamp:
                    before = self._read(path, stamp)
            except OSError:
                continue
            found[path] = before
            pending += before[2]
        self._known = found
        return {path: names for path, (_, names, _, _) in found.items()}

    def _read(self, path: str, stamp: tuple[int, ...]) -> _Folder:
        now = time.time_ns()
        names: dict[str, bool] = {}
        folders, links = [], []
        with os.scandir(path) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if entry.is_symlink() and is_inside(os.path.realpath(entry.path), self._temporary):
                    links.append(entry.path)
                if is_folder:
                    folders.append(entry.path)
                folded = entry.name.casefold()
                if entry.name in _NAMES or folded in WAITING_NAMES:
                    names[entry.name] = is_folder
                elif folded == _GIT:  # the same on some disks
                    names[_GIT] = is_folder
        if "HEAD" in names and names.get("objects"):  # hundreds, with nothing in them that git runs
            folders.remove(os.path.join(path, "objects"))
        return (stamp if now - stamp[2] > _RACY_NS else ()), names, tuple(folders), tuple(links)
