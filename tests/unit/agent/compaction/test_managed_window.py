"""The managed window: what the shares of the policy count from where the model has more room."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from helix_desktop.agent.message_queue import MessageTooLarge
from helix_desktop.agent.session import SummaryAwaited
from helix_desktop.context.summaries.handover import TITLE
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade, HandoverTrigger, SweepMade, SweepReason
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelInfo, ModelResponse, TextDelta
from tests.support.agent_rig import AgentRig
from tests.support.compaction_rig import NO_SWEEP, working
from tests.support.scripted_model import SUMMARY, Script, ScriptedModel

LARGE = ModelInfo("test", "large", window=1_000_000, reserve=4_096)
MANAGED = 8_000  # tokens, the least that can be set: the calls of a test reach it soon
# Nothing but a handover makes the context smaller.
SMALL_PART = msgspec.structs.replace(NO_SWEEP, manage_at_most=MANAGED, fold_after_steps=0)
ALL = msgspec.structs.replace(SMALL_PART, manage_at_most=0)


@pytest.fixture
async def gate() -> AsyncIterator[asyncio.Event]:
    """What a summary waits for; open in the end, so that a failed test ends too."""
    event = asyncio.Event()
    yield event
    event.set()


def gated_summary(gate: asyncio.Event) -> Script:
    return lambda _: [TextDelta(SUMMARY), gate, ModelResponse(SUMMARY)]


def answers(rig: AgentRig) -> list[AssistantSpoke]:
    return rig.events(AssistantSpoke)


def freed_to_fit(rig: AgentRig) -> list[SweepMade | FoldMade]:
    """What left the context only because there was no room."""
    sweeps = [event for event in rig.events(SweepMade) if event.reason is SweepReason.OVERFLOW]
    return [*sweeps, *rig.events(FoldMade)]


async def test_a_summary_is_due_at_85_percent_of_the_managed_window_and_nothing_waits(
    gate: asyncio.Event,
) -> None:
    """The turn goes on above it with all that it read, as the model has room; then the summary is placed."""
    model = ScriptedModel(working(40, 380), LARGE, summary_script=gated_summary(gate))
    rig = AgentRig(model, SMALL_PART)
    await rig.send_first("Build the thing.")
    await rig.wait_until(lambda: len(model.requests) == 41)
    largest = max(answer.estimate for answer in answers(rig))
    await rig.wait_until(lambda: model.summary_requests)
    assert largest > 1.5 * MANAGED, "no step waited for the summary"
    assert (freed_to_fit(rig), rig.updates_of(SummaryAwaited)) == ([], [])
    gate.set()
    await rig.wait_until_idle()
    (handover,) = rig.events(HandoverMade)
    assert (handover.trigger, handover.fallback) == (HandoverTrigger.THRESHOLD, "")
    assert handover.before - handover.after > MANAGED / 2


async def test_each_answer_records_what_was_managed() -> None:
    """Charts and lists of later versions know what its share was of; 0 where all of it was managed."""
    rig = AgentRig(ScriptedModel(working(1), LARGE), SMALL_PART)
    await rig.begin()
    await rig.run_and_wait("Say it.")
    assert {(it.window, it.managed_window, it.share_window) for it in answers(rig)} == {
        (1_000_000, MANAGED, MANAGED)
    }
    assert (await rig.store.sessions())[0].window == MANAGED
    rig.workspace.policy = ALL
    await rig.conversation.run("Again.")
    newest = answers(rig)[-1]
    assert (newest.managed_window, newest.share_window) == (0, 1_000_000)


async def test_a_session_that_is_larger_is_not_cut_and_its_summary_is_written_beside_its_next_turn(
    gate: asyncio.Event,
) -> None:
    model = ScriptedModel(working(60, 380), LARGE, summary_script=gated_summary(gate))
    rig = AgentRig(model, ALL)
    await rig.begin()
    await rig.run_and_wait("Build the thing.")
    used = rig.conversation.window.measure()[1].used
    assert used > 2 * MANAGED
    assert model.summary_requests == [], "85 % of the model's window are far away"
    rig.workspace.policy = SMALL_PART
    _, gauge = rig.conversation.window.measure()
    assert (gauge.is_due, gauge.exceeds_managed, gauge.is_full, gauge.fits) == (True, True, False, True)
    assert model.summary_requests == [], "nothing begins before a turn"
    model.script = working(2)
    rig.clock.advance_s(61)
    answers_before = len(answers(rig))
    await rig.conversation.send("And now?")
    await rig.wait_until(lambda: len(answers(rig)) == answers_before + 3)
    assert all(answer.estimate > used for answer in answers(rig)[-3:]), "whole, while it is written"
    await rig.wait_until(lambda: model.summary_requests)
    assert (freed_to_fit(rig), rig.updates_of(SummaryAwaited)) == ([], [])
    gate.set()
    await rig.wait_until_idle()
    await rig.conversation.run("Go on.")
    assert any(TITLE in message.text for message in model.requests[-1].messages)
    assert rig.conversation.window.measure()[1].used < MANAGED


async def test_a_message_that_needs_more_than_the_managed_window_gets_it() -> None:
    """It is sent whole; only what the model itself has no room for is refused."""
    rig = AgentRig(ScriptedModel(working(0), LARGE), SMALL_PART)
    await rig.begin()
    await rig.run_and_wait("Hello.")
    await rig.conversation.send("long " * 3 * MANAGED)
    await rig.wait_until_idle()
    assert answers(rig)[-1].estimate > 2 * MANAGED
    assert freed_to_fit(rig) == []
    assert rig.conversation.window.measure()[1].exceeds_managed
    with pytest.raises(MessageTooLarge):
        await rig.conversation.send("long " * 1_000_000)
    assert len(rig.events(UserSpoke)) == 2


async def test_room_is_made_at_95_percent_of_the_models_own_window() -> None:
    """Where no model can write a summary, the model's window is what the end of the chain keeps to."""
    info = msgspec.structs.replace(LARGE, window=20_000, reserve=400)

    def fail(_: object) -> list[TextDelta | ModelResponse]:
        return [ModelResponse("")]

    rig = AgentRig(ScriptedModel(working(100, 380), info, summary_script=fail), SMALL_PART)
    await rig.begin()
    await rig.run_and_wait("Build the thing.")
    largest = max(answer.estimate for answer in answers(rig))
    assert 0.8 * info.window < largest < 0.95 * info.window
    assert freed_to_fit(rig) or rig.events(HandoverMade)
