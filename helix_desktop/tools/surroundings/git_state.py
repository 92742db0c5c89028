"""The branch and state of a git checkout, by one git command that is bounded in time and confined."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.grants import CurrentGrants
from helix_desktop.tools.process.runner import ProcessSpec, run_process
from helix_desktop.tools.shell.sandbox import NoSandbox
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from helix_desktop.tools.shell.scratch import ScratchDir

GIT_TIMEOUT_S = 1.0  # a first message waits no longer for git
_CAP = 1024 * 1024
_HEAD_CAP = 400  # bytes
_COMMAND = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),  # what a checkout could have run
    *(
        "status",
        "--porcelain=v2",
        "--branch",
        "--untracked-files=normal",
        "--ignore-submodules=all",
        "--",
        ".",
    ),
)


async def git_state(
    root: Path,
    environment: Mapping[str, str],
    sandboxes: SandboxProvider,
    grants: CurrentGrants,
    timeout_s: float = GIT_TIMEOUT_S,
) -> str:
    """Return branch and state of the checkout that `root` is in, in a few words; empty if it is in none."""
    git = await asyncio.to_thread(_find_git, root, environment)
    if not git:
        return ""
    sandbox = await sandboxes.detect() if grants().sandbox else NoSandbox()
    scratch = ScratchDir()  # removed with this call
    scope = await asyncio.to_thread(lambda: sandboxes.scope_for(root, scratch.folder()))
    spec = ProcessSpec(
        [git, *_COMMAND], str(root), {**environment, "GIT_OPTIONAL_LOCKS": "0"}, join_errors=False
    )
    wrapped = sandbox.wrap(replace(spec, is_guarded=True), scope, False)
    confined = await asyncio.to_thread(wrapped.__enter__)
    try:
        result = await run_process(confined, timeout_s, _CAP)
    finally:
        await asyncio.to_thread(wrapped.__exit__, None, None, None)
    if result.exit_code is None or result.exit_code:
        why = "git failed" if result.exit_code else f"git did not answer in {timeout_s:g} s"
        return f"{await asyncio.to_thread(_branch_in_head, root)}; its state is not known, {why}"
    return describe_status(result.output.decode(errors="replace").splitlines())


def _find_git(root: Path, environment: Mapping[str, str]) -> str:
    """Return the path of git if `root` is in a checkout, else an empty text; blocks."""
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return ""
    return shutil.which("git", path=environment.get("PATH")) or ""


def _branch_in_head(root: Path) -> str:
    """Return the branch as its file names it, for a git that is too slow; blocks."""
    try:
        with (root / ".git" / "HEAD").open("rb") as file:
            words = file.read(_HEAD_CAP).decode(errors="replace").strip()
    except OSError:  # a worktree, or a folder of a checkout
        return "a checkout"
    name = words.removeprefix("ref: refs/heads/")
    return f"branch {escape_hidden_name(name)}" if name != words else "a checkout"


def describe_status(lines: Sequence[str]) -> str:
    """Return the lines of `git status --porcelain=v2 --branch` in a few words."""
    heads = dict(line[2:].partition(" ")[::2] for line in lines if line.startswith("# "))
    branch, commit = heads.get("branch.head", ""), heads.get("branch.oid", "")
    where = f"detached at {commit[:8]}" if branch == "(detached)" else f"branch {escape_hidden_name(branch)}"
    if commit == "(initial)":
        where += ", without a commit"
    conflicts = sum(line.startswith("u ") for line in lines)
    changed = sum(line.startswith(("1 ", "2 ")) for line in lines) + conflicts
    untracked = sum(line.startswith("? ") for line in lines)
    parts = [
        *([f"{pluralize(changed, 'changed file')}"] if changed else []),
        *([f"{conflicts} of them in conflict"] if conflicts else []),
        *([f"{untracked} untracked"] if untracked else []),
    ]
    return f"{where}; {', '.join(parts) or 'no changes'}"
