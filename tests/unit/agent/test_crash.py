"""The app is killed, or the disk is full: nothing acknowledged is lost, nothing is half applied."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import INTERRUPTED
from helix_desktop.agent.session_updates import ErrorRaised, EventRecorded
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.rewrite import SweepMade, Undone
from helix_desktop.domain.events.session import (
    AssistantSpoke,
    RecordedEvent,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
    digests_in,
)
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import Content
from tests.support.agent_rig import AgentRig, GatedStore
from tests.support.message_linter import lint
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply, tool_call_reply

POLICY = msgspec.structs.replace(PROFILES["plain"], protect_steps=2)
NEVER = 10**9


async def a_rich_session() -> AgentRig:
    """Calls side by side, a question, sweeps, a handover that is undone, a stop, a message that waited."""
    words = {"text": "words " * 10, "times": 30}
    steps = [
        tool_call_reply(("say", words), ("ask", {}), text="thinking " * 450, id_prefix=f"k{n}")
        for n in range(9)
    ]
    rig = AgentRig(
        ScriptedModel(
            replies_in_order(
                *steps, text_reply("Done."), text_reply("Yes."), tool_call_reply(("wait", {}), ("say", {}))
            )
        ),
        POLICY,
        approver=FixedApprover("once"),
    )
    talk = await rig.begin()
    await talk.run("Work.")
    await talk.run("And now?")
    talk.compact()
    await talk.wait_for_background_work()
    await talk.undo(max(talk.session.transcript.rewrites.handovers))
    await talk.send("Wait.")
    await rig.tools.started.wait()
    await talk.send("Later.")
    await talk.stop()
    await rig.assert_consistent()
    for kind in (SweepMade, HandoverMade, Undone):
        assert rig.events(kind)
    return rig


async def cut_at(rig: AgentRig, length: int) -> GatedStore:
    """A store that holds the session's first events only, as if the app had been killed then."""
    log = rig.conversation.session.log[:length]
    store = GatedStore()
    for digest in {digest for one in log for digest in digests_in(one.event)}:
        await store.commit(Commit("s", contents=[Content(digest, await rig.store.get(digest))]))
    await store.commit(Commit("s", log))
    return store


async def test_a_session_cut_off_anywhere_opens_and_goes_on() -> None:
    """After every single event: mended, marked as interrupted, and the next request is valid."""
    rig = await a_rich_session()
    log = rig.conversation.session.log
    for length in range(1, len(log) + 1):
        store = await cut_at(rig, length)
        rig.model.script = replies_in_order()
        room = rig.create_workspace(store, POLICY)
        talk = await room.open_session("s")
        assert await room.open_session("s") is talk
        assert talk.session.log[:length] == log[:length]
        assert await store.events("s") == talk.session.log
        added = [one.event for one in talk.session.log[length:]]
        if _in_a_turn(log[:length]):
            assert added[-1] == TurnEnded("interrupted")
            assert all(isinstance(one, ToolAnswered) and one.text == INTERRUPTED for one in added[:-1])
        else:
            assert added == []
        await _goes_on(rig, room)


async def test_the_list_keeps_its_figures_over_a_crash() -> None:
    """Marking a turn as interrupted must not take model and use from the session's line in the list."""
    rig = await a_rich_session()
    (before,) = await rig.store.sessions()
    length = max(one.seq for one in rig.conversation.session.log if isinstance(one.event, AssistantSpoke))
    store = await cut_at(rig, length)
    await store.commit(Commit("s", summary=msgspec.structs.replace(before, id="s")))
    talk = await rig.create_workspace(store, POLICY).open_session("s")
    (after,) = await store.sessions()
    assert (after.used, after.window, after.model) == (talk.measure()[1].used, before.window, before.model)
    assert before.used > 0
    assert before.model


def _in_a_turn(log: list[RecordedEvent]) -> bool:
    bounds = [one.event for one in log if isinstance(one.event, UserSpoke | TurnEnded)]
    return bool(bounds) and isinstance(bounds[-1], UserSpoke)


