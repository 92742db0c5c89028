"""A full context: as little as it takes leaves, then the request waits for the summary."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.session import SummaryAwaited
from helix_desktop.context.summaries.summary_task import fallback_rate
from helix_desktop.domain.errors import ContextWindowExceeded, ModelUnreachable
from helix_desktop.domain.events.rewrite import FoldMade, HandoverTrigger, SweepMade
from helix_desktop.domain.events.summary import NO_MODEL, HandoverFailed, HandoverMade
from helix_desktop.domain.messages import ModelInfo, ModelResponse, TextDelta
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.handover_rig import MANUAL_ONLY
from tests.support.scripted_model import (
    SUMMARY,
    Script,
    ScriptedModel,
    ScriptedReply,
    replies_in_order,
    text_reply,
    thinking_script,
    tool_call_reply,
    tool_result_texts,
)

# No fold either, and no handover before the context is full: only a summary can make room.
WORDS_ONLY = msgspec.structs.replace(MANUAL_ONLY, fold_after_steps=0)


async def full_rig(summary: Script | None = None) -> AgentRig:
    """Return a conversation whose next turn fills the context with the agent's words."""
    rig = AgentRig(ScriptedModel(thinking_script(16), summary_script=summary), WORDS_ONLY)
    await rig.begin()
    return rig


async def waiting_rig() -> tuple[AgentRig, asyncio.Task[object], asyncio.Event]:
    """Return one whose turn waits for a summary, that turn, and the event that lets the model end it."""
    gate = asyncio.Event()
    rig = await full_rig(lambda _: [TextDelta(SUMMARY), gate, ModelResponse(SUMMARY)])
    turn: asyncio.Task[object] = asyncio.create_task(rig.conversation.run("Think."))  # noqa: TID251 - it is awaited
    await rig.wait_for_updates(SummaryAwaited)
    assert rig.conversation.summary_wait.is_active
    await pass_loops()  # the limit of the wait runs too
    return rig, turn, gate


async def pass_loops() -> None:
    """Let everything happen that can happen now."""
    for _ in range(50):
        await asyncio.sleep(0)


def waits(rig: AgentRig) -> list[bool]:
    """Return when waits began and ended."""
    return [update.is_active for update in rig.updates_of(SummaryAwaited)]


async def test_the_next_step_waits_for_the_summary_and_says_so() -> None:
    """No request is sent meanwhile; then it goes on with what the model wrote."""
    rig, turn, gate = await waiting_rig()
    sent = len(rig.model.requests)
    await pass_loops()
    assert len(rig.model.requests) == sent
    gate.set()
    await turn
    assert waits(rig)[:2] == [True, False]
    assert not rig.conversation.summary_wait.is_active
    handovers = rig.events(HandoverMade)
    assert handovers
    assert {(made.model, made.trigger, made.fallback) for made in handovers} == {
        ("test/scripted", HandoverTrigger.OVERFLOW, "")
    }
    assert {made.how for made in rig.events(FoldMade)} == set()


@pytest.mark.parametrize("is_chosen", [True, False], ids=["the user goes on", "after five minutes"])
async def test_a_wait_ends_without_a_model(is_chosen: bool) -> None:
    """By the user's choice or after five minutes; the fallback says why, and is counted."""
    rig, turn, _ = await waiting_rig()
    if is_chosen:
        rig.conversation.summary_wait.continue_without_model()
    else:
        rig.clock.advance_s(299)
        await pass_loops()
        assert rig.conversation.summary_wait.is_active
        rig.clock.advance_s(1)
    await rig.wait_for_updates(SummaryAwaited, 2)
    await rig.wait_until(lambda: rig.events(HandoverMade))
    (made,) = rig.events(HandoverMade)
    assert (made.model, made.trigger) == (NO_MODEL, HandoverTrigger.OVERFLOW)
    reason = "You continued without a model." if is_chosen else "The model took more than 5 minutes."
    assert made.fallback == reason
    assert fallback_rate(rig.conversation.session.log).newest_reason == reason
    await rig.conversation.stop()
    await asyncio.wait([turn])


