"""Branches on disk: what a damaged parent leaves of them, and how they are exported and imported."""

from __future__ import annotations

from pathlib import Path

import plyvel
import pytest

from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.store import Commit
from helix_desktop.store.archive_transfer import export_session, export_store, import_store
from helix_desktop.store.kinds import event_key
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    START_MS,
    WORKSPACE,
    TickingClock,
    closing_store,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)

NAMES = ("p", "a-branch", "deepest")


async def family(
    folder: Path, workspace_id: str = WORKSPACE
) -> tuple[LevelDbStore, dict[str, list[RecordedEvent]]]:
    """Open a store with a parent, its branch and a branch of that; return it and the logs.

    Each branch is listed before its parent, by its name.
    """
    store = await LevelDbStore.open(folder, workspace_id, TickingClock())
    data = b"an output"
    parent = [user_message_event(1), tool_answer_event(2, data), user_message_event(3), user_message_event(4)]
    await store.commit(Commit("p", parent, [make_content(data)], summary=make_summary("p")))
    for name, of, seq in (("a-branch", "p", 3), ("deepest", "a-branch", 5)):
        first = RecordedEvent(seq + 1, START_MS + seq, SessionBranched(of, seq, name))
        own = [first, user_message_event(seq + 2, f"in {name}")]
        await store.commit(Commit(name, own, summary=make_summary(name)))
    return store, {name: await store.events(name) for name in NAMES}


async def test_a_branch_ends_where_its_parents_log_is_cut(tmp_path: Path) -> None:
    """What lies behind the cut is put aside and named; both go on from there."""
    store, logs = await family(tmp_path / "store")
    await store.close()
    db = plyvel.DB(str(tmp_path / "store" / "db"), compression=None)
    db.delete(event_key("p", 2))
    db.close()
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE)
    await store.health.check()
    await store.close()
    async with closing_store(await LevelDbStore.open(tmp_path / "store", WORKSPACE)) as store:
        report = store.health.report
        assert report is not None
        assert {cut.session: (cut.kept, cut.aside, cut.lost) for cut in report.cut} == {
            "p": (1, 2, 1),
            "a-branch": (1, 2, 2),
            "deepest": (1, 2, 4),
        }
        for name in NAMES:
            assert await store.events(name) == logs["p"][:1]
            await store.commit(Commit(name, [user_message_event(2, f"on in {name}")]))
            assert len(await store.events(name)) == 2
        assert (await store.health.check()).is_sound


async def test_branches_are_exported_with_their_parents_and_imported_anywhere(tmp_path: Path) -> None:
    """Into an empty workspace, a second time, and beside a session of the same id that went another way."""
    store, logs = await family(tmp_path / "one")
    result = await export_store(store, str(tmp_path / "x.helix"), "x", START_MS)
    await store.close()
    assert result.totals.events == 4 + 2 + 2
    other = await LevelDbStore.open(tmp_path / "two", OTHER_WORKSPACE, TickingClock())
    assert set((await import_store(other, result.path)).new) == set(NAMES)
    assert {name: await other.events(name) for name in NAMES} == logs
    assert set((await import_store(other, result.path)).unchanged) == set(NAMES)
    await other.close()

    third = await LevelDbStore.open(tmp_path / "three", OTHER_WORKSPACE, TickingClock())
    await third.commit(Commit("p", [user_message_event(1, "another")], summary=make_summary("p")))
    first = await import_store(third, result.path)
    (apart,) = first.apart
    assert await third.events(apart) == logs["p"]
    branched = await third.events("a-branch")
    assert (branched[:3], branched[4:]) == (logs["p"][:3], logs["a-branch"][4:])
    assert branched[3].event == SessionBranched(apart, 3, "a-branch")
    assert set((await import_store(third, result.path)).unchanged) == {apart, "a-branch", "deepest"}
    assert (await third.health.check()).is_sound
    await third.close()


async def test_a_branch_exported_alone_has_its_whole_log_and_no_more_of_its_parents(tmp_path: Path) -> None:
    store, logs = await family(tmp_path / "one")
    result = await export_session(store, str(tmp_path / "x.helix"), "x", START_MS, "deepest")
    assert (await import_store(store, result.path)).unchanged == ("deepest",)
    await store.close()
    other = await LevelDbStore.open(tmp_path / "two", OTHER_WORKSPACE, TickingClock())
    assert (await import_store(other, result.path)).new == ("deepest",)
    assert [await other.events(name) for name in NAMES] == [[], [], logs["deepest"]]
    await other.commit(Commit("deepest", [user_message_event(len(logs["deepest"]) + 1)]))
    assert (await other.health.check()).is_sound
    await other.close()


@pytest.mark.parametrize("is_there", [False, True], ids=["into an empty one", "beside the parent"])
async def test_a_branch_is_imported_without_its_deleted_parent(tmp_path: Path, is_there: bool) -> None:
    """The part that it needs comes along, hidden; where the parent lives it stays as it is."""
    store, logs = await family(tmp_path / "one")
    await store.retention.trash_session("p")
    await store.retention.empty_trash()
    result = await export_store(store, str(tmp_path / "x.helix"), "x", START_MS)
    await store.close()
    other = await LevelDbStore.open(tmp_path / "two", OTHER_WORKSPACE, TickingClock())
    if is_there:
        data = b"an output"
        await other.commit(Commit("p", logs["p"][:2], [make_content(data)], summary=make_summary("p")))
    await import_store(other, result.path)
    try:
        assert await other.events("deepest") == logs["deepest"]
        listed = {summary.id for summary in await other.sessions()}
        assert listed == ({*NAMES} if is_there else {"a-branch", "deepest"})
        assert (await other.totals()).sessions == len(listed)
        assert (await other.health.check()).is_sound
        for name in ("deepest", "a-branch"):
            await other.retention.trash_session(name)
        await other.retention.empty_trash()
        assert len(await other.events("p")) == (3 if is_there else 0)
    finally:
        await other.close()
