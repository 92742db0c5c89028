"""The changes of a session: who made them, what became of them; any order of reverts, redos and rewinds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.agent.workspace_changes import WorkspaceChanges
from helix_desktop.context.log.file_changes import (
    changes_after,
    logged_changes,
    selected_changes,
    session_changes,
)
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import ToolAnswered
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
from tests.support.agent_rig import begin_with
from tests.support.changing_tools import ChangesRig, writes
from tests.support.memory_file_history import MemoryFileHistory
from tests.support.memory_files import MemoryFiles
from tests.support.scripted_model import text_reply

LINES = [f"{number}\n" for number in range(30)]
BEFORE = "".join(LINES)
AFTER = "".join(["first\n", *LINES[1:29], "last\n"])


async def started(*turns: list[tuple[str, dict[str, object]]]) -> ChangesRig:
    rig = ChangesRig(*turns)
    await rig.start()
    for _ in turns:
        await rig.run()
    return rig


def changes_of(rig: ChangesRig) -> WorkspaceChanges:
    return rig.workspace.changes


async def changes_in(rig: ChangesRig) -> SessionChanges:
    return await changes_of(rig).of_session(rig.conversation.session.id)


async def revert(rig: ChangesRig, selection: RevertSelection) -> None:
    session_id = rig.conversation.session.id
    plan = await changes_of(rig).plan(session_id, selection)
    assert await changes_of(rig).revert(session_id, plan, {}) is not None


def statuses(changes: SessionChanges) -> dict[str, str]:
    return {file.path: file.status for file in changes.files}


async def test_a_session_has_its_changes_by_turn_call_and_file() -> None:
    rig = await started([writes(a_txt="1\n"), writes(kind="edit", b_txt="2\n")], [writes(a_txt="3\n")])
    rig.files.write("a.txt", b"mine\n")
    await rig.history.scan(rig.conversation.session.id)
    changes = await changes_in(rig)
    assert [(row.turn, row.turn_title, row.source, row.tool, row.target) for row in changes.captures] == [
        (1, "Go.", "command", "ask", "a.txt"),
        (1, "Go.", "tool", "edit", "b.txt"),
        (2, "Go.", "command", "ask", "a.txt"),
        (2, "Go.", "outside", "", ""),
    ]
    first, second, third, outside = (row.capture_id for row in changes.captures)
    by_path = {file.path: file for file in changes.files}
    assert by_path["a.txt"].capture_ids == (first, third, outside)
    assert by_path["a.txt"].by_user
    assert by_path["b.txt"].capture_ids == (second,)
    assert statuses(changes) == {"a.txt": "open", "b.txt": "open"}
    assert changes.by_agent(turn=1) == (first, second)


async def test_a_reverted_turn_reads_so_until_it_is_redone_and_again_when_that_is_taken_back() -> None:
    rig = await started([writes(a_txt="1\n", b_txt="2\n")], [writes(a_txt="3\n", c_txt="c\n")])
    session_id = rig.conversation.session.id
    first, second = (row.capture_id for row in (await changes_in(rig)).captures)
    await revert(rig, RevertSelection((second,), scope="turn"))
    assert (rig.files.read("a.txt"), rig.files.read("c.txt")) == (b"1\n", None)
    changes = await changes_in(rig)
    assert [row.is_reverted for row in changes.captures] == [False, True, False]
    assert statuses(changes) == {"a.txt": "open", "b.txt": "open", "c.txt": "reverted"}
    revert_id = changes.captures[-1].capture_id

    for again in (revert_id, second):  # by the revert, and by what it took back
        plan = await changes_of(rig).plan_redo(session_id, again)
        assert await changes_of(rig).revert(session_id, plan, {}) is not None
        assert (rig.files.read("a.txt"), rig.files.read("c.txt")) == (b"3\n", b"c\n")
        changes = await changes_in(rig)
        assert not changes.captures[1].is_reverted
        redo = changes.captures[-1].capture_id
        await revert(rig, RevertSelection((redo,), scope="redo"))
        changes = await changes_in(rig)
        assert changes.captures[1].is_reverted
        assert (rig.files.read("a.txt"), rig.files.read("c.txt")) == (b"1\n", None)

    rewind = await changes_of(rig).plan_rewind(session_id, 0)
    assert await changes_of(rig).revert(session_id, rewind, {}) is not None
    assert (rig.files.read("a.txt"), rig.files.read("b.txt")) == (b"one\ntwo\n", b"b\n")
    assert set(statuses(await changes_in(rig)).values()) == {"reverted"}
    assert not (await changes_of(rig).plan_rewind(session_id, 0)).files
    assert [row.is_reverted for row in (await changes_in(rig)).captures[:2]] == [True, True]
    assert first in rewind.capture_ids


async def test_accepted_files_are_open_again_when_they_change() -> None:
    rig = await started([writes(a_txt="1\n", b_txt="2\n")], [writes(a_txt="3\n")])
    session_id = rig.conversation.session.id
    await changes_of(rig).accept(session_id, ("b.txt",))
    assert statuses(await changes_in(rig)) == {"a.txt": "open", "b.txt": "accepted"}
    await changes_of(rig).accept(session_id)
    assert set(statuses(await changes_in(rig)).values()) == {"accepted"}


async def test_a_conflict_that_is_merged_in_an_editor_stays() -> None:
    rig = await started([writes(a_txt="1\n")])
    session_id = rig.conversation.session.id
    rig.files.write("a.txt", b"mine\n")
    (row,) = (await changes_in(rig)).captures
    plan = await changes_of(rig).plan(session_id, RevertSelection((row.capture_id,), scope="step"))
    assert [file.status for file in plan.files] == ["conflict"]
    rig.files.write("a.txt", b"both\n")
    assert await changes_of(rig).revert(session_id, plan, {"a.txt": "present"}) is None
    assert rig.files.read("a.txt") == b"both\n"


async def test_a_list_that_was_removed_is_named_and_breaks_nothing() -> None:
    rig = await started([writes(a_txt="1\n")], [writes(b_txt="2\n")])
    rig.history.forget(rig.recorded[0].changes)
    changes = await changes_in(rig)
    assert [row.is_removed for row in changes.captures] == [True, False]
    assert statuses(changes) == {"b.txt": "open"}


async def test_a_branch_has_the_changes_of_its_parent_up_to_its_point() -> None:
    """A later revert in the one is seen in the other: the files are the workspace's."""
    rig = await started([writes(a_txt="1\n")], [writes(b_txt="2\n")])
    first, second = (await changes_in(rig)).captures
    branch = await rig.workspace.branches.open_for_edit(rig.conversation.session.id, second.turn_seq)
    await revert(rig, RevertSelection((first.capture_id,), scope="step"))
    in_branch = await changes_of(rig).of_session(branch.session.id)
    assert [row.source for row in in_branch.captures] == ["command", "revert"]
    assert statuses(in_branch) == {"a.txt": "reverted"}
    rig.clock.advance_s(1)
    await changes_of(rig).revert(
        branch.session.id, await changes_of(rig).plan_redo(branch.session.id, first.capture_id), {}
    )
    for session in (branch.session.id, rig.conversation.session.id):
        assert statuses(await changes_of(rig).of_session(session))["a.txt"] == "open"
    await branch.close()


