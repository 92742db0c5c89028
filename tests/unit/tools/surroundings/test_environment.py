"""What the environment tells: of real checkouts and projects, in bounded time, whatever they do."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from helix_desktop.tools.files.jail_posix import PosixJail
from helix_desktop.tools.grants import ToolGrants
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider, no_sandbox_provider
from helix_desktop.tools.surroundings.environment import Surroundings, describe_environment
from helix_desktop.tools.surroundings.git_state import describe_status
from helix_desktop.tools.surroundings.project import test_commands as commands_of

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
posix = pytest.mark.skipif(os.name == "nt", reason="a program in a script")


def git(folder: Path, *args: str) -> None:
    """Run git as somebody."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, "-C", str(folder), *args], check=True, capture_output=True)


def surroundings(root: Path, path: str = "") -> Surroundings:
    """Return what the environment of a folder is found with."""
    environment = {**os.environ, "PATH": path or os.environ["PATH"]}
    return Surroundings(root, PosixJail(root), environment, no_sandbox_provider(), ToolGrants)


@posix
@needs_git
async def test_a_checkout_and_its_tests_are_described(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (tmp_path / "a.py").write_text("")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "one")
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").touch()
    (tmp_path / ".gitignore").write_text(".venv\n")
    text = await describe_environment(surroundings(tmp_path))
    assert "\ngit: branch main; 1 changed file, 1 untracked\n" in text
    assert "\nUsual test command: .venv/bin/python -m pytest" in text
    assert f"\nWorkspace folder: {tmp_path}\n" in text


@posix
@needs_git
async def test_looking_leaves_nothing_in_the_folder(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    there = replace(surroundings(tmp_path), sandboxes=SandboxProvider())
    assert "git: branch" in await describe_environment(there)
    assert os.listdir(tmp_path) == [".git"]


@posix
async def test_a_git_that_hangs_holds_nothing_up(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/fix/it\n")
    (tmp_path / "bin").mkdir()
    slow = tmp_path / "bin" / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    text = await describe_environment(surroundings(tmp_path, path), git_timeout_s=0.1)
    assert "\ngit: branch fix/it; its state is not known, git did not answer in 0.1 s\n" in text


@posix
@needs_git
async def test_a_checkout_cannot_have_something_run(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    trap.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(trap))
    assert "git: branch" in await describe_environment(surroundings(tmp_path))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        ({"package.json": '{"scripts": {"test": "vitest"}}', "pnpm-lock.yaml": ""}, ["pnpm test"]),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\""}}'}, []),
        ({"package.json": "[" * 100_000}, []),
        ({"Makefile": "all:\n\ntest: all\n\tpytest\n", "Cargo.toml": ""}, ["make test", "cargo test"]),
        ({"pyproject.toml": 'dev = ["pytest>=8"]\n', "uv.lock": ""}, ["uv run pytest"]),
        ({"pyproject.toml": 'name = "pytester"\n'}, []),
        ({"mvnw": "", "pom.xml": ""}, ["./mvnw test"]),
    ],
)
def test_the_usual_test_command(tmp_path: Path, files: dict[str, str], commands: list[str]) -> None:
    for name, words in files.items():
        (tmp_path / name).write_text(words)
    assert commands_of(PosixJail(tmp_path)) == commands


def test_states_of_a_checkout() -> None:
    assert describe_status(["# branch.oid (initial)", "# branch.head main"]) == (
        "branch main, without a commit; no changes"
    )
    lines = ["# branch.oid 1234567890abcdef", "# branch.head (detached)", "u UU a.py", "? b.py"]
    state = "detached at 12345678; 1 changed file, 1 of them in conflict, 1 untracked"
    assert describe_status(lines) == state
