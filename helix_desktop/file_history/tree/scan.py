"""One scan of a workspace: what is new, changed or gone since it was last seen, without reading any file.

Not a watcher: that misses what happens while its queue is full, and has to know every folder.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

from helix_desktop.domain.file_history.file_coverage import UncoveredPlace, UncoveredReason
from helix_desktop.domain.unicode_safety import escape_undecodable
from helix_desktop.file_history.tree.folder import (
    Handle,
    enter,
    file_stamp,
    folder_stamp,
    is_folder,
    leave,
    link_in,
    open_top,
)
from helix_desktop.file_history.tree.path_reader import is_unicode
from helix_desktop.file_history.tree.rules import GIT_IGNORE, STAGED_PREFIX, FileCoverageRules

MAX_PATHS = 250_000
_Entry = tuple[str, str, os.stat_result]  # name, path, what a stat said
_DEEPEST = 100  # folders in each other: each takes a descriptor, of 256 on macOS


log = logging.getLogger(__name__)


class TooManyPaths(Exception):
    """The workspace has more paths than a scan before each command could look at."""


@dataclass
class ScanResult:
    """What a scan found, by path.

    `candidates` are covered, and are new, changed or not certain to be the same; `same` are the others.
    `linked` are files that have other names, too. `skipped` are places that are not covered as a whole;
    `unreadable` folders whose content is not known now, each with a `/` at its end.
    """

    candidates: dict[str, os.stat_result] = field(default_factory=dict)
    same: list[str] = field(default_factory=list)
    linked: set[str] = field(default_factory=set)
    skipped: dict[str, UncoveredPlace] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    rules_changed: bool = False

    def is_unknown(self, path: str) -> bool:
        """Return True if a path was not looked at because a folder above could not be read."""
        return any(path.startswith(prefix) for prefix in self.unreadable)


class Scan:
    """Scans a workspace once, by the stamps of its paths as last seen."""

    def __init__(
        self, root: str, rules: FileCoverageRules, stamps: Mapping[str, bytes], trusts_folders: bool = True
    ) -> None:
        """`trusts_folders`: a folder that was covered still is; else it is held against the rules again."""
        self._root, self._rules, self._stamps, self._trusts = root, rules, stamps, trusts_folders
        self._result = ScanResult()
        self._device = 0

    def run(self) -> ScanResult:
        """Return what is there now. Raises OSError if the workspace's folder cannot be read, TooManyPaths."""
        top = open_top(self._root)
        try:
            self._device = os.stat(top).st_dev
            self._result.rules_changed = self._rules.load(top, self._root)
            self._walk(top, "", 0)
        finally:
            leave(top)
        return self._result

    def _walk(self, folder: Handle, prefix: str, depth: int) -> None:
        """Look at all that is in a folder, then enter those in it."""
        result = self._result
        others, folders, ignore_stamp = self._list(folder, prefix)
        if self._rules.load_folder(folder, prefix, bool(ignore_stamp), ignore_stamp):
            result.rules_changed = True
        if others and self._is_new_and_built(prefix, others):
            self._skip(prefix[:-1], "ignored", is_folder_=True)
            result.candidates.pop(prefix[:-1], None)
            return
        folders += [name for name, path, file_stat in others if self._sort_in(folder, name, path, file_stat)]
        if len(result.same) + len(result.candidates) > MAX_PATHS:
            raise TooManyPaths
        for name in folders:
            self._enter(folder, prefix, name, depth)

    def _list(self, folder: Handle, prefix: str) -> tuple[list[_Entry], list[str], bytes]:
        """Return what is new or changed in a folder, the names of folders as last seen, and the stamp of its
        .gitignore. This runs for every path before and after each command.
        """
        stamps, append = self._stamps, self._result.same.append
        trusts, device = self._trusts, self._device
        others: list[_Entry] = []
        folders: list[str] = []
        ignore_stamp, is_open = b"", isinstance(folder, int)
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                path = prefix + name
                try:
                    file_stat = entry.stat(follow_symlinks=False) if is_open else os.lstat(entry.path)
                except FileNotFoundError:
                    continue
                if stat.S_ISDIR(file_stat.st_mode):
                    if (
                        trusts
                        and stamps.get(path) == folder_stamp(file_stat.st_mode)
                        and file_stat.st_dev == device
                    ):
                        append(path)
                        folders.append(name)
                    else:
                        others.append((name, path, file_stat))
                    continue
                if file_stat.st_nlink > 1 and stat.S_ISREG(file_stat.st_mode):
                    self._result.linked.add(path)
                stamp = file_stamp(file_stat)
                if name == GIT_IGNORE:
                    ignore_stamp = stamp
                if stamps.get(path) == stamp:
                    append(path)
                else:
                    others.append((name, path, file_stat))
        return others, folders, ignore_stamp

    def _is_new_and_built(self, prefix: str, others: list[_Entry]) -> bool:
        folder = prefix[:-1]
        return folder not in self._stamps and self._rules.is_built(folder, (name for name, *_ in others))

    def _sort_in(self, folder: Handle, name: str, path: str, file_stat: os.stat_result) -> bool:
        """Sort in what is new or has changed; return True for a folder that is to be entered."""
        if name.startswith(STAGED_PREFIX):
            return False
        is_dir = stat.S_ISDIR(file_stat.st_mode)
        reason = self._reason(folder, name, path, file_stat)
        if reason is not None:
            self._skip(path, reason, is_dir)
        elif is_dir and self._stamps.get(path) == folder_stamp(file_stat.st_mode):
            self._result.same.append(path)
        else:
            self._result.candidates[path] = file_stat
        return is_dir and reason is None

    def _reason(
        self, folder: Handle, name: str, path: str, file_stat: os.stat_result
    ) -> UncoveredReason | None:
        """Return why nothing of a path is covered; None: at least its hash is, or a folder is entered."""
        if not is_unicode(name) or (stat.S_ISLNK(file_stat.st_mode) and not _leads_to_text(folder, name)):
            return "name"
        if not stat.S_ISDIR(file_stat.st_mode):
            if name == ".git":
                return "git"
            return None if stat.S_ISREG(file_stat.st_mode) or stat.S_ISLNK(file_stat.st_mode) else "special"
        if file_stat.st_dev != self._device:
            return "mount"
        return self._rules.folder_reason(path) if is_folder(file_stat) else "special"

    def _enter(self, folder: Handle, prefix: str, name: str, depth: int) -> None:
        path = prefix + name
        try:
            if depth == _DEEPEST:
                raise PermissionError
            handle = enter(folder, name)
            try:
                self._walk(handle, path + "/", depth + 1)
            finally:
                leave(handle)
        except FileNotFoundError:
            pass  # the next scan finds what became of it, as of one that is something else now
        except PermissionError:
            self._skip(path, "unreadable", is_folder_=True)
        except OSError as error:
            log.debug("a folder was not scanned: %s", error)
        else:
            return
        self._result.unreadable.append(path + "/")

    def _skip(self, path: str, reason: UncoveredReason, is_folder_: bool = False) -> None:
        if not is_unicode(path):
            path = escape_undecodable(path)
        self._result.skipped[path] = UncoveredPlace(path, reason, is_folder_)


def _leads_to_text(folder: Handle, name: str) -> bool:
    """Return True if the target of a link can be stored; also of one that is gone: then nothing is."""
    try:
        return is_unicode(link_in(folder, name))
    except OSError:
        return True
