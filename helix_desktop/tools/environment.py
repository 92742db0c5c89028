"""What an agent is told of its environment before it begins: date, system, shell, git, programs, tests."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import re
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.git import GitStatus
from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.files.jail import Jail
from helix_desktop.tools.git import GitProgram, read_status
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.tools.shell.run_command import shell_path
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from helix_desktop.tools.tool import CurrentGrants

_Found = TypeVar("_Found")
GIT_TIMEOUT_S = 1.0  # a first message waits no longer for git
_DEADLINE_S = 2.0  # a disk that does not answer holds up no message
_HEADING = "[Environment, as it was when this session began]"
_INTERPRETERS = ("python3", "node", "deno", "bun", "ruby", "php", "perl", "java", "go", "rustc", "dotnet")
_MANAGERS = (
    *("pip", "uv", "poetry", "conda", "npm", "pnpm", "yarn", "cargo", "bundle", "composer", "mvn", "gradle"),
    *("make", "cmake", "git", "docker"),
)


class WorkspaceEnvironment(msgspec.Struct, frozen=True):
    """What the commands of a workspace run with; `variables` are those of its processes."""

    root: Path
    jail: Jail
    variables: Mapping[str, str]
    sandboxes: SandboxProvider
    current_grants: CurrentGrants
    guard: AutoRunGuard | None = None

    @property
    def git(self) -> GitProgram:
        return GitProgram(self.root, self.variables, self.sandboxes, self.current_grants, self.guard)


async def describe_environment(
    environment: WorkspaceEnvironment, git_timeout_s: float = GIT_TIMEOUT_S
) -> str:
    """Return the text on the environment; what is not found in time is left out."""
    git, project = await asyncio.gather(
        _bounded(partial(read_status, environment.git, git_timeout_s)),
        _bounded(partial(asyncio.to_thread, _project_lines, environment)),
    )
    moment = datetime.now().astimezone()
    lines = [
        _HEADING,
        f"Date: {moment:%Y-%m-%d (%A)}, time zone {moment:%z}",
        f"Platform: {_platform()}",
        f"Shell of run_command: {shell_path()}",
        f"Workspace folder: {escape_hidden_name(str(environment.root))}",
        *([f"git: {describe_git(git, git_timeout_s)}"] if git else []),
        *(project or ()),
    ]
    return "\n".join(lines)


def describe_git(status: GitStatus, timeout_s: float = GIT_TIMEOUT_S) -> str:
    where = f"branch {status.branch}" if status.branch else "a checkout"
    if not status.is_known:
        why = f"git did not answer in {timeout_s:g} s" if status.problem == "slow" else "git failed"
        return f"{where}; its state is not known, {why}"
    if status.detached_at:
        where = f"detached at {status.short_commit}"
    elif not status.has_commit:
        where += ", without a commit"
    parts = [
        *([pluralize(status.changed, "changed file")] if status.changed else []),
        *([f"{status.conflicts} of them in conflict"] if status.conflicts else []),
        *([f"{status.untracked} untracked"] if status.untracked else []),
    ]
    return f"{where}; {', '.join(parts) or 'no changes'}"


async def _bounded(find: Callable[[], Awaitable[_Found]]) -> _Found | None:
    """Return what is found in time; a call, since a coroutine is never awaited if this is canceled first."""
    try:
        async with asyncio.timeout(_DEADLINE_S):
            return await find()
    except OSError:  # TimeoutError is one
        return None


def _project_lines(environment: WorkspaceEnvironment) -> list[str]:
    python = python_environment(environment.jail)
    tests = test_commands(environment.jail)
    path = environment.variables.get("PATH")
    return [
        f"Interpreters: {_found(_INTERPRETERS, path)}",
        f"Package managers and tools: {_found(_MANAGERS, path)}",
        *([f"Python of this project: {python}"] if python else []),
        *([f"Usual test command: {', or '.join(tests)}"] if tests else []),
    ]


def _found(names: Sequence[str], path: str | None) -> str:
    return ", ".join(name for name in names if shutil.which(name, path=path)) or "none found"


def _platform() -> str:
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "") if os.name == "posix" else ""
    except OSError:
        name = ""
    return f"{system} ({name})" if name else system


_CAP = 256 * 1024  # bytes of a manifest
_PYTHON_FOLDERS = (".venv", "venv", "env")
_NODE_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
_BY_MANIFEST = {
    "Cargo.toml": "cargo test",
    "go.mod": "go test ./...",
    "mvnw": "./mvnw test",
    "pom.xml": "mvn test",
    "gradlew": "./gradlew test",
    "mix.exs": "mix test",
}
_MAKE_TEST = re.compile(r"^test\s*:", re.MULTILINE)
_PYTEST = re.compile(r"\[tool\.pytest|\[pytest\]|\[tool:pytest\]|[\"' ]pytest\b")
_FINDS_MODULES = re.compile(r"^\s*pythonpath\s*=|sys\.path", re.MULTILINE)  # options of pytest, conftest.py
_SRC = r"""PYTHONPATH=["']?(?:\./|\$PWD/|\$\(pwd\)/)?src/?(?![\w:/.-])"""
_WITH_SOURCES = re.compile(rf"{_SRC}[^\n]*\b(?:pytest|unittest)\b")
_DOCUMENTS = ("README.md", "README.rst", "README", "CONTRIBUTING.md", "AGENTS.md", "CLAUDE.md", "Makefile")
_MAX_COMMANDS = 3
_MAX_PACKAGES = 20  # folders of src/ that are looked into


def python_environment(jail: Jail) -> str:
    """Return the path of the project's own Python, as a command is given it; empty without one; blocks."""
    for folder in _PYTHON_FOLDERS:
        path = f"{folder}/Scripts/python.exe" if os.name == "nt" else f"{folder}/bin/python"
        if _names(jail, path.rpartition("/")[0]) & {"python", "python3", "python.exe"}:
            return path
    return ""


def test_commands(jail: Jail) -> list[str]:
    """Return the usual commands of the project's tests, as far as its files plainly say them; blocks."""
    names = _names(jail, "")
    commands = []
    if any(_MAKE_TEST.search(_read_text(jail, name)) for name in ("Makefile", "makefile") if name in names):
        commands.append("make test")
    commands += [*_pytest(jail, names), *_node(jail, names)]
    found = {name: command for name, command in _BY_MANIFEST.items() if name in names}
    if "mvnw" in found:
        found.pop("pom.xml", None)
    return [*commands, *found.values()][:_MAX_COMMANDS]


def _pytest(jail: Jail, names: set[str]) -> list[str]:
    manifests = ("pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt")
    if "pytest.ini" not in names and not any(
        _PYTEST.search("\n" + _read_text(jail, name)) for name in manifests if name in names
    ):
        return []
    if "uv.lock" in names:
        return ["uv run pytest"]
    if "poetry.lock" in names:
        return ["poetry run pytest"]
    if python := python_environment(jail):
        return [f"{python} -m pytest"]
    if not _has_packages_in_src(jail, names):
        return ["python3 -m pytest"]
    settings = (*manifests[:4], "conftest.py", "tests/conftest.py")
    if any(_FINDS_MODULES.search(_read_text(jail, name)) for name in settings):
        return ["python3 -m pytest"]
    is_path_set = any(_WITH_SOURCES.search(_read_text(jail, name)) for name in _DOCUMENTS if name in names)
    return ["PYTHONPATH=src python3 -m pytest"] if is_path_set else []


def _has_packages_in_src(jail: Jail, names: set[str]) -> bool:
    """Return True if Python finds the project's packages only once it is installed, or told of `src`."""
    inside = sorted(_names(jail, "src"))[:_MAX_PACKAGES] if "src" in names else []
    return any(name.endswith(".py") or "__init__.py" in _names(jail, f"src/{name}") for name in inside)


def _node(jail: Jail, names: set[str]) -> list[str]:
    if "package.json" not in names:
        return []
    try:
        scripts = json.loads(_read_text(jail, "package.json")).get("scripts", {})
        script = str(scripts.get("test", ""))
    except (ValueError, AttributeError, RecursionError):  # not JSON, or not the JSON of a package
        return []
    if not script or "no test specified" in script:
        return []
    return [f"{next((tool for lock, tool in _NODE_LOCKS.items() if lock in names), 'npm')} test"]


def _names(jail: Jail, folder: str) -> set[str]:
    try:
        return {entry.name for entry in jail.list_entries(folder or ".")[1]}
    except ToolError:
        return set()


def _read_text(jail: Jail, name: str) -> str:
    try:
        with jail.open_file(name) as opened:
            return opened.file.read(_CAP).decode(errors="replace")
    except ToolError:
        return ""
