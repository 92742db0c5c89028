"""What the user changes meanwhile is told to the agent with the diff, before it edits; once."""

from __future__ import annotations

from helix_desktop.agent.session import Update
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.handover_revision import preview_handover
from helix_desktop.context.summaries.observation import extract_observations
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.session import FilesChanged
from helix_desktop.domain.file_history.changes import RevertSelection
from tests.support.agent_rig import AgentRig
from tests.support.changing_tools import ChangesRig, reads, started, writes

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


async def test_what_was_found_before_a_command_is_told_with_the_next_message() -> None:
    edit = writes(kind="edit", a_txt="mine\n")
    rig = await started([reads("a.txt"), writes(b_txt="2\n")], [edit])
    change_during(rig, "t0s0_0", "one\nzwei\n")
    await rig.run()
    await rig.run("Again.")
    assert "+zwei" in rig.events(UserSpoke)[-1].note
    assert [answer.ok for answer in answers(rig)] == [True, True, True]


async def test_what_the_user_took_back_is_told_with_the_next_message_and_once() -> None:
    """Also of files that only a command changed, which the agent never read."""
    rig = await started([writes(a_txt="1\n", b_txt=None)], [], [])
    await rig.run()
    changes, session_id = rig.workspace.changes, rig.conversation.session.id
    everything = RevertSelection((await changes.of_session(session_id)).by_agent(), scope="session")
    await changes.revert(session_id, await changes.plan(session_id, everything), {})
    await rig.run("Again.")
    note = rig.events(UserSpoke)[-1].note
    assert note == (
        "[The user reverted the changes to a.txt, b.txt. Read a file again before you rely on it.]"
    )
    await rig.run("And again.")
    assert rig.events(UserSpoke)[-1].note == ""


async def test_what_the_user_took_back_is_no_completed_work() -> None:
    """Handover as it would be now, ledger and observations say that it was reverted, until it is redone."""
    rig = await started([writes(kind="edit", a_txt="1\n"), writes(kind="edit", b_txt="2\n")])
    await rig.run()
    changes, session_id = rig.workspace.changes, rig.conversation.session.id
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


async def test_a_rewind_says_where_a_file_is_set_back_to() -> None:
    """What was reverted by hand since comes back with it: nothing was taken back then."""
    rig = await started([writes(a_txt="1\n")], [], [])
    await rig.run()
    await rig.run("Again.")
    changes, session_id = rig.workspace.changes, rig.conversation.session.id
    (edit,) = (await changes.of_session(session_id)).captures
    reverted = RevertSelection((edit.capture_id,), scope="step")
    await changes.revert(session_id, await changes.plan(session_id, reverted), {})
    (*_, second) = (
        record.seq for record in rig.conversation.session.log if isinstance(record.event, UserSpoke)
    )
    await changes.revert(session_id, await changes.plan_rewind(session_id, second), {})
    assert rig.files.read("a.txt") == b"1\n"
    await rig.run("And again.")
    assert rig.events(UserSpoke)[-1].note == (
        "[The user set a.txt back to an earlier state. Read a file again before you rely on it.]"
    )


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