async def test_a_branch_at_the_answer_of_a_call_has_what_that_call_changed() -> None:
    rig = await started([writes(a_txt="1\n"), writes(b_txt="2\n")])
    session = rig.conversation.session
    answered = next(entry.seq for entry in session.log if isinstance(entry.event, ToolAnswered))
    branch = await rig.workspace.branches.open(session.id, answered)
    rows = (await changes_of(rig).of_session(branch.session.id)).captures
    assert [change.path for row in rows for change in row.changes] == ["a.txt"]


async def test_what_another_process_reverted_is_listed_before_the_log_has_it() -> None:
    rig = await started([writes(a_txt="1\n")])
    session_id = rig.conversation.session.id
    (row,) = (await changes_in(rig)).captures
    await rig.conversation.close()
    await rig.history.revert(
        session_id, await changes_of(rig).plan(session_id, RevertSelection((row.capture_id,))), {}
    )
    elsewhere = rig.create_workspace(rig.store, PROFILES["balanced"]).changes
    assert [row.is_reverted for row in (await elsewhere.of_session(session_id)).captures] == [True, False]


async def test_the_patch_of_a_session_is_what_git_applies(tmp_path: Path) -> None:
    rig = await started([writes(a_txt=BEFORE, b_txt=None)], [writes(a_txt=AFTER, new_txt="n")])
    session_id = rig.conversation.session.id
    patch = await changes_of(rig).patch(session_id, RevertSelection((await changes_in(rig)).by_agent()))
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n")
    (tmp_path / "b.txt").write_bytes(b"b\n")
    git = await asyncio.create_subprocess_exec("git", "apply", cwd=tmp_path, stdin=asyncio.subprocess.PIPE)
    await git.communicate(patch.encode())
    assert (tmp_path / "a.txt").read_bytes() == AFTER.encode()
    assert (tmp_path / "new.txt").read_bytes() == b"n"
    assert not (tmp_path / "b.txt").exists()


async def test_without_a_history_there_is_nothing_and_a_word_why() -> None:
    rig, _ = await begin_with(text_reply("done"))
    changes = rig.workspace.changes
    assert not changes.is_available
    assert not (await changes.of_session(rig.conversation.session.id)).captures
    with pytest.raises(InvalidInput, match="no file history"):
        await changes.plan(rig.conversation.session.id, RevertSelection(()))


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
            capture = captured.capture
            seq = len(self.log) + 1
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
