"""Real checkouts: their state, whatever git is in the middle of; what they configure runs nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from helix_desktop.domain.git import GitEntry, GitStatus
from helix_desktop.tools.git import GitProgram, parse_state, read_checkout_state, read_status
from helix_desktop.tools.shell.sandbox_bubblewrap import find_bwrap
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from helix_desktop.tools.shell.sandbox_landlock import find_landlock
from helix_desktop.tools.shell.sandbox_scope import Sandbox
from helix_desktop.tools.tool import ToolGrants
from tests.support.git_checkouts import git, git_program, make_checkout, needs_git

pytestmark = needs_git


async def test_changes_of_every_kind_against_the_last_commit(tmp_path: Path) -> None:
    names = ("changed", "deleted", "moved", "staged", "back")
    make_checkout(tmp_path, {f"{name} ä\n.txt": f"{name}\n" * 9 for name in names})
    (tmp_path / "changed ä\n.txt").write_text("other\n")
    (tmp_path / "deleted ä\n.txt").unlink()
    git(tmp_path, "mv", "moved ä\n.txt", " moved\tto.txt")
    (tmp_path / "new\n").mkdir()
    (tmp_path / "new\n" / "-file").write_text("")
    git(tmp_path, "rm", "--cached", "-q", "back ä\n.txt")
    (tmp_path / "added then deleted").write_text("")
    git(tmp_path, "add", "added then deleted")
    (tmp_path / "added then deleted").unlink()
    state = await read_checkout_state(git_program(tmp_path))
    assert state is not None
    entries = {entry.path: (entry.letter, entry.moved_from) for entry in state.entries}
    assert entries == {
        "changed ä\n.txt": ("M", ""),
        "deleted ä\n.txt": ("D", ""),
        " moved\tto.txt": ("R", "moved ä\n.txt"),
        "new\n/-file": ("?", ""),
        "back ä\n.txt": ("M", ""),
    }
    assert (state.status.branch, state.status.changed, state.status.untracked) == ("main", 4, 1)


async def test_ahead_behind_and_conflicts(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    clone = tmp_path / "clone"
    make_checkout(origin, {"a": "1\n"})
    git(tmp_path, "clone", "-q", str(origin), str(clone))
    for folder, text in ((origin, "theirs\n"), (clone, "mine\n")):
        (folder / "a").write_text(text)
        git(folder, "commit", "-qam", text)
    git(clone, "fetch", "-q")
    git(clone, "merge", "-q", "origin/main", check=False)
    status = await read_status(git_program(clone))
    assert status == GitStatus("main", upstream="origin/main", ahead=1, behind=1, changed=1, conflicts=1)


async def test_heads_of_every_kind(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert await read_status(git_program(tmp_path)) == GitStatus("main", has_commit=False)
    make_checkout(tmp_path, {"a": "1\n", "folder/b": "2\n"})
    git(tmp_path, "checkout", "-q", "--detach")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert await read_status(git_program(tmp_path)) == GitStatus(detached_at=commit)
    plain = tmp_path.parent / "plain"
    bare = tmp_path.parent / "bare"
    plain.mkdir()
    git(tmp_path, "init", "-q", "--bare", str(bare))
    assert await read_status(git_program(plain)) is None
    assert await read_status(git_program(bare)) is None
    assert await read_status(git_program(tmp_path, {"PATH": str(plain)})) is None


async def test_a_folder_of_a_checkout_has_its_own_changes_only(tmp_path: Path) -> None:
    make_checkout(tmp_path, {"a": "1\n", "folder/b": "2\n"})
    (tmp_path / "a").write_text("2\n")
    (tmp_path / "folder" / "b").write_text("3\n")
    state = await read_checkout_state(git_program(tmp_path / "folder"))
    assert state is not None
    assert [entry.path for entry in state.entries] == ["b"]


async def test_a_worktree_names_itself_and_a_submodule_is_not_looked_into(tmp_path: Path) -> None:
    main = tmp_path / "main"
    library = tmp_path / "library"
    make_checkout(library, {"a": "1\n"})
    make_checkout(main, {"a": "1\n"})
    git(main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    git(main, "commit", "-qm", "two")
    git(main, "worktree", "add", "-q", "-b", "fix/it", str(tmp_path / "side"))
    status = await read_status(git_program(tmp_path / "side"))
    assert status == GitStatus("fix/it", worktree="side", main_folder=str(main))
    (main / "sub" / "a").write_text("not committed\n")
    assert await read_status(git_program(main)) == GitStatus("main")
    assert await read_status(git_program(main / "sub")) == GitStatus(
        "main", upstream="origin/main", changed=1
    )
    git(main / "sub", "commit", "-qam", "two")
    assert await read_status(git_program(main)) == GitStatus("main", changed=1)


def test_lines_that_no_git_writes_yet_are_passed_over() -> None:
    state = parse_state(b"# branch.head a\x1b]0;b\0# branch.ab +0 -0\0x what\0? \xff\0")
    assert state.status == GitStatus("a\\u001b]0;b", untracked=1)
    assert state.entries == (GitEntry("\ufffd", "?"),)


posix = pytest.mark.skipif(os.name == "nt", reason="programs in scripts")

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


@posix
async def test_nothing_that_a_checkout_names_is_run(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    trap = _trap(tmp_path)
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


@posix
async def test_a_filter_whose_name_could_be_taken_for_a_setting_is_refused(tmp_path: Path) -> None:
    make_checkout(tmp_path, {"a": "1\n"})
    git(tmp_path, "config", "filter.x=y.clean", "touch ran")
    status = await read_status(git_program(tmp_path))
    assert status is not None
    assert (status.branch, status.is_known, status.problem) == ("main", False, "failed")


@posix
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


@posix
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
