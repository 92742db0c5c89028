"""Where a mount of the sandbox is to stand, what a command put there is replaced, and no link followed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helix_desktop.tools.shell.sandbox_bubblewrap import make_mount_point

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap runs on Linux alone")


@pytest.mark.parametrize("is_folder", [True, False], ids=["folder", "file"])
@pytest.mark.parametrize("place", ["a/b", "a/b/point"])
@pytest.mark.parametrize("planted", ["nothing", "link", "link to nothing", "file", "folder"])
def test_what_stands_in_the_place_of_a_mount_is_replaced(
    tmp_path: Path, planted: str, place: str, is_folder: bool
) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    outside.mkdir()
    (home / place).parent.mkdir(parents=True)
    match planted:
        case "link":
            (home / place).symlink_to(outside)
        case "link to nothing":
            (home / place).symlink_to(outside / "nothing")
        case "file":
            (home / place).write_text("planted")
        case "folder":
            (home / place / "inner").mkdir(parents=True)
    make_mount_point(home, ("a", "b", "point"), is_folder)
    point = home / "a/b/point"
    assert not (home / "a/b").is_symlink()
    assert not point.is_symlink()
    assert point.is_dir() if is_folder else point.is_file()
    assert list(outside.iterdir()) == []
