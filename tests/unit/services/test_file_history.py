"""File histories of open workspaces, and what they take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import SubagentStarted
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded, SessionBranched
from helix_desktop.domain.file_history.changes import (
    Capture,
    ChangeList,
    FileChange,
    FileCoverageSettings,
    FileState,
)
from helix_desktop.domain.store import Commit
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.history import WorkspaceFileHistory
from helix_desktop.file_history.maintenance import FileHistoryMaintenance
from helix_desktop.services.file_history import FileHistories, WorkspaceHistoryStorage
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.workspaces.registry import WorkspaceRegistry
from tests.support.store.builders import START_MS, WORKSPACE, make_summary, user_message_event


class Rig:
    """A workspace whose folder also holds the app's own data, and its histories."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "project.txt").write_text("x")
        self.registry = WorkspaceRegistry(home / "data/workspaces", lambda: 1)
        self.id = "w"
        self.histories = FileHistories(self.registry, home / "data")

    def open(self, trusted: bool) -> WorkspaceFileHistory:
        self.id = self.registry.add(self.home, trusted=trusted).id
        return self.histories.open(self.id, self.home)

    @property
    def has_database(self) -> bool:
        return (self.registry.data_folder(self.id) / "file-history.db").exists()


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    new_rig = Rig(tmp_path)
    yield new_rig
    await new_rig.histories.close(new_rig.id)


async def complete(history: WorkspaceFileHistory) -> None:
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


async def test_captures_of_deleted_sessions_go_and_those_that_a_branch_has_stay(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, lambda: START_MS)

    async def commit(session_id: str, *events: Event, parent: str = "") -> None:
        start = len(await store.events(session_id))
        recorded = tuple(RecordedEvent(start + n, START_MS, event) for n, event in enumerate(events, 1))
        summary = msgspec.structs.replace(make_summary(session_id), parent=parent)
        await store.commit(Commit(session_id, recorded, summary=summary))

    database = FileHistoryDatabase(tmp_path / "h.db", lambda: START_MS - 7_200_000)

    def capture(session_id: str, id_: str) -> ChangesRecorded:
        after = FileState(digest=database.contents.put(f"{id_} left this".encode()), size=10)
        changes = database.contents.put(ChangeList((FileChange(id_, None, after),)).encode())
        database.captures.add(Capture(id_, session_id, "tool", changes, 1))
        return ChangesRecorded(id_, changes, "tool")

    start = user_message_event(1).event
    await commit("parent", start, capture("parent", "in the branch"), SubagentStarted("sub", "call", "task"))
    await commit("sub", start, capture("sub", "of the subagent"), parent="parent")
    branched = RecordedEvent(4, START_MS, SessionBranched("parent", 3, "a branch"))
    summary = msgspec.structs.replace(make_summary("branch"), branch_of="parent")
    await store.commit(Commit("branch", (branched,), summary=summary))
    await commit("parent", capture("parent", "behind it"))
    await commit("deleted", start, capture("deleted", "of the deleted one"))
    capture("deleted", "not recorded yet")
    await commit("stays", start, capture("stays", "of another"))

    storage = FileHistoryMaintenance(tmp_path / "h.db", lambda: START_MS)
    history = WorkspaceHistoryStorage(storage, store, quota=0)
    for session_id in ("parent", "deleted"):
        await store.retention.trash_session(session_id)
    assert (await history.plan()).captures == 0
    assert (await history.plan_deletion(("stays",))).captures == 1
    would = await history.plan_deletion(("parent", "deleted"))
    await store.retention.empty_trash()
    assert (await history.plan()).captures == 3
    assert await history.clean_up() == would
    assert (would.captures, would.contents) == (3, 3)
    left = {capture.id for capture in database.captures.all()}
    assert left == {"in the branch", "of the subagent", "of another"}

    await store.retention.trash_session("branch")
    await store.retention.empty_trash()
    await history.clean_up()
    assert {capture.id for capture in database.captures.all()} == {"of another"}
    assert (await history.totals()).contents == 1
    await store.close()


async def test_a_branch_of_a_deleted_branch_keeps_what_its_first_part_captured(tmp_path: Path) -> None:
    """The question before a deletion counts what the clean-up after it removes."""
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, lambda: START_MS)
    database = FileHistoryDatabase(tmp_path / "h.db", lambda: START_MS - 7_200_000)

    async def branch(name: str, parent: str, seq: int) -> None:
        branched = RecordedEvent(seq + 1, START_MS, SessionBranched(parent, seq, name))
        summary = msgspec.structs.replace(make_summary(name), branch_of=parent)
        await store.commit(Commit(name, (branched,), summary=summary))

    digest = database.contents.put(ChangeList(()).encode())
    database.captures.add(Capture("first", "parent", "tool", digest, 1))
    log = (user_message_event(1), RecordedEvent(2, START_MS, ChangesRecorded("first", digest, "tool")))
    await store.commit(Commit("parent", log, summary=make_summary("parent")))
    await branch("between", "parent", 2)
    await branch("last", "between", 3)
    history = WorkspaceHistoryStorage(
        FileHistoryMaintenance(tmp_path / "h.db", lambda: START_MS), store, quota=0
    )
    for session_id in ("between", "parent"):
        await store.retention.trash_session(session_id)
        would = await history.plan_deletion((session_id,))
        await store.retention.delete_permanently((), [session_id])
        assert await history.clean_up() == would
        assert would.captures == 0
    await store.close()
