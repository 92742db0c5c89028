"""Cut off between any two awaits, the session's state equals the store's log."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.session_updates import CompactionProgress, Phase
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade
from tests.support.agent_rig import AgentRig, GatedStore
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply, tool_call_reply

POLICY = msgspec.structs.replace(PROFILES["plain"], protect_steps=2, least_saving=1)


async def a_turn(slow: int) -> AgentRig:
    """A turn with calls side by side, a question, a sweep and last words, begun; each write takes a while."""
    words = {"text": "words", "times": 60}
    script = replies_in_order(
        tool_call_reply(("say", words), ("ask", {}), text="First"),
        tool_call_reply(("say", words), ("fail", {}), text="Second", id_prefix="d"),
        tool_call_reply(("say", words), id_prefix="e"),
        text_reply("That was all."),
    )
    store = GatedStore()
    rig = AgentRig(ScriptedModel(script), POLICY, store, approver=FixedApprover("once"))
    await rig.begin()
    store.yields_per_write = slow
    await rig.conversation.send("Go.")
    return rig


async def passes_until_done(slow: int) -> int:
    """How often the loop goes round until the turn has ended by itself."""
    rig = await a_turn(slow)
    passes = 0
    while rig.conversation.is_running:
        await asyncio.sleep(0)
        passes += 1
    return passes


@pytest.mark.parametrize("slow", [0, 3])
async def test_a_turn_can_be_stopped_anywhere(slow: int) -> None:
    """At every turn of the loop: the message is kept, each call has one answer, the turn one end."""
    for passes in range(await passes_until_done(slow) + 2):
        rig = await a_turn(slow)
        for _ in range(passes):
            await asyncio.sleep(0)
        await rig.conversation.stop()
        await rig.assert_consistent()
        assert len(rig.events(UserSpoke)) == 1
        assert len(rig.events(TurnEnded)) == 1
        calls = [call.id for spoken in rig.events(AssistantSpoke) for call in spoken.calls]
        assert sorted(calls) == sorted(one.call_id for one in rig.events(ToolAnswered))
        rig.model.script = replies_in_order()
        assert (await rig.conversation.run("Go on.")).how == "done"
        await rig.assert_consistent()


@pytest.mark.parametrize("slow", [0, 3])
async def test_a_workspace_can_be_closed_anywhere(slow: int) -> None:
    """Closing ends the turn first; what the store has afterwards opens as it was."""
    for passes in range(0, await passes_until_done(slow) + 2, 5):
        rig = await a_turn(slow)
        for _ in range(passes):
            await asyncio.sleep(0)
        await rig.conversation.close()
        assert await rig.store.events(rig.conversation.session.id) == rig.conversation.session.log
        assert not rig.conversation.session.transcript.turn_open
        await rig.workspace.close()


async def talked(slow: int) -> AgentRig:
    """Two turns, the first long enough for a handover to pay."""
    rig = AgentRig(
        ScriptedModel(
            replies_in_order(
                *[tool_call_reply(("say", {}), text="thinking " * 400, id_prefix=f"k{n}") for n in range(9)]
            )
        )
    )
    await rig.begin()
    await rig.conversation.run("Go.")
    await rig.conversation.run("And now?")
    rig.store.yields_per_write = slow
    return rig


async def reached(rig: AgentRig, phase: Phase) -> None:
    """Let the loop run until the handover has entered a phase."""
    await rig.wait_until(lambda: phase in [moved.phase for moved in rig.updates_of(CompactionProgress)])


@pytest.mark.parametrize("phase", ["read", "summarise", "check", "write", "idle"])
async def test_a_handover_can_be_cancelled_anywhere(phase: Phase) -> None:
    """In any phase, a little into it: it was made or it was not, never half; another can be made at once."""
    for passes in range(8):
        rig = await talked(2)
        rig.conversation.compact()
        if passes or phase != "read":  # else in the same breath
            await reached(rig, phase)
        for _ in range(passes):
            await asyncio.sleep(0)
        entered = {moved.phase for moved in rig.updates_of(CompactionProgress)}
        rig.conversation.cancel_compaction()
        await rig.conversation.wait_for_background_work()
        await rig.conversation.session.drain()
        await rig.assert_consistent()
        made = len(rig.events(HandoverMade))
        assert made == 0 or "write" in entered
        assert made == 1 or phase != "idle"
        if not made:
            rig.conversation.compact()
            await rig.conversation.wait_for_background_work()
        assert len(rig.events(HandoverMade)) == 1
        await rig.assert_consistent()
