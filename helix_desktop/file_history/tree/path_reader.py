"""Reads what stands at a path, and stores its content where that is covered and has room."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
from typing import NamedTuple

import msgspec

from helix_desktop.domain.file_history.changes import FileState
from helix_desktop.file_history.database.cleanup import make_room
from helix_desktop.file_history.database.database import FileHistoryDatabase
from helix_desktop.file_history.database.rows import SeenPath
from helix_desktop.file_history.tree.folder import (
    Handle,
    OpenFolders,
    file_stamp,
    folder_stamp,
    is_folder,
    is_fresh,
    link_in,
    modified_ns,
    open_file,
    stat_in,
)
from helix_desktop.file_history.tree.rules import FileCoverageRules

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
    """Return what is known of a file that was not read."""
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
    """Return the digest of an open file, its size, and its bytes if they are to be read."""
    digest, size, pieces = hashlib.sha256(), 0, []
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
        self._database, self.rules = database, rules
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
