"""What calls change of files stands in the log, whatever cut them off; a failing history breaks no call."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from helix_desktop.agent.session import ApprovalRequested, ErrorRaised
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.words.file_changes import uncovered_line
from tests.support.changing_tools import started, writes
from tests.support.scripted_model import replies_in_order, text_reply, tool_call_reply


async def test_what_a_call_changed_follows_its_answer_and_what_was_changed_before_is_not_its_own() -> None:
    rig = await started([writes(a_txt="one\n2\nthree\n", new_txt="n\n", b_txt=None)])
    rig.files.write("user.txt", b"mine\n")
    await rig.run()
    kinds = [
        entry.event
        for entry in rig.conversation.session.log
        if isinstance(entry.event, ChangesRecorded | ToolAnswered)
    ]
    outside, answer, changes = kinds
    assert isinstance(outside, ChangesRecorded)
    assert (outside.source, outside.first_path, outside.files) == ("outside", "user.txt", 1)
    assert isinstance(answer, ToolAnswered)
    assert isinstance(changes, ChangesRecorded)
    assert (changes.source, changes.call_id) == ("command", answer.call_id)
    assert (changes.created, changes.changed, changes.deleted, changes.moved) == (1, 1, 1, 0)
    assert (changes.added_lines, changes.removed_lines) == (3, 2)
    assert await rig.history.unrecorded(rig.conversation.session.id) == ()


async def test_a_moved_file_is_counted_once() -> None:
    rig = await started([writes(b_txt=None, c_txt="b\n")])
    await rig.run()
    (changes,) = rig.recorded
    assert (changes.created, changes.deleted, changes.moved, changes.files) == (0, 0, 1, 1)
    assert (changes.added_lines, changes.removed_lines) == (0, 0)


@pytest.mark.parametrize("end", ["fail", "crash"])
async def test_a_call_that_fails_has_changed_what_it_changed(end: str) -> None:
    rig = await started([writes(end, a_txt="half\n")])
    await rig.run()
    assert [event.first_path for event in rig.recorded] == ["a.txt"]


@pytest.mark.parametrize("cut_off_at", ["call", "capture"])
async def test_a_stopped_turn_has_what_its_call_changed(cut_off_at: str) -> None:
    rig = await started([writes("wait" if cut_off_at == "call" else "", a_txt="half\n")], [])
    if cut_off_at == "capture":
        rig.history.gate.clear()
    await rig.conversation.send("Go.")
    if cut_off_at == "call":
        await asyncio.wait_for(rig.tools.started.wait(), 60)
    else:
        await rig.wait_until(lambda: rig.files.read("a.txt") == b"half\n")
        await asyncio.sleep(0)
    async with asyncio.TaskGroup() as group:
        group.create_task(rig.conversation.stop())
        await asyncio.sleep(0)
        rig.history.gate.set()
    assert [event.first_path for event in rig.recorded] == ["a.txt"]
    assert await rig.history.unrecorded(rig.conversation.session.id) == ()
    rig.files.write("a.txt", b"by the user\n")
    await rig.run("Go on.")
    assert [event.source for event in rig.recorded] == ["command", "outside"]  # no call counts as running


async def test_a_history_that_fails_breaks_no_call_and_is_reported_once() -> None:
    rig = await started([writes(a_txt="1\n"), writes(a_txt="2\n")], [writes(a_txt="3\n")])
    rig.history.error = StoreWriteFailed(verbatim("The disk is full."), fix=verbatim("Make room."))
    await rig.run()
    (notice,) = rig.updates_of(ErrorRaised)
    assert (notice.why, notice.fix, notice.is_warning) == ("The disk is full.", "Make room.", True)
    assert all(answer.ok for answer in rig.events(ToolAnswered))
    assert not rig.recorded
    rig.history.error = None
    await rig.run()
    assert rig.recorded[-1].call_id == "t1s0_0"


async def test_what_a_kill_left_unrecorded_is_recorded_once_when_its_session_is_opened() -> None:
    rig = await started([writes(a_txt="1\n")])
    await rig.run()
    session_id = rig.conversation.session.id
    recorded_already = await rig.history.scan(session_id)
    assert recorded_already is None
    rig.files.write("a.txt", b"2\n")
    left = await rig.history.scan(session_id)  # captured; the process is killed before it is recorded
    assert left is not None
    await rig.conversation.close()

    again = rig.create_workspace(rig.store, PROFILES["balanced"])
    for _ in range(2):
        conversation = await again.open_session(session_id)
        await rig.wait_until(partial(conversation.session.transcript.captures.get, left.capture.id))
        captures = [
            entry.event.capture
            for entry in conversation.session.log
            if isinstance(entry.event, ChangesRecorded)
        ]
        assert captures == ["c1", left.capture.id]
        await again.close_session(session_id)


async def test_before_a_call_only_those_of_its_own_files_are_named_that_are_not_covered() -> None:
    rig = await started([writes(a_txt="1\n"), writes(kind="edit", b_txt="2\n")])
    places = (UncoveredPlace("dist", "ignored", is_folder=True), UncoveredPlace("b.txt", "too_large"))
    rig.history.coverage = FileCoverage(places=places, uncovered=2, is_complete=True)
    await rig.run()
    of_command = FileCoverage(is_complete=True)
    of_edit = FileCoverage(places=places[1:], uncovered=1, is_complete=True)
    assert [update.ask.coverage for update in rig.updates_of(ApprovalRequested)] == [of_command, of_edit]
    assert uncovered_line(of_edit) == "Can't be undone in 1 place: b.txt"


async def test_mode_auto_asks_before_a_command_destroys_what_is_not_covered() -> None:
    rig = await started(
        [("ask", {"kind": "command", "confined": True, "subject": subject})
         for subject in ("pytest -q", "rm logs/a.log", "rm a.txt")]
    )  # fmt: skip
    place = UncoveredPlace("logs", "ignored", is_folder=True)
    rig.history.coverage = FileCoverage(places=(place,), uncovered=1, is_complete=True)
    await rig.conversation.set_mode("auto")
    await rig.run()
    asks = [update.ask for update in rig.updates_of(ApprovalRequested)]
    assert [(ask.subject, ask.data_loss) for ask in asks] == [
        ("rm logs/a.log", (UncoveredPlace("logs/a.log", "ignored"),))
    ]


async def test_mode_auto_reads_a_script_that_a_call_of_the_session_wrote() -> None:
    rig = await started(
        [writes(run_sh="pytest -q\nrm -rf logs\n", tool_sh="rm -rf build\n")],
        [("ask", {"kind": "command", "confined": True, "subject": subject})
         for subject in ("bash run.sh", "bash tool.sh", "bash other.sh")],
    )  # fmt: skip
    rig.files.write("other.sh", b"rm -rf logs")
    place = UncoveredPlace("logs", "ignored", is_folder=True)
    rig.history.coverage = FileCoverage(places=(place,), uncovered=1, is_complete=True)
    await rig.run()
    await rig.conversation.set_mode("auto")
    await rig.run()
    asks = [update.ask for update in rig.updates_of(ApprovalRequested)]
    assert [ask.subject for ask in asks if ask.subject.startswith("bash")] == ["bash run.sh"]


async def test_mode_auto_reads_a_script_that_an_earlier_call_of_the_same_answer_wrote() -> None:
    """It was decided on before the script was there, and ran without a question."""
    run = ("ask", {"kind": "command", "confined": True, "subject": "bash run.sh"})
    rig = await started()
    reply = tool_call_reply(writes(run_sh="rm -rf logs\n"), run)
    rig.model.script = replies_in_order(reply, text_reply("Done."))
    place = UncoveredPlace("logs", "ignored", is_folder=True)
    rig.history.coverage = FileCoverage(places=(place,), uncovered=1, is_complete=True)
    await rig.conversation.set_mode("auto")
    await rig.run()
    asks = [update.ask for update in rig.updates_of(ApprovalRequested)]
    assert [(ask.subject, ask.data_loss) for ask in asks if ask.subject.startswith("bash")] == [
        ("bash run.sh", (place,))
    ]
