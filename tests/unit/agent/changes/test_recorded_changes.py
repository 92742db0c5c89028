"""File changes recorded, of calls, of the user, of subagents; and what the model is told of them."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from helix_desktop.agent.change_recorder import record_unrecorded
from helix_desktop.agent.session import ApprovalRequested, ErrorRaised, Session, Update
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.context.log.file_notes import revert_lines
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.handover_revision import preview_handover
from helix_desktop.context.summaries.observation import extract_observations
from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.events.conversation import SubagentStarted, ToolAnswered, UserSpoke
from helix_desktop.domain.events.session import ChangesRecorded, FilesChanged
from helix_desktop.domain.file_history.changes import FileCoverage, RevertSelection, UncoveredPlace
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.words.file_changes import uncovered_line
from tests.support.agent_rig import AgentRig
from tests.support.changing_tools import ChangesRig, ChangingTools, reads, started, writes
from tests.support.memory_file_history import MemoryFileHistory
from tests.support.memory_files import FOLDER
from tests.support.scripted_model import replies_in_order, text_reply, tool_call_reply
from tests.support.subagent_rig import PARENT_PROMPT, DelegateToolRig


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
    assert uncovered_line(of_edit) == "Can't be undone in b.txt"


def command(subject: str) -> tuple[str, dict[str, Any]]:
    return "ask", {"kind": "command", "confined": True, "subject": subject}


async def in_mode_auto(rig: ChangesRig) -> UncoveredPlace:
    """Set the mode, in a workspace of which all but one folder is covered; return that."""
    place = UncoveredPlace("logs", "ignored", is_folder=True)
    rig.history.coverage = FileCoverage(places=(place,), uncovered=1, is_complete=True)
    await rig.conversation.set_mode("auto")
    return place


def asked(rig: ChangesRig) -> list[tuple[str, tuple[UncoveredPlace, ...]]]:
    return [(update.ask.subject, update.ask.data_loss) for update in rig.updates_of(ApprovalRequested)]


async def test_mode_auto_asks_before_a_command_destroys_what_is_not_covered() -> None:
    rig = await started([command("pytest -q"), command("rm logs/a.log"), command("rm a.txt")])
    await in_mode_auto(rig)
    await rig.run()
    assert asked(rig) == [("rm logs/a.log", (UncoveredPlace("logs/a.log", "ignored"),))]


async def test_mode_auto_reads_a_script_that_a_call_of_the_session_wrote() -> None:
    """Also one of the same answer: it was decided on before the script was there, and ran unasked."""
    rig = await started(
        [writes(run_sh="pytest -q\nrm -rf logs\n", tool_sh="rm -rf build\n")],
        [command("bash run.sh"), command("bash tool.sh"), command("bash other.sh")],
    )
    rig.files.write("other.sh", b"rm -rf logs")
    await rig.run()
    place = await in_mode_auto(rig)
    await rig.run()
    reply = tool_call_reply(writes(new_sh="rm -rf logs\n"), command("bash new.sh"), id_prefix="n")
    rig.model.script = replies_in_order(reply, text_reply("Done."))
    await rig.run()
    scripts = [ask for ask in asked(rig) if ask[0].startswith("bash")]
    assert scripts == [("bash run.sh", (place,)), ("bash new.sh", (place,))]


REFUSED = "Nothing was written: a.txt changed on disk since you last saw it."


def answers(rig: AgentRig) -> list[ToolAnswered]:
    return rig.events(ToolAnswered)


def change_during(rig: ChangesRig, call_id: str, text: str) -> None:
    """Change `a.txt` when this call has its answer, as a user does between two calls."""

    def on_update(session_id: str, update: object) -> None:
        event = getattr(getattr(update, "recorded", None), "event", None)
        if isinstance(event, ToolAnswered) and event.call_id == call_id:
            rig.files.write("a.txt", text.encode())

    rig.workspace.on(Update, on_update)


async def test_a_message_comes_with_the_diff_of_what_the_user_changed() -> None:
    rig = await started([reads("a.txt")], [])
    await rig.run()
    rig.files.write("a.txt", b"one\nzwei\n")
    await rig.run("Again.")
    note = rig.events(UserSpoke)[-1].note
    assert note == (
        "[Files on disk since you last saw them: changed: a.txt. What stands above of them is old. "
        "What changed:\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n]"
    )
    assert any(note in message.text for message in rig.model.requests[-1].messages)


async def test_of_a_diff_that_is_too_long_the_lines_are_counted() -> None:
    rig = await started([reads("a.txt")], [])
    await rig.run()
    rig.files.write("a.txt", "".join(f"a line with the number {number}\n" for number in range(900)).encode())
    await rig.run("Again.")
    note = rig.events(UserSpoke)[-1].note
    assert "a.txt: 900 lines added, 2 removed, too many to show; read it again." in note


async def test_an_edit_of_a_file_that_changed_meanwhile_is_refused_once_with_the_diff() -> None:
    edit = writes(kind="edit", a_txt="mine\n")
    rig = await started([reads("a.txt"), edit, edit])
    change_during(rig, "t0s0_0", "one\nzwei\n")
    await rig.run()
    _, refused, done = answers(rig)
    assert not refused.ok
    assert refused.text.startswith(REFUSED)
    assert "-two\n+zwei" in refused.text
    assert done.ok
    assert rig.files.read("a.txt") == b"mine\n"
    assert rig.tools.executed_calls == ["t0s0_0", "t0s2_0"]
    assert len(rig.events(FilesChanged)) == 1


async def test_what_was_found_before_a_command_is_told_before_the_next_edit() -> None:
    """The command did not do it, so the agent can't know."""
    edit = writes(kind="edit", a_txt="mine\n")
    rig = await started([reads("a.txt"), writes(b_txt="2\n"), edit, edit])
    change_during(rig, "t0s0_0", "one\nzwei\n")
    await rig.run()
    assert [answer.ok for answer in answers(rig)] == [True, True, False, True]
    (changed,) = rig.events(FilesChanged)
    assert changed.unannounced
    assert not rig.conversation.session.transcript.staleness.unannounced


