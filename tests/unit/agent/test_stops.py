"""The person stops: at any moment, leaving a valid transcript from which the next turn goes on."""

from __future__ import annotations

import asyncio

import pytest

from helix_desktop.agent.session_updates import ApprovalRequested, ResponseDelta, ResponseReset
from helix_desktop.domain.events.session import AssistantSpoke, Event, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.messages import TextDelta
from tests.support.agent_rig import Rig
from tests.support.scripted_model import VOIDED, ScriptedModel, answers_of, called, in_turn, said

STOPPED = TurnEnded("stopped")


async def goes_on(rig: Rig) -> None:
    """The stop left everything sound, and a further turn works."""
    assert not rig.talk.is_running
    assert rig.events(TurnEnded)[-1] == STOPPED
    await rig.sound()
    assert (await rig.talk.run("Go on.")).how == "done"
    await rig.sound()


async def test_while_the_model_speaks() -> None:
    """What was said so far stays."""
    rig = Rig(ScriptedModel(in_turn([TextDelta("I was "), TextDelta("saying"), asyncio.Event()])))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.until(ResponseDelta, 2)
    await talk.stop()
    (spoken,) = rig.events(AssistantSpoke)
    assert (spoken.text, spoken.stop) == ("I was saying", "stopped")
    assert rig.model.closed == 1
    await goes_on(rig)


async def test_during_a_retry() -> None:
    """What the retry voided is not kept."""
    rig = Rig(ScriptedModel(in_turn([*VOIDED, asyncio.Event()])))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.until(ResponseReset)
    await talk.stop()
    assert rig.events(AssistantSpoke) == []
    await goes_on(rig)


async def test_while_a_tool_runs() -> None:
    """The running tool is cancelled and its call closed; the one that had ended keeps its answer."""
    rig = Rig(ScriptedModel(in_turn(called(("wait", {}), ("say", {"text": "quick"})))))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.when(lambda: rig.events(ToolAnswered) and rig.tools.started.is_set())
    await talk.stop()
    assert rig.tools.cancelled == ["c0"]
    assert [(one.call_id, one.outcome) for one in rig.events(ToolAnswered)] == [
        ("c1", "ran"),
        ("c0", "interrupted"),
    ]
    await goes_on(rig)
    assert answers_of(rig.model.requests[-1]) == [
        "The user stopped the turn before this call ended.",
        "quick c1",
    ]


async def test_while_a_question_waits() -> None:
    """The question goes away, and so do the ones behind it."""
    rig = Rig(ScriptedModel(in_turn(called(("ask", {}), ("ask", {})))))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.until(ApprovalRequested)
    await talk.stop()
    assert talk.asks == []
    assert not talk.decide("c0", "once")
    assert rig.tools.ran == []
    await goes_on(rig)


async def test_at_once() -> None:
    """A stop in the same breath as the message: the message is kept, and the conversation is not stuck."""
    rig = Rig(ScriptedModel(in_turn(said("Never heard."))))
    talk = await rig.begin()
    await talk.send("Go.")
    await talk.stop()
    assert [one.text for one in rig.events(UserSpoke)] == ["Go."]
    await goes_on(rig)


async def test_two_stops_are_one() -> None:
    """The second waits for the same end."""
    rig = Rig(ScriptedModel(in_turn([TextDelta("I"), asyncio.Event()])))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.until(ResponseDelta)
    await asyncio.gather(talk.stop(), talk.stop(), talk.stop())
    assert rig.events(TurnEnded) == [STOPPED]
    await goes_on(rig)
    await talk.stop()
    assert len(rig.events(TurnEnded)) == 2


@pytest.mark.parametrize("kind", [AssistantSpoke, ToolAnswered, TurnEnded])
async def test_while_a_fact_is_on_its_way_to_the_disk(kind: type[Event]) -> None:
    """What was handed to the store counts: no call is answered twice, none stays open, no turn ends twice."""
    rig = Rig(ScriptedModel(in_turn(called(("say", {}), ("say", {})))))
    talk = await rig.begin()
    rig.store.hold = (kind,)
    await talk.send("Go.")
    await rig.store.held.wait()
    await asyncio.gather(talk.stop(), opened_later(rig))
    calls = [call.id for spoken in rig.events(AssistantSpoke) for call in spoken.calls]
    assert sorted(calls) == sorted(one.call_id for one in rig.events(ToolAnswered))
    assert len(rig.events(TurnEnded)) == 1
    await rig.sound()


async def opened_later(rig: Rig) -> None:
    """The disk answers after everything else had its chance."""
    for _ in range(20):
        await asyncio.sleep(0)
    rig.store.gate.set()


async def test_a_stop_right_behind_the_end_of_another_turn() -> None:
    """The end of the former turn does not pass for this one's words being on record: nothing is dropped."""
    rig = Rig(ScriptedModel(lambda _: said("Done.")))
    talk = await rig.begin()
    await talk.send("One.")
    await rig.when(lambda: not talk.is_running)
    await talk.send("Two.")
    await talk.stop()
    assert [one.text for one in rig.events(UserSpoke)] == ["One.", "Two."]
    await rig.sound()
