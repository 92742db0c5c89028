"""The environment as an agent is told of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from helix_desktop.domain.git import GitStatus
from helix_desktop.tools.environment import WorkspaceEnvironment, describe_environment, describe_git
from helix_desktop.tools.environment import test_commands as commands_of
from helix_desktop.tools.files.jail_posix import PosixJail
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider, no_sandbox_provider
from helix_desktop.tools.tool import ToolGrants
from tests.support.git_checkouts import git, needs_git
from tests.support.sandbox_rig import write_file

posix = pytest.mark.skipif(os.name == "nt", reason="a program in a script")


def workspace_environment(root: Path, path: str = "") -> WorkspaceEnvironment:
    variables = {**os.environ, "PATH": path or os.environ["PATH"]}
    return WorkspaceEnvironment(root, PosixJail(root), variables, no_sandbox_provider(), ToolGrants)


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
    text = await describe_environment(workspace_environment(tmp_path))
    assert "\ngit: branch main; 1 changed file, 1 untracked\n" in text
    assert "\nUsual test command: .venv/bin/python -m pytest" in text
    assert f"\nWorkspace folder: {tmp_path}\n" in text


@posix
@needs_git
async def test_looking_leaves_nothing_in_the_folder(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    there = replace(workspace_environment(tmp_path), sandboxes=SandboxProvider())
    assert "git: branch" in await describe_environment(there)
    assert os.listdir(tmp_path) == [".git"]


@posix
async def test_a_git_that_hangs_holds_nothing_up(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/fix/it\n")
    (tmp_path / "bin").mkdir()
    slow = tmp_path / "bin" / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    text = await describe_environment(workspace_environment(root, path), git_timeout_s=0.1)
    assert "\ngit: branch fix/it; its state is not known, git did not answer in 0.1 s\n" in text


IN_SRC = {"pyproject.toml": "[tool.pytest.ini_options]\n", "src/pack/__init__.py": ""}
"""Without an install `python3 -m pytest` finds none of it: a command that fails is worse than none."""


@posix
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
        (IN_SRC, []),
        (
            {**IN_SRC, "README.md": "Run `PYTHONPATH=src python -m pytest -q`.\n"},
            ["PYTHONPATH=src python3 -m pytest"],
        ),
        ({**IN_SRC, "README.md": "Set PYTHONPATH=src first.\nThen run pytest.\n"}, []),
        ({**IN_SRC, "pytest.ini": "[pytest]\npythonpath = src\n"}, ["python3 -m pytest"]),
        (
            {**IN_SRC, "tests/conftest.py": "import sys\nsys.path.insert(0, 'src')\n"},
            ["python3 -m pytest"],
        ),
        ({**IN_SRC, "uv.lock": ""}, ["uv run pytest"]),
        ({**IN_SRC, ".venv/bin/python": ""}, [".venv/bin/python -m pytest"]),
        ({**IN_SRC, "Makefile": "test:\n\tpytest\n"}, ["make test"]),
    ],
)
def test_the_usual_test_command(tmp_path: Path, files: dict[str, str], commands: list[str]) -> None:
    for name, words in files.items():
        write_file(tmp_path, name, words)
    assert commands_of(PosixJail(tmp_path)) == commands


def test_states_of_a_checkout() -> None:
    assert describe_git(GitStatus("main", has_commit=False)) == "branch main, without a commit; no changes"
    status = GitStatus(detached_at="1234567890abcdef", changed=1, conflicts=1, untracked=1)
    state = "detached at 12345678; 1 changed file, 1 of them in conflict, 1 untracked"
    assert describe_git(status) == state
    failed = GitStatus(is_known=False, problem="owner")
    assert describe_git(failed) == "a checkout; its state is not known, git failed"
