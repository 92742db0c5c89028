"""What of a workspace is covered: ignore files, secrets, the size limit, and what the user includes."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.file_history.changes import FileCoverageSettings, UncoveredReason
from helix_desktop.domain.files.names import IgnoreRules, is_secret_file, is_secret_folder
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.file_history.tables import file_stamp
from helix_desktop.system.folders import Handle, OpenFolders, enter, leave, open_file, stat_in

text = TextContext("Changes")

BUILT_FOLDERS = frozenset(
    (
        "node_modules", "bower_components", "__pycache__", ".tox", ".nox", ".eggs", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", ".hypothesis", ".gradle", ".next", ".nuxt", ".svelte-kit",
        ".parcel-cache", ".turbo", ".dart_tool", ".terraform", ".hg", ".svn", ".jj",
    )
)  # fmt: skip
"""Folders of this name hold what a tool makes or fetches again, or another program's own data."""

BUILT_MARKERS = ("CACHEDIR.TAG", "pyvenv.cfg")
"""A new folder that holds one of these is a cache (https://bford.info/cachedir) or a virtual environment."""


GIT_IGNORE = ".gitignore"
GIT_EXCLUDE = (".git", "info", "exclude")

_LONGEST = 64 * 1024  # bytes of an ignore file that count
_IGNORES_CASE = sys.platform in ("win32", "darwin")
_HIGHEST = 40  # folders above a workspace that are looked at


class IgnoreLevel(NamedTuple):
    """The rules of one ignore file, and the path that it knows a path of the workspace by.

    That is `lead`, and the path without its first `start` characters.
    """

    stamp: bytes
    rules: IgnoreRules
    start: int = 0
    lead: str = ""


def load_above(root: str, before: tuple[IgnoreLevel, ...]) -> tuple[IgnoreLevel, ...]:
    """Return the rules of the folders above a workspace up to its checkout's, the nearest first.

    There are none if the workspace is a checkout itself, or in none. `before` are those of the last time.
    """
    loaded = {level.lead: level for level in before}
    levels: list[IgnoreLevel] = []
    folder = os.path.realpath(root)
    lead = ""
    for _ in range(_HIGHEST):
        if os.path.lexists(os.path.join(folder, ".git")):
            return tuple(levels)
        parent, name = os.path.split(folder)
        if parent == folder:
            break
        folder = parent
        lead = f"{name}/{lead}"
        last = loaded.get(lead, IgnoreLevel(b"", IgnoreRules("")))
        with suppress(OSError):
            with OpenFolders(folder) as folders:
                stamp, rules = load_rules((last.stamp, last.rules), folders.folder, GIT_IGNORE)
            if stamp:
                levels.append(IgnoreLevel(stamp, rules, lead=lead))
    return ()


def load_rules(before: tuple[bytes, IgnoreRules], folder: Handle, name: str) -> tuple[bytes, IgnoreRules]:
    """Return an ignore file's stamp and rules; without a file that can be read there are none."""
    try:
        file_stat = stat_in(folder, name)
        stamp = file_stamp(file_stat)
        if stamp == before[0]:
            return before
        if not stat.S_ISREG(file_stat.st_mode):
            return stamp, IgnoreRules("")
        with open_file(folder, name) as file:
            data = os.read(file, _LONGEST)
    except OSError:
        return b"", IgnoreRules("")
    lines = data if len(data) < _LONGEST else data[: data.rfind(b"\n") + 1]
    return stamp, IgnoreRules(lines.decode(errors="replace"), _IGNORES_CASE)


def load_rules_below(
    before: tuple[bytes, IgnoreRules], top: Handle, parts: tuple[str, ...]
) -> tuple[bytes, IgnoreRules]:
    """Return the rules of a file in folders that are no links. Raises OSError."""
    *folders, name = parts
    entered: list[Handle] = []
    try:
        for folder in folders:
            entered.append(enter(entered[-1] if entered else top, folder))
        return load_rules(before, entered[-1], name)
    finally:
        for handle in entered:
            leave(handle)


AGENT_IGNORE = ".agentignore"
STAGED_PREFIX = ".helix-revert-"
"""Names that begin so are of a revert under way: no part of the workspace."""

Reason = UncoveredReason | None


