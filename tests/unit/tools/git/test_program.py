"""A checkout cannot have anything run, whatever it configures; git holds nothing up."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from helix_desktop.domain.git import GitStatus
from helix_desktop.tools.git import GitProgram, read_checkout_state, read_status
from helix_desktop.tools.shell.sandbox_bubblewrap import find_bwrap
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from helix_desktop.tools.shell.sandbox_landlock import find_landlock
from helix_desktop.tools.shell.sandbox_scope import Sandbox
from helix_desktop.tools.tool import ToolGrants
from tests.support.git_checkouts import git, git_program, make_checkout, needs_git

pytestmark = [needs_git, pytest.mark.skipif(os.name == "nt", reason="programs in scripts")]

_TRAPS = (
    *("core.fsmonitor", "core.pager", "core.editor", "core.askPass", "core.sshCommand", "core.gitProxy"),
    *("core.alternateRefsCommand", "pager.status", "pager.cat-file", "diff.external", "diff.x.textconv"),
    *("diff.x.command", "filter.x.clean", "filter.x.smudge", "filter.a.b-c.process", "credential.helper"),
    *(
        "gpg.program",
        "merge.x.driver",
        "remote.origin.uploadpack",
        "submodule.sub.update",
        "trailer.x.command",
    ),
    *("interactive.diffFilter", "sequence.editor", "uploadpack.packObjectsHook", "core.gitProxy"),
)


def _trap(folder: Path) -> Path:
    """Make a program that leaves a file with its arguments' name beside it."""
    program = folder / "trap"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{folder}/ran"\ncat\n')
    program.chmod(0o755)
    return program


def _hostile_checkout(root: Path, trap: Path) -> None:
    """Make a checkout that tries each way to have a program run."""
    make_checkout(root, {"a.x": "1\n", "b.y": "1\n", "lost": "is deleted from the objects\n"})
    (root / ".gitattributes").write_text("*.x filter=x diff=x merge=x\n")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("*.y filter=a.b-c\n")
    for key in _TRAPS:
        git(root, "config", key, f"!{trap}" if key.startswith("credential") else str(trap))
    for driver in ("x", "a.b-c"):
        git(root, "config", f"filter.{driver}.required", "true")
    git(root, "config", "include.path", "more")
    (root / ".git" / "more").write_text(f'[alias]\nstatus = "!{trap}"\n[filter "x"]\nprocess = {trap}\n')
    for place in (root / ".git" / "hooks", root / "hooks"):
        place.mkdir(exist_ok=True)
        for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc"):
            (place / hook).symlink_to(trap)
    git(root, "config", "core.hooksPath", str(root / "hooks"))
    lost = git(root, "rev-parse", "HEAD:lost")
    (root / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    git(root, "config", "extensions.partialClone", "origin")
    git(root, "config", "core.repositoryFormatVersion", "1")
    git(root, "config", "remote.origin.promisor", "true")
    git(root, "config", "remote.origin.url", f"ext::{trap}")
    git(root, "config", "protocol.ext.allow", "always")
    for name in ("a.x", "b.y", "lost"):
        (root / name).write_text("2\n")


async def test_nothing_that_a_checkout_names_is_run(tmp_path: Path) -> None:
    root, trap = tmp_path / "checkout", _trap(tmp_path)
    _hostile_checkout(root, trap)
    environment = {
        **os.environ,
        "GIT_EXTERNAL_DIFF": str(trap),
        "GIT_SSH_COMMAND": str(trap),
        "GIT_PAGER": str(trap),
    }
    (root / "git").symlink_to(trap)
    environment["PATH"] = f".{os.pathsep}{root}{os.pathsep}{os.environ['PATH']}"
    program = git_program(root, environment)
    state = await read_checkout_state(program)
    assert state is not None
    assert {entry.path for entry in state.entries} >= {"a.x", "b.y", "lost"}
    lost = next(entry.before for entry in state.entries if entry.path == "lost")
    await program.run(("cat-file", "--filters", "--path=a.x", "HEAD:a.x"), 10)
    assert (await program.run(("cat-file", "blob", lost), 10)).problem == "failed"
    assert not (tmp_path / "ran").exists()
    git(root, "status", check=False)
    assert (tmp_path / "ran").exists(), "the traps of this test do not work"


async def test_a_filter_whose_name_could_be_taken_for_a_setting_is_refused(tmp_path: Path) -> None:
    make_checkout(tmp_path, {"a": "1\n"})
    git(tmp_path, "config", "filter.x=y.clean", "touch ran")
    status = await read_status(git_program(tmp_path))
    assert status is not None
    assert (status.branch, status.is_known, status.problem) == ("main", False, "failed")


async def test_a_folder_that_looks_like_a_bare_checkout_is_not_obeyed(tmp_path: Path) -> None:
    trap = _trap(tmp_path)
    make_checkout(tmp_path / "outer", {"a": "1\n"})
    inner = tmp_path / "outer" / "inner"
    git(tmp_path, "init", "-q", "--bare", str(inner))
    git(inner, "config", "core.fsmonitor", str(trap))
    git(inner, "config", "core.bare", "false")
    status = await read_status(git_program(inner))
    assert status is not None
    assert not status.is_known
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("find", [find_bwrap, find_landlock])
async def test_looking_writes_nothing_in_any_sandbox(find: Callable[[], Sandbox | None]) -> None:
    """A linked worktree, whose git folder is where no sandbox shows anything else."""
    sandbox = find()
    if sandbox is None:
        pytest.skip("it does not work here")
    # Landlock lets everybody write to /dev/shm, where the tests may lie.
    with tempfile.TemporaryDirectory() as folder:
        await _look_at_a_worktree(Path(folder), sandbox)


async def _look_at_a_worktree(folder: Path, sandbox: Sandbox) -> None:
    make_checkout(folder / "main", {"a": "1\n"})
    git(folder / "main", "worktree", "add", "-q", "-b", "fix/it", str(folder / "side"))
    (folder / "side" / "a").touch()
    index = folder / "main" / ".git" / "worktrees" / "side" / "index"
    before = index.read_bytes()
    program = GitProgram(folder / "side", os.environ, SandboxProvider(lambda: sandbox), ToolGrants)
    status = await read_status(program)
    assert status == GitStatus("fix/it", worktree="side", main_folder=str(folder / "main"))
    assert index.read_bytes() == before
    assert (await program.run(("init", "inside"), 10)).problem == "failed"
