"""What an agent is told of its environment before it begins: date, system, shell, git, programs, tests."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.domain.git import GitStatus
from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.files.jail import Jail
from helix_desktop.tools.git import GitProgram, read_status
from helix_desktop.tools.project_commands import python_environment, test_commands
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
    python, tests = python_environment(environment.jail), test_commands(environment.jail)
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
