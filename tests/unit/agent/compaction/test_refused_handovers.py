"""Handovers that come to nothing: refused, overtaken, dropped; and when the next one is tried."""

from __future__ import annotations

import asyncio

from helix_desktop.context.policy import PROFILES
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import HandoverTrigger, SummaryProblem
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
)
from tests.support.agent_rig import AgentRig
from tests.support.handover_rig import NO_SWEEP, ready_conversation, working
from tests.support.scripted_model import (
    SUMMARY,
    ScriptedModel,
    SendingModel,
    text_reply,
    thinking_script,
)

# Outputs stay in the window, so that it is the handover that must make space.


async def test_a_due_handover_is_canceled_once_other_rewrites_made_the_room() -> None:
    """Else it would go on far below its threshold, and summarize what can stay; it is no failure."""
    rig, gate = await rig_with_due_handover(SUMMARY)
    gauge = rig.conversation.window.measure()[1]
    assert gauge.used >= gauge.handover_threshold
    await cache_outputs(rig, gauge.handover_threshold - planner.least_gain(NO_SWEEP, gauge))
    await rig.wait_until(lambda: not rig.conversation.handovers.is_running)
    gate.set()
    await rig.wait_until_idle()
    assert rig.events(HandoverMade) == rig.events(HandoverFailed) == []
    (discarded,) = rig.events(HandoverDiscarded)
    assert (discarded.spent > 0, discarded.estimated) == (True, True), "although no word of it had come"
    assert rig.conversation.session.transcript.handover_failures == 0


async def test_a_due_handover_is_canceled_where_the_policy_is_turned_off() -> None:
    rig, gate = await rig_with_due_handover(SUMMARY)
    rig.workspace.policy = PROFILES["off"]
    await rig.wait_until(lambda: not rig.conversation.handovers.is_running)
    gate.set()
    await rig.wait_until_idle()
    assert rig.events(HandoverMade) == []


async def test_a_due_handover_goes_on_a_little_below_its_threshold() -> None:
    """Else it would be paid for again as soon as the next output came."""
    rig, gate = await rig_with_due_handover(SUMMARY)
    await cache_outputs(rig, rig.conversation.window.measure()[1].handover_threshold - 1)
    assert rig.conversation.handovers.is_running
    gate.set()
    await rig.wait_until_idle()
    assert len(rig.events(HandoverMade)) == 1


async def test_a_summary_that_says_too_little_is_a_failure_even_if_no_longer_needed() -> None:
    """Otherwise a model that cannot write one would be paid each time that one is due."""
    rig, gate = await rig_with_due_handover("\n".join(f"## {title}\n- Done. [e3]" for title in TITLES))
    await cache_outputs(rig, rig.conversation.window.measure()[1].handover_threshold - 1)
    gate.set()
    await rig.wait_until_idle()
    assert [failed.problem for failed in rig.events(HandoverFailed)] == [SummaryProblem.SHORT]
    assert rig.events(HandoverMade) == rig.events(HandoverDiscarded) == []


async def rig_with_due_handover(summary: str) -> tuple[AgentRig, asyncio.Event]:
    """Return a conversation whose turn has ended while a due handover is written; the event ends it."""
    gate = asyncio.Event()
    model = SendingModel(working(19, 380), summary_script=lambda _: [gate, *text_reply(summary)])
    rig = AgentRig(model, NO_SWEEP)
    conversation = await rig.begin()
    await conversation.send("Build the thing.")
    await rig.wait_until(lambda: model.summary_requests)
    await rig.wait_until(lambda: not conversation.is_running)
    return rig, gate


async def cache_outputs(rig: AgentRig, most_tokens: float) -> None:
    """Take outputs out of the window until it uses at most these tokens."""
    for recorded in list(rig.conversation.session.log):
        if rig.conversation.window.measure()[1].used <= most_tokens:
            return
        if isinstance(recorded.event, ToolAnswered):
            await rig.conversation.window.cache_now(recorded.seq)


