"""Reads what stands at a path of a workspace, and stores its content where that is covered and has room."""

from __future__ import annotations

import os
import sys

import msgspec

from helix_desktop.file_history.database.cleanup import make_room
from helix_desktop.file_history.database.database import FileHistoryDatabase
from helix_desktop.file_history.database.tree_rows import SeenPath
from helix_desktop.file_history.tree.folder import OpenFolders
from helix_desktop.file_history.tree.path_reader import ReadLimits, ReadPath, read_path, unread
from helix_desktop.file_history.tree.rules import FileCoverageRules
from helix_desktop.file_history.tree.stamps import file_stamp

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
