"""Which workspaces have a file history, when it starts, and what it is told to cover."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from helix_desktop.config.toml_file import TomlFiles
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.file_history.changes import FileCoverageSettings
from helix_desktop.file_history.history import WorkspaceFileHistory
from helix_desktop.services.file_history import FileHistories
from helix_desktop.workspaces.registry import WorkspaceRegistry


class Rig:
    """A workspace whose folder also holds the app's own data, and its histories."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "project.txt").write_text("x")
        self.registry = WorkspaceRegistry(home / "data/workspaces", TomlFiles(), lambda: 1)
        self.id = "w"
        self.histories = FileHistories(self.registry, home / "data")

    def open(self, trusted: bool) -> WorkspaceFileHistory:
        """Open the history of a folder that is trusted or not."""
        self.id = self.registry.add(self.home, trusted=trusted).id
        return self.histories.open(self.id, self.home)

    @property
    def has_database(self) -> bool:
        return (self.registry.data_folder(self.id) / "file-history.db").exists()


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """A rig, closed after."""
    new_rig = Rig(tmp_path)
    yield new_rig
    await new_rig.histories.close(new_rig.id)


async def complete(history: WorkspaceFileHistory) -> None:
    """Wait until everything is copied."""
    changed = asyncio.Event()
    history.listen(changed.set)
    async with asyncio.timeout(300):
        while not history.coverage.is_complete:
            await changed.wait()
            changed.clear()


async def test_a_folder_is_looked_at_once_it_is_trusted_and_the_app_s_own_data_never(rig: Rig) -> None:
    history = rig.open(trusted=False)
    await asyncio.sleep(0)
    await rig.histories.use_settings(rig.id, FileCoverageSettings(max_file=5))
    assert not rig.has_database
    rig.registry.change(rig.id, trusted=True)
    rig.histories.start(rig.id)
    await complete(history)
    assert rig.has_database
    assert [(place.path, place.reason) for place in history.coverage.places] == [("data", "own_data")]
    assert history.coverage.files == 1


async def test_what_is_included_is_saved_with_the_workspace(rig: Rig) -> None:
    history = rig.open(trusted=True)
    await history.include("build/out/", True)
    assert rig.registry.get(rig.id).history_included == ("build/out",)
    with pytest.raises(InvalidInput, match="must be a path in this workspace"):
        await history.include("../other", True)
    with pytest.raises(InvalidInput, match="Git's own folder"):
        await rig.histories.use_settings(rig.id, FileCoverageSettings(("sub/.git/hooks",)))
    await history.include("build/out", False)
    assert rig.registry.get(rig.id).history_included == ()


async def test_a_pause_of_the_first_copy_is_saved_and_no_other_setting_ends_it(rig: Rig) -> None:
    history = rig.open(trusted=True)
    await history.pause(True)
    await rig.histories.use_settings(rig.id, FileCoverageSettings(max_file=5))
    await history.include("build/out", True)
    record = rig.registry.get(rig.id)
    assert (record.history_paused, record.history_max_file) == (True, 5)
    assert history.coverage.is_paused
    await history.pause(False)
    assert not rig.registry.get(rig.id).history_paused
    await complete(history)