async def test_what_the_user_changed_before_a_retry_is_told_before_the_next_edit() -> None:
    """A retry sends no message that could tell it."""
    edit = writes(kind="edit", a_txt="mine\n")
    rig = await started([reads("a.txt"), ("wait", {}), edit, edit])
    await rig.conversation.send("Go.")
    await asyncio.wait_for(rig.tools.started.wait(), 60)
    await rig.conversation.stop()
    rig.files.write("a.txt", b"one\nzwei\n")
    await rig.conversation.retry()
    await rig.wait_until_idle()
    *_, refused, done = answers(rig)
    assert (refused.ok, done.ok) == (False, True)
    assert "-two\n+zwei" in refused.text


async def test_what_the_user_took_back_is_no_completed_work() -> None:
    """Handover as it would be now, ledger and observations say that it was reverted, until it is redone."""
    rig = await started([writes(kind="edit", a_txt="1\n"), writes(kind="edit", b_txt="2\n")])
    await rig.run()
    changes = rig.workspace.changes
    session_id = rig.conversation.session.id
    transcript = rig.conversation.session.transcript

    def records() -> tuple[str, str, str]:
        preview = preview_handover(transcript, PROFILES["balanced"], 128_000)
        (done,) = [section for section in preview.sections if section.title == "Completed Work"]
        facts = extract_observations(transcript.messages.items, (), transcript.reverted_files.by_path)
        return str(done), preview.ledger, " ".join(fact.text for fact in facts)

    assert all("Changed a.txt" in record for record in records()[::2])
    first, _ = (await changes.of_session(session_id)).captures
    revert = await changes.revert(
        session_id, await changes.plan(session_id, RevertSelection((first.capture_id,), scope="step")), {}
    )
    assert revert is not None
    done, ledger, facts = records()
    assert "a.txt" not in done
    assert "Changed b.txt" in done
    (line,) = [line for line in ledger.splitlines() if "a.txt" in line]
    assert line.endswith(f"(reverted by the user, e{revert.seq})")
    assert "a.txt: the user reverted the change" in facts
    assert "Changed a.txt" not in facts
    await changes.revert(session_id, await changes.plan_redo(session_id, first.capture_id), {})
    assert all("Changed a.txt" in record for record in records()[::2])
    assert "reverted" not in records()[1]


