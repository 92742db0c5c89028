"""Files in a folder that other programs run or obey automatically: found by name, never opened."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from helix_desktop.domain.permissions.auto_run import AUTO_RUN_KINDS
from helix_desktop.domain.translatable_text import TextContext

text = TextContext("Workspaces")

_INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")


class AutoRunFile(msgspec.Struct, frozen=True):
    """A file or folder, by its path in the workspace, and what it does.

    `is_followed`: the agent is told what stands in it, with the first message.
    """

    path: str
    effect: str
    is_followed: bool = False


def find_auto_run_files(folder: Path) -> tuple[AutoRunFile, ...]:
    """Return the known auto-run files of a folder: instructions of the agent, git hooks, others.

    Blocks; links are not followed.
    """
    instructions = tuple(
        AutoRunFile(name, text("instructions that go to your model with every request"), is_followed=True)
        for name in _INSTRUCTION_FILES
        if os.path.lexists(folder / name)
    )
    kinds = (kind for kind in AUTO_RUN_KINDS if kind.in_trust and os.path.lexists(folder / kind.name))
    files = [AutoRunFile(kind.name, kind.effect) for kind in kinds]
    hooks = _active_hooks(folder / ".git" / "hooks")
    if hooks:
        files.insert(0, AutoRunFile(".git/hooks", text("programs that git runs: {names}", names=hooks)))
    return (*instructions, *files)


def _active_hooks(folder: Path) -> str:
    """Return the names of the active hooks, without git's samples."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ""
    return ", ".join(name for name in names if not name.endswith(".sample"))[:80]
