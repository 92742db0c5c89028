"""Real checkouts for tests, made by the git program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from helix_desktop.tools.git import GitProgram
from helix_desktop.tools.shell.sandbox_detect import no_sandbox_provider
from helix_desktop.tools.tool import ToolGrants

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")


def git(folder: Path, *args: str, check: bool = True) -> str:
    """Run git as somebody; return what it wrote."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    result = subprocess.run(["git", *who, "-C", str(folder), *args], check=check, capture_output=True)
    return result.stdout.decode().strip()


def make_checkout(folder: Path, files: Mapping[str, str | bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")


def git_program(root: Path, environment: Mapping[str, str] | None = None) -> GitProgram:
    return GitProgram(root, environment or os.environ, no_sandbox_provider(), ToolGrants)
