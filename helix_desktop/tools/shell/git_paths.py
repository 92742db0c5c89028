"""Where git finds programs to run and settings to follow: commands can't change it, and an edit of it asks.

Read from files alone; nothing of git runs. Too much is found rather than too little: it is made read-only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from helix_desktop.system.files import read_start
from helix_desktop.tools.shell.git_config import InvalidConfig, files_in_value, parse_git_config

_MAX_FOLDERS = 20_000
# What stands there is made and removed as a whole: a mount in it would stop `rm -rf build`.
_SKIPPED = frozenset({"node_modules", "__pycache__", ".venv", "venv", "target", "build", "dist", ".tox"})
_FILE_CAP = 1024 * 1024  # bytes of a configuration
_GITDIR = "gitdir:"
_SETTINGS = ("hooks", "config", "config.worktree", "commondir", "info/attributes")
_HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-merge", "post-rewrite", "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit",
    "pre-push", "pre-rebase", "prepare-commit-msg", "reference-transaction", "sendemail-validate",
)  # fmt: skip
_FOLLOWED_SECTIONS = ("include", "includeif")
_USER_CONFIGS = (".gitconfig", ".config/git/config")

_CONTINUED = re.compile(r"\\\r?\n")
_FOLLOWED = re.compile(r"(?im)(?:^|\])[ \t\r]*(path|hookspath)[ \t]*=[ \t]*(.*?)\s*$")
_VALUE = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|\\.|[^"\\#;])*""")  # up to a comment
_QUOTE_OR_ESCAPE = re.compile(r'"|\\(.)')


class GitPaths(msgspec.Struct, frozen=True):
    """The git folders of a workspace, and what git follows beside them or in them; every path exists."""

    folders: tuple[Path, ...]
    read_only: tuple[Path, ...]


def find_git_paths(root: Path, home: Path) -> GitPaths:
    """Find what git follows in a workspace, at any depth; `home` has the user's own configuration. Blocks.

    A checkout around the workspace counts too, and git folders outside: their configuration may lead here.
    """
    read_only: dict[Path, None] = {}
    around = (parent for parent in root.parents if os.path.lexists(parent / ".git"))
    followed = _follow((*_tops(root), *around), home, read_only)
    folders = tuple(dict.fromkeys(folder for folder in followed if folder.is_relative_to(root)))
    settings = (folder / name for folder in folders for name in _SETTINGS)
    found = (path for path in (*settings, *read_only) if root in path.parents and path.exists())
    return GitPaths(folders, tuple(dict.fromkeys(found)))


def is_run_by_git(path: Path, home: Path) -> bool:
    """Return True if settings of git around a file, or the user's, name it; it need not be there yet.

    Blocks.
    """
    path = Path(os.path.realpath(path))
    read_only: dict[Path, None] = {}
    tops = [top for top in path.parents if os.path.lexists(top / ".git")]
    _follow(tops, home, read_only, str(path))
    return not read_only.keys().isdisjoint((path, *path.parents))


def _tops(root: Path) -> Iterator[Path]:
    """Yield the folders with a `.git`, topmost first."""
    pending, visited = [str(root)], 0
    while pending and visited < _MAX_FOLDERS:
        folders, pending = pending, []
        for folder in folders:
            visited += 1
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.name == ".git":
                            yield Path(folder)
                        elif entry.name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
            except OSError:
                continue


def _git_folders(top: Path, read_only: dict[Path, None]) -> Iterator[Path]:
    """Yield the folders of git that a `.git` is or names, with those of submodules and work trees in it."""
    pending, seen = [_real(top, ".git")], set[Path]()
    while pending:
        path = pending.pop(0)
        if path in seen:
            continue
        seen.add(path)
        if path.is_file():
            read_only[path] = None
            target = _read(path)
            if target.startswith(_GITDIR):
                pending.append(_real(path.parent, target.removeprefix(_GITDIR).strip()))
        elif path.is_dir():
            yield path
            if common := _read(path / "commondir").strip():
                pending.append(_real(path, common))
            pending += [config.parent for config in (path / "modules").glob("**/config*")]
            pending += (path / "worktrees").glob("*/")


def _follow(tops: Sequence[Path], home: Path, read_only: dict[Path, None], planned: str = "") -> list[Path]:
    """Return the folders of git; add what their configurations include and run, and where they have hooks."""
    places = [(folder, top) for top in tops for folder in _git_folders(top, read_only)]
    configs = [(folder / name, top) for folder, top in places for name in ("config", "config.worktree")]
    configs += [(home / name, top) for name in _USER_CONFIGS for top in tops]
    seen = set[tuple[Path, Path]]()
    while configs:
        config, top = configs.pop()
        if (config, top) in seen:
            continue
        seen.add((config, top))
        with suppress(InvalidConfig):
            for setting in parse_git_config(_read(config).encode(errors="surrogateescape")):
                if setting.names_program and setting.value and setting.section not in _FOLLOWED_SECTIONS:
                    found = files_in_value(setting.value, str(top), os.path.expanduser("~"), planned)
                    read_only.update(dict.fromkeys(map(Path, found)))
        for key, value in _FOLLOWED.findall(_CONTINUED.sub("", _read(config))):
            written = _VALUE.match(value)
            assert written is not None  # it may be empty
            name = os.path.expanduser(_QUOTE_OR_ESCAPE.sub(lambda quote: quote[1] or "", written[0]).strip())
            if not name or "\0" in name:
                continue
            path = _real(config.parent if key.lower() == "path" else top, name)
            if path.is_file():
                read_only[path] = None
                configs.append((path, top))
            elif path in top.parents or path == top:  # the whole workspace can't be made read-only
                read_only.update(dict.fromkeys(path / hook for hook in _HOOKS))
            else:
                read_only[path] = None
    return [folder for folder, _ in places]


def _real(folder: Path, name: str) -> Path:
    return Path(os.path.realpath(folder / name))


def _read(path: Path) -> str:
    return read_start(path, _FILE_CAP).decode(errors="surrogateescape")
