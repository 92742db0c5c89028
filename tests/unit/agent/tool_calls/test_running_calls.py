"""Running calls: their output is streamed, and each can be stopped separately."""

from __future__ import annotations

from helix_desktop.agent.session import CallOutput, CallStarted
from helix_desktop.agent.tool_calls.runner import HALTED
from helix_desktop.domain.events.conversation import ToolAnswered, TurnEnded
from tests.support.agent_rig import begin_with
from tests.support.scripted_model import text_reply, tool_call_reply


async def test_the_output_of_a_running_call_is_streamed() -> None:
    rig, conversation = await begin_with(tool_call_reply(("wait", {})), text_reply("Done."))
    await conversation.send("Wait.")
    await rig.wait_for_updates(CallOutput, 2)
    assert rig.updates_of(CallOutput) == [CallOutput("c0", "waiting "), CallOutput("c0", "for the gate")]
    running = conversation.running_calls.find("c0")
    assert running is not None
    assert (running.tail, running.started_at_ms, running.call.name) == (
        "waiting for the gate",
        rig.clock.now,
        "wait",
    )
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert conversation.running_calls.find("c0") is None


async def test_a_single_call_is_stopped_and_the_turn_goes_on() -> None:
    rig, conversation = await begin_with(tool_call_reply(("wait", {}), ("wait", {})), text_reply("I go on."))
    await conversation.send("Wait twice.")
    await rig.wait_for_updates(CallStarted, 2)
    await rig.wait_until(lambda: len(rig.updates_of(CallOutput)) == 4)
    assert conversation.running_calls.stop("c0")
    await rig.wait_until(lambda: rig.tools.canceled_calls == ["c0"])
    assert conversation.is_running
    rig.tools.gate.set()
    await rig.wait_until_idle()
    answers = {event.call_id: event for event in rig.events(ToolAnswered)}
    assert (answers["c0"].text, answers["c0"].ok) == (HALTED, False)
    assert answers["c1"].ok
    assert [event.how for event in rig.events(TurnEnded)] == ["done"]
    assert not conversation.running_calls.stop("c0")


async def test_stopping_the_turn_ends_every_call() -> None:
    rig, conversation = await begin_with(tool_call_reply(("wait", {})))
    await conversation.send("Wait.")
    await rig.wait_for_updates(CallOutput, 2)
    await conversation.stop()
    assert rig.tools.canceled_calls == ["c0"]
    assert conversation.running_calls.find("c0") is None
    assert [event.how for event in rig.events(TurnEnded)] == ["stopped"]
