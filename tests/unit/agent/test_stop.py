"""The user stops at any moment: the transcript is valid and the next turn continues from it."""

from __future__ import annotations

import asyncio

import msgspec

from helix_desktop.agent.session import ApprovalRequested, CallOutput, ResponseDelta
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.rewrite import SweepMade
from helix_desktop.domain.messages import RetryScheduled, TextDelta
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.scripted_model import (
    HALF_REPLY_THEN_RETRY,
    ScriptedModel,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)

STOPPED = TurnEnded("stopped")


async def check_continues(rig: AgentRig, ended: TurnEnded = STOPPED) -> None:
    """Check that the state is intact and a further turn works."""
    assert not rig.conversation.is_running
    assert rig.events(TurnEnded)[-1] == ended
    await rig.assert_consistent()
    assert (await rig.conversation.run("Go on.")).how == "done"
    await rig.assert_consistent()


async def test_stop_during_an_answer() -> None:
    """The text so far stays."""
    rig, conversation = await begin_with([TextDelta("I was "), TextDelta("saying"), asyncio.Event()])
    await conversation.send("Go.")
    await rig.wait_for_updates(ResponseDelta, 2)
    await conversation.stop()
    (answer,) = rig.events(AssistantSpoke)
    assert (answer.text, answer.stop) == ("I was saying", "stopped")
    assert rig.model.closed_streams == 1
    await check_continues(rig)


async def test_stop_during_a_retry() -> None:
    """What the retry voided is not kept; the end says what had failed."""
    rig, conversation = await begin_with([*HALF_REPLY_THEN_RETRY, asyncio.Event()])
    await conversation.send("Go.")
    await rig.wait_for_updates(RetryScheduled)
    await conversation.stop()
    assert rig.events(AssistantSpoke) == []
    await check_continues(rig, TurnEnded("stopped", why="The server closed the connection."))


async def test_stop_during_a_tool_call() -> None:
    """The running tool is canceled and its call closed; the finished one keeps its answer."""
    rig, conversation = await begin_with(tool_call_reply(("wait", {}), ("say", {"text": "quick"})))
    await conversation.send("Go.")
    await rig.wait_until(lambda: rig.events(ToolAnswered) and rig.tools.started.is_set())
    await conversation.stop()
    assert rig.tools.canceled_calls == ["c0"]
    assert [(event.call_id, event.outcome) for event in rig.events(ToolAnswered)] == [
        ("c1", "ran"),
        ("c0", "interrupted"),
    ]
    await check_continues(rig)
    assert tool_result_texts(rig.model.requests[-1]) == [
        "The user stopped the turn before this call ended.",
        "quick c1",
    ]


async def test_stop_while_a_tool_has_output() -> None:
    """It is recorded in place of the note that the turn was stopped."""
    rig, conversation = await begin_with(tool_call_reply(("wait", {"has_output": True}), ("wait", {})))
    await conversation.send("Go.")
    await rig.wait_until(lambda: len(rig.updates_of(CallOutput)) == 4)
    await conversation.stop()
    assert [(event.call_id, event.outcome) for event in rig.events(ToolAnswered)] == [
        ("c0", "ran"),
        ("c1", "interrupted"),
    ]
    await check_continues(rig)
    assert tool_result_texts(rig.model.requests[-1]) == [
        "ok c0",
        "The user stopped the turn before this call ended.",
    ]


async def test_stop_while_a_finished_call_waits_to_be_recorded() -> None:
    """Its output counts: it came before the stop."""
    steps = [tool_call_reply(("say", {"times": 900}), id_prefix=f"k{n}") for n in range(9)]
    policy = msgspec.structs.replace(PROFILES["plain"], protect_steps=2, protect_tokens=1)
    rig, conversation = await begin_with(*steps, policy=policy)
    rig.store.gated_event_types = (SweepMade,)
    await conversation.send("Go.")
    await rig.store.gate_reached.wait()
    await rig.wait_until(lambda: not conversation.running_calls.running)
    await asyncio.gather(conversation.stop(), open_later(rig))
    assert {event.outcome for event in rig.events(ToolAnswered)} == {"ran"}
    await check_continues(rig)


async def test_stop_of_the_turn_right_after_that_of_its_call() -> None:
    """The call is ending: it is not cut off in the middle of that."""
    rig, conversation = await begin_with(tool_call_reply(("wait", {"ends_slowly": True})))
    await conversation.send("Go.")
    await rig.tools.started.wait()
    assert conversation.running_calls.stop("c0")
    await rig.wait_until(lambda: rig.tools.canceled_calls == ["c0"])
    await asyncio.gather(conversation.stop(), _open_gate_later(rig))
    assert [(event.text, event.outcome) for event in rig.events(ToolAnswered)] == [("ok c0", "ran")]
    await check_continues(rig)


async def _open_gate_later(rig: AgentRig) -> None:
    for _ in range(20):
        await asyncio.sleep(0)
    rig.tools.gate.set()


async def test_stop_during_an_approval_request() -> None:
    """The request goes away, and so do those after it."""
    rig, conversation = await begin_with(tool_call_reply(("ask", {}), ("ask", {})))
    await conversation.send("Go.")
    await rig.wait_for_updates(ApprovalRequested)
    await conversation.stop()
    assert conversation.asks == []
    assert not conversation.decide("c0", "once")
    assert rig.tools.executed_calls == []
    await check_continues(rig)


async def test_two_concurrent_stops() -> None:
    """The second waits for the same end."""
    rig, conversation = await begin_with([TextDelta("I"), asyncio.Event()])
    await conversation.send("Go.")
    await rig.wait_for_updates(ResponseDelta)
    await asyncio.gather(conversation.stop(), conversation.stop(), conversation.stop())
    assert rig.events(TurnEnded) == [STOPPED]
    await check_continues(rig)
    await conversation.stop()
    assert len(rig.events(TurnEnded)) == 2


async def open_later(rig: AgentRig) -> None:
    """Let the disk answer after everything else had its chance."""
    for _ in range(20):
        await asyncio.sleep(0)
    rig.store.gate.set()


async def test_stop_right_after_the_end_of_another_turn() -> None:
    """The previous turn's end is not mistaken for this message's record: nothing is dropped."""
    rig = AgentRig(ScriptedModel(lambda _: text_reply("Done.")))
    conversation = await rig.begin()
    await conversation.send("One.")
    await rig.wait_until(lambda: not conversation.is_running)
    await conversation.send("Two.")
    await conversation.stop()
    assert [event.text for event in rig.events(UserSpoke)] == ["One.", "Two."]
