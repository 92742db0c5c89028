"""Parts and hunks of a session's changes, taken back and redone in any order: files and list agree."""

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
from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import RecordedChanges, RevertPlan, RevertSelection
from helix_desktop.domain.file_history.hunks import HunkState
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.changes.reverts.plan_dialog import plan_lead
from helix_desktop.ui.changes.reverts.revert_flow import done_text
from tests.support.file_changes.cases import numbered_lines
from tests.support.file_changes.random_edits import START, RandomEdits
from tests.support.file_changes.rig import SESSION, HistoryRig, open_rig
from tests.support.file_changes.tree import describe_recorded, describe_state, make_tree
from tests.support.session_simulator import create_session
from tests.support.store.builders import WORKSPACE

SEEDS = range(int(os.environ.get("HELIX_FUZZ_SEEDS", "1")))
_TURNS = 5
_CALLS = 4
_REVERTS = 12


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


PATH = "list.txt"
BEFORE = numbered_lines(40)
AFTER = numbered_lines(40, line3="first", line20="second", line37="third")
STANDS = "standing"
OVER = "taken_back"
CHANGED = "changed"


class Life:
    """A session in which a call changed a text in three places."""

    def __init__(self, rig: HistoryRig, session: Session, changes: WorkspaceChanges) -> None:
        self.rig = rig
        self.session = session
        self.changes = changes

    async def write(self, text: str) -> None:
        """Let a call of the agent write the file."""
        self.rig.log.clear()
        await self.rig.run((("write_file", {"path": PATH, "content": text}),))
        await record_captures(self.session, self.rig.history, self.rig.log)

    async def write_outside(self, text: str) -> None:
        """Write the file as the user does."""
        (self.rig.root / PATH).write_text(text)
        await self.rig.history.scan(SESSION)
        await record_unrecorded(self.session, self.rig.history)

    @property
    def text(self) -> str:
        """What the file holds."""
        return (self.rig.root / PATH).read_text()

    async def row(self, number: int) -> RecordedChanges:
        """Return a row of the list, -1: the newest."""
        return (await self.changes.of_session(SESSION)).captures[number]

    async def revert(self, hunk: int, number: int) -> RevertPlan:
        """Take a hunk of a row back, without a question."""
        row = await self.row(number)
        return await self.carry_out(await self.changes.plan(SESSION, _hunk_of(row, hunk)))

    async def redo(self, hunk: int, number: int) -> RevertPlan:
        """Do a hunk of a row again, without a question."""
        row = await self.row(number)
        return await self.carry_out(await self.changes.plan_hunk_redo(SESSION, _hunk_of(row, hunk)))

    async def revert_file(self, number: int) -> RevertPlan:
        """Take all of a row back, without a question."""
        row = await self.row(number)
        selection = RevertSelection((row.capture_id,), (PATH,), scope="file")
        return await self.carry_out(await self.changes.plan(SESSION, selection))

    async def redo_file(self, number: int) -> RevertPlan:
        """Do all of a row again, without a question."""
        row = await self.row(number)
        return await self.carry_out(await self.changes.plan_redo(SESSION, row.capture_id, (PATH,)))

    async def carry_out(self, plan: RevertPlan) -> RevertPlan:
        """Do what is planned, which has to be something."""
        assert [file.status for file in plan.files] in (["ready"], ["merge"])
        choices: dict[str, RevertChoice] = {
            file.path: "merged" for file in plan.files if file.status == "merge"
        }
        assert await self.changes.revert(SESSION, plan, choices) is not None
        return plan

    async def states(self, number: int) -> tuple[HunkState, ...]:
        row = await self.row(number)
        (change,) = row.changes
        (file,) = (await self.changes.of_session(SESSION)).files
        return await self.changes.hunk_states(
            await self.changes.diff(change.before, change.after), file.after
        )

    async def status(self) -> str:
        (file,) = (await self.changes.of_session(SESSION)).files
        return file.status


