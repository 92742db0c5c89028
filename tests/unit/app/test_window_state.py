"""The file of the window's sizes: damaged it means default ones, and one that can't be read is left alone."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.app.window_state import WindowStateFile


def test_what_was_put_comes_back(tmp_path: Path) -> None:
    state = WindowStateFile(tmp_path / "window.toml")
    state.put("geometry", b"\0\1")
    state.set_appearance("dark", 15)
    state.save()
    again = WindowStateFile(tmp_path / "window.toml")
    assert (again.get("geometry"), again.get("other"), again.appearance()) == (b"\0\1", b"", ("dark", 15))


def test_a_damaged_file_means_default_sizes_and_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "window.toml"
    path.write_text("geometry = [")
    state = WindowStateFile(path)
    assert state.get("geometry") == b""
    state.put("geometry", b"\2")
    state.save()
    assert WindowStateFile(path).get("geometry") == b"\2"


def test_what_cannot_be_read_is_left_as_it_is(tmp_path: Path) -> None:
    """As on a disk that is not there now; here a link that leads to itself."""
    path = tmp_path / "window.toml"
    path.symlink_to(path)
    state = WindowStateFile(path)
    state.put("geometry", b"\3")
    state.save()
    assert path.is_symlink()
