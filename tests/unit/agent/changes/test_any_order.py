"""Whatever was done, reverted, redone and rewound in any order: a rewind brings what the files were then."""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.file_changes import (
    changes_after,
    logged_changes,
    selected_changes,
    session_changes,
)
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import (
    CallMark,
    CapturedChanges,
    ChangeList,
    RevertPlan,
    RevertScope,
    RevertSelection,
    SessionChanges,
)
from tests.support.memory_file_history import MemoryFileHistory
from tests.support.memory_files import MemoryFiles

PATHS = ("a", "b")


class Step(msgspec.Struct, frozen=True):
    """One action: a call that writes new texts into some paths; a revert or redo of a numbered capture; or a
    rewind to before a numbered step."""

    action: Literal["call", "revert", "revert one file", "revert hunk", "redo", "rewind"]
    number: int
    writes: tuple[bool, bool]


steps = st.builds(
    Step,
    st.sampled_from(("call", "call", "revert", "revert one file", "revert hunk", "redo", "rewind")),
    st.integers(0, 9),
    st.tuples(st.booleans(), st.booleans()),
)


Mark = tuple[int, bytes | None, bytes | None]


class SessionFiles:
    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.history = MemoryFileHistory(self.files)
        self.log: list[RecordedEvent] = []
        self.lists: dict[str, ChangeList] = {}

    @property
    def changes(self) -> SessionChanges:
        own = logged_changes("s", self.log)
        return session_changes("s", own, own.captures, self.lists)

    def mark(self) -> Mark:
        """Return the last event, and what the files are at it."""
        return len(self.log), self.files.read("a"), self.files.read("b")

    def record(self, captured: CapturedChanges | None) -> None:
        if captured is not None:
            capture, seq = captured.capture, len(self.log) + 1
            event = ChangesRecorded(
                *(capture.id, capture.changes, capture.source), reverts=capture.reverts, scope=capture.scope
            )
            self.log.append(RecordedEvent(seq, seq, event))
            self.lists[capture.changes] = captured.list

    async def call(self, writes: tuple[bool, bool]) -> None:
        await self.history.begin_call(CallMark("s", "c"))
        for path, is_written in zip(PATHS, writes, strict=True):
            if is_written:
                self.files.write(path, f"text {len(self.log)}".encode())
        self.record(await self.history.end_call("s", "c"))

    async def plan(self, selection: RevertSelection) -> RevertPlan:
        changes, captures = selected_changes(self.changes.captures, selection)
        plan = await self.history.plan_revert(changes, captures)
        return msgspec.structs.replace(plan, capture_ids=tuple(captures), scope=selection.scope)

    async def rewind(self, seq: int) -> None:
        """Bring the files to what they were at an event."""
        changes, captures = changes_after(self.changes.captures, seq)
        plan = await self.history.plan_revert(changes, captures)
        assert {file.status for file in plan.files} <= {"ready", "same"}
        plan = msgspec.structs.replace(plan, capture_ids=tuple(captures), scope="rewind")
        self.record(await self.history.revert("s", plan, {}))

    async def revert(self, number: int, scope: RevertScope, paths: tuple[str, ...] = ()) -> None:
        """Take back a capture, as far as nothing later stands in the way."""
        captures = [
            row.capture_id for row in self.changes.captures if (row.source == "revert") == (scope == "redo")
        ]
        if captures:
            selection = RevertSelection((captures[number % len(captures)],), paths, scope=scope)
            self.record(await self.history.revert("s", await self.plan(selection), {}))


@given(st.lists(steps, max_size=12), st.integers(0, 12))
def test_a_rewind_brings_all_back(actions: list[Step], to: int) -> None:
    asyncio.run(live(actions, to))


async def live(actions: list[Step], to: int) -> None:
    """Do the actions, rewind to before one of them, then to the beginning; check what is said of it."""
    life = SessionFiles()
    life.files.write("a", b"before")
    await life.history.start()
    sent = [life.mark()]
    for step in actions:
        await act(life, step, sent)
        sent.append(life.mark())
    for mark in (sent[min(to, len(actions))], sent[0]):
        await life.rewind(mark[0])
        assert life.mark()[1:] == mark[1:]
    assert all(file.status == "reverted" for file in life.changes.files if file.before != file.after)
    changes, _ = changes_after(life.changes.captures, 0)
    assert not changes


async def act(life: SessionFiles, step: Step, sent: list[Mark]) -> None:
    match step.action:
        case "call":
            await life.call(step.writes)
        case "revert":
            await life.revert(step.number, "step")
        case "revert one file":
            await life.revert(step.number, "file", ("a",))
        case "revert hunk":
            await life.revert(step.number, "hunk", ("a",))
        case "redo":
            await life.revert(step.number, "redo")
        case "rewind":
            await life.rewind(sent[step.number % len(sent)][0])
