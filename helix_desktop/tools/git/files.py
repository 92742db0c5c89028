"""Files of a checkout as they are on disk, through the workspace's jail; everything blocks."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.file_history.changes import FileState
from helix_desktop.tools.files.jail import DirEntry, Jail
from helix_desktop.tools.git.objects import MAX_CONTENT_BYTES, SHA1_DIGITS, blob_id

_PLAIN, _EXECUTABLE = 0o644, 0o755


class WorkingTreeFile(NamedTuple):
    """What stands at a path (None: nothing), and the bytes of a file that is not too large."""

    state: FileState | None = None
    data: bytes | None = None


class WorkingTreeFiles:
    """Reads files for one list of changes; folders are listed once."""

    def __init__(self, jail: Jail, room: int = MAX_CONTENT_BYTES, digits: int = SHA1_DIGITS) -> None:
        """`room` are the bytes that are read of all files together, `digits` those of the checkout's ids."""
        self._jail, self._room, self._digits = jail, room, digits
        self._folders: dict[str, dict[str, DirEntry]] = {}

    def read(self, path: str, mode: int = 0) -> WorkingTreeFile:
        """Return what stands at a path; `mode` are its permissions, 0: as they are on disk.

        A file that may not be read, by permissions or the ignore file, is one that is not stored.
        """
        try:
            return self._read(path, mode)
        except (ToolError, OSError):
            return WorkingTreeFile(FileState(mode=mode, stored=False))

    def _read(self, path: str, mode: int) -> WorkingTreeFile:
        entry = self._find(path)
        if entry is None:
            return WorkingTreeFile()
        if entry.kind == "link":
            return WorkingTreeFile(FileState("link", target=entry.link_target))
        if entry.kind != "file":
            return WorkingTreeFile(FileState("folder"))
        with self._jail.open_file(path) as opened:
            file_stat = os.fstat(opened.file.fileno())
            mode = mode or (_EXECUTABLE if file_stat.st_mode & stat.S_IXUSR else _PLAIN)
            if file_stat.st_size > min(self._room, MAX_CONTENT_BYTES):
                return WorkingTreeFile(FileState(size=file_stat.st_size, mode=mode))
            data = opened.file.read(MAX_CONTENT_BYTES)
        self._room -= len(data)
        return WorkingTreeFile(FileState(digest=blob_id(data, self._digits), size=len(data), mode=mode), data)

    def _find(self, path: str) -> DirEntry | None:
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            _, entries = self._jail.list_entries(folder or ".")
            self._folders[folder] = {entry.name: entry for entry in entries}
        return self._folders[folder].get(name)
