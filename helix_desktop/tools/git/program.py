"""Runs the `git` program: confined, bounded, and so that a checkout cannot have anything run.

A checkout's configuration and attributes can name programs: hooks, a file monitor, filters that files go
through, pagers, helpers for passwords and connections. The commands here read; each of these is off, whatever
is configured. So a file that only a filter would make equal, as of LFS, may count as changed.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.git import GitProblem
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.system.files import open_regular
from helix_desktop.tools.grants import CurrentGrants
from helix_desktop.tools.process.runner import ProcessResult, ProcessSpec, run_process
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.tools.shell.git_config import PROGRAMS_OFF, USERS_CONFIG_VARIABLES
from helix_desktop.tools.shell.sandbox import NoSandbox, SandboxScope
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from helix_desktop.tools.shell.scratch import ScratchDir

_FILE_CAP = 4096  # bytes of a file of git that holds a path or a name
_BRANCH = "ref: refs/heads/"
_COMMIT = re.compile("[0-9a-f]{40,64}")
_GIT = ".git"


class Checkout(msgspec.Struct, frozen=True):
    """A checkout: its topmost folder and its git folder; a linked worktree shares `common_folder`."""

    top: Path
    git_folder: Path
    common_folder: Path | None = None

    @property
    def worktree(self) -> str:
        """The name of a linked worktree; empty: it is none."""
        return escape_hidden_name(self.git_folder.name) if self.common_folder else ""

    @property
    def main_folder(self) -> str:
        """The folder that a linked worktree was made from."""
        if self.common_folder is None:
            return ""
        is_inside = self.common_folder.name == _GIT  # else it is bare
        return escape_hidden_name(str(self.common_folder.parent if is_inside else self.common_folder))

    @property
    def git_folders(self) -> tuple[Path, ...]:
        """What git has to read besides the files."""
        return (self.git_folder, *([self.common_folder] if self.common_folder else []))


def find_checkout(root: Path) -> Checkout | None:
    """Return the checkout that a folder is in; None: it is in none, or not there."""
    if not root.is_dir():
        return None
    for folder in (root, *root.parents):
        git = folder / _GIT
        if git.is_dir():
            return Checkout(folder, git)
        target = _read(git).removeprefix("gitdir: ") if git.is_file() else ""
        if target:
            return _linked_checkout(folder, Path(folder, target).resolve())
    return None


def _linked_checkout(folder: Path, git_folder: Path) -> Checkout:
    """Return the checkout of a linked worktree, or of a submodule."""
    common = _read(git_folder / "commondir")
    return Checkout(folder, git_folder, (git_folder / common).resolve() if common else None)


def read_head(checkout: Checkout) -> tuple[str, str]:
    """Return the branch, or the commit, that HEAD names as a file."""
    words = _read(checkout.git_folder / "HEAD")
    if words.startswith(_BRANCH):
        return escape_hidden_name(words.removeprefix(_BRANCH)), ""
    return "", words if _COMMIT.fullmatch(words) else ""


def _read(path: Path) -> str:
    try:
        with open_regular(path) as file:
            return file.read(_FILE_CAP).decode(errors="replace").strip()
    except OSError:
        return ""


OUTPUT_CAP = 16 * 1024 * 1024  # bytes: about 100,000 lines of a status
_CONFIG_CAP = 256 * 1024  # bytes
_PROGRAM = "git.exe" if os.name == "nt" else "git"
_OFF = (
    *PROGRAMS_OFF,
    "diff.external=",
    "safe.bareRepository=explicit",  # a folder that looks like one may have come with the files
)
_OPTIONS = ("--no-pager", "--no-optional-locks", *(word for setting in _OFF for word in ("-c", setting)))
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",  # outranks what a checkout allows
    "GIT_ASKPASS": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",  # what it says of a failure is read
}
_FILTER = "filter."
_FILTER_OFF = ("clean=", "smudge=", "process=", "required=false")
_NO_MATCH = 1  # exit code of `git config` where no name matches


class GitOutput(msgspec.Struct, frozen=True):
    """What a command wrote; `problem` says why it did not."""

    output: bytes = b""
    problem: GitProblem = ""


class GitProgram:
    """The git program in the folder of a workspace, with the environment and sandbox of its commands."""

    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str],
        sandboxes: SandboxProvider,
        current_grants: CurrentGrants,
        guard: AutoRunGuard | None = None,
    ) -> None:
        """It runs once the `guard` of the workspace has taken out what a command planted for git."""
        self._guard = guard
        self.root = root
        self._environment, self._sandboxes, self._current_grants = environment, sandboxes, current_grants
        self._scratch = ScratchDir()  # removed with this object

    def find(self) -> str:
        """Return the path of git, which is never one in the workspace; empty if there is none. Blocks."""
        for name in self._environment.get("PATH", "").split(os.pathsep):
            program = Path(name, _PROGRAM)
            is_program = program.is_absolute() and program.is_file() and os.access(program, os.X_OK)
            if is_program and not self._contains(program):
                return str(program)
        return ""

    def _contains(self, program: Path) -> bool:
        """Return True if a program is in the workspace, or leads into it, by whatever links."""
        places = (program, os.path.realpath(program.parent), os.path.realpath(program))
        return any(Path(place).is_relative_to(self.root) for place in places)

    async def run(
        self, arguments: Sequence[str], timeout_s: float, stdin_data: bytes | None = None
    ) -> GitOutput:
        """Run one command that reads, with every filter of the checkout off."""
        end = monotonic() + timeout_s
        if self._guard is not None:
            await asyncio.to_thread(self._guard.wait)
        git = await asyncio.to_thread(self.find)
        if not git:
            return GitOutput(problem="failed")
        names = ("config", "--includes", "--name-only", "-z", "--get-regexp", r"^filter\..")
        try:
            listed = await self._run([git, *_OPTIONS, *names], timeout_s, _CONFIG_CAP)
            problem = _problem(listed)
            if problem and listed.exit_code != _NO_MATCH:
                return GitOutput(problem=problem)
            filters = _filters_off(listed.output)
            if filters is None:
                return GitOutput(problem="failed")
            command = [git, *_OPTIONS, *filters, *arguments]
            result = await self._run(command, max(0.0, end - monotonic()), OUTPUT_CAP, stdin_data)
        except OSError:  # it cannot be started, or there are more filters than a command has room for
            return GitOutput(problem="failed")
        return GitOutput(result.output, _problem(result))

    async def _run(
        self, command: Sequence[str], timeout_s: float, cap: int, stdin_data: bytes | None = None
    ) -> ProcessResult:
        sandbox = await self._sandboxes.detect() if self._current_grants().sandbox else NoSandbox()
        scope = await asyncio.to_thread(self._scope)
        spec = ProcessSpec(
            command,
            str(self.root),
            self._clean_environment(),
            stdin_data,
            join_errors=False,
            is_guarded=stdin_data is None,
        )
        wrapped = sandbox.wrap(spec, scope, False)
        confined = await asyncio.to_thread(wrapped.__enter__)
        try:
            return await run_process(confined, timeout_s, cap)
        finally:
            await asyncio.to_thread(wrapped.__exit__, None, None, None)

    def _scope(self) -> SandboxScope:
        """Return what git may read; it writes nothing. Blocks."""
        scope = self._sandboxes.scope_for(self.root, self._scratch.folder(), self._scratch.private_folder())
        checkout = find_checkout(self.root)
        folders = checkout.git_folders if checkout is not None else ()
        return replace(scope, is_read_only=True, read_only=(*scope.read_only, *folders))

    def _clean_environment(self) -> dict[str, str]:
        cleaned = {
            name: value
            for name, value in self._environment.items()
            if not name.upper().startswith("GIT_") or name in USERS_CONFIG_VARIABLES
        }
        return cleaned | _VARIABLES


def _filters_off(names: bytes) -> list[str] | None:
    """Return the options that turn filters off, by the names of settings; None if a name fits no option."""
    drivers = {
        name.rpartition(".")[0].removeprefix(_FILTER)
        for name in names.decode(errors="surrogateescape").split("\0")
        if name.count(".") > 1
    }
    if any("=" in driver or "\n" in driver for driver in drivers):
        return None
    return [
        word
        for driver in sorted(drivers)
        for off in _FILTER_OFF
        for word in ("-c", f"{_FILTER}{driver}.{off}")
    ]


def _problem(result: ProcessResult) -> GitProblem:
    if result.exit_code is None:
        return "slow"
    if result.exit_code:
        return "owner" if b"dubious ownership" in result.errors else "failed"
    return "too_many" if result.dropped_bytes else ""
