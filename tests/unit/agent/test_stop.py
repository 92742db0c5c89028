"""The person stops: at any moment, leaving a valid transcript from which the next turn goes on."""

from __future__ import annotations

import asyncio

import pytest

from helix_desktop.agent.session_updates import ApprovalRequested, ResponseDelta, ResponseReset
from helix_desktop.domain.events.session import AssistantSpoke, Event, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.messages import TextDelta
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import (
    HALF_REPLY_THEN_RETRY,
    ScriptedModel,
    replies_in_order,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)

STOPPED = TurnEnded("stopped")


async def goes_on(rig: AgentRig) -> None:
    """The stop left everything sound, and a further turn works."""
    assert not rig.conversation.is_running
    assert rig.events(TurnEnded)[-1] == STOPPED
    await rig.assert_consistent()
    assert (await rig.conversation.run("Go on.")).how == "done"
    await rig.assert_consistent()


async def test_while_the_model_speaks() -> None:
    """What was said so far stays."""
    rig = AgentRig(
        ScriptedModel(replies_in_order([TextDelta("I was "), TextDelta("saying"), asyncio.Event()]))
    )
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.wait_for_updates(ResponseDelta, 2)
    await talk.stop()
    (spoken,) = rig.events(AssistantSpoke)
    assert (spoken.text, spoken.stop) == ("I was saying", "stopped")
    assert rig.model.closed_streams == 1
    await goes_on(rig)


async def test_during_a_retry() -> None:
    """What the retry voided is not kept."""
    rig = AgentRig(ScriptedModel(replies_in_order([*HALF_REPLY_THEN_RETRY, asyncio.Event()])))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.wait_for_updates(ResponseReset)
    await talk.stop()
    assert rig.events(AssistantSpoke) == []
    await goes_on(rig)


async def test_while_a_tool_runs() -> None:
    """The running tool is cancelled and its call closed; the one that had ended keeps its answer."""
    rig = AgentRig(ScriptedModel(replies_in_order(tool_call_reply(("wait", {}), ("say", {"text": "quick"})))))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.wait_until(lambda: rig.events(ToolAnswered) and rig.tools.started.is_set())
    await talk.stop()
    assert rig.tools.cancelled_calls == ["c0"]
    assert [(one.call_id, one.outcome) for one in rig.events(ToolAnswered)] == [
        ("c1", "ran"),
        ("c0", "interrupted"),
    ]
    await goes_on(rig)
    assert tool_result_texts(rig.model.requests[-1]) == [
        "The user stopped the turn before this call ended.",
        "quick c1",
    ]


async def test_while_a_question_waits() -> None:
    """The question goes away, and so do the ones behind it."""
    rig = AgentRig(ScriptedModel(replies_in_order(tool_call_reply(("ask", {}), ("ask", {})))))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.wait_for_updates(ApprovalRequested)
    await talk.stop()
    assert talk.asks == []
    assert not talk.decide("c0", "once")
    assert rig.tools.executed_calls == []
    await goes_on(rig)


async def test_at_once() -> None:
    """A stop in the same breath as the message: the message is kept, and the conversation is not stuck."""
    rig = AgentRig(ScriptedModel(replies_in_order(text_reply("Never heard."))))
    talk = await rig.begin()
    await talk.send("Go.")
    await talk.stop()
    assert [one.text for one in rig.events(UserSpoke)] == ["Go."]
    await goes_on(rig)


async def test_two_stops_are_one() -> None:
    """The second waits for the same end."""
    rig = AgentRig(ScriptedModel(replies_in_order([TextDelta("I"), asyncio.Event()])))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.wait_for_updates(ResponseDelta)
    await asyncio.gather(talk.stop(), talk.stop(), talk.stop())
    assert rig.events(TurnEnded) == [STOPPED]
    await goes_on(rig)
    await talk.stop()
    assert len(rig.events(TurnEnded)) == 2


@pytest.mark.parametrize("kind", [AssistantSpoke, ToolAnswered, TurnEnded])
async def test_while_a_fact_is_on_its_way_to_the_disk(kind: type[Event]) -> None:
    """What was handed to the store counts: no call is answered twice, none stays open, no turn ends twice."""
    rig = AgentRig(ScriptedModel(replies_in_order(tool_call_reply(("say", {}), ("say", {})))))
    talk = await rig.begin()
    rig.store.gated_event_types = (kind,)
    await talk.send("Go.")
    await rig.store.gate_reached.wait()
    await asyncio.gather(talk.stop(), opened_later(rig))
    calls = [call.id for spoken in rig.events(AssistantSpoke) for call in spoken.calls]
    assert sorted(calls) == sorted(one.call_id for one in rig.events(ToolAnswered))
    assert len(rig.events(TurnEnded)) == 1
    await rig.assert_consistent()


async def opened_later(rig: AgentRig) -> None:
    """The disk answers after everything else had its chance."""
    for _ in range(20):
        await asyncio.sleep(0)
    rig.store.gate.set()


async def test_a_stop_right_behind_the_end_of_another_turn() -> None:
    """The end of the former turn does not pass for this one's words being on record: nothing is dropped."""
    rig = AgentRig(ScriptedModel(lambda _: text_reply("Done.")))
    talk = await rig.begin()
    await talk.send("One.")
    await rig.wait_until(lambda: not talk.is_running)
    await talk.send("Two.")
    await talk.stop()
    assert [one.text for one in rig.events(UserSpoke)] == ["One.", "Two."]
    await rig.assert_consistent()
