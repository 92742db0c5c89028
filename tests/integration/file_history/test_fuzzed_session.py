"""A session that tools, commands and the user edit at once: every turn comes back, or it says why not."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from helix_desktop.domain.errors import RevertRefused
from helix_desktop.domain.file_history.changes import CapturedChanges, RevertPlan
from tests.support.file_changes.random_edits import START, RandomEdits
from tests.support.file_changes.rig import HistoryRig, open_rig
from tests.support.file_changes.tree import (
    Entry,
    File,
    Folder,
    Tree,
    describe_recorded,
    describe_state,
    differing,
    false_reasons,
    make_tree,
    read_entry,
)

SEEDS = range(int(os.environ.get("HELIX_FUZZ_SEEDS", "1")))
"""More of them for a longer run: HELIX_FUZZ_SEEDS=200."""

EDITS = 300
TURNS = 8
_SAVES = 40
_REVERT_S = 0.02  # seconds, about as long as a revert takes


@dataclass
class FuzzedSession:
    """What a session changed, by turn; `last` is what the captures left at each path."""

    rig: HistoryRig
    edits: RandomEdits
    turns: list[list[CapturedChanges]] = field(default_factory=list)
    last: dict[str, str] = field(default_factory=dict)

    def check_chain(self) -> None:
        """Assert that each capture goes on where the one before it left a path."""
        for change in itertools.chain.from_iterable(captured.list.changes for captured in self.rig.log):
            assert describe_recorded(change.before) == self.last.get(change.path, "nothing"), change.path
            self.last[change.path] = describe_recorded(change.after)

    def check_nothing_is_missing(self) -> None:
        """Assert that the captures together say what stands in the workspace."""
        left = {path: state for path, state in self.last.items() if state != "nothing"}
        assert left == {path: describe_state(entry) for path, entry in self.rig.walk().items()}

    async def run(self) -> None:
        """Make the edits: in each turn some calls, with the user at work before, during and after them."""
        for turn in range(TURNS):
            self.turns.append([])
            while self.edits.count < EDITS * (turn + 1) // TURNS:
                await self._call()
        await self.rig.scan()

    async def _call(self) -> None:
        for _ in range(self.edits.random.randrange(3)):
            self.edits.user_edit()
        is_command = self.edits.random.random() < 0.4
        call = ("run_command", {"command": self.edits.command()}) if is_command else self.edits.tool_call()
        if self.edits.random.random() < 0.3:
            await self.rig.scan()
        count = self.edits.random.randrange(4)
        captures, _ = await asyncio.gather(
            self.rig.run((call,), may_fail=True), asyncio.to_thread(self._edit_meanwhile, count)
        )
        self.turns[-1] += captures

    def _edit_meanwhile(self, count: int) -> None:
        for _ in range(count):
            self.edits.user_edit()


@pytest.mark.parametrize("seed", SEEDS)
async def test_every_turn_comes_back_in_any_order_or_says_why_not(seed: int, tmp_path: Path) -> None:
    """And nothing that was done later is overwritten; all that was taken back can be done again."""
    (tmp_path / "work").mkdir()
    make_tree(tmp_path / "work", START)
    async with open_rig(tmp_path) as rig:
        session = FuzzedSession(rig, RandomEdits(rig.root, seed))
        session.last = {path: describe_state(entry) for path, entry in rig.walk().items()}
        await session.run()
        session.check_chain()
        session.check_nothing_is_missing()
        changed = rig.walk()
        statuses: Counter[str] = Counter()
        reverts = [
            revert
            for turn in random.Random(seed).sample(session.turns, len(session.turns))
            for revert in await check_revert(rig, turn, statuses)
        ]
        assert all(statuses[status] for status in ("ready", "conflict"))  # else it shows little
        for revert in reversed(reverts):
            plan = await rig.plan([revert])
            assert [file for file in plan.files if not file.can_apply] == []
            await rig.revert(plan)
        assert rig.walk() == changed
        await check_later_edits(rig, session)


async def check_revert(
    rig: HistoryRig, turn: list[CapturedChanges], statuses: Counter[str]
) -> list[CapturedChanges]:
    """Take a turn back; assert that exactly what can come back does, and that the reasons are true."""
    before = rig.walk()
    plan = await rig.plan(turn)
    assert {file.path for file in plan.files} == {c.path for captured in turn for c in captured.list.changes}
    changes = [change for captured in turn for change in captured.list.changes]
    assert false_reasons(rig.root, plan, changes) == []
    statuses.update(file.problem or file.status for file in plan.files)
    revert = await rig.revert(plan)
    check_only_planned(plan, turn, before, rig.walk())
    return [*revert, *await check_merges(rig, turn)]


async def check_merges(rig: HistoryRig, turn: list[CapturedChanges]) -> list[CapturedChanges]:
    """Take the rest of a turn back where it can be merged; assert that every line written since stays."""
    plan = await rig.plan(turn)
    merges = [file for file in plan.files if file.status == "merge"]
    before = rig.walk()
    revert = await rig.revert(plan, {file.path: "merged" for file in merges})
    after = rig.walk()
    for file in merges:
        base = await rig.history.content(file.base.digest) if file.base and file.base.digest else b""
        since = lines_of(before.get(file.path)) - set(base.splitlines())
        assert since <= lines_of(after.get(file.path))
    return revert


def lines_of(entry: Entry | None) -> set[bytes]:
    return set(entry.data.splitlines()) if isinstance(entry, File) else set()


def check_only_planned(plan: RevertPlan, turn: list[CapturedChanges], before: Tree, after: Tree) -> None:
    """Assert that paths came back to how they were before the turn, and no other path changed."""
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    for change in itertools.chain.from_iterable(captured.list.changes for captured in turn):
        first.setdefault(change.path, describe_recorded(change.before))
        last[change.path] = describe_recorded(change.after)
    came = [file.path for file in plan.files if file.status == "ready" and file.former is not None]
    planned = {file.path: file for file in plan.files}
    for path in before.keys() | after.keys() | planned.keys():
        now = describe_state(after.get(path))
        was = describe_state(before.get(path))
        file = planned.get(path)
        if file is not None and file.status == "ready":
            assert was == last[path], f"{path} was changed later, and is taken back"
            assert now == first[path] or stays_for_others(path, after), file
        else:
            assert now == was or comes_for_others(path, after, before, came), (
                f"{path} is not to be taken back: {file}"
            )


def stays_for_others(path: str, after: Tree) -> bool:
    """Return True for a folder in which something stays."""
    return isinstance(after.get(path), Folder) and any(other.startswith(f"{path}/") for other in after)


def comes_for_others(path: str, after: Tree, before: Tree, came: Iterable[str]) -> bool:
    """Return True for a folder that was gone, and that something needs that came back."""
    is_new = path not in before and isinstance(after.get(path), Folder)
    return is_new and any(other.startswith(f"{path}/") for other in came)


async def check_later_edits(rig: HistoryRig, session: FuzzedSession) -> None:
    """Take turns back that the user edits after the plan was made: nothing of that is overwritten."""
    for turn in session.turns:
        plan = await rig.plan(turn)
        for _ in range(3):
            session.edits.user_edit()
        before = rig.walk()
        with suppress(RevertRefused):
            await rig.revert(plan)
        after = rig.walk()
        ready = {file.path: describe_recorded(file.present) for file in plan.files if file.status == "ready"}
        for path in before.keys() & differing(before, after):
            assert ready.get(path) == describe_state(before[path])


async def test_what_is_written_while_it_is_read_is_found(tmp_path: Path) -> None:
    """Other contents of the same size within one tick of the clock: no time of the file has to differ."""
    (tmp_path / "work").mkdir()
    place = tmp_path / "work" / "a.txt"
    place.write_text("0000")
    choose = random.Random(1)
    numbers = itertools.count(1)

    def write_on(duration_s: float) -> None:
        end = time.monotonic() + duration_s
        is_over = False
        with place.open("r+b", buffering=0) as file:
            while not is_over:  # once at least: on a busy machine the time may be over before the first
                file.seek(0)
                file.write(b"%08d" % next(numbers))
                is_over = time.monotonic() >= end

    async with open_rig(tmp_path) as rig:
        for _ in range(_SAVES):
            await asyncio.gather(rig.scan(), asyncio.to_thread(write_on, choose.random() * _REVERT_S / 2))
            await rig.scan()
            [change] = rig.log[-1].list.changes
            assert describe_recorded(change.after) == describe_state(read_entry(place))
