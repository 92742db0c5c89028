"""Files in a folder that other programs run or obey automatically: found by name, never opened."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

_KNOWN_FILES: tuple[tuple[str, str], ...] = (
    (".envrc", "sets the environment of every shell that enters the folder"),
    (".githooks", "programs that git runs when it is told to look there"),
    (".husky", "programs that git runs on commits"),
    (".pre-commit-config.yaml", "programs that git runs on commits"),
    (".vscode/tasks.json", "tasks that an editor runs"),
    (".vscode/settings.json", "settings that an editor obeys"),
    (".idea", "settings that an editor obeys"),
    (".devcontainer", "containers that an editor builds"),
    (".github/workflows", "jobs that run where the project is pushed to"),
    (".gitlab-ci.yml", "jobs that run where the project is pushed to"),
    (".mcp.json", "servers that other agents start; never read here"),
    (".cursor/mcp.json", "servers that other agents start; never read here"),
    (".claude", "hooks and servers of another agent; never read here"),
    ("Makefile", "commands that `make` runs"),
    ("justfile", "commands that `just` runs"),
    ("Taskfile.yml", "commands that `task` runs"),
    ("package.json", "scripts that `npm` runs, also when it installs"),
    ("setup.py", "a program that `pip install` runs"),
    ("build.rs", "a program that `cargo build` runs"),
    ("CMakeLists.txt", "commands that `cmake` runs"),
    ("Dockerfile", "commands that `docker build` runs"),
)


class AutoRunFile(msgspec.Struct, frozen=True):
    """A file or folder, by its path in the workspace, and what it does."""

    path: str
    effect: str


def find_auto_run_files(folder: Path) -> tuple[AutoRunFile, ...]:
    """Return the known auto-run files of a folder, git hooks first. Blocks; links are not followed."""
    files = [AutoRunFile(path, effect) for path, effect in _KNOWN_FILES if os.path.lexists(folder / path)]
    hooks = _active_hooks(folder / ".git" / "hooks")
    return ((AutoRunFile(".git/hooks", f"programs that git runs: {hooks}"),) if hooks else ()) + tuple(files)


def _active_hooks(folder: Path) -> str:
    """Return the names of the active hooks, without git's samples."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ""
    return ", ".join(name for name in names if not name.endswith(".sample"))[:80]
