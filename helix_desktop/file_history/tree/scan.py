"""One scan of a workspace: what is new, changed or gone since it was last seen; and what stands at a path.

Not a watcher: that misses what happens while its queue is full, and has to know every folder.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from helix_desktop.domain.file_history.changes import FileState, UncoveredPlace, UncoveredReason
from helix_desktop.domain.unicode_safety import escape_undecodable
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.maintenance import make_room
from helix_desktop.file_history.tables import SeenPath, file_stamp, folder_stamp, is_fresh, modified_ns
from helix_desktop.file_history.tree.rules import GIT_IGNORE, STAGED_PREFIX, FileCoverageRules
from helix_desktop.system.folders import (
    Handle,
    OpenFolders,
    enter,
    is_folder,
    leave,
    link_in,
    open_file,
    stat_in,
)

log = logging.getLogger(__name__)

_TRIES = 3  # to read a file that is written meanwhile
_PIECE = 1 << 20  # bytes


class ReadLimits(NamedTuple):
    """How much of a file is read: nothing over `size` bytes; of others the hash alone, or the bytes too."""

    size: int
    with_bytes: bool


class ReadPath(NamedTuple):
    """What was read at a path; `data` are a file's bytes where they were to be read."""

    row: SeenPath
    data: bytes | None = None


def unread(file_stat: os.stat_result) -> SeenPath:
    state = FileState(
        "file",
        "",
        file_stat.st_size,
        stat.S_IMODE(file_stat.st_mode),
        stored=False,
        modified_ns=modified_ns(file_stat),
    )
    return SeenPath(state, file_stamp(file_stat), is_fresh=False)


def read_path(folder: Handle, name: str, limits: ReadLimits) -> ReadPath | None:
    """Return what stands under a name; None: nothing that can be covered. Raises OSError."""
    try:
        file_stat = stat_in(folder, name)
        if is_folder(file_stat):
            mode = stat.S_IMODE(file_stat.st_mode)
            return ReadPath(SeenPath(FileState("folder", mode=mode), folder_stamp(mode), is_fresh=False))
        if stat.S_ISLNK(file_stat.st_mode):
            return _read_link(folder, name, file_stat)
        if stat.S_ISREG(file_stat.st_mode):
            return (
                ReadPath(unread(file_stat))
                if file_stat.st_size > limits.size
                else _read_file(folder, name, limits)
            )
    except (FileNotFoundError, NotADirectoryError):
        pass
    return None


def _read_link(folder: Handle, name: str, file_stat: os.stat_result) -> ReadPath | None:
    started = time.time_ns()
    target = link_in(folder, name)
    if not is_unicode(target):
        return None
    return ReadPath(
        SeenPath(FileState("link", target=target), file_stamp(file_stat), is_fresh(file_stat, started))
    )


def _read_file(folder: Handle, name: str, limits: ReadLimits, tries: int = _TRIES) -> ReadPath | None:
    """Read a file; one that is written meanwhile again, then as it was read: its stamp is that of before."""
    with open_file(folder, name) as file:
        file_stat = os.fstat(file)
        if not stat.S_ISREG(file_stat.st_mode):
            return None
        started = time.time_ns()
        digest, size, data = _read_open(file, limits)
        is_same = file_stamp(os.fstat(file)) == file_stamp(file_stat)
    if not is_same and tries > 1:
        return _read_file(folder, name, limits, tries - 1)
    if size > limits.size:
        return ReadPath(unread(file_stat))
    state = FileState("file", digest, size, stat.S_IMODE(file_stat.st_mode), stored=data is not None)
    return ReadPath(SeenPath(state, file_stamp(file_stat), not is_same or is_fresh(file_stat, started)), data)


def _read_open(file: int, limits: ReadLimits) -> tuple[str, int, bytes | None]:
    digest = hashlib.sha256()
    size = 0
    pieces = []
    while size <= limits.size and (piece := os.read(file, _PIECE)):
        digest.update(piece)
        size += len(piece)
        if limits.with_bytes:
            pieces.append(piece)
    return digest.hexdigest(), size, b"".join(pieces) if limits.with_bytes else None


def is_unicode(name: str) -> bool:
    """Return True if a name is text that can be stored and shown."""
    return name.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in name)


