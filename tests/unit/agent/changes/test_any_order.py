"""Whatever was done, reverted and redone in any order: a rewind to the beginning brings every file back."""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.recorded_changes import logged_changes, selected_changes, session_changes
from helix_desktop.domain.events.file_changes import ChangesRecorded
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.file_history.capture import CallMark, CapturedChanges, RevertScope
from helix_desktop.domain.file_history.revert import RevertPlan
from helix_desktop.domain.file_history.session_changes import RevertSelection, SessionChanges
from helix_desktop.domain.file_history.state import ChangeList
from tests.support.memory_file_history import MemoryFileHistory
from tests.support.memory_files import MemoryFiles

PATHS = ("a", "b")


class Step(msgspec.Struct, frozen=True):
    """One action: a call that writes new texts into some paths; or a revert or redo of a numbered capture."""

    action: Literal["call", "revert", "revert one file", "redo"]
    number: int
    writes: tuple[bool, bool]


steps = st.builds(
    Step,
    st.sampled_from(("call", "call", "revert", "revert one file", "redo")),
    st.integers(0, 9),
    st.tuples(st.booleans(), st.booleans()),
)


class Life:
    """Files, their history, and the log of one session."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.history = MemoryFileHistory(self.files)
        self.log: list[RecordedEvent] = []
        self.lists: dict[str, ChangeList] = {}

    @property
    def changes(self) -> SessionChanges:
        """The changes so far."""
        own = logged_changes("s", self.log)
        return session_changes("s", own, own.captures, self.lists)

    def record(self, captured: CapturedChanges | None) -> None:
        """Record a capture."""
        if captured is not None:
            capture, seq = captured.capture, len(self.log) + 1
            event = ChangesRecorded(
                *(capture.id, capture.changes, capture.source), reverts=capture.reverts, scope=capture.scope
            )
            self.log.append(RecordedEvent(seq, seq, event))
            self.lists[capture.changes] = captured.list

    async def call(self, writes: tuple[bool, bool]) -> None:
        """Run a call that writes these paths."""
        await self.history.begin_call(CallMark("s", "c"))
        for path, is_written in zip(PATHS, writes, strict=True):
            if is_written:
                self.files.write(path, f"text {len(self.log)}".encode())
        self.record(await self.history.end_call("s", "c"))

    async def plan(self, selection: RevertSelection) -> RevertPlan:
        """Plan a revert."""
        changes, captures = selected_changes(self.changes.captures, selection)
        plan = await self.history.plan_revert(changes, captures)
        return msgspec.structs.replace(plan, captures=tuple(captures), scope=selection.scope)

    async def revert(self, number: int, scope: RevertScope, paths: tuple[str, ...] = ()) -> None:
        """Take back a capture, as far as nothing later stands in the way."""
        captures = [
            row.capture for row in self.changes.captures if (row.source == "revert") == (scope == "redo")
        ]
        if captures:
            selection = RevertSelection((captures[number % len(captures)],), paths, scope=scope)
            self.record(await self.history.revert("s", await self.plan(selection), {}))


@given(st.lists(steps, max_size=12))
def test_a_rewind_brings_all_back(actions: list[Step]) -> None:
    asyncio.run(live(actions))


async def live(actions: list[Step]) -> None:
    """Do the actions, then take back everything; check what is said of it."""
    life = Life()
    life.files.write("a", b"before")
    await life.history.start()
    for step in actions:
        match step.action:
            case "call":
                await life.call(step.writes)
            case "revert":
                await life.revert(step.number, "step")
            case "revert one file":
                await life.revert(step.number, "file", ("a",))
            case "redo":
                await life.revert(step.number, "redo")
    plan = await life.plan(RevertSelection(life.changes.by_agent(), scope="rewind"))
    assert {file.status for file in plan.files} <= {"ready", "same"}
    life.record(await life.history.revert("s", plan, {}))
    assert (life.files.read("a"), life.files.read("b")) == (b"before", None)
    changes = life.changes
    assert all(file.status == "reverted" for file in changes.files if file.before != file.after)
    again = await life.plan(RevertSelection(changes.by_agent(), scope="rewind"))
    assert {file.status for file in again.files} <= {"same"}