async def test_a_file_that_only_a_command_changed_is_told_of_when_the_user_changes_it_and_once() -> None:
    rig = await started([writes(a_txt="formatted\n")], [], [])
    await rig.run()
    rig.files.write("a.txt", b"formatted\nmine\n")
    rig.files.write("b.txt", b"of no call\n")
    await rig.run("Again.")
    note = rig.events(UserSpoke)[-1].note
    assert "changed: a.txt. What stands above" in note
    assert "+mine" in note
    await rig.run("And again.")
    assert rig.events(UserSpoke)[-1].note == ""


async def test_what_the_agents_own_command_changed_stands_in_the_way_of_no_edit() -> None:
    edit = writes(kind="edit", a_txt="mine\n")
    rig = await started([reads("a.txt"), writes(a_txt="formatted\n"), edit])
    await rig.run()
    assert all(answer.ok for answer in answers(rig))


TASKS = ("Write a.", "Write b.")


@pytest.fixture
async def rig() -> DelegateToolRig:
    """A parent whose two subagents each changed a file, and who then changed one itself."""
    delegate = [("delegate", {"task": task, "title": task}) for task in TASKS]
    rig = DelegateToolRig(
        {
            PARENT_PROMPT: replies_in_order(
                tool_call_reply(*delegate),
                tool_call_reply(writes(c_txt="c\n"), id_prefix="p"),
                text_reply("Done."),
            ),
            TASKS[0]: replies_in_order(tool_call_reply(writes(a_txt="1\n")), text_reply("Done.")),
            TASKS[1]: replies_in_order(tool_call_reply(writes(b_txt="2\n")), text_reply("Done.")),
        }
    )
    tools = ChangingTools()
    tools.files = rig.files
    rig.tools = tools
    rig.history = MemoryFileHistory(rig.files)
    rig._approver = FixedApprover("once")
    rig.workspace = rig.create_workspace(rig.store, PROFILES["balanced"])
    await rig.begin()
    assert (await rig.conversation.run(PARENT_PROMPT)).how == "done"
    return rig


async def test_each_log_has_its_own_and_the_parent_all_of_it_in_its_turn(rig: DelegateToolRig) -> None:
    parent = rig.conversation.session.id
    changes = await rig.workspace.changes.of_session(parent)
    started = {
        entry.event.session: entry.seq
        for entry in rig.conversation.session.log
        if isinstance(entry.event, SubagentStarted)
    }
    *of_subagents, own = changes.captures  # what the subagents did at the same time is of both
    assert [file.path for file in changes.files] == ["a.txt", "b.txt", "c.txt"]
    assert {row.turn_title for row in changes.captures} == {PARENT_PROMPT}
    assert own.session == parent
    assert {row.session for row in of_subagents} <= set(started)
    for row in of_subagents:
        log = await rig.stored_log(row.session)
        assert row.seq in [entry.seq for entry in log if isinstance(entry.event, ChangesRecorded)]
        assert row.place == started[row.session]

    plan = await rig.workspace.changes.plan(parent, RevertSelection(changes.by_agent(), scope="session"))
    assert await rig.workspace.changes.revert(parent, plan, {}) is not None
    assert rig.files.paths == ()


def is_in_log(session: Session, capture_id: str) -> bool:
    return capture_id in session.transcript.captures


