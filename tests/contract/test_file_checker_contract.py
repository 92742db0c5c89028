"""What every checker of files must find; of the workspace's own also what it must not follow or read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.files.content import ChangedFile, ChangeReport, FileVersion
from helix_desktop.tools.files.file_versions import MAX_HASHED, JailedFileVersionChecker, version_of
from helix_desktop.tools.files.jail import WorkspaceAway
from helix_desktop.tools.workspace_tools import open_jail
from tests.support.memory_files import MemoryFiles
from tests.support.workspace_away import HOW_AWAY, HowAway, away


class Files(Protocol):
    def write(self, path: str, data: bytes) -> None: ...

    def remove(self, path: str) -> None: ...

    def version(self, path: str) -> FileVersion: ...

    async def versions(self, paths: Sequence[str]) -> tuple[FileVersion, ...]: ...

    async def check(self, versions: Sequence[FileVersion]) -> ChangeReport: ...


class WorkspaceFiles(JailedFileVersionChecker):
    def __init__(self, root: Path) -> None:
        self.root = root
        self.jail = open_jail(root)
        super().__init__(self.jail)

    def write(self, path: str, data: bytes) -> None:
        new = self.root / "new"
        new.write_bytes(data)
        os.replace(new, self.root / path)

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def version(self, path: str) -> FileVersion:
        with self.jail.open_file(path) as opened:
            return version_of(opened)


@pytest.fixture(params=["workspace", "memory"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    return WorkspaceFiles(tmp_path) if request.param == "workspace" else MemoryFiles()


@pytest.fixture
def workspace(tmp_path: Path) -> WorkspaceFiles:
    (tmp_path / "outside.txt").write_text("outside")
    (tmp_path / "root").mkdir()
    return WorkspaceFiles(tmp_path / "root")


def fingerprint(data: bytes) -> str:
    return digest_of(data)[:32]


async def test_changed_and_removed_files_are_found_and_no_others(files: Files) -> None:
    for name in ("same", "again", "other", "gone"):
        files.write(name, name.encode())
    versions = await files.versions(["gone", "same", "missing", "other", "again"])
    assert versions == tuple(files.version(name) for name in ("gone", "same", "other", "again"))
    assert await files.check(versions) == ChangeReport()
    files.write("again", b"again")
    files.write("other", b"third")
    files.remove("gone")
    expected = (
        ChangedFile("gone", fingerprint(b"gone"), is_gone=True),
        ChangedFile("other", fingerprint(b"other"), fingerprint(b"third")),
    )
    assert await files.check(versions) == ChangeReport(expected)
    assert await files.check(versions) == ChangeReport(expected)


async def test_a_change_within_one_tick_of_the_clock_is_found(workspace: WorkspaceFiles) -> None:
    """Same size, same inode, same time: as on a disk that counts in seconds, right after a write."""
    path = workspace.root / "a.txt"
    path.write_text("one")
    version = workspace.version("a.txt")
    stat = path.stat()
    path.write_text("two")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    report = await workspace.check([version])
    assert [file.after for file in report.files] == [fingerprint(b"two")]


async def test_a_link_out_of_the_workspace_is_never_read(workspace: WorkspaceFiles) -> None:
    """A file that became a link to the same bytes outside is gone; so is one behind such a folder."""
    (workspace.root / "folder").mkdir()
    for name in ("a.txt", "folder/outside.txt"):
        (workspace.root / name).write_text("outside")
    versions = [workspace.version("a.txt"), workspace.version("folder/outside.txt")]
    (workspace.root / "a.txt").unlink()
    (workspace.root / "a.txt").symlink_to(workspace.root.parent / "outside.txt")
    (workspace.root / "folder/outside.txt").unlink()
    (workspace.root / "folder").rmdir()
    (workspace.root / "folder").symlink_to(workspace.root.parent)
    assert await workspace.versions(["a.txt", "folder/outside.txt", "../outside.txt"]) == ()
    report = await workspace.check(versions)
    assert [(file.path, file.is_gone, file.after) for file in report.files] == [
        ("a.txt", True, ""),
        ("folder/outside.txt", True, ""),
    ]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes in folders")
async def test_what_is_no_file_any_more_is_gone(workspace: WorkspaceFiles) -> None:
    """A pipe that nobody writes to holds up nothing."""
    for name in ("pipe", "folder"):
        workspace.write(name, b"1")
    versions = [workspace.version("pipe"), workspace.version("folder")]
    workspace.remove("pipe")
    workspace.remove("folder")
    os.mkfifo(workspace.root / "pipe")
    (workspace.root / "folder").mkdir()
    assert [file.is_gone for file in (await workspace.check(versions)).files] == [True, True]


async def test_a_huge_file_is_compared_without_being_read(workspace: WorkspaceFiles) -> None:
    path = workspace.root / "huge"
    with path.open("wb") as file:
        file.truncate(MAX_HASHED + 1)
    version = workspace.version("huge")
    assert not version.fingerprint
    assert await workspace.check([version]) == ChangeReport()
    os.utime(path, ns=(1, 1))
    assert await workspace.check([version]) == ChangeReport((ChangedFile("huge"),))


@pytest.mark.parametrize("how", HOW_AWAY)
async def test_of_a_folder_that_is_away_nothing_is_known(tmp_path: Path, how: HowAway) -> None:
    (tmp_path / "root").mkdir()
    workspace = WorkspaceFiles(tmp_path / "root")
    workspace.write("a.txt", b"one")
    versions = [workspace.version("a.txt")]
    with away(workspace.root, how), pytest.raises(WorkspaceAway):
        await workspace.check(versions)
    assert await workspace.check(versions) == ChangeReport(())
