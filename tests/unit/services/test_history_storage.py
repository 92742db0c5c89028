"""Which captures go: those that no log has any more. Trash, branches and subagents keep theirs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from helix_desktop.domain.events.conversation import SubagentStarted
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded, SessionBranched
from helix_desktop.domain.file_history.changes import Capture, ChangeList, FileChange, FileState
from helix_desktop.domain.store import Commit
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.storage import FileHistoryStorage
from helix_desktop.services.file_history import WorkspaceHistoryStorage
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import START_MS, WORKSPACE, make_summary, user_message_event


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

    storage = FileHistoryStorage(tmp_path / "h.db", lambda: START_MS)
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
    history = WorkspaceHistoryStorage(FileHistoryStorage(tmp_path / "h.db", lambda: START_MS), store, quota=0)
    for session_id in ("between", "parent"):
        await store.retention.trash_session(session_id)
        would = await history.plan_deletion((session_id,))
        await store.retention.delete_permanently((), [session_id])
        assert await history.clean_up() == would
        assert would.captures == 0
    await store.close()
