"""A full disk: settings, workspaces, events, handovers and drafts stay unchanged, and it is reported."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_desktop.config.paths import DataDir
from helix_desktop.config.settings import Settings
from helix_desktop.config.settings_file import SettingsFile
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.domain.errors import DataDirUnavailable, HelixError, StoreWriteFailed
from helix_desktop.domain.store import Commit
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.workspaces.registry import WorkspaceRegistry
from helix_desktop.workspaces.saved_rules import SavedRules
from tests.support.small_disk import fill_disk, mount_small_disk, remount
from tests.support.store.builders import (
    WORKSPACE,
    handover_event,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB of its own."""
    with mount_small_disk(tmp_path, "24m"):
        yield tmp_path


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.toml*")}


def refused(call: pytest.ExceptionInfo[HelixError]) -> None:
    """Assert that the error states what, why and what to do."""
    error = call.value
    assert "saved" in error.what
    assert "No space left" in error.why
    assert "space" in error.fix


async def test_settings_workspaces_and_policies_stay_unchanged(disk: Path) -> None:
    data = disk / "data"
    project = disk / "project"
    late = disk / "late"
    project.mkdir()
    late.mkdir()
    settings = SettingsFile(data / "settings.toml")
    await settings.save(Settings(model="first/one"))
    registry = WorkspaceRegistry(data / "workspaces", lambda: 1)
    record = registry.add(project)
    before = files_in(data)
    ballast = disk / "ballast"
    fill_disk(ballast)
    with pytest.raises(HelixError) as caught:
        await settings.save(Settings(model="second/one"))
    refused(caught)
    with pytest.raises(DataDirUnavailable, match="has free space"):
        DataDir(disk / "other").ensure()
    assert not list((disk / "other").iterdir()), "nothing of the attempt"
    with pytest.raises(HelixError) as caught:
        registry.change(record.id, name="Renamed")
    refused(caught)
    with pytest.raises(HelixError) as caught:
        registry.save_policy(record.id, ContextPolicy(enabled=False))
    refused(caught)
    with pytest.raises(HelixError) as caught:
        await SavedRules(registry, record.id).add(PermissionRule("run_command", "make"))
    refused(caught)
    with pytest.raises(HelixError) as caught:
        registry.add(late)
    refused(caught)
    assert files_in(data) == before
    assert (
        registry.list_workspaces()
        == WorkspaceRegistry(data / "workspaces", lambda: 1).list_workspaces()
        == [record]
    )
    ballast.unlink()
    await settings.save(Settings(model="third/one"))
    assert settings.load()[0].model == "third/one"
    assert registry.change(record.id, name="Renamed").name == "Renamed"
    assert len((registry.add(late), registry.list_workspaces())[1]) == 2


async def test_an_unwritable_folder_is_named_and_left_unchanged(disk: Path) -> None:
    data = disk / "data"
    project = disk / "project"
    project.mkdir()
    settings = SettingsFile(data / "settings.toml")
    await settings.save(Settings(model="first/one"))
    registry = WorkspaceRegistry(data / "workspaces", lambda: 1)
    record = registry.add(project)
    store = await LevelDbStore.open(disk / "store", WORKSPACE)
    await store.commit(Commit("s", [user_message_event(1)]))
    await store.close()
    before = files_in(data)
    remount(disk, "ro")
    with pytest.raises(HelixError, match="saved"):
        await settings.save(Settings(model="second/one"))
    with pytest.raises(HelixError, match="saved"):
        registry.change(record.id, name="Renamed")
    with pytest.raises(DataDirUnavailable, match="Make the folder writable"):
        await LevelDbStore.open(disk / "store", WORKSPACE)
    assert files_in(data) == before
    remount(disk, "rw")
    store = await LevelDbStore.open(disk / "store", WORKSPACE)
    assert await store.events("s") == [user_message_event(1)]
    await store.close()


async def test_events_handovers_and_drafts_stay_unchanged(disk: Path) -> None:
    store = await LevelDbStore.open(disk / "store", WORKSPACE)
    index = b"an index of what was"
    log = [user_message_event(1), tool_answer_event(2, b"found"), handover_event(3, index)]
    await store.commit(
        Commit(
            "s", log, [make_content(b"found"), make_content(index, kind="index")], summary=make_summary("s")
        )
    )
    await store.save_draft("s", "typed")
    ballast = disk / "ballast"
    fill_disk(ballast)
    late = handover_event(4, b"later index")
    large = make_content(random.Random(1).randbytes(100_000))  # more than is left of the last page of a file
    with pytest.raises(StoreWriteFailed):
        await store.commit(Commit("s", [late], [large, make_content(b"later index")]))
    with pytest.raises(StoreWriteFailed):
        await store.save_draft("s", "not kept")
    assert await store.events("s") == log
    assert (await store.draft("s")).text == "typed"
    assert [session.id for session in await store.sessions()] == ["s"]
    ballast.unlink()
    await store.commit(Commit("s", [late], [make_content(b"later index")]))
    await store.close()
    store = await LevelDbStore.open(disk / "store", WORKSPACE)
    assert await store.events("s") == [*log, late]
    assert await store.get(make_content(index).digest) == index
    assert (await store.draft("s")).text == "typed"
    await store.close()
