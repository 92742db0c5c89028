"""The workspace's ignore file: what it lists, in the syntax of .gitignore, no tool reads or writes."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.ignore_rules import IgnoreRules

IGNORE_FILE = ".agentignore"
LEFT_OUT = f"(what {IGNORE_FILE} lists is left out)\n"
_MAX_BYTES = 256 * 1024
_IGNORES_CASE = sys.platform in ("win32", "darwin")


class IgnoreFile:
    """The ignore file of one workspace, read again when it changes; all methods block."""

    def __init__(self, root: Path) -> None:
        self._path = root / IGNORE_FILE
        self._read_as: tuple[int, ...] = ()
        self._rules = IgnoreRules("")

    @property
    def exists(self) -> bool:
        """Return True if the workspace has one."""
        return os.path.lexists(self._path)

    def ignores(self, parts: Sequence[str], is_folder: bool = False) -> bool:
        """Return True if no tool may touch a path. Raises ToolError while the file cannot be read."""
        return self._current().ignores(parts, is_folder)

    def without_ignored(self, folder: str, files: Iterable[str]) -> list[str]:
        """Return the files, by their paths below a folder of the workspace, that tools may touch."""
        inside = tuple(folder.split("/")) if folder else ()
        rules = self._current()
        return [file for file in files if not rules.ignores((*inside, *file.split("/")))]

    def _current(self) -> IgnoreRules:
        try:
            now = self._path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return IgnoreRules("")
        except OSError as error:
            raise _unreadable(f"{error.strerror}.") from error
        stamp = (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns)
        if stamp != self._read_as:
            self._rules, self._read_as = _read(self._path, now), stamp
        return self._rules


def _read(path: Path, file_stat: os.stat_result) -> IgnoreRules:
    if not stat.S_ISREG(file_stat.st_mode):
        raise _unreadable("It is a link or no file; only a file of the workspace counts.")
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(f"{error.strerror}.") from error
    if len(data) > _MAX_BYTES or b"\0" in data:
        raise _unreadable(f"It is no text, or over {_MAX_BYTES // 1024} KB.")
    return IgnoreRules(data.decode(errors="replace"), _IGNORES_CASE)


def _unreadable(why: str) -> ToolError:
    """Return the error for every path, as long as it is not known what the user excluded."""
    return ToolError(
        f"No file was touched: {IGNORE_FILE} of this workspace cannot be read.",
        why,
        "Tell the user; files can be read again once it is repaired or deleted.",
    )