async def test_what_a_kill_left_of_a_subagent_is_recorded_by_its_parent_once(rig: DelegateToolRig) -> None:
    assert rig.history is not None
    child = (await rig.subagent_sessions())[0]
    rig.files.write("late.txt", b"late\n")
    left = await rig.history.scan(child)
    assert left is not None
    await rig.conversation.close()
    stored = await rig.store.events(rig.conversation.session.id)
    for look in range(3):
        workspace = rig.create_workspace(rig.store, PROFILES["balanced"])
        parent = (await workspace.open_session(rig.conversation.session.id)).session
        await rig.wait_until(partial(is_in_log, parent, left.capture.id))
        captures = [row.capture_id for row in (await workspace.changes.of_session(parent.id)).captures]
        assert captures.count(left.capture.id) == 1
        if look == 1:
            assert await rig.store.events(parent.id) == stored, "two looks"
            await workspace.rename(parent.id, "Late")
            assert rig.history.unrecorded_ids == ()
            stored = await rig.store.events(parent.id)
        await workspace.close_session(parent.id)
    assert await rig.store.events(rig.conversation.session.id) == stored


WAIT: tuple[str, dict[str, Any]] = ("wait", {})
EDIT = writes(kind="edit", a_txt="1\n")
AGAIN = " Read a file again before you rely on it.]"


async def revert(rig: ChangesRig, calls: int = 1) -> None:
    """Take back what the newest calls changed, as the Changes page does."""
    changes = rig.workspace.changes
    session = rig.conversation.session
    await record_unrecorded(session, rig.history)
    captures = [event.capture for event in rig.recorded if event.source in ("tool", "command")][-calls:]
    selection = RevertSelection(tuple(captures), scope="turn")
    assert await changes.revert(session.id, await changes.plan(session.id, selection), {}) is not None


async def redo(rig: ChangesRig, call: int = -1) -> None:
    """Do again what a call changed and a revert took back."""
    changes = rig.workspace.changes
    session_id = rig.conversation.session.id
    captures = [event.capture for event in rig.recorded if event.source in ("tool", "command")]
    plan = await changes.plan_redo(session_id, captures[call])
    assert await changes.revert(session_id, plan, {}) is not None


async def begin_turn(rig: ChangesRig) -> None:
    await rig.conversation.send("Go.")
    await asyncio.wait_for(rig.tools.started.wait(), 60)


async def end_turn(rig: ChangesRig) -> None:
    rig.tools.gate.set()
    await rig.wait_until_idle()
    await record_unrecorded(rig.conversation.session, rig.history)


def notes(rig: ChangesRig) -> list[str]:
    return [message.note for message in rig.events(UserSpoke)]


async def test_what_the_user_took_back_is_told_with_the_next_message_and_once() -> None:
    """Also of files that only a command changed, which the agent never read; not of a folder that it left."""
    rig = await started([writes(a_txt="1\n", b_txt=None, _benchmarks=FOLDER.decode())], [], [])
    await rig.run()
    await revert(rig)
    await rig.run("Again.")
    await rig.run("And again.")
    assert notes(rig) == ["", "[The user reverted the changes to a.txt, b.txt." + AGAIN, ""]


async def test_a_message_that_steers_the_turn_tells_it_too_and_once() -> None:
    """The messages before stay as they were sent, so that the provider's cache holds them."""
    rig = await started([EDIT, reads("b.txt"), WAIT, reads("b.txt")], [])
    await begin_turn(rig)
    await revert(rig)
    rig.files.write("b.txt", b"mine\n")
    await rig.conversation.send("Faster.", steer=True)
    await rig.conversation.send("Please.", steer=True)
    await end_turn(rig)
    await rig.run("And again.")
    first, second, *later = notes(rig)
    assert second.startswith("[The user reverted the changes to a.txt.]\n"), (
        "the diff below says what it holds"
    )
    assert "changed: a.txt, b.txt. What stands above of them is old." in second
    assert "-b\n+mine" in second
    assert [first, *later] == ["", "", ""]
    requests = [request.messages for request in rig.model.requests]
    assert all(after[: len(before)] == before for before, after in pairwise(requests))
    assert any(message.text == f"{second}\n\nFaster." for message in requests[-1])


