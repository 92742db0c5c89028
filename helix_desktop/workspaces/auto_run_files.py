"""Files in a folder that other programs run or obey automatically: found by name, never opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from helix_desktop.domain.skills import WORKSPACE_FOLDERS
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.permissions.files_run_by_programs import AUTO_RUN_KINDS

text = TextContext("Workspaces")

_INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")
_MAX_NAMES = 40  # of skills, and of files that one pattern stands for


class AutoRunFile(msgspec.Struct, frozen=True):
    """A file or folder, by its path in the workspace, and what it does.

    `is_followed`: the agent is told what stands in it, with the first message.
    """

    path: str
    effect: str
    is_followed: bool = False


def find_auto_run_files(folder: Path) -> tuple[AutoRunFile, ...]:
    """Return the known auto-run files of a folder: instructions and skills of the agent, git hooks, others.

    Blocks; links are not followed, but for those to a folder of skills inside.
    """
    instructions = tuple(
        AutoRunFile(name, text("instructions that go to your model with every request"), is_followed=True)
        for name in _INSTRUCTION_FILES
        if os.path.lexists(folder / name)
    )
    kinds = (kind for kind in AUTO_RUN_KINDS if kind.in_trust)
    effects = {
        path: kind.effect for kind in kinds for name in kind.names.split() for path in _paths(folder, name)
    }
    files = [AutoRunFile(path, effect) for path, effect in effects.items()]
    hooks = _active_hooks(folder / ".git" / "hooks")
    if hooks:
        files.insert(0, AutoRunFile(".git/hooks", text("programs that git runs: {names}", names=hooks)))
    skills = (_skills(folder, place) for place in WORKSPACE_FOLDERS)
    return (*instructions, *filter(None, skills), *files)


def _paths(folder: Path, name: str) -> Iterator[str]:
    """Yield the paths in a folder that a name of `AutoRunKind.names` stands for, at most 40."""
    parent, slash, last = name.rstrip("/").rpartition("/")
    names = [last]
    if "*" in last:
        with suppress(OSError):
            names = sorted(entry for entry in os.listdir(folder / parent) if fnmatchcase(entry, last))
    yield from (
        f"{parent}{slash}{entry}" for entry in names[:_MAX_NAMES] if os.path.lexists(folder / parent / entry)
    )


def _skills(folder: Path, place: str) -> AutoRunFile | None:
    """Return a folder of skills, with their names; None without any, and for one outside of the workspace."""
    real = Path(os.path.realpath(folder / place))
    if not real.is_relative_to(os.path.realpath(folder)):
        return None
    try:
        names = sorted(entry.name for entry in os.scandir(real) if not entry.is_file())
    except OSError:
        return None
    shown = tuple(map(escape_hidden_name, names[:_MAX_NAMES]))
    effect = text("skills that your model may follow: {names}", names=shown)
    if more := names[_MAX_NAMES:]:
        effect = text.plural(
            len(more),
            "skills that your model may follow: {names} and %n more",
            "skills that your model may follow: {names} and %n more",
            names=shown,
        )
    return AutoRunFile(place, effect, is_followed=True) if names else None


def _active_hooks(folder: Path) -> str:
    """Return the names of the active hooks, without git's samples."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ""
    return ", ".join(name for name in names if not name.endswith(".sample"))[:80]