def _hunk_of(row: RecordedChanges, hunk: int) -> RevertSelection:
    return RevertSelection((row.capture_id,), (PATH,), (hunk,), "hunk")


@asynccontextmanager
async def edited(folder: Path) -> AsyncIterator[Life]:
    """A session after the call."""
    async with open_changes(folder) as (rig, session, changes):
        (rig.root / PATH).write_text(BEFORE)
        await rig.history.scan(SESSION)
        await rig.history.acknowledge([found.capture.id for found in await rig.history.unrecorded(SESSION)])
        await session.record(UserSpoke("Go.", 2))
        life = Life(rig, session, changes)
        await life.write(AFTER)
        yield life


async def test_a_hunk_that_was_reverted_is_known_and_comes_back_alone(tmp_path: Path) -> None:
    async with edited(tmp_path) as life:
        assert await life.states(0) == (STANDS, STANDS, STANDS)
        plan = await life.revert(1, 0)
        assert (plan.scope, plan.is_redo) == ("hunk", False)
        assert await life.states(0) == (STANDS, OVER, STANDS)
        again = await life.changes.plan(SESSION, _hunk_of(await life.row(0), 1))
        assert [file.status for file in again.files] == ["same"], "to revert it again does nothing"

        plan = await life.redo(1, 0)
        assert life.text == AFTER
        assert (plan.scope, plan.is_redo) == ("redo", True), "all of that revert is undone"
        assert await life.states(0) == (STANDS, STANDS, STANDS)
        assert (await life.row(1)).is_reverted, "the revert reads as undone"
        await life.revert(1, 0)
        assert await life.states(0) == (STANDS, OVER, STANDS)


async def test_all_hunks_reverted_are_the_whole_until_one_comes_back(tmp_path: Path) -> None:
    async with edited(tmp_path) as life:
        for hunk in (0, 1, 2):
            assert await life.status() == "open"
            await life.revert(hunk, 0)
        assert (life.text, await life.status()) == (BEFORE, "reverted")
        await life.redo_file(1)  # the revert of the first hunk
        assert life.text == numbered_lines(40, line3="first")
        assert await life.status() == "open"
        assert await life.states(0) == (STANDS, OVER, OVER)
        assert [(await life.row(number)).is_reverted for number in (1, 2, 3)] == [True, False, False]

        plan = await life.revert_file(0)
        assert [file.status for file in plan.files] == ["ready"], "nothing came between"
        assert (life.text, await life.status()) == (BEFORE, "reverted")
        await life.redo_file(0)
        assert (life.text, await life.status()) == (AFTER, "open")
        assert await life.states(0) == (STANDS, STANDS, STANDS)
        assert [(await life.row(number)).is_reverted for number in (1, 2, 3)] == [True, True, True]
        plan = await life.revert_file(0)
        assert [file.status for file in plan.files] == ["ready"]
        assert (life.text, await life.status()) == (BEFORE, "reverted")


async def test_a_part_of_a_revert_that_is_redone_is_called_so_and_makes_the_file_open(tmp_path: Path) -> None:
    async with edited(tmp_path) as life:
        await life.revert_file(0)
        plan = await life.revert(2, 1)  # to revert a part of a revert is a redo
        assert (plan.scope, plan.is_redo) == ("hunk", True)
        assert ((await life.row(2)).scope, (await life.row(2)).is_redo) == ("hunk", True)
        assert life.text == numbered_lines(40, line37="third")
        assert await life.status() == "open"
        assert await life.states(0) == (OVER, OVER, STANDS)
        assert await life.states(1) == (STANDS, STANDS, OVER)

        plan = await life.redo(1, 0)
        assert (plan.scope, plan.is_redo) == ("hunk", True)
        assert await life.states(0) == (OVER, STANDS, STANDS)
        plan = await life.redo(2, 1)  # the revert of that hunk is made again
        assert not plan.is_redo
        assert not (await life.row(-1)).is_redo
        assert (await life.row(2)).is_reverted, "the redo of a part is undone"
        assert await life.states(0) == (OVER, STANDS, OVER)
        await life.revert(1, 0)
        assert (life.text, await life.status()) == (BEFORE, "reverted")
        await life.redo_file(0)
        assert (life.text, await life.status()) == (AFTER, "open")


