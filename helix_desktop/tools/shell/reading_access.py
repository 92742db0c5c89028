"""What a command that only reads may see of a workspace when nobody is asked, and its environment."""

from __future__ import annotations

import asyncio
import glob
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.names import SECRET_GLOBS, holds_secrets, is_secret_path
from helix_desktop.domain.tools import PathProtection, ProtectedPath
from helix_desktop.permissions.named_paths import NamedPaths, find_named_paths
from helix_desktop.permissions.reading_commands import ReadingUse, ReadPath, reading_use
from helix_desktop.permissions.reading_programs import DEFAULT_LINES, find_programs
from helix_desktop.tools.files.jail import Jail
from helix_desktop.tools.process import Ripgrep, normalize_path
from helix_desktop.tools.shell.file_lookups import read_text
from helix_desktop.tools.shell.git_config import PROGRAMS_OFF, USERS_CONFIG_VARIABLES

_MAX_HIDDEN = 200  # files with keys: each is a mount
_MAX_EXPANDED = 2_000  # paths that the wildcards of one word stand for
_INDEX_CAP = 64 * 1024 * 1024  # bytes
_SETTING_PROGRAMS = frozenset({
    "BASH_ENV", "CDPATH", "ENV", "GREP_OPTIONS", "LESSCLOSE", "LESSOPEN", "NODE_OPTIONS",
    "RIPGREP_CONFIG_PATH",
})  # fmt: skip
"""Variables by which a program on the list would run another one, or go elsewhere."""
_GIT_VARIABLES = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}


