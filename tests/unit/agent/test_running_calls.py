"""Calls that run: heard while they run, and each can be stopped alone."""

from __future__ import annotations

from helix_desktop.agent.session_updates import CallOutput, CallStarted
from helix_desktop.agent.tool_calls.running_calls import HALTED
from helix_desktop.domain.events.session import ToolAnswered, TurnEnded
from tests.support.agent_rig import Rig
from tests.support.scripted_model import ScriptedModel, called, in_turn, said


async def test_what_a_call_puts_out_is_heard_while_it_runs() -> None:
    rig = Rig(ScriptedModel(in_turn(called(("wait", {})), said("Done."))))
    talk = await rig.begin()
    await talk.send("Wait.")
    await rig.until(CallOutput, 2)
    assert rig.told(CallOutput) == [CallOutput("c0", "waiting "), CallOutput("c0", "for the gate")]
    running = talk.running_calls.find("c0")
    assert running is not None
    assert (running.tail, running.started_at_ms, running.call.name) == (
        "waiting for the gate",
        rig.clock.now,
        "wait",
    )
    rig.tools.gate.set()
    await rig.idle()
    assert talk.running_calls.find("c0") is None
    await rig.sound()


async def test_one_call_is_stopped_and_the_turn_goes_on() -> None:
    rig = Rig(ScriptedModel(in_turn(called(("wait", {}), ("wait", {})), said("I go on."))))
    talk = await rig.begin()
    await talk.send("Wait twice.")
    await rig.until(CallStarted, 2)
    await rig.when(lambda: len(rig.told(CallOutput)) == 4)
    assert talk.running_calls.stop("c0")
    await rig.when(lambda: rig.tools.cancelled == ["c0"])
    assert talk.is_running
    rig.tools.gate.set()
    await rig.idle()
    answers = {one.call_id: one for one in rig.events(ToolAnswered)}
    assert (answers["c0"].text, answers["c0"].ok) == (HALTED, False)
    assert answers["c1"].ok
    assert [one.how for one in rig.events(TurnEnded)] == ["done"]
    assert not talk.running_calls.stop("c0")
    await rig.sound()


async def test_stopping_the_turn_ends_every_call() -> None:
    rig = Rig(ScriptedModel(in_turn(called(("wait", {})))))
    talk = await rig.begin()
    await talk.send("Wait.")
    await rig.until(CallOutput, 2)
    await talk.stop()
    assert rig.tools.cancelled == ["c0"]
    assert talk.running_calls.find("c0") is None
    assert [one.how for one in rig.events(TurnEnded)] == ["stopped"]
    await rig.sound()
