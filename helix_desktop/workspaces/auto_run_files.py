"""Files in a folder that other programs run or obey automatically: found by name, never opened."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from helix_desktop.domain.translatable_text import TextContext, TranslatableText

text = TextContext("Workspaces")

_INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")
_KNOWN_FILES: tuple[tuple[str, TranslatableText], ...] = (
    (".envrc", text("sets the environment of every shell in the folder")),
    (".githooks", text("programs that git runs if configured")),
    (".husky", text("programs that git runs on commits")),
    (".pre-commit-config.yaml", text("programs that git runs on commits")),
    (".vscode/tasks.json", text("tasks that an editor runs")),
    (".vscode/settings.json", text("settings that an editor applies")),
    (".idea", text("settings that an editor applies")),
    (".devcontainer", text("containers that an editor builds")),
    (".github/workflows", text("jobs that run where the project is pushed")),
    (".gitlab-ci.yml", text("jobs that run where the project is pushed")),
    (".mcp.json", text("servers that other agents start; not used by Helix")),
    (".cursor/mcp.json", text("servers that other agents start; not used by Helix")),
    (".claude", text("hooks and servers of another agent; not used by Helix")),
    ("Makefile", text("commands that make runs")),
    ("justfile", text("commands that just runs")),
    ("Taskfile.yml", text("commands that task runs")),
    ("package.json", text("scripts that npm runs, also on install")),
    ("setup.py", text("a program that pip install runs")),
    ("build.rs", text("a program that cargo build runs")),
    ("CMakeLists.txt", text("commands that cmake runs")),
    ("Dockerfile", text("commands that docker build runs")),
)


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
    files = [AutoRunFile(path, effect) for path, effect in _KNOWN_FILES if os.path.lexists(folder / path)]
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
