"""The workspace's ignore file: what it lists, in the syntax of .gitignore, no tool reads or writes.

Commands can: builds and tests need files that a model need not read. Their approval says so.
"""

from __future__ import annotations

import codecs
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.ignore_rules import IgnoreRules

IGNORE_FILE = ".agentignore"
LEFT_OUT = f"(what {IGNORE_FILE} lists is left out)\n"
_GIT_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
_MAX_BYTES = 256 * 1024
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
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


class MarkedIgnoreFiles:
    """Git's ignore files with a byte order mark, which ripgrep takes for a part of their first rule.

    `folder` is where a search begins; rules of folders above it don't count there. All methods block.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._rules: dict[str, tuple[IgnoreRules, ...]] = {}

    def ignores(self, path: str) -> bool:
        """Return True if such a file lists a path below the folder, or one of the folders it is in."""
        parts = path.split("/")
        for depth in range(len(parts) - 1, -1, -1):
            inside = "/".join(parts[:depth])
            if inside not in self._rules:
                self._rules[inside] = tuple(self._read(inside))
            if any(rules.ignores(parts[depth:]) for rules in self._rules[inside]):
                return True
        return False

    def _read(self, inside: str) -> Iterator[IgnoreRules]:
        for name in _GIT_IGNORE_FILES:
            path = os.path.join(self._folder, inside, name)
            try:
                descriptor = os.open(path, os.O_RDONLY | _SAFE)
            except (OSError, ValueError):
                continue
            with os.fdopen(descriptor, "rb") as file:
                is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
                if is_file and file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8:
                    yield IgnoreRules(file.read(_MAX_BYTES).decode(errors="replace"), _IGNORES_CASE)


def _read(path: Path, file_stat: os.stat_result) -> IgnoreRules:
    if not stat.S_ISREG(file_stat.st_mode):
        raise _unreadable("It is a link or no file; only a file of the workspace counts.")
    try:
        descriptor = os.open(path, os.O_RDONLY | _SAFE)
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
