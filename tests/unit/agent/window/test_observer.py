"""Observations and reflections beside a conversation that goes on."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.agent.session_updates import ObservationProgress
from helix_desktop.agent.window.summarizer import NO_MODEL
from helix_desktop.context.summaries.observation import TITLE
from helix_desktop.context.summaries.observation_task import OBSERVE, REFINE
from helix_desktop.domain.errors import CompactionRefused, ContextWindowExceeded, ModelUnreachable
from helix_desktop.domain.events.rewrite_kinds import PlacementReason
from helix_desktop.domain.events.summary import (
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import ModelRequest
from tests.support.agent_rig import AgentRig
from tests.support.observation_rig import (
    PLACE_AT_ONCE,
    PLACE_LATE,
    next_request_text,
    rig_after_turns,
    run_turns,
)
from tests.support.scripted_model import OBSERVATIONS, Script, ScriptedReply, text_reply, tool_call_reply


async def test_prepared_inert_and_put_in_place() -> None:
    """Above 30 % they are made at the end of a turn and change nothing; above 38 % they are put in place."""
    rig = await rig_after_turns(4)
    (made,) = rig.events(ObservationsMade)
    assert [(one.priority, one.text, one.sources) for one in made.observations] == [
        (1, "The user wants it built; never touch main", (3,)),
        (2, "src/app.py was read", (4, 5)),
    ]
    assert (made.model, made.fallback, made.calls, made.reflection) == ("test/scripted", "", 1, False)
    assert made.prompt.startswith("observe ")
    assert made.tokens < made.before
    covered = [item.turn for item in rig.conversation.session.transcript.between(made.after, made.upto)]
    assert set(covered) == {1, 2, 3}
    assert TITLE not in next_request_text(rig)
    assert rig.events(ObservationsPlaced) == []
    await run_turns(rig, 2)
    (placed,) = rig.events(ObservationsPlaced)
    assert (placed.reason, placed.threshold) == (
        PlacementReason.THRESHOLD,
        0.38,
    )
    assert placed.saved > 1_000
    assert rig.conversation.measure()[0].estimate < 4 * 627
    text = next_request_text(rig)
    assert f"{TITLE} Reference material" in text
    assert "- (1) The user wants it built; never touch main [e3]" in text
    assert "e3 user: Think. Never touch main." in text
    assert text.count("word " * 520) == 3
    assert (await rig.store.get(made.index)).startswith(b"Index of cached outputs")
    await rig.assert_consistent()


async def test_the_request_says_what_is_known() -> None:
    """It holds the record of what is observed, and nothing of the turns after it."""
    rig = await rig_after_turns(4)
    (request,) = rig.model.observation_requests
    text = request.messages[-1].text
    assert text.startswith(f"{OBSERVE}\nThe messages to observe:\ne3 user: Think.")
    assert text.count(" user: ") == 3
    assert request.messages[0].text.startswith("You take notes")
    await run_turns(rig, 6)
    later = rig.model.observation_requests[1].messages[-1].text
    assert later.startswith(f"{OBSERVE}\nKnown already:\nobserved (1) ")


async def test_placing_at_once() -> None:
    """Where the two levels are one: before the next request."""
    rig = await rig_after_turns(4, PLACE_AT_ONCE)
    assert TITLE not in next_request_text(rig)
    await run_turns(rig, 1)
    assert [one.reason for one in rig.events(ObservationsPlaced)] == [PlacementReason.IMMEDIATE]


async def test_placing_when_the_provider_has_forgotten() -> None:
    """After a pause nothing is cached there, and the cut is free."""
    rig = await rig_after_turns(4, PLACE_LATE)
    await run_turns(rig, 1)
    assert rig.events(ObservationsPlaced) == []
    rig.clock.advance_s(PLACE_LATE.cache_ttl_s + 1)
    await run_turns(rig, 1)
    assert [one.reason for one in rig.events(ObservationsPlaced)] == [PlacementReason.COLD]


async def test_placing_with_another_rewrite() -> None:
    """What is written afresh anyway carries them."""
    rig = await rig_after_turns(4, PLACE_LATE)
    rig.workspace.policy = msgspec.structs.replace(
        PLACE_LATE, protect_steps=2, protect_tokens=0, sweep="at once"
    )
    rig.model.script = once_loud()
    for _ in range(5):
        await rig.conversation.run("Say more.")
        await rig.wait_until_idle()
    assert "rewrite" in [one.reason for one in rig.events(ObservationsPlaced)]
    await rig.assert_consistent()


def once_loud() -> Script:
    """Each turn has one output that is worth a marker later."""
    number = iter(range(10**6))

    def play(request: ModelRequest) -> ScriptedReply:
        if request.messages[-1].role == "user":
            return tool_call_reply(("say", {"text": "loud", "times": 200}), id_prefix=f"l{next(number)}-")
        return text_reply("Done.")

    return play


async def test_no_room_puts_them_in_place() -> None:
    """A request that does not fit takes what is prepared before anything is lost."""
    rig = await rig_after_turns(4, PLACE_LATE)
    plays: list[ScriptedReply] = [[ContextWindowExceeded("Too long.")], text_reply("Done.")]
    rig.model.script = lambda _: plays.pop(0)
    assert (await rig.conversation.run("And now?")).how == "done"
    await rig.wait_until_idle()
    assert [one.reason for one in rig.events(ObservationsPlaced)] == [PlacementReason.OVERFLOW]
    assert rig.events(HandoverMade) == []
    await rig.assert_consistent()


async def test_undo_and_redo() -> None:
    """Taken back, the raw messages stand there again and stay; only what comes later is observed."""
    rig = await rig_after_turns(6)
    (seq,) = [one.seq for one in rig.conversation.session.log if isinstance(one.event, ObservationsPlaced)]
    after = rig.conversation.measure()[0].request
    await rig.conversation.undo(seq)
    assert TITLE not in next_request_text(rig)
    assert next_request_text(rig).count("word " * 520) == 6
    await rig.conversation.redo(seq)
    assert rig.conversation.measure()[0].request == after
    await rig.conversation.undo(seq)
    (first,) = rig.events(ObservationsMade)
    rig.clock.advance_s(PLACE_LATE.cache_ttl_s + 1)
    await run_turns(rig, 4, 300)
    assert all(one.after >= first.upto for one in rig.events(ObservationsMade)[1:])
    assert [one.made for one in rig.events(ObservationsPlaced)].count(first_seq(rig)) == 1
    await rig.assert_consistent()


def first_seq(rig: AgentRig) -> int:
    """The seq of the first observations."""
    return next(one.seq for one in rig.conversation.session.log if isinstance(one.event, ObservationsMade))


async def test_generations_and_reflection() -> None:
    """Observations follow each other; too many are refined into one generation, which can be taken back."""
    policy = msgspec.structs.replace(PLACE_AT_ONCE, reflect_at=0.05, ledger_tokens=60)
    many = "\n".join(f"- (2) Fact number {n} about src/app{n}.py: never touch main [e3]" for n in range(40))

    def observing(request: ModelRequest) -> ScriptedReply:
        if request.messages[-1].text.startswith(REFINE):
            return text_reply("- (1) All forty facts in one [e3, e4]")
        return text_reply(many)

    rig = await rig_after_turns(12, policy, observing)
    made = rig.events(ObservationsMade)
    first = next(one for one in made if one.reflection)
    before = made[: made.index(first)]
    assert len(before) == len(first.replaces) >= 2
    assert (first.after, first.upto) == (before[0].after, before[-1].upto)
    assert first.prompt.startswith("reflect ")
    (asked, *_) = [one for one in rig.model.observation_requests if one.messages[-1].text.startswith(REFINE)]
    assert asked.messages[-1].text.count("observed (2)") == 40 * len(before)
    assert "All forty facts in one [e3, e4]" in next_request_text(rig)
    assert "Fact number 7 about" not in next_request_text(rig).split("All forty facts")[0]
    named = (await rig.store.get(first.index)).decode()
    assert all(one.index in named for one in before)
    seqs = [one.seq for one in rig.conversation.session.log if isinstance(one.event, ObservationsPlaced)]
    window = rig.conversation.measure()[0].request
    for seq in reversed(seqs):
        await rig.conversation.undo(seq)
    assert TITLE not in next_request_text(rig)
    for seq in seqs:
        await rig.conversation.redo(seq)
    assert rig.conversation.measure()[0].request == window
    await rig.assert_consistent()


async def test_failures_wait_longer_and_end_in_extracts() -> None:
    """Tried again after 120 and 240 s; the third time it is done without a model, and says why."""
    rig = await rig_after_turns(
        4, observation_script=lambda _: [ModelUnreachable("The server does not answer.")]
    )
    assert [one.why for one in rig.events(ObservationsFailed)] == [
        "no model could: test/scripted: The server does not answer."
    ]
    for wait, failures in ((117, 1), (1, 2), (238, 2)):
        rig.clock.advance_s(wait)
        await run_turns(rig, 1, 20)
        assert len(rig.events(ObservationsFailed)) == failures
        assert rig.events(ObservationsMade) == []
    rig.clock.advance_s(1)
    await run_turns(rig, 1, 20)
    (made,) = rig.events(ObservationsMade)
    assert (made.model, made.fallback) == (
        NO_MODEL,
        "no model could: test/scripted: The server does not answer.",
    )
    assert any("Think." in one.text for one in made.observations)
    assert rig.conversation.session.transcript.observation_failures == 0
    await rig.assert_consistent()


async def test_no_growth() -> None:
    """What is no shorter than what it stands for is refused; three times, and only a person can begin it."""
    rig = await rig_after_turns(4, observation_script=lambda _: text_reply("- (2) Blah [e3]\n" * 2_000))
    for wait in (120, 240, 10_000):
        assert rig.events(ObservationsMade) == []
        rig.clock.advance_s(wait)
        await run_turns(rig, 1, 20)
    assert len(rig.events(ObservationsFailed)) == 3
    assert rig.events(ObservationsFailed)[0].why.startswith("They take ")
    rig.model.observation_script = lambda _: text_reply(OBSERVATIONS)
    rig.conversation.observe()
    await rig.conversation.wait_for_background_work()
    assert [one.reason for one in rig.events(ObservationsPlaced)] == [PlacementReason.MANUAL]
    assert rig.conversation.session.transcript.observation_failures == 0
    await rig.assert_consistent()


async def test_overflow_is_told_apart() -> None:
    """The request for observations itself overflows: it is read in parts, and that is said."""

    def observing(request: ModelRequest) -> ScriptedReply:
        if len(request.messages[-1].text.split()) > 1_000:
            return [ContextWindowExceeded("Too long.")]
        return text_reply(OBSERVATIONS)

    rig = await rig_after_turns(4, observation_script=observing)
    (made,) = rig.events(ObservationsMade)
    assert made.fallback == "test/scripted read it in parts: test/scripted: Too long."
    assert made.calls == len(rig.model.observation_requests) >= 3
    assert len(made.observations) == 2 * (made.calls - 1)


async def test_by_hand() -> None:
    """However little there is; it is put in place when it is made, and says so while it is written."""
    rig = await rig_after_turns(3)
    assert rig.model.observation_requests == []
    rig.conversation.observe()
    await rig.conversation.wait_for_background_work()
    (made,) = rig.events(ObservationsMade)
    assert [one.reason for one in rig.events(ObservationsPlaced)] == [PlacementReason.MANUAL]
    assert TITLE in next_request_text(rig)
    told = rig.updates_of(ObservationProgress)
    assert [one.phase for one in told][:1] == ["read"]
    assert OBSERVATIONS in [one.text for one in told]
    assert told[-1].phase == "idle"
    covered = rig.conversation.session.transcript.between(made.after, made.upto)
    assert {item.turn for item in covered} == {1, 2}
    with pytest.raises(CompactionRefused, match="Nothing to observe yet"):
        rig.conversation.observe()
    await rig.assert_consistent()


async def test_by_hand_what_waits_is_put_in_place() -> None:
    """Without asking a model again."""
    rig = await rig_after_turns(4, PLACE_LATE)
    rig.conversation.observe()
    await rig.conversation.wait_for_background_work()
    assert [one.reason for one in rig.events(ObservationsPlaced)] == [PlacementReason.MANUAL]
    assert len(rig.model.observation_requests) == 1


async def test_by_hand_without_a_model() -> None:
    """A person's wish does not fail for want of a model."""
    rig = await rig_after_turns(
        3, observation_script=lambda _: [ModelUnreachable("The server does not answer.")]
    )
    rig.conversation.observe()
    await rig.conversation.wait_for_background_work()
    (made,) = rig.events(ObservationsMade)
    assert made.model == NO_MODEL
    assert TITLE in next_request_text(rig)