class ReadingAccess:
    """Checks reading commands of the workspace at `root`, links resolved."""

    def __init__(self, root: Path, jail: Jail, environment: Mapping[str, str], ripgrep: Ripgrep) -> None:
        self._root = str(root)
        self._jail = jail
        self._ripgrep = ripgrep
        self._search_path = environment.get("PATH", os.defpath)
        self.environment = _reading_environment(environment, self._root)

    async def hidden_paths(self, command: str, folder: str, lines: Sequence[str]) -> tuple[Path, ...] | None:
        """Return what a command must not see where it may run without asking; None: it may not.

        `lines` are the list of reading programs. Nothing that it needs may be outside the workspace, hold
        keys, or be excluded from all tools.
        """
        use = reading_use(command, folder, self._root, find_programs(tuple(lines))) if lines else None
        if use is None or not await asyncio.to_thread(self._is_allowed, use, folder):
            return None
        try:
            return await self._files_with_keys(use.searched)
        except ToolError:  # they can't be listed
            return None

    async def protected_paths(
        self, command: str, folder: str, lines: Sequence[str]
    ) -> tuple[ProtectedPath, ...]:
        """Return what a command may use that no rule for its first words covers."""
        programs = find_programs((*DEFAULT_LINES, *lines))
        named = find_named_paths(command, folder, self._root, programs)
        found, searched = await asyncio.to_thread(self._protected, named, folder)
        try:
            keys = await self._files_with_keys(searched)
        except ToolError:
            keys = None
        paths = ["."] if keys is None else [str(path.relative_to(self._root)) for path in keys]
        return tuple(dict.fromkeys((*found, *(ProtectedPath(path, "secret") for path in paths))))

    def _protected(self, named: NamedPaths, folder: str) -> tuple[list[ProtectedPath], list[str]]:
        """Return what of all that is named, or stored by git, is protected, and what is left to search."""
        found = [ProtectedPath(path, "outside") for path in named.folders if not self._is_own_folder(path)]
        for pieces in named.paths:
            protections = ((path, self._protection(path)) for path in pieces)
            first = next(((path, why) for path, why in protections if why), None)
            if first is not None:
                found.append(ProtectedPath(self._shown(*first), first[1]))
        if (named.searched or named.shows_tracked) and self._jail.limits.ignore_file.exists:
            found.append(ProtectedPath(".", "ignored"))
        if named.shows_tracked:
            keys = (path for place in (folder, *named.folders) for path in self._tracked_keys(place))
            found += [ProtectedPath(path, "secret") for path in keys]
        return found, [path for path in named.searched if self._protection(path) != "outside"]

    def _shown(self, path: str, why: PathProtection) -> str:
        """Return a path from the workspace; one outside as it was named."""
        return path if why == "outside" else os.path.relpath(os.path.join(self._root, path), self._root)

    def _is_allowed(self, use: ReadingUse, folder: str) -> bool:
        if not self._is_own_folder(folder) or not all(map(self._is_outside_program, use.programs)):
            return False
        if not all(map(self._may_read, use.paths)):
            return False
        if (use.searched or use.shows_tracked) and self._jail.limits.ignore_file.exists:
            return False
        folders = (folder, *(place.path for place in use.paths if place.is_folder))
        return not use.shows_tracked or not any(map(self._tracked_keys, folders))

    def _is_own_folder(self, folder: str) -> bool:
        """Return True for a folder of the workspace that no link leads to: `..` leaves it as it seems to."""
        path = os.path.normpath(os.path.join(self._root, folder))
        return os.path.isdir(path) and os.path.realpath(path) == path

    def _is_outside_program(self, name: str) -> bool:
        """Return True if the program that the shell would find is no file of the workspace."""
        for place in self._search_path.split(os.pathsep):
            path = os.path.join(self._root, place, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                places = (path, os.path.realpath(path), os.path.realpath(os.path.dirname(path)))
                return not any(_is_inside(f"{each}/", self._root) for each in places)
        return False

    def _may_read(self, place: ReadPath) -> bool:
        if place.is_folder:
            return self._is_own_folder(place.path) and self._is_readable(place.path)
        if not place.has_wildcards:
            return self._is_readable(place.path)
        found = glob.glob(place.path, root_dir=self._root)
        return len(found) <= _MAX_EXPANDED and all(map(self._is_readable, found or [place.path]))

    def _is_readable(self, path: str) -> bool:
        """Return True for a path that tools may read without asking, and for one where nothing is."""
        return not self._protection(path)

    def _protection(self, path: str) -> PathProtection | Literal[""]:
        real = os.path.realpath(os.path.join(self._root, path))
        if path.startswith("~") or (real != self._root and not _is_inside(real, self._root)):
            return "outside"
        seeming = os.path.relpath(os.path.join(self._root, path), self._root)
        inside = os.path.relpath(real, self._root)
        if holds_secrets(seeming) or holds_secrets(inside):
            return "secret"
        try:
            for each in {seeming, inside} - {"."}:
                self._jail.limits.check_read(each, tuple(each.split("/")), os.path.isdir(real))
        except ToolError:
            return "ignored"
        return ""

    async def _files_with_keys(self, searched: Sequence[str]) -> tuple[Path, ...] | None:
        """Return the files with keys or passwords below folders; None if there are too many to be hidden."""
        options = ["--files", "--null", "--hidden", "--no-ignore"]
        options += [*(f"--iglob={pattern}" for pattern in SECRET_GLOBS), "--glob=!.git"]
        found: dict[Path, None] = {}
        for folder in await asyncio.to_thread(self._folders, searched):
            result = await self._ripgrep.run(options, folder)
            names = result.output.decode(errors="surrogateescape").split("\0")
            paths = (Path(folder, normalize_path(name)) for name in names if name)
            found |= {path: None for path in paths if is_secret_path(str(path.relative_to(self._root)))}
            if result.dropped_bytes or len(found) > _MAX_HIDDEN:
                return None
        return tuple(found)

    def _folders(self, paths: Sequence[str]) -> list[str]:
        folders = (os.path.realpath(os.path.join(self._root, path)) for path in paths)
        return [folder for folder in folders if os.path.isdir(folder)]

    def _tracked_keys(self, folder: str) -> list[str]:
        """Return the files with keys or passwords that git tracks there; its own list if it can't be read."""
        index = _find_index(os.path.normpath(os.path.join(self._root, folder)))
        if index is None:
            return []
        try:
            return list(filter(is_secret_path, _tracked_paths(index)))
        except (OSError, ValueError, struct.error):
            return [".git/index"]


def _is_inside(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")


def _reading_environment(environment: Mapping[str, str], root: str) -> dict[str, str]:
    """Return an environment in which no program of the workspace is found, or is run by another one."""
    cleaned = {
        name: value
        for name, value in environment.items()
        if name not in _SETTING_PROGRAMS
        and not name.startswith("BASH_FUNC_")
        and (not name.startswith("GIT_") or name in USERS_CONFIG_VARIABLES)
    }
    places = environment.get("PATH", os.defpath).split(os.pathsep)
    outside = [
        place
        for place in places
        if os.path.isabs(place) and not _is_inside(f"{os.path.realpath(place)}/", root)
    ]
    cleaned["PATH"] = os.pathsep.join(place for place in outside if not _is_inside(f"{place}/", root))
    settings = [*PROGRAMS_OFF, "log.showSignature=false", "gpg.program=false"]
    for number, (name, _, value) in enumerate(setting.partition("=") for setting in settings):
        cleaned |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return cleaned | _GIT_VARIABLES | {"GIT_CONFIG_COUNT": str(len(settings)), "GIT_PAGER": "cat"}


def _find_index(folder: str) -> Path | None:
    """Return git's list of tracked files for a folder; None if that is in no repository."""
    for parent in (Path(folder), *Path(folder).parents):
        git = parent / ".git"
        if git.is_dir():
            return git / "index"
        if git.is_file():
            return Path(parent, read_text(str(git)).removeprefix("gitdir: ").strip(), "index")
    return None


_HEADER = 12
_NAMES_AT = 62
_PADDING = 8
_CHECKSUM = 20
_EXTENDED = 3
_HAS_MORE_FLAGS = 0x4000


def _tracked_paths(index: Path) -> Iterator[str]:
    """Yield the paths in an index of git. Raises ValueError for a form that stores them otherwise."""
    if not index.exists():
        return
    if any(index.parent.glob("sharedindex.*")):
        raise ValueError("a split index")
    with open(index, "rb") as file:
        data = file.read(_INDEX_CAP + 1)
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version > _EXTENDED or len(data) > _INDEX_CAP:
        raise ValueError("another version of the index")
    at = _HEADER
    for _ in range(count):
        (flags,) = struct.unpack_from(">H", data, at + _NAMES_AT - 2)
        start = at + _NAMES_AT + (2 if flags & _HAS_MORE_FLAGS else 0)
        end = data.index(b"\0", start)
        yield os.fsdecode(data[start:end])
        at += (end - at + _PADDING) // _PADDING * _PADDING
    if len(data) - at != _CHECKSUM and not data[at : at + 4].isalpha():
        raise ValueError("entries of another size")
