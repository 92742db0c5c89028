"""Folders and files are opened in open folders, never through a link; renames that replace nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from helix_desktop.system import file_syscalls, folders
from helix_desktop.system.file_syscalls import exchange, rename_new
from helix_desktop.system.folders import OpenFolders, open_file


@pytest.fixture(params=[True, False], ids=["descriptors", "paths"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folders, "BY_DESCRIPTOR", request.param and folders.BY_DESCRIPTOR)
    (tmp_path / "work/a/b").mkdir(parents=True)
    (tmp_path / "work/a/b/file").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("outside")
    return tmp_path / "work"


@pytest.fixture
def open_count() -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.usefixtures("open_count")
def test_a_file_is_read_in_its_folder_and_every_folder_is_closed_again(root: Path) -> None:
    with OpenFolders(root) as opened:
        for path in ("a/b/file", "a", "a/b/file", "a/missing"):
            folder, _ = opened.of(path)
            assert os.path.samestat(os.stat(folder), (root / path).parent.stat())
        assert opened.names == ["a"]
        with open_file(*opened.of("a/b/file")) as file:
            assert os.read(file, 100) == b"inside"
        with pytest.raises(FileNotFoundError):
            opened.of("a/missing/file")


@pytest.mark.usefixtures("open_count")
def test_no_link_is_followed_to_a_folder_or_a_file(root: Path) -> None:
    (root / "folder").symlink_to(root.parent / "outside")
    (root / "file").symlink_to(root.parent / "outside/file")
    with OpenFolders(root) as opened:
        with pytest.raises(NotADirectoryError):
            opened.of("folder/file")
        folder, name = opened.of("file")
        with pytest.raises(OSError, match=r"symbolic links|is no file"), open_file(folder, name):
            pytest.fail("a link was followed")


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes with names there")
@pytest.mark.usefixtures("open_count")
def test_a_pipe_that_nobody_writes_to_does_not_hang(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with (
        OpenFolders(root) as opened,
        suppress(OSError),  # by paths it is refused
        open_file(*opened.of("pipe")) as file,
    ):
        assert os.read(file, 1) == b""


posix = pytest.mark.skipif(sys.platform == "win32", reason="folders have no descriptors there")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture(params=["with the call", "without it"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that knows such a rename, and one that does not."""
    if request.param == "without it":
        monkeypatch.setattr(file_syscalls, "_rename", None)


@posix
@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_nothing_is_replaced(tmp_path: Path, folder: int, kind: str) -> None:
    match kind:
        case "file":
            (tmp_path / "source").write_text("content")
        case "link":
            (tmp_path / "source").symlink_to("nowhere")
        case _:
            (tmp_path / "source").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "taken").mkdir()
    for name in ("taken", "dangling"):
        with pytest.raises(FileExistsError):
            rename_new("source", folder, name, folder)
    rename_new("source", folder, "target", folder)
    assert sorted(os.listdir(tmp_path)) == ["dangling", "taken", "target"]
    assert (tmp_path / "target").is_symlink() == (kind == "link")
    with pytest.raises(FileNotFoundError):
        rename_new("source", folder, "other", folder)


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="knows no exchange")
def test_two_places_are_exchanged(tmp_path: Path, folder: int) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").symlink_to("a")
    if not exchange("a", folder, "b", folder):
        pytest.skip("the disk cannot exchange")
    assert (tmp_path / "b").read_text() == "a"
    assert os.readlink(tmp_path / "a") == "a"
    with pytest.raises(FileNotFoundError):
        exchange("a", folder, "missing", folder)
    assert not exchange("a", None, "b", None)
