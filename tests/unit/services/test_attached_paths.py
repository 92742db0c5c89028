"""The list of a folder that goes with a message."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.services.attached_paths import MAX_LISTED, list_folder


def test_a_list_of_a_folder_is_bounded_and_follows_no_link(tmp_path: Path) -> None:
    """A loop of links ends; what package managers bring is named only."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "node_modules" / "left").mkdir(parents=True)
    assert list_folder(tmp_path).splitlines() == ["a/", "node_modules/", "a/b/", "a/b/up (link)"]
    for number in range(MAX_LISTED + 5):
        (inner / f"{number:05}").touch()
    assert len(list_folder(tmp_path).splitlines()) == MAX_LISTED + 1
