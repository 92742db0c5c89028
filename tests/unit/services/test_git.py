"""Checkouts of git: what differs from the last commit, and when their states are read."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from helix_desktop.domain.errors import DigestUnknown, HelixError, InvalidInput, WorkspaceUntrusted
from helix_desktop.domain.file_history.changes import FileChange
from helix_desktop.domain.git import GitStatus
from helix_desktop.services.git import GitChanges, GitCheckouts
from helix_desktop.tools.environment import WorkspaceEnvironment
from helix_desktop.tools.files.jail_posix import PosixJail
from helix_desktop.tools.shell.sandbox_detect import no_sandbox_provider
from helix_desktop.tools.tool import ToolGrants
from helix_desktop.workspaces.registry import WorkspaceRegistry
from tests.support.git_checkouts import git, make_checkout, needs_git

pytestmark = [needs_git, pytest.mark.skipif(os.name == "nt", reason="links and modes")]

LINES = "".join(f"line {number}\n" for number in range(9))


def changes_of(root: Path, trusted: bool = True) -> GitChanges:
    there = WorkspaceEnvironment(root, PosixJail(root), os.environ, no_sandbox_provider(), ToolGrants)
    return GitChanges(there, lambda: trusted)


def _change_everything(root: Path) -> None:
    (root / "text ä.txt").write_text(LINES.replace("4", "four") + "t\n")
    (root / "gone").unlink()
    (root / "new folder").mkdir()
    (root / "new folder" / "\tnew\n").write_text("new")
    git(root, "mv", "moved", "to")
    git(root, "mv", "edited", "elsewhere")
    (root / "elsewhere").write_text(LINES + "more\n")
    (root / "link").unlink()
    (root / "link").symlink_to("other target")
    (root / "script").chmod(0o755)
    (root / "staged").write_text("staged\n")
    git(root, "add", "staged")
    (root / "staged").write_text(LINES)
    (root / "image.bin").write_bytes(b"\0\2" * 90)


def _snapshot(root: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file() and not name.startswith(".git/") and name != "image.bin":
            found[name] = (path.read_bytes(), path.stat().st_mode & 0o100)
    return found


async def test_every_kind_of_change_and_a_patch_that_git_applies(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    copy = tmp_path / "copy"
    names = ("text ä.txt", "gone", "moved", "edited", "script", "staged")
    (root).mkdir()
    (root / "link").symlink_to("target")
    make_checkout(root, {**{name: f"{LINES}{name[:1]}\n" for name in names}, "image.bin": b"\0\1" * 90})
    (root / "staged").write_text(LINES)
    git(root, "commit", "-qam", "two")
    shutil.copytree(root, copy, symlinks=True)
    _change_everything(root)
    changes = changes_of(root)
    found = {change.path: change for change in await changes.list()}
    assert {path: change.kind for path, change in found.items()} == {
        "text ä.txt": "changed",
        "gone": "deleted",
        "new folder/\tnew\n": "created",
        "moved": "deleted",
        "to": "moved",
        "edited": "deleted",
        "elsewhere": "created",
        "link": "changed",
        "script": "mode",
        "image.bin": "changed",
    }
    diffs = {path: await changes.diff(path, change.before, change.after) for path, change in found.items()}
    text = diffs["text ä.txt"]
    assert (text.kind, text.added, text.removed) == ("text", 1, 1)
    assert {diffs[path].kind for path in ("link", "script", "image.bin")} == {"link", "mode", "binary"}
    before = found["text ä.txt"].before
    assert before is not None
    assert (await changes.content(before.digest)).decode() == f"{LINES}t\n"
    with pytest.raises(DigestUnknown):
        await changes.content("0" * 40)

    patch = await changes.patch(())
    patch = patch[: patch.index("diff --git a/image.bin")] + patch[patch.index("diff --git a/link") :]
    (tmp_path / "all.patch").write_text(patch)
    git(copy, "apply", str(tmp_path / "all.patch"))
    assert _snapshot(copy) == _snapshot(root)
    assert "moved" not in await changes.patch(["new folder/", "gone"])


async def test_before_the_first_commit_everything_is_new(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("1\n")
    git(tmp_path, "add", "a")
    (tmp_path / "b").write_text("2\n")
    assert [(change.path, change.kind) for change in await changes_of(tmp_path).list()] == [
        ("a", "created"),
        ("b", "created"),
    ]


async def test_a_folder_of_a_checkout_with_line_ends_of_windows(tmp_path: Path) -> None:
    make_checkout(tmp_path, {".gitattributes": "*.txt eol=crlf\n", "in/a.txt": LINES, "out.txt": LINES})
    (tmp_path / "in" / "a.txt").write_bytes(LINES.replace("\n", "\r\n").replace("4", "four").encode())
    (tmp_path / "out.txt").write_text("")
    changes = changes_of(tmp_path / "in")
    (change,) = await changes.list()
    diff = await changes.diff(change.path, change.before, change.after)
    assert (change.path, diff.added, diff.removed) == ("a.txt", 1, 1)


async def test_what_git_stores_elsewhere(tmp_path: Path) -> None:
    """A file of LFS that is as it was committed, one that is not, and the commit of a submodule."""
    library = tmp_path / "library"
    root = tmp_path / "checkout"
    make_checkout(library, {"a": "1\n"})
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 4\n"
    same = pointer.format(digest=hashlib.sha256(b"same").hexdigest())
    make_checkout(root, {"same.bin": same, "other.bin": same.replace("size 4", "size 5")})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    git(root, "commit", "-qm", "two")
    git(root / "sub", "commit", "-q", "--allow-empty", "-m", "three")
    (root / "same.bin").write_bytes(b"same")
    (root / "other.bin").write_bytes(b"other")
    changes = changes_of(root)
    other, sub = await changes.list()
    assert (other.path, other.is_covered, sub.path) == ("other.bin", False, "sub")
    assert (await changes.diff(other.path, other.before, other.after)).kind == "hash_only"
    diff = await changes.diff(sub.path, sub.before, sub.after)
    assert [line.text[:18] for line in diff.hunks[0].lines] == ["Subproject commit "] * 2


async def test_what_cannot_be_compared_says_why(tmp_path: Path) -> None:
    make_checkout(tmp_path, {"secret": "1\n", ".agentignore": "secret\n"})
    (tmp_path / "secret").write_text("2\n")
    changes = changes_of(tmp_path)
    (change,) = await changes.list()
    assert change == FileChange("secret", change.before, change.after)
    with pytest.raises(InvalidInput, match="Couldn't read secret"):
        await changes.diff(change.path, change.before, change.after)
    with pytest.raises(WorkspaceUntrusted):
        await changes_of(tmp_path, trusted=False).list()
    with pytest.raises(InvalidInput):
        await changes_of(tmp_path.parent).list()
    (tmp_path / ".git" / "HEAD").write_text("nothing\n")
    with pytest.raises(HelixError, match="Couldn't read the git checkout"):
        await changes.list()


class _Rig:
    """A registry with one checkout, its states, and how often it was read."""

    def __init__(self, folder: Path, trusted: bool = True) -> None:
        self.root = folder / "project"
        make_checkout(self.root, {"a": "1\n"})
        self.registry = WorkspaceRegistry(folder / "workspaces", lambda: 0)
        self.id = self.registry.add(self.root, trusted=trusted).id
        self.states = GitCheckouts(self.registry, self._environment, debounce_s=0.01)
        self.published: asyncio.Queue[GitStatus | None] = asyncio.Queue()
        counter = folder / "bin"
        counter.mkdir()
        (counter / "git").write_text(f'#!/bin/sh\necho x >> "{folder}/runs"\nPATH=$OLD exec git "$@"\n')
        (counter / "git").chmod(0o755)
        self._variables = {**os.environ, "OLD": os.environ["PATH"], "PATH": str(counter)}
        self._runs = folder / "runs"

    def listen(self) -> Callable[[], None]:
        return self.states.listen(lambda key: self.published.put_nowait(self.states.status(key)))

    @property
    def runs(self) -> int:
        """How often the git program was started."""
        return len(self._runs.read_text().split()) if self._runs.exists() else 0

    def _environment(self, _id: str, root: Path) -> WorkspaceEnvironment:
        return WorkspaceEnvironment(root, PosixJail(root), self._variables, no_sandbox_provider(), ToolGrants)


async def test_many_reasons_are_one_reading_and_a_change_is_published(tmp_path: Path) -> None:
    rig = _Rig(tmp_path)
    rig.states.refresh(rig.id)
    rig.listen()
    for _ in range(5):
        rig.states.refresh(rig.id)
    assert await rig.published.get() == GitStatus("main")
    assert rig.runs == 2, "the names of filters, and the state"
    (rig.root / "a").write_text("2\n")
    rig.states.refresh(rig.id)
    assert await rig.published.get() == GitStatus("main", changed=1)
    await rig.states.close()


async def test_without_trust_nothing_is_run(tmp_path: Path) -> None:
    rig = _Rig(tmp_path, trusted=False)
    rig.listen()
    rig.states.refresh(rig.id)
    rig.registry.change(rig.id, trusted=True)
    assert rig.runs == 0
    rig.states.refresh(rig.id)
    assert await rig.published.get() == GitStatus("main")
    rig.states.forget(rig.id)
    assert await rig.published.get() is None
    await rig.states.close()