async def test_a_rewind_behind_reverted_parts_leaves_what_was_said_then(tmp_path: Path) -> None:
    async with edited(tmp_path) as life:
        await life.revert_file(0)
        (sent,) = await life.session.record(UserSpoke("More.", 2))
        await life.revert(2, 1)
        assert await life.status() == "open"
        await life.carry_out(await life.changes.plan_rewind(SESSION, sent.seq))
        assert (life.text, await life.status()) == (BEFORE, "reverted")
        await life.redo_file(-1)
        assert (life.text, await life.status()) == (numbered_lines(40, line37="third"), "open")


async def test_a_hunk_whose_lines_changed_since_says_so(tmp_path: Path) -> None:
    async with edited(tmp_path) as life:
        await life.write(numbered_lines(40, line3="mine", line20="second", line37="third"))
        assert await life.states(0) == (CHANGED, STANDS, STANDS)
        await life.write_outside(numbered_lines(41, line3="mine", line37="third"))
        assert await life.states(0) == (CHANGED, OVER, STANDS), "whoever took it back"
        plan = await life.redo(1, 0)
        assert plan.is_redo
        assert life.text == numbered_lines(41, line3="mine", line20="second", line37="third")
        await life.revert(1, 0)
        (life.rig.root / PATH).unlink()
        await life.rig.history.scan(SESSION)
        await record_unrecorded(life.session, life.rig.history)
        assert await life.states(0) == (CHANGED, CHANGED, CHANGED)


async def test_a_hunk_leaves_what_changed_in_other_lines_and_asks_only_about_its_own(tmp_path: Path) -> None:
    async with edited(tmp_path) as life:
        mine = numbered_lines(40, line3="mine", line10="mine", line20="second", line37="third")
        await life.write_outside(mine)
        plan = await life.changes.plan(SESSION, _hunk_of(await life.row(0), 1))
        assert [file.status for file in plan.files] == ["ready"]
        await life.carry_out(plan)
        assert life.text == numbered_lines(40, line3="mine", line10="mine", line37="third")

        plan = await life.changes.plan(SESSION, _hunk_of(await life.row(0), 0))
        assert [file.status for file in plan.files] == ["conflict"]
        await life.changes.revert(SESSION, plan, {PATH: "former"})
        assert life.text == numbered_lines(40, line10="mine", line37="third")
        assert await life.states(0) == (OVER, OVER, STANDS)
        await life.redo_file(-1)
        assert life.text == numbered_lines(40, line3="mine", line10="mine", line37="third")
        plan = await life.redo(1, 0)
        assert [file.status for file in plan.files] == ["ready"]
        assert (life.text, plan.scope) == (mine, "redo")


@pytest.mark.parametrize("seed", range(int(os.environ.get("HELIX_FUZZ_SEEDS", "2"))))
async def test_in_any_order_what_is_said_is_what_the_file_holds(seed: int, tmp_path: Path) -> None:
    choose = random.Random(seed)
    async with edited(tmp_path) as life:
        for _ in range(10):
            rows = (await life.changes.of_session(SESSION)).captures
            assert (await life.status() == "reverted") == (life.text == BEFORE)
            number = choose.randrange(len(rows))
            states = await life.states(number)
            if rows[number].is_reverted or len(states) == 1 or choose.random() < 0.3:
                number = choose.choice((0, len(rows) - 1))
                toggle_file = life.redo_file if rows[number].is_reverted else life.revert_file
                await toggle_file(number)
                continue
            hunk = choose.randrange(len(states))
            before = life.text
            toggle = life.redo if states[hunk] == OVER else life.revert
            await toggle(hunk, number)
            assert life.text != before
            assert (await life.states(number))[hunk] != states[hunk]
