"""What the model is told of the user's reverts: with the next message, also one that steers, and once."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

from helix_desktop.agent.change_recorder import record_unrecorded
from helix_desktop.context.log.file_and_mode_notes import revert_lines
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.session import FilesChanged
from helix_desktop.domain.file_history.changes import RevertSelection
from tests.support.changing_tools import ChangesRig, reads, started, writes
from tests.support.memory_files import FOLDER

WAIT: tuple[str, dict[str, Any]] = ("wait", {})
EDIT = writes(kind="edit", a_txt="1\n")
AGAIN = " Read a file again before you rely on it.]"


async def revert(rig: ChangesRig, calls: int = 1) -> None:
    """Take back what the newest calls changed, as the Changes page does."""
    changes, session = rig.workspace.changes, rig.conversation.session
    await record_unrecorded(session, rig.history)
    captures = [event.capture for event in rig.recorded if event.source in ("tool", "command")][-calls:]
    selection = RevertSelection(tuple(captures), scope="turn")
    assert await changes.revert(session.id, await changes.plan(session.id, selection), {}) is not None


async def redo(rig: ChangesRig, call: int = -1) -> None:
    """Do again what a call changed and a revert took back."""
    changes, session_id = rig.workspace.changes, rig.conversation.session.id
    captures = [event.capture for event in rig.recorded if event.source in ("tool", "command")]
    plan = await changes.plan_redo(session_id, captures[call])
    assert await changes.revert(session_id, plan, {}) is not None


async def begin_turn(rig: ChangesRig) -> None:
    """Begin a turn, up to the call that waits."""
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


async def test_of_a_revert_that_was_undone_nothing_is_said() -> None:
    rig = await started([EDIT, WAIT, reads("b.txt")], [])
    await begin_turn(rig)
    await revert(rig)
    await redo(rig)
    await rig.conversation.send("Faster.", steer=True)
    await end_turn(rig)
    assert notes(rig) == ["", ""]


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
    changes, session = rig.workspace.changes, rig.conversation.session
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
