"""The data folder goes while the app runs: no setting is saved into what stands in its place."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from helix_desktop.config.settings_file import SettingsFile
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.domain.errors import HelixError
from helix_desktop.services.app_services import AppServices
from helix_desktop.workspaces.registry import RECORD_FILE


async def test_an_empty_mount_point_gets_no_settings(services: AppServices, tmp_path: Path) -> None:
    """They would be hidden below the drive once it is back."""
    await services.save_settings(replace(services.settings, text_size=15))
    data = services.data_dir.root
    away = tmp_path / "away"
    data.rename(away)
    data.mkdir()
    with pytest.raises(HelixError, match=r"The settings couldn.t be saved"):
        await services.save_settings(replace(services.settings, text_size=18))
    assert services.settings.text_size == 18, "it holds until the app quits"
    assert list(data.iterdir()) == []
    data.rmdir()
    away.rename(data)
    await services.save_settings(replace(services.settings, text_size=20))
    assert SettingsFile(services.data_dir.settings_file).load()[0].text_size == 20


async def test_a_setting_is_saved_at_the_end_if_the_folder_is_back(
    services: AppServices, tmp_path: Path
) -> None:
    data = services.data_dir.root
    away = tmp_path / "away"
    data.rename(away)
    with pytest.raises(HelixError):
        await services.save_settings(replace(services.settings, text_size=18))
    away.rename(data)
    await services.close()
    assert SettingsFile(services.data_dir.settings_file).load()[0].text_size == 18


async def test_an_empty_mount_point_gets_no_workspace(services: AppServices, tmp_path: Path) -> None:
    project = tmp_path / "project"
    data = services.data_dir.root
    project.mkdir()
    workspace = services.registry.add(project)
    data.rename(tmp_path / "away")
    data.mkdir()
    for save in (
        lambda: services.registry.change(workspace.id, trusted=True),
        lambda: services.registry.add(tmp_path),
        lambda: services.registry.remove(workspace.id),
    ):
        with pytest.raises(HelixError, match="workspaces was deleted or moved, or its drive"):
            save()
    assert list(data.iterdir()) == []
    assert services.registry.get(workspace.id) == workspace, "what was not saved is not shown as saved"


async def test_the_data_of_a_workspace_is_not_made_again_for_its_settings(
    services: AppServices, tmp_path: Path
) -> None:
    """Alone in a new folder, they would look like an empty workspace."""
    project = tmp_path / "project"
    project.mkdir()
    workspace = services.registry.add(project)
    folder = services.registry.data_folder(workspace.id)
    away = tmp_path / "away"
    folder.rename(away)
    with pytest.raises(HelixError, match=r"The settings of project weren.t saved"):
        await asyncio.to_thread(services.registry.change, workspace.id, trusted=True)
    with pytest.raises(HelixError, match=r"The policy wasn.t saved") as caught:
        services.registry.save_policy(workspace.id, ContextPolicy())
    assert f"{folder} was deleted or moved" in caught.value.why, "the disk is not full"
    assert not folder.exists()
    away.rename(folder)
    services.registry.change(workspace.id, trusted=True)
    assert "trusted = true" in (folder / RECORD_FILE).read_text(encoding="utf-8")


async def test_no_store_is_made_where_the_data_was(services: AppServices, tmp_path: Path) -> None:
    """A server that was idle meanwhile would answer that nothing is cached."""
    project = tmp_path / "project"
    data = services.data_dir.root
    project.mkdir()
    workspace = services.registry.add(project)
    services.registry.data_folder(workspace.id).rename(tmp_path / "elsewhere")
    before = sorted(data.rglob("*"))
    with pytest.raises(HelixError, match="was deleted or moved, or its drive"):
        async with services.borrow_store(workspace.id):
            pass
    with pytest.raises(HelixError, match="was deleted or moved, or its drive"):
        await services.open_workspace(workspace.id)
    assert sorted(data.rglob("*")) == before
