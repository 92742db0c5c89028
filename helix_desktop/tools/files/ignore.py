"""The workspace's ignore file: what it lists, in the syntax of .gitignore, no tool reads or writes."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from helix_desktop.domain.errors import ToolError
from helix_desktop.tools.files.paths import normalized_name

IGNORE_FILE = ".agentignore"
LEFT_OUT = f"(what {IGNORE_FILE} lists is left out)\n"
_MAX_BYTES = 256 * 1024
_MAX_FOLDERS = 50_000  # whose verdicts are remembered
_IGNORES_CASE = sys.platform in ("win32", "darwin")
_TOKEN = re.compile(r"\*+|\?|\[[!^]?\]?(?:\\.|[^\]\\])*\]|\\?.", re.DOTALL)
_NAME = "[^/]"


@dataclass(frozen=True)
class _Rule:
    pattern: re.Pattern[str]
    ignores: bool
    folders_only: bool


class IgnoreRules:
    """The rules of an ignore file: the last that fits decides, and nothing in an ignored folder returns."""

    def __init__(self, text: str, ignores_case: bool = _IGNORES_CASE) -> None:
        self._ignores_case = ignores_case
        self._folders: dict[str, bool] = {}
        lines = text.removeprefix("\ufeff").splitlines()
        self._rules = tuple(rule for line in lines if (rule := self._parse(line)) is not None)

    def ignores(self, parts: Sequence[str], is_folder: bool = False) -> bool:
        """Return True if a path of the workspace is listed, or lies in a folder that is."""
        if not (self._rules and parts):
            return False
        names = [normalized_name(part) for part in parts] if self._ignores_case else parts
        return self._is_inside("/".join(names[:-1])) or self._fits("/".join(names), is_folder)

    def _is_inside(self, folder: str) -> bool:
        """Return True if a folder is listed, or lies in one that is; each is looked at once."""
        if not folder:
            return False
        if folder not in self._folders:
            if len(self._folders) > _MAX_FOLDERS:
                self._folders.clear()
            above = folder.rpartition("/")[0]
            self._folders[folder] = self._is_inside(above) or self._fits(folder, is_folder=True)
        return self._folders[folder]

    def _fits(self, path: str, is_folder: bool) -> bool:
        for rule in reversed(self._rules):
            if (is_folder or not rule.folders_only) and rule.pattern.fullmatch(path):
                return rule.ignores
        return False

    def _parse(self, line: str) -> _Rule | None:
        line = re.sub(r"(?<!\\) +$", "", line.rstrip("\r"))
        if not line or line.startswith("#"):
            return None
        ignores = not line.startswith("!")
        line = line[not ignores :]
        folders_only = line.endswith("/")
        body = line.rstrip("/") if folders_only else line
        if not body:
            return None
        anchored = "/" in body
        try:
            pattern = ("" if anchored else "(?:.*/)?") + _regex(body.removeprefix("/"))
            flags = re.DOTALL | (re.IGNORECASE if self._ignores_case else 0)
            return _Rule(re.compile(pattern, flags), ignores, folders_only)
        except re.error:  # as git: such a pattern fits nothing
            return None


def _regex(glob: str) -> str:
    parts = glob.split("/")
    out = ""
    for at, part in enumerate(parts):
        is_last = at == len(parts) - 1
        if part == "**":
            out += ".+" if is_last else "(?:.*/)?"
        else:
            out += _part_regex(part) + ("" if is_last else "/")
    return out


def _part_regex(part: str) -> str:
    return "".join(_token_regex(token) for token in _TOKEN.findall(part))


def _token_regex(token: str) -> str:
    if token.startswith("*"):
        return f"{_NAME}*"
    if token == "?":
        return _NAME
    if token.startswith("[") and len(token) > 1:
        inside = token[1:-1]
        negated = inside[:1] in ("!", "^")
        return f"(?!/)[{'^' if negated else ''}{_class_regex(inside[negated:])}]"
    if token == "\\":  # at the end of a pattern git takes it for invalid
        raise re.error("a backslash at the end")
    return re.escape(token.removeprefix("\\"))


def _class_regex(inside: str) -> str:
    """Return the inside of a class of characters, in which `-` and backslashes are special, nothing else."""
    return inside.replace("[", "\\[").replace("^", "\\^").replace("]", "\\]", 1 if inside[:1] == "]" else 0)


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


def _read(path: Path, found: os.stat_result) -> IgnoreRules:
    if not stat.S_ISREG(found.st_mode):
        raise _unreadable("It is a link or no file; only a file of the workspace counts.")
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(f"{error.strerror}.") from error
    if len(data) > _MAX_BYTES or b"\0" in data:
        raise _unreadable(f"It is no text, or over {_MAX_BYTES // 1024} KB.")
    return IgnoreRules(data.decode(errors="replace"))


def _unreadable(why: str) -> ToolError:
    """Return the error for every path, as long as it is not known what the user excluded."""
    return ToolError(
        f"No file was touched: {IGNORE_FILE} of this workspace cannot be read.",
        why,
        "Tell the user; files can be read again once it is repaired or deleted.",
    )
