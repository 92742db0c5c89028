"""Parts of a session taken back and redone in any order: files and list agree, whatever came before."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from helix_desktop.agent.change_recorder import record_captures, record_unrecorded
from helix_desktop.agent.session import Session
from helix_desktop.agent.workspace_changes import WorkspaceChanges
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import RecordedChanges, RevertPlan, RevertSelection
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.changes.reverts.revert_and_rewind_dialogs import plan_lead
from helix_desktop.ui.changes.reverts.revert_flow import done_text
from tests.support.file_changes.random_edits import START, RandomEdits
from tests.support.file_changes.rig import SESSION, HistoryRig, open_rig
from tests.support.file_changes.states import describe_recorded, describe_state
from tests.support.file_changes.tree import make_tree
from tests.support.session_simulator import create_session
from tests.support.store.builders import WORKSPACE

SEEDS = range(int(os.environ.get("HELIX_FUZZ_SEEDS", "1")))
_TURNS, _CALLS, _REVERTS = 5, 4, 12


@asynccontextmanager
async def open_changes(folder: Path) -> AsyncIterator[tuple[HistoryRig, Session, WorkspaceChanges]]:
    (folder / "work").mkdir()
    make_tree(folder / "work", START)
    store = await LevelDbStore.open(folder / "store", WORKSPACE)
    scope = TaskScope()
    session = create_session(SESSION, store, wall_clock_ms, scope, [])

    async def open_session(_: str) -> Session:
        return session

    async with open_rig(folder) as rig:
        yield (
            rig,
            session,
            WorkspaceChanges(rig.history, store, lambda _: session, open_session, lambda: True),
        )
    await scope.close()
    await store.close()


@pytest.mark.parametrize("seed", SEEDS)
async def test_what_is_taken_back_can_be_redone(seed: int, tmp_path: Path) -> None:
    """A redo right after a revert brings the files of before; the list says of each what stands there."""
    async with open_changes(tmp_path) as (rig, session, changes):
        edits = RandomEdits(rig.root, seed)
        for turn in range(_TURNS):
            await session.record(UserSpoke(f"turn {turn}", 2))
            for _ in range(_CALLS):
                rig.log.clear()
                await rig.run((("run_command", {"command": edits.command()}),), may_fail=True)
                await record_captures(session, rig.history, rig.log)
        for _ in range(_REVERTS):
            await check_list(rig, changes)
            before = rig.walk()
            plan = await plan_part(changes, edits.random)
            reverted = await changes.revert(SESSION, plan, {})
            check_count(plan, reverted)
            if reverted is None:
                assert rig.walk() == before
            elif edits.random.random() < 0.6:
                await check_list(rig, changes)
                assert isinstance(reverted.event, ChangesRecorded)
                redo = await changes.plan_redo(SESSION, reverted.event.capture)
                check_count(redo, await changes.revert(SESSION, redo, {}))
                assert rig.walk() == before
            elif edits.random.random() < 0.3:
                edits.user_edit()
                await rig.history.scan(SESSION)
                await record_unrecorded(session, rig.history)


def check_count(plan: RevertPlan, reverted: RecordedEvent | None) -> None:
    """Assert that what asks beforehand, and what is recorded, say the same of how many files change."""
    planned = plan.counted_changes({})
    event = reverted.event if reverted is not None else None
    assert event is None or isinstance(event, ChangesRecorded)
    recorded = (event.files, event.first_path) if event is not None else (0, "")
    assert recorded == (len(planned), planned[0].path if planned else "")


async def test_a_moved_file_is_one_file_wherever_it_is_counted(tmp_path: Path) -> None:
    async with open_changes(tmp_path) as (rig, session, changes):
        (rig.root / "letter").write_text("to be moved\n")
        await rig.scan()
        rig.log.clear()
        await rig.run_command("mkdir new && mv letter new/letter")
        [moved] = await record_captures(session, rig.history, rig.log)
        assert isinstance(moved.event, ChangesRecorded)
        assert (moved.event.files, moved.event.moved) == (1, 1)
        plan = await changes.plan(SESSION, RevertSelection((moved.event.capture,)))
        assert [(file.path, file.moved_from) for file in plan.counted_changes({})] == [
            ("letter", "new/letter")
        ]
        assert plan_lead(plan).startswith("1 file is ready.")
        reverted = await changes.revert(SESSION, plan, {})
        assert reverted is not None
        check_count(plan, reverted)
        assert isinstance(reverted.event, ChangesRecorded)
        assert (reverted.event.files, reverted.event.moved) == (1, 1)
        assert done_text(plan, plan.counted_changes({})) == "Reverted: letter"
        check_count(
            redo := await changes.plan_redo(SESSION, reverted.event.capture),
            await changes.revert(SESSION, redo, {}),
        )


async def plan_part(changes: WorkspaceChanges, choose: random.Random) -> RevertPlan:
    """Plan to take a part back, or to do a hunk again that was taken back, if there is one."""
    rows = (await changes.of_session(SESSION)).captures
    if choose.random() < 0.3:
        for row in choose.sample(rows, len(rows)):
            found = await choose_hunk(changes, row, choose)
            if found is not None:
                return found
    return await changes.plan(SESSION, await select_part(changes, choose))


async def choose_hunk(
    changes: WorkspaceChanges, row: RecordedChanges, choose: random.Random
) -> RevertPlan | None:
    """Plan what the button of a hunk does, of a change with several that stands; it has something to do."""
    files = {file.path: file for file in (await changes.of_session(SESSION)).files}
    for change in row.changes:
        diff = await changes.diff(change.before, change.after)
        if len(diff.hunks) < 2 or change.path in row.reverted or row.source == "outside":
            continue
        states = await changes.hunk_states(diff, files[change.path].after)
        hunk = choose.randrange(len(states))
        selection = RevertSelection((row.capture_id,), (change.path,), (hunk,), "hunk")
        if states[hunk] == "taken_back":
            plan = await changes.plan_hunk_redo(SESSION, selection)
        else:
            plan = await changes.plan(SESSION, selection)
        assert [file.status for file in plan.files] != ["same"], (states, hunk)
        return plan
    return None


async def select_part(changes: WorkspaceChanges, choose: random.Random) -> RevertSelection:
    """Return a turn, a step, a file of one of them, a hunk, or all."""
    rows = [row for row in (await changes.of_session(SESSION)).captures if row.source == "command"]
    row = choose.choice(rows)
    turn = tuple(other.capture_id for other in rows if other.turn == row.turn)
    match choose.randrange(6):
        case 0:
            return RevertSelection(turn, scope="turn")
        case 1:
            return RevertSelection((row.capture_id,), scope="step")
        case 2:
            return RevertSelection(tuple(other.capture_id for other in rows), scope="session")
        case 3:
            for change in row.changes:
                diff = await changes.diff(change.before, change.after)
                if diff.kind == "text" and len(diff.hunks) > 1:
                    hunk = choose.randrange(len(diff.hunks))
                    return RevertSelection((row.capture_id,), (change.path,), (hunk,), "hunk")
    return RevertSelection((row.capture_id,), (choose.choice(row.changes).path,), scope="file")


async def check_list(rig: HistoryRig, changes: WorkspaceChanges) -> None:
    """Assert that the list leaves each file as it is, and calls reverted only what was taken back."""
    listed = await changes.of_session(SESSION)
    tree = rig.walk()
    for file in listed.files:
        present = describe_state(tree.get(file.path))
        assert describe_recorded(file.after) == present, file.path
        if file.status == "reverted" and not file.by_user:
            assert describe_recorded(file.before) == present, file.path
    taken_back = {id_ for row in listed.captures for id_ in row.reverts}
    assert {row.capture_id for row in listed.captures if row.is_reverted} <= taken_back
