"""Cancelled between any two awaits, the session's state equals the store's log."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.session import CompactionProgress, Phase
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade
from tests.support.agent_rig import AgentRig, GatedStore, begin_with
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply, tool_call_reply

POLICY = msgspec.structs.replace(PROFILES["plain"], protect_steps=2, least_saving=1)


async def start_turn(slow: int) -> AgentRig:
    """Start a turn with concurrent calls, a question, a sweep and a final text; each write takes a while."""
    arguments = {"text": "words", "times": 60}
    script = replies_in_order(
        tool_call_reply(("say", arguments), ("ask", {}), text="First"),
        tool_call_reply(("say", arguments), ("fail", {}), text="Second", id_prefix="d"),
        tool_call_reply(("say", arguments), id_prefix="e"),
        text_reply("That was all."),
    )
    store = GatedStore()
    rig = AgentRig(ScriptedModel(script), POLICY, store, approver=FixedApprover("once"))
    await rig.begin()
    store.yields_per_write = slow
    await rig.conversation.send("Go.")
    return rig


@pytest.mark.parametrize("slow", [0, 3])
async def test_a_turn_can_be_stopped_at_any_moment(slow: int) -> None:
    """At every turn of the loop: the message is kept, each call has one answer, the turn one end."""
    for passes in range(await (await start_turn(slow)).passes_until_idle() + 2):
        rig = await start_turn(slow)
        for _ in range(passes):
            await asyncio.sleep(0)
        await rig.conversation.stop()
        await rig.assert_consistent()
        assert len(rig.events(UserSpoke)) == 1
        assert len(rig.events(TurnEnded)) == 1
        calls = [call.id for answer in rig.events(AssistantSpoke) for call in answer.calls]
        assert sorted(calls) == sorted(event.call_id for event in rig.events(ToolAnswered))
        rig.model.script = replies_in_order()
        assert (await rig.conversation.run("Go on.")).how == "done"
        await rig.assert_consistent()


@pytest.mark.parametrize("slow", [0, 3])
async def test_a_workspace_can_be_closed_at_any_moment(slow: int) -> None:
    """Closing ends the turn first; the store then opens with the same state."""
    for passes in range(0, await (await start_turn(slow)).passes_until_idle() + 2, 5):
        rig = await start_turn(slow)
        for _ in range(passes):
            await asyncio.sleep(0)
        await rig.conversation.close()
        assert await rig.store.events(rig.conversation.session.id) == rig.conversation.session.log
        assert not rig.conversation.session.transcript.turn_open
        await rig.workspace.close()


async def long_conversation(slow: int) -> AgentRig:
    """Run two turns, the first long enough for a handover to pay."""
    rig, _ = await begin_with(
        *[tool_call_reply(("say", {}), text="thinking " * 400, id_prefix=f"k{n}") for n in range(9)]
    )
    await rig.conversation.run("Go.")
    await rig.conversation.run("And now?")
    rig.store.yields_per_write = slow
    return rig


async def wait_for_phase(rig: AgentRig, phase: Phase) -> None:
    """Run the loop until the handover has entered a phase."""
    await rig.wait_until(lambda: phase in [moved.phase for moved in rig.updates_of(CompactionProgress)])


@pytest.mark.parametrize("phase", ["read", "summarize", "check", "write", "idle"])
async def test_a_handover_can_be_canceled_at_any_moment(phase: Phase) -> None:
    """In any phase, a little into it: made or not, never half; another can be made at once."""
    for passes in range(8):
        rig = await long_conversation(2)
        rig.conversation.handovers.start()
        if passes or phase != "read":  # else immediately
            await wait_for_phase(rig, phase)
        for _ in range(passes):
            await asyncio.sleep(0)
        phases = {moved.phase for moved in rig.updates_of(CompactionProgress)}
        rig.conversation.handovers.cancel()
        await rig.conversation.wait_for_background_work()
        await rig.conversation.session.drain()
        await rig.assert_consistent()
        handover_count = len(rig.events(HandoverMade))
        assert handover_count == 0 or "write" in phases
        assert handover_count == 1 or phase != "idle"
        if not handover_count:
            rig.conversation.handovers.start()
            await rig.conversation.wait_for_background_work()
        assert len(rig.events(HandoverMade)) == 1
        await rig.assert_consistent()