async def _goes_on(rig: AgentRig, room: OpenWorkspace) -> None:
    (talk,) = room.conversations
    ended = await talk.run("Go on.")
    assert ended.how == "done"
    assert lint(rig.model.requests[-1].messages) == []
    assert not talk.session.transcript.turn_open
    await asyncio.sleep(0)
    await room.close()


async def a_turn_on_a_full_disk(refused: int) -> tuple[AgentRig, int]:
    """A turn whose write number `refused` and all later ones fail; the rig, and the writes tried."""
    script = replies_in_order(
        tool_call_reply(("say", {"text": "words", "times": 300}), ("ask", {}), text="I look."),
        tool_call_reply(("say", {"text": "more", "times": 300}), ("fail", {}), id_prefix="d"),
        tool_call_reply(("say", {}), id_prefix="e"),
        tool_call_reply(("say", {}), id_prefix="f"),
    )
    rig = AgentRig(ScriptedModel(script), POLICY, approver=FixedApprover("once"))
    talk = await rig.begin()
    first = rig.store.write_count
    rig.store.first_failing_write = first + refused
    await talk.send("Go.")
    await rig.wait_until_idle()
    return rig, rig.store.write_count - first


@pytest.mark.expect_errors("task record .* failed")
async def test_a_full_disk_is_told_and_nothing_is_half_applied() -> None:
    """Whichever write fails first: the person is told, state equals log, and with room again work goes on."""
    _, writes = await a_turn_on_a_full_disk(NEVER)
    assert writes > 8
    for refused in range(1, writes + 1):
        rig, _ = await a_turn_on_a_full_disk(refused)
        session = rig.conversation.session
        assert await rig.store.events(session.id) == session.log
        assert any(isinstance(one, ErrorRaised) and "disk is full" in one.what for one in rig.updates)
        assert [one.recorded for one in rig.updates_of(EventRecorded)] == session.log
        rig.store.first_failing_write = NEVER
        rig.model.script = replies_in_order()
        assert (await rig.conversation.run("Go on.")).how == "done"
        await rig.assert_consistent()
        calls = [call.id for spoken in rig.events(AssistantSpoke) for call in spoken.calls]
        assert sorted(calls) == sorted(one.call_id for one in rig.events(ToolAnswered))


@pytest.mark.expect_errors("task record .* failed")
async def test_a_full_disk_during_a_handover() -> None:
    """The handover is told to have failed; the window stays as it was."""
    steps = [tool_call_reply(("say", {}), text="thinking " * 400, id_prefix=f"k{n}") for n in range(9)]
    rig = AgentRig(ScriptedModel(replies_in_order(*steps)), POLICY)
    talk = await rig.begin()
    await talk.run("Work.")
    await talk.run("And now?")
    before, _ = talk.measure()
    rig.store.first_failing_write = 0
    talk.compact()
    await talk.wait_for_background_work()
    assert [one.what for one in rig.updates_of(ErrorRaised)] == ["The disk is full."]
    assert talk.measure()[0] == before
    rig.store.first_failing_write = NEVER
    talk.compact()
    await talk.wait_for_background_work()
    assert len(rig.events(HandoverMade)) == 1
    await rig.assert_consistent()


@pytest.mark.expect_errors("task record .* failed")
async def test_a_message_that_could_not_wait_is_refused_to_its_sender() -> None:
    """While a turn runs on a full disk, sending says so: the words can be kept where they were typed."""
    rig = AgentRig(ScriptedModel(replies_in_order(tool_call_reply(("wait", {})))))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.tools.started.wait()
    rig.store.first_failing_write = 0
    with pytest.raises(Exception, match="disk is full"):
        await talk.send("Later.")
    rig.store.first_failing_write = NEVER
    rig.tools.gate.set()
    await rig.wait_until_idle()
    await rig.assert_consistent()