class FileCoverageRules:
    """The rules of one workspace; ignore files are read when a scan finds them.

    A folder is given with a `/` at its end, the workspace itself as the empty text.
    """

    def __init__(self, settings: FileCoverageSettings, own_data: Iterable[str] = ()) -> None:
        """`own_data` are paths of the app's own data in the workspace."""
        self.settings = settings
        self._own_data = frozenset(own_data)
        self._git: dict[str, tuple[bytes, IgnoreRules]] = {}
        self._agent: tuple[bytes, IgnoreRules] = (b"", IgnoreRules(""))
        self._exclude: tuple[bytes, IgnoreRules] = (b"", IgnoreRules(""))
        self._above: tuple[IgnoreLevel, ...] = ()
        self._chains: dict[str, tuple[IgnoreLevel, ...]] = {}
        self._included = frozenset(path.strip("/") for path in settings.included)

    def load(self, top: Handle, root: str) -> bool:
        """Read the ignore files of the workspace as a whole, and those above it in a checkout.

        Return True if they changed. Raises OSError.
        """
        agent = load_rules(self._agent, top, AGENT_IGNORE)
        exclude = self._exclude
        with suppress(OSError):
            exclude = load_rules_below(exclude, top, GIT_EXCLUDE)
        above = load_above(root, self._above)
        changed = agent[0] != self._agent[0] or exclude[0] != self._exclude[0] or above != self._above
        self._agent = agent
        self._exclude = exclude
        self._above = above
        if changed:
            self._chains.clear()
        return changed

    def load_folder(self, folder: Handle, prefix: str, has_file: bool, stamp: bytes = b"") -> bool:
        """Read the .gitignore of a folder, if another one is there now; return True then."""
        before = self._git.get(prefix)
        if not has_file:
            if before is None:
                return False
            del self._git[prefix]
        else:
            if before is not None and before[0] == stamp:
                return False
            self._git[prefix] = load_rules((b"", IgnoreRules("")), folder, GIT_IGNORE)
        self._chains.clear()
        return True

    def folder_reason(self, path: str) -> Reason:
        """Return why a folder is not entered; None: it is."""
        name = path.rpartition("/")[2]
        if name.lower() == ".git":
            return "git"
        if path in self._own_data:
            return "own_data"
        if self._is_included(path) or self._holds_included(path):
            return None
        if is_secret_folder(name):
            return "secret"
        return "ignored" if name in BUILT_FOLDERS or self._is_ignored(path, is_folder=True) else None

    def is_built(self, path: str, names: Iterable[str]) -> bool:
        """Return True if what is in a new folder shows that a tool made it.

        In a new one only: a command could else take a covered folder out of the history by such a file.
        """
        if not path or self._is_included(path) or self._holds_included(path):
            return False
        rules = self._git.get(path + "/")
        return not {*BUILT_MARKERS}.isdisjoint(names) or (rules is not None and rules[1].ignores_everything)

    def file_reason(self, path: str, size: int) -> Reason:
        """Return why the content of a file is not stored; None: it is."""
        if path in self._included:
            return None
        if is_secret_file(path.rpartition("/")[2]):
            return "secret"
        if size > self.settings.max_file:
            return "too_large"
        is_ignored = not self._is_included(path) and self._is_ignored(path, is_folder=False)
        return "ignored" if is_ignored else None

    def largest(self, path: str) -> int:
        return sys.maxsize if path in self._included else self.settings.max_file

    def _is_included(self, path: str) -> bool:
        if not self._included:
            return False
        while path:
            if path in self._included:
                return True
            path = path.rpartition("/")[0]
        return False

    def _holds_included(self, path: str) -> bool:
        return any(place.startswith(path + "/") for place in self._included)

    def _is_ignored(self, path: str, is_folder: bool) -> bool:
        """Return True if an ignore file lists a path; the deepest .gitignore that names it decides."""
        if self._agent[1].verdict(path, is_folder):
            return True
        prefix = path[: path.rfind("/") + 1]
        for level in self._chain(prefix):
            verdict = level.rules.verdict(level.lead + path[level.start :], is_folder)
            if verdict is not None:
                return verdict
        if self._included and prefix:  # a folder that is entered only for a place in it
            return self._is_ignored(prefix[:-1], is_folder=True)
        return False

    def _chain(self, prefix: str) -> tuple[IgnoreLevel, ...]:
        """Return the ignore rules that hold in a folder, the deepest first."""
        if prefix not in self._chains:
            own = self._git.get(prefix)
            if prefix:
                above = self._chain(prefix[: prefix.rfind("/", 0, -1) + 1])
            else:
                above = (*self._above, IgnoreLevel(*self._exclude))
            self._chains[prefix] = (IgnoreLevel(*own, start=len(prefix)), *above) if own else above
        return self._chains[prefix]


def included_place(path: str) -> str:
    """Return a path of the workspace as it is stored. Raises InvalidInput for what can be none."""
    parts = [part for part in path.strip().replace("\\", "/").split("/") if part not in ("", ".")]
    if not parts or path.strip().startswith("/") or ".." in parts or parts[0].endswith(":"):
        raise InvalidInput(
            text("The place must be a path in this workspace (got {path}).", path=path.strip() or '""'),
            fix=text("Enter a path such as build/output."),
        )
    if ".git" in (part.lower() for part in parts):
        raise InvalidInput(
            text("Git's own folder can't be included."), fix=text("Enter another path of the workspace.")
        )
    return "/".join(parts)