async def test_what_shows_a_reverted_file_is_outdated_at_once_until_it_is_redone() -> None:
    """And the file is followed on, as if nothing had been."""
    rig = await started([EDIT, reads("a.txt")], [], [])
    await rig.run()
    stale = rig.conversation.session.transcript.staleness.stale_digests
    digest = rig.events(ToolAnswered)[-1].digest
    for _ in range(2):
        await revert(rig)
        await rig.wait_until(lambda: digest in stale)
        await redo(rig)
        await rig.wait_until(lambda: digest not in stale)
    await rig.run("Again.")
    rig.files.write("a.txt", b"mine\n")
    await rig.run("And again.")
    *earlier, newest = notes(rig)
    assert earlier == ["", ""]
    assert "changed: a.txt" in newest
    assert digest in stale


async def test_of_a_revert_that_was_found_and_then_undone_nothing_is_said_either() -> None:
    """A command of the turn finds that the file is another one, before it is put back."""
    rig = await started([EDIT, WAIT, writes(b_txt="2\n")], [])
    await begin_turn(rig)
    await revert(rig)
    await end_turn(rig)
    (found,) = rig.events(FilesChanged)
    assert found.unannounced
    await redo(rig, 0)
    await rig.run("Again.")
    assert notes(rig) == ["", ""]


async def test_an_edit_after_a_revert_is_refused_once_and_no_command_is_blamed() -> None:
    """It was told what the file holds now, so the next message has nothing to add."""
    rig = await started([EDIT, WAIT, writes(b_txt="2\n"), EDIT, EDIT], [])
    await begin_turn(rig)
    await revert(rig)
    await end_turn(rig)
    assert [answer.ok for answer in rig.events(ToolAnswered)] == [True, True, True, False, True]
    await rig.run("Again.")
    assert notes(rig) == ["", ""]


async def test_what_is_put_back_in_part_is_no_redo() -> None:
    rig = await started([EDIT, writes(kind="edit", a_txt="2\n")], [])
    await rig.run()
    await revert(rig, calls=2)
    await redo(rig, 0)
    assert rig.files.read("a.txt") == b"1\n"
    await rig.run("Again.")
    (line,) = revert_lines(notes(rig)[-1])
    assert line == "[The user set a.txt back to an earlier state.]"


async def test_a_rewind_says_that_a_file_is_set_back_and_nothing_if_it_is_as_it_was() -> None:
    """It brings back what was reverted by hand since the message."""
    rig = await started([writes(a_txt="1\n")], [writes(a_txt="2\n")], [], [])
    await rig.run()
    await rig.run("Again.")
    changes = rig.workspace.changes
    session = rig.conversation.session
    second = [record.seq for record in session.log if isinstance(record.event, UserSpoke)][-1]
    await revert(rig, calls=2)
    await changes.revert(session.id, await changes.plan_rewind(session.id, second), {})
    assert rig.files.read("a.txt") == b"1\n"
    await rig.run("And again.")
    assert notes(rig)[-1] == "[The user set a.txt back to an earlier state." + AGAIN
    await revert(rig, calls=2)
    await changes.revert(session.id, await changes.plan_rewind(session.id, second), {})
    await rig.run("The last.")
    assert notes(rig)[-1] == ""


async def test_a_revert_is_told_when_its_session_was_closed_since() -> None:
    rig = await started([EDIT], [])
    await rig.run()
    await revert(rig)
    session_id = rig.conversation.session.id
    await rig.conversation.close()
    again = rig.create_workspace(rig.store, PROFILES["balanced"])
    conversation = await again.open_session(session_id)
    assert (await conversation.run("Again.")).how == "done"
    *_, message = [record.event for record in conversation.session.log if isinstance(record.event, UserSpoke)]
    assert message.note.startswith("[The user reverted the changes to a.txt.]\n")
    await again.close_session(session_id)
