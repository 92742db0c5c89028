"""Git folders outside of the workspace: what works once the user allows it, and what stays as it was."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.tools.shell.outer_git import OuterGit, allowed_git, find_outer_git, look_at
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from helix_desktop.tools.tool import ToolGrants, ToolRegistry
from tests.support.git_checkouts import git, make_checkout, needs_git
from tests.support.planting_process import kill_hard
from tests.support.sandbox_rig import SANDBOXES
from tests.support.tool_rig import make_call, make_tools

pytestmark = needs_git
LOCAL = ("-c", "protocol.file.allow=always")
AS_A = "git -c user.name=a -c user.email=a@b"


def worktree(base: Path) -> Path:
    make_checkout(base / "main", {"f.txt": "one\n"})
    git(base / "main", "worktree", "add", "-q", "-b", "side", str(base / "ws"))
    return base / "ws"


def submodule(base: Path) -> Path:
    make_checkout(base / "lib", {"f.txt": "one\n"})
    make_checkout(base / "super", {"g.txt": "one\n"})
    git(base / "super", *LOCAL, "submodule", "add", "-q", str(base / "lib"), "sub")
    return base / "super" / "sub"


def part_of_a_larger_repository(base: Path) -> Path:
    make_checkout(base / "top", {"ws/f.txt": "one\n", "other/g.txt": "one\n"})
    return base / "top" / "ws"


def separate(base: Path) -> Path:
    (base / "ws").mkdir()
    git(base / "ws", "init", "-q", "--separate-git-dir", str(base / "gd"))
    make_checkout(base / "ws", {"f.txt": "one\n"})
    return base / "ws"


def linked(base: Path) -> Path:
    make_checkout(base / "ws", {"f.txt": "one\n"})
    (base / "ws" / ".git").rename(base / "gd")
    (base / "ws" / ".git").symlink_to(base / "gd")
    return base / "ws"


def part_of_a_worktree(base: Path) -> Path:
    make_checkout(base / "main", {"ws/f.txt": "one\n", "g.txt": "one\n"})
    git(base / "main", "worktree", "add", "-q", "-b", "side", str(base / "tree"))
    return base / "tree" / "ws"


def worktree_of_a_bare_repository(base: Path) -> Path:
    make_checkout(base / "first", {"f.txt": "one\n"})
    git(base, "clone", "-q", "--bare", str(base / "first"), str(base / "bare.git"))
    git(base / "bare.git", "worktree", "add", "-q", "-b", "side", str(base / "ws"))
    return base / "ws"


KINDS = (
    worktree, submodule, part_of_a_larger_repository, separate, linked, part_of_a_worktree,
    worktree_of_a_bare_repository,
)  # fmt: skip


class OuterGitRig:
    """A workspace in a checkout whose git folder is elsewhere, and its commands in bubblewrap."""

    def __init__(self, base: Path, make: Callable[[Path], Path]) -> None:
        sandbox = SANDBOXES["bubblewrap"]
        if sandbox is None:
            pytest.skip("bubblewrap does not work here")
        base.mkdir(parents=True)
        self.root = make(base)
        self.saved = base / "saved"
        self.grants = ToolGrants()
        home = base / "home"
        home.mkdir()
        self.guard = self.new_guard()
        self.tools: ToolRegistry = make_tools(
            self.root,
            sandbox_provider=SandboxProvider(lambda: sandbox, home),
            current_grants=lambda: self.grants,
            guard=self.guard,
            environ={**os.environ, "HOME": str(home)},
        )

    def new_guard(self) -> AutoRunGuard:
        return AutoRunGuard(
            self.root, self.root, self.saved, lambda: allowed_git(self.root, self.grants.git_folders)
        )

    @property
    def outer(self) -> OuterGit:
        found = find_outer_git(self.root)
        assert found is not None
        return found

    def allow(self) -> None:
        self.grants = ToolGrants(git_folders=self.outer.paths)

    async def run(self, command: str) -> tuple[bool, str]:
        result = await self.tools.run(make_call("run_command", command=command))
        return result.ok, result.content.decode()


@pytest.fixture(params=KINDS, ids=lambda make: make.__name__)
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> OuterGitRig:
    return OuterGitRig(tmp_path / "base", request.param)


async def test_git_works_where_its_folder_is_once_that_is_allowed(rig: OuterGitRig) -> None:
    rig.allow()
    (rig.root / "f.txt").write_text("two\n")
    ok, text = await rig.run("git status --short && git diff --stat && git log --oneline")
    assert ok, text
    assert " M " in text
    assert " D " not in text, "what the workspace is a part of is there as well"
    ok, text = await rig.run(f"git add -A . && {AS_A} commit -qm two && git log --oneline | wc -l")
    assert ok, text
    assert "not a" not in text
    assert git(rig.root, "log", "-1", "--format=%s") == "two", "as git outside sees it"
    (rig.root / "f.txt").write_text("three\n")
    ok, text = await rig.run(f"{AS_A} stash && git stash list && git switch -q -c other && git branch")
    assert ok, text
    assert (rig.root / "f.txt").read_text() == "two\n"
    assert git(rig.root, "branch", "--show-current") == "other"
    assert git(rig.root, "fsck") == ""


async def test_until_it_is_allowed_the_reason_and_the_way_are_said(rig: OuterGitRig) -> None:
    before = look_at(rig.outer.folders)
    _, text = await rig.run(f"git add -A; {AS_A} commit -qm two --allow-empty; git log -1")
    assert "the git folder of this checkout is outside of the workspace" in text
    assert rig.outer.paths[0] in text
    assert "Settings > Permissions, or with helix-desktop run --allow-git" in text
    assert look_at(rig.outer.folders) == before
    _, text = await rig.run("cat nowhere")
    assert "git folder" not in text


async def test_fetch_works_from_another_folder_of_the_workspace(rig: OuterGitRig) -> None:
    rig.allow()
    make_checkout(rig.root / "remote", {"new.txt": "new\n"})
    ok, text = await rig.run(
        f"git {' '.join(LOCAL)} fetch -q '{rig.root}/remote' && git log -1 --format=%s FETCH_HEAD"
    )
    assert ok, text
    assert text.endswith("one\n")


async def test_what_makes_git_run_programs_or_go_elsewhere_stays_as_it_was(rig: OuterGitRig) -> None:
    rig.allow()
    flag = rig.root / "ran"
    gits = [Path(path) for path in rig.outer.paths]
    before = {path: _all_of(path) for path in gits}
    for path in gits:
        attempts = (
            f"echo '[core]\n fsmonitor = touch {flag}' >> '{path}/config'",
            f"git config core.fsmonitor 'touch {flag}'",
            f"mkdir -p '{path}/hooks'; printf '#!/bin/sh\\ntouch {flag}\\n' > '{path}/hooks/pre-commit'",
            f"chmod +x '{path}/hooks/pre-commit'",
            f"mv '{path}/hooks' '{path}/old'; mv '{path}/config' '{path}/config.old'",
            f"echo /tmp > '{path}/commondir'",
            f"mkdir -p '{path}/info'; echo '* filter=x' > '{path}/info/attributes'",
            f"echo /tmp > '{path}/objects/info/alternates'; echo x > '{path}/config.worktree'",
            f"mkfifo '{path}/ORIG_HEAD'; ln -s /etc/passwd '{path}/FETCH_HEAD'; mkdir '{path}/modules'",
            f"mv '{path}/refs' '{path}/refs2'; ln -s /tmp '{path}/refs'; rm -rf '{path}/hooks'",
            f"rm '{path}/logs/HEAD'; ln -s '{flag}' '{path}/logs/HEAD'; ln -s /tmp '{path}/objects/ab'",
            f"rm '{path}/HEAD'; ln -s /etc/passwd '{path}/HEAD'",
        )
        await rig.run("\n".join(attempts))
    changed = {str(path.relative_to(base)) for base in gits for path in _all_of(base) ^ before[base]}
    assert changed <= {"logs/HEAD", "worktrees/ws/logs/HEAD", "worktrees/tree/logs/HEAD"}, changed
    assert not any(path.is_symlink() for base in gits for path in base.rglob("*"))
    assert not flag.exists()
    git(rig.root, "status")
    assert not flag.exists()


def _all_of(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "objects" not in path.parts or path.name == "alternates"}


async def test_what_is_taken_out_is_named_and_kept(tmp_path: Path) -> None:
    rig = OuterGitRig(tmp_path / "base", separate)
    rig.allow()
    folder = tmp_path / "base" / "gd"
    shutil.rmtree(folder / "hooks")
    before = await asyncio.to_thread(rig.guard.begin)
    (folder / "hooks").mkdir()
    (folder / "hooks" / "pre-commit").write_text("planted\n")
    (folder / "HEAD").unlink()
    (folder / "HEAD").symlink_to("/etc/passwd")
    (folder / "COMMIT_EDITMSG").write_text("usual\n")
    changes = await asyncio.to_thread(rig.guard.end, before)
    named = {Path(change.path).name: change for change in changes}
    assert set(named) == {"hooks", "HEAD"}
    assert all(change.outcome == "removed" and not change.waits for change in changes)
    kept = Path(named["hooks"].reasons[1].removeprefix("kept at "))
    assert (kept / "pre-commit").read_text() == "planted\n"
    assert (folder / "HEAD").read_text().startswith("ref: ")
    assert (folder / "COMMIT_EDITMSG").exists()


def test_after_a_crash_it_is_taken_out_at_the_next_start(tmp_path: Path) -> None:
    rig = OuterGitRig(tmp_path / "base", separate)
    rig.allow()
    planted = tmp_path / "base" / "gd" / "commondir"
    kill_hard(start_command(rig.root, rig.saved, f"echo /tmp > {planted}"))
    assert planted.exists()
    changes = rig.new_guard().recover()
    assert [(change.path, change.outcome) for change in changes] == [(str(planted), "removed")]
    assert not planted.exists()


def start_command(root: Path, saved: Path, command: str) -> subprocess.Popen[str]:
    """Start a process whose guarded command has run, and has not ended."""
    words = [sys.executable, "-c", _GUARDED, str(root), str(saved), command]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ran\n"
    return process


_GUARDED = """
import subprocess
import sys
from pathlib import Path
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.tools.shell.outer_git import find_outer_git
root, saved = map(Path, sys.argv[1:3])
guard = AutoRunGuard(root, root, saved, lambda: find_outer_git(root))
before = guard.begin()
subprocess.run(sys.argv[3], shell=True, check=True)
print("ran", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("name", ["refs", "config", "objects"])
def test_a_git_folder_with_links_in_it_is_none_that_can_be_allowed(tmp_path: Path, name: str) -> None:
    """As git-new-workdir makes: the link would lead commands to another folder."""
    root = separate(tmp_path)
    (tmp_path / "gd" / name).rename(tmp_path / "elsewhere")
    (tmp_path / "gd" / name).symlink_to(tmp_path / "elsewhere")
    assert find_outer_git(root) is None


def test_only_what_the_user_allowed_counts_also_after_the_pointer_was_changed(tmp_path: Path) -> None:
    root = worktree(tmp_path)
    first = find_outer_git(root)
    assert first is not None
    assert [path.removeprefix(f"{tmp_path}/") for path in first.paths] == [
        "main/.git", "main/.git/worktrees/ws",
    ]  # fmt: skip
    assert allowed_git(root, first.paths) == first
    assert allowed_git(root, first.paths[1:]) is None
    make_checkout(tmp_path / "victim", {"v.txt": "v\n"})
    (root / ".git").write_text(f"gitdir: {tmp_path / 'victim' / '.git'}\n")
    assert allowed_git(root, first.paths) is None


def test_a_plain_checkout_and_a_folder_without_git_have_no_git_folder_outside(tmp_path: Path) -> None:
    make_checkout(tmp_path / "plain", {"f.txt": "one\n"})
    git(tmp_path / "plain", "worktree", "add", "-q", "-b", "side", "inner")
    assert find_outer_git(tmp_path / "plain") is None
    (tmp_path / "none").mkdir()
    assert find_outer_git(tmp_path / "none") is None
    (tmp_path / "none" / ".git").write_text("gitdir: /nonexistent\n")
    assert find_outer_git(tmp_path / "none") is None