_GONE = (FileNotFoundError, NotADirectoryError)


class PathRecorder:
    """Records paths under the rules of a workspace; `unreadable` are the files that could not be opened.

    Every use is within a transaction of the database.
    """

    def __init__(self, database: FileHistoryDatabase, rules: FileCoverageRules) -> None:
        self._database = database
        self.rules = rules
        self.unreadable: set[str] = set()
        self._used = -1  # bytes of contents on disk, at most; -1: not counted yet
        self._too_large = sys.maxsize  # bytes for which no room could be made

    def count_again(self) -> None:
        """Count the stored contents once more: another process may have changed them."""
        self._used = -1
        self.try_large_again()

    def try_large_again(self) -> None:
        """Look again whether there is room for what was too large: the quota may be another one."""
        self._too_large = sys.maxsize

    def record(
        self,
        folders: OpenFolders,
        path: str,
        file_stat: os.stat_result,
        row: SeenPath | None,
        is_named: bool = False,
    ) -> SeenPath | None:
        """Return what stands at a path, its content stored if it is covered; None: nothing that can be.

        `row` is what was seen there last. Of a path that a tool names (`is_named`), the content is stored
        also if it is ignored.
        """
        reason = self.rules.file_reason(path, file_stat.st_size)
        is_covered = reason is None or (is_named and reason == "ignored")
        try:
            folder, name = folders.of(path)
            limits = ReadLimits(self.rules.largest(path), is_covered and self.has_room(file_stat.st_size))
            read = read_path(folder, name, limits)
        except _GONE:
            return None
        except OSError:
            return self._unreadable(path, file_stat, row)
        self.unreadable.discard(path)
        return None if read is None else self._store(read, is_covered)

    def _store(self, read: ReadPath, is_covered: bool) -> SeenPath:
        """Store a content that was read; one that is stored already needs no room."""
        state = read.row.state
        if read.data is not None:
            self._database.contents.put(read.data)
            self._used += len(read.data)
        if not is_covered or state.kind != "file" or not state.digest:
            return read.row
        is_stored = self._database.contents.has(state.digest)  # a secret that was removed is not
        return read.row._replace(state=msgspec.structs.replace(state, stored=is_stored))

    def has_room(self, size: int) -> bool:
        """Return True if the quota has room for a content, as if it could not be compressed.

        What only the oldest captures need makes room for it.
        """
        quota = self.rules.settings.quota
        if not quota:
            return True
        if self._used < 0 or self._used + size > quota:
            self._used = self._database.contents.totals()[2]
        if self._used + size > quota and size < self._too_large:
            self._used -= make_room(self._database, self._used + size - quota)
            if self._used + size > quota:
                self._too_large = size
        return self._used + size <= quota

    def _unreadable(self, path: str, file_stat: os.stat_result, row: SeenPath | None) -> SeenPath:
        """Return what is known of a file that cannot be opened: its content, if only its mode can differ."""
        self.unreadable.add(path)
        now = unread(file_stat)
        if row is None or not row.state.digest or file_stamp(file_stat)[:16] != row.stamp[:16]:
            return now
        return now._replace(state=msgspec.structs.replace(row.state, mode=now.state.mode))


MAX_PATHS = 250_000
_Entry = tuple[str, str, os.stat_result]  # name, path, what a stat said
_DEEPEST = 100  # folders in each other: each takes a descriptor, of 256 on macOS


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
        self._root = root
        self._rules = rules
        self._stamps = stamps
        self._trusts = trusts_folders
        self._result = ScanResult()
        self._device = 0

    def run(self) -> ScanResult:
        """Return what is there now. Raises OSError if the workspace's folder cannot be read, TooManyPaths."""
        with OpenFolders(self._root) as folders:
            top = folders.folder
            self._device = os.stat(top).st_dev
            self._result.rules_changed = self._rules.load(top, self._root)
            self._walk(top, "", 0)
        return self._result

    def _walk(self, folder: Handle, prefix: str, depth: int) -> None:
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
        stamps = self._stamps
        append = self._result.same.append
        trusts = self._trusts
        device = self._device
        others: list[_Entry] = []
        folders: list[str] = []
        ignore_stamp = b""
        is_open = isinstance(folder, int)
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
