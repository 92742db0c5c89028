"""Folders and files are opened in open folders, and never through a link: by descriptors, and by paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from helix_desktop.system import folders
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