async def test_stop_ends_the_turn_while_it_waits() -> None:
    """The summary goes on being written, for the next turn."""
    rig, turn, gate = await waiting_rig()
    await rig.conversation.stop()
    await asyncio.wait([turn])
    assert not rig.conversation.summary_wait.is_active
    assert rig.events(HandoverMade) == []
    gate.set()
    await rig.wait_until_idle()
    assert [made.model for made in rig.events(HandoverMade)] == ["test/scripted"]


async def test_a_writer_that_fails_is_the_end_of_the_chain() -> None:
    """Nothing answers for summaries: the handover is made without a model, says why, and is counted."""
    rig = await full_rig(lambda _: [ModelUnreachable(verbatim("Nobody answers."))])
    assert (await rig.conversation.run("Think.")).how == "done"
    handovers = rig.events(HandoverMade)
    assert handovers
    assert {made.model for made in handovers} == {NO_MODEL}
    assert all("Nobody answers." in made.fallback for made in handovers)
    rate = fallback_rate(rig.conversation.session.log)
    assert (rate.summaries, rate.fallbacks) == (len(handovers), len(handovers))


async def test_only_what_is_needed_leaves_oldest_first() -> None:
    """At 95 % one output at a time, instead of all but the newest; nothing waits for a summary."""
    rig, _ = await begin_with(
        *(tool_call_reply(("say", {"times": 300}), id_prefix=f"s{n}-") for n in range(14)),
        policy=msgspec.structs.replace(WORDS_ONLY, intake_above=0),
    )
    assert (await rig.conversation.run("Work.")).how == "done"
    sweeps = rig.events(SweepMade)
    assert len(sweeps) > 1
    assert all(len(sweep.masked) == 1 for sweep in sweeps)
    masked = [seq for sweep in sweeps for seq in sweep.masked]
    assert masked == sorted(masked)
    assert rig.model.summary_requests == rig.events(HandoverFailed) == []
    last = tool_result_texts(rig.model.requests[-1])
    assert [("[CACHED]" in text) for text in last] == sorted(
        ["[CACHED]" in text for text in last], reverse=True
    )


def fresh_outputs(window: int, limit: int) -> list[ScriptedReply]:
    """Return an older output, then three at once, which the server refuses, by its count, as too many."""
    refused = ContextWindowExceeded(verbatim("Too long."), request_tokens=window, window_size=limit)
    older = tool_call_reply(("say", {"times": 200, "text": "old"}), id_prefix="old")
    fresh = tool_call_reply(*(("say", {"times": 400, "text": f"new{n}"}) for n in range(3)), id_prefix="new")
    return [older, fresh, [refused], text_reply("It fits.")]


async def test_after_an_overflow_fresh_outputs_leave_last_and_only_as_many_as_have_to() -> None:
    """29 % over the limit: the older output goes, and one of the three that were just read."""
    policy = msgspec.structs.replace(WORDS_ONLY, intake_above=0, preview_above=0.8)
    rig, _ = await begin_with(*fresh_outputs(2_900, 2_250), policy=policy)
    assert (await rig.conversation.run("Work.")).how == "done"
    old, *fresh = tool_result_texts(rig.model.requests[-1])
    assert "[CACHED]" in old
    assert ["[CACHED]" in text for text in fresh] == [True, False, False]
    assert rig.events(HandoverMade) == []


async def test_a_reported_window_that_is_smaller_than_believed_gets_a_summary_by_the_model() -> None:
    """Far below the threshold of the window that was configured: the words leave by a summary, not a cut."""
    info = ModelInfo("test", "scripted", window=40_000, reserve=400)
    refused = ContextWindowExceeded(verbatim("Too long."), window_size=8_000)
    long_answers = [text_reply(f"answer {n} " + "because it is so " * 250) for n in range(10)]
    model = ScriptedModel(replies_in_order(*long_answers, [refused], text_reply("It fits.")), info)
    rig = AgentRig(model, msgspec.structs.replace(WORDS_ONLY, observe_place_at=0.0))
    await rig.begin()
    for number in range(11):
        assert (await rig.conversation.run(f"Question {number}?")).how == "done"
    (made,) = rig.events(HandoverMade)
    assert (made.model, made.trigger, made.fallback) == ("test/scripted", HandoverTrigger.OVERFLOW, "")
    assert rig.events(FoldMade) == []
    assert waits(rig) == [True, False]
