"""Where things live: resources, prompts, the data directory, and where the user was in each session."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.agent.session_services import split_version
from helix_desktop.config import paths
from helix_desktop.config.paths import DataDir, load_prompts, resources_dir
from helix_desktop.config.view_states import VIEWS_FILE, ViewState, ViewStates
from helix_desktop.domain.errors import DataDirUnavailable


def test_a_checkout_finds_its_own_resources() -> None:
    """The resources of a checkout are next to the package."""
    folder = resources_dir()
    assert {entry.name for entry in folder.iterdir()} >= {"fonts", "icons", "licenses", "tokenizers"}


def test_a_frozen_app_finds_the_unpacked_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyInstaller names its folder in sys._MEIPASS."""
    (tmp_path / "resources" / "tokenizers").mkdir(parents=True)
    monkeypatch.setattr("sys._MEIPASS", str(tmp_path), raising=False)
    assert resources_dir() == tmp_path / "resources"


def test_an_installed_wheel_finds_the_resources_inside_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helix_desktop" / "resources" / "tokenizers").mkdir(parents=True)
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "helix_desktop")
    assert resources_dir() == tmp_path / "helix_desktop" / "resources"


def test_missing_resources_name_the_folders_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An incomplete installation is reported, with the folders that were tried."""
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "helix_desktop")
    with pytest.raises(FileNotFoundError, match="install Helix Desktop again"):
        resources_dir()


def test_the_folder_argument_wins_over_the_environment(tmp_path: Path) -> None:
    """--data-dir, then HELIX_DATA_DIR, then the system's default."""
    environ = {"HELIX_DATA_DIR": str(tmp_path / "environ")}
    assert DataDir.locate(tmp_path / "given", environ).root == tmp_path / "given"
    assert DataDir.locate(None, environ).root == tmp_path / "environ"
    assert DataDir.locate(None, {"HELIX_DATA_DIR": " "}).root.name == "helix-desktop"
    assert DataDir.locate(None, {}).root.is_absolute()


def test_relative_and_home_folders_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later change of the current folder must not move the data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert DataDir.locate(Path("data"), {}).root == tmp_path / "data"
    assert DataDir.locate(None, {"HELIX_DATA_DIR": "~/data"}).root == tmp_path / "home" / "data"


def test_ensure_makes_private_folders_and_leaves_nothing_else(tmp_path: Path) -> None:
    """The folders exist, belong to this user alone, and hold no trace of the probe; twice is fine."""
    data = DataDir(tmp_path / "deep" / "data")
    data.ensure()
    data.ensure()
    assert sorted(entry.name for entry in data.root.iterdir()) == ["logs", "workspaces"]
    assert not list(data.logs_dir.iterdir())
    assert stat.S_IMODE(data.root.stat().st_mode) == 0o700


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_is_refused(tmp_path: Path) -> None:
    """Reported at once, not at the first write."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(DataDirUnavailable):
        DataDir(closed / "data").ensure()


def test_a_file_in_the_way_is_refused_with_cause_and_remedy(tmp_path: Path) -> None:
    """The error names the folder, the reason and both remedies."""
    (tmp_path / "data").write_text("a file", encoding="utf-8")
    with pytest.raises(DataDirUnavailable) as refused:
        DataDir(tmp_path / "data").ensure()
    assert str(tmp_path / "data") in refused.value.what
    assert refused.value.why == "It isn't a folder."
    assert "--data-dir" in refused.value.fix
    assert "HELIX_DATA_DIR" in refused.value.fix


def test_a_workspace_folder_is_named_by_its_uuid() -> None:
    """A UUID and its text give the same folder."""
    data = DataDir(Path("data"))
    uuid = uuid4()
    assert (
        data.workspace_dir(uuid) == data.workspace_dir(str(uuid).upper()) == data.workspaces_dir / str(uuid)
    )


@given(st.text())
def test_no_name_escapes_the_workspaces_folder(name: str) -> None:
    """Anything but a UUID is refused; what is accepted stays directly inside."""
    data = DataDir(Path("data"))
    try:
        folder = data.workspace_dir(name)
    except ValueError:
        return
    assert folder.parent == data.workspaces_dir
    assert str(UUID(folder.name)) == folder.name


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("<!-- version 2 -->\nWrite.\n", ("Write.", "handover 2")),
        ("\n<!-- version 2.1b -->\r\n\nWrite.", ("Write.", "handover 2.1b")),
        ("Write.", ("Write.", "handover")),
        ("Write.\n<!-- version 2 -->", ("Write.\n<!-- version 2 -->", "handover")),
        ("<!-- version -->\nWrite.", ("<!-- version -->\nWrite.", "handover")),
    ],
)
def test_a_version_line_is_read_and_removed(text: str, read: tuple[str, str]) -> None:
    """Only the first line can carry a version."""
    assert split_version("handover", text) == read


def test_shipped_prompts_have_versions() -> None:
    """Each prompt has a version line and text after it."""
    for name, text in load_prompts().items():
        body, version = split_version(name, text)
        assert version.startswith(f"{name} "), name
        assert body
        assert "<!--" not in body


def test_the_last_sessions_are_stored_and_a_damaged_file_loses_only_the_positions(tmp_path: Path) -> None:
    place = tmp_path / VIEWS_FILE
    states = ViewStates(place)
    for number in range(400):
        states.put(f"s{number}", ViewState(row="e3", offset=4.5, card=number))
    states.save()
    again = ViewStates(place)
    assert again.get("s399") == ViewState(row="e3", offset=4.5, card=399)
    assert again.get("s0") == ViewState()
    place.write_bytes(b"{")
    assert ViewStates(place).get("s399") == ViewState()