async def test_a_handover_is_dropped_when_its_history_changed() -> None:
    """When the handover that it was to update is undone first, it is dropped, and that is recorded."""
    gate = asyncio.Event()
    gate.set()
    rig = await ready_conversation(summary=lambda _: [gate, *text_reply(SUMMARY)])
    rig.conversation.handovers.start()
    await rig.conversation.wait_for_background_work()
    rig.model.script = thinking_script(9)
    await rig.conversation.run("Think again.")
    await rig.conversation.run("And now?")
    gate.clear()
    rig.conversation.handovers.start()
    await rig.wait_until(lambda: len(rig.model.summary_requests) == 2)
    (first,) = rig.conversation.session.transcript.rewrites.handovers
    await rig.conversation.window.undo(first)
    gate.set()
    await rig.conversation.wait_for_background_work()
    assert [event.why for event in rig.events(HandoverFailed)] == ["The history changed in the meantime."]
    assert len(rig.events(HandoverMade)) == 1


async def test_refusals_back_off_and_open_the_breaker() -> None:
    """A summary longer than what it replaces is refused; tries wait 120, then 240 s; then none is made."""
    long = SUMMARY + "\n- word" * 9_000
    rig = AgentRig(ScriptedModel(thinking_script(12), summary_script=lambda _: text_reply(long)), NO_SWEEP)
    conversation = await rig.begin()
    await conversation.run("Think.")
    await rig.wait_until_idle()
    assert len(rig.events(HandoverFailed)) == 1
    for wait, failures in ((119, 1), (1, 2), (239, 2), (1, 3), (10_000, 3)):
        rig.clock.advance_s(wait)
        await conversation.run("Yes.")
        await rig.wait_until_idle()
        assert len(rig.events(HandoverFailed)) == failures
    assert rig.events(HandoverMade) == []


async def test_an_insufficient_summary_is_recorded_and_retried_later() -> None:
    """It is not placed; tries wait as after failures; the last before the breaker needs no model."""
    short_summary = "\n".join(f"## {title}\n- Done. [e3]" for title in TITLES)
    rig = AgentRig(
        ScriptedModel(thinking_script(12), summary_script=lambda _: text_reply(short_summary)), NO_SWEEP
    )
    conversation = await rig.begin()
    await conversation.run("Think.")
    await rig.wait_until_idle()
    (failed,) = rig.events(HandoverFailed)
    assert (failed.problem, failed.refused) == (SummaryProblem.SHORT, short_summary)
    assert failed.spent > 0
    rig.clock.advance_s(119)
    await conversation.run("Yes.")
    await rig.wait_until_idle()
    assert len(rig.model.summary_requests) == 1
    for _ in range(2):
        rig.clock.advance_s(240)
        await conversation.run("Yes.")
        await rig.wait_until_idle()
    assert len(rig.events(HandoverFailed)) == 2
    (handover,) = rig.events(HandoverMade)
    assert (handover.model, handover.refused) == (NO_MODEL, short_summary)
    assert "wasn't used" in handover.fallback


async def test_a_manual_handover_closes_the_breaker() -> None:
    """After three failures only the user's handover runs; once it succeeds, automatic ones resume."""
    long = SUMMARY + "\n- word" * 9_000
    rig = AgentRig(ScriptedModel(thinking_script(12), summary_script=lambda _: text_reply(long)), NO_SWEEP)
    conversation = await rig.begin()
    await conversation.run("Think.")
    for _ in range(3):
        await rig.wait_until_idle()
        rig.clock.advance_s(240)
        await conversation.run("Yes.")
    await rig.wait_until_idle()
    assert planner.is_breaker_open(conversation.session.transcript)
    rig.model.summary_script = lambda _: text_reply(SUMMARY)
    conversation.handovers.start()
    await conversation.wait_for_background_work()
    assert [event.trigger for event in rig.events(HandoverMade)] == [HandoverTrigger.MANUAL]
    assert not planner.is_breaker_open(conversation.session.transcript)
    rig.clock.advance_s(60)
    rig.model.script = thinking_script(9)
    await conversation.run("Think again.")
    await rig.wait_until_idle()
    assert [event.trigger for event in rig.events(HandoverMade)] == [
        HandoverTrigger.MANUAL,
        HandoverTrigger.THRESHOLD,
    ]
