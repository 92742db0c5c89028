"""Renames that replace nothing, by the system's own call and without it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_desktop.system import file_syscalls
from helix_desktop.system.file_syscalls import exchange, rename_new

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders have no descriptors there")


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
