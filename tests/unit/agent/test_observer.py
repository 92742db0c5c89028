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
from tests.support.agent_rig import Rig
from tests.support.observing_rig import AT_ONCE, LATE, go_on, shown, talked
from tests.support.scripted_model import OBSERVATIONS, Play, Script, called, said


async def test_prepared_inert_and_put_in_place() -> None:
    """Above 30 % they are made at the end of a turn and change nothing; above 38 % they are put in place."""
    rig = await talked(4)
    (made,) = rig.events(ObservationsMade)
    assert [(one.priority, one.text, one.sources) for one in made.observations] == [
        (1, "The user wants it built; never touch main", (3,)),
        (2, "src/app.py was read", (4, 5)),
    ]
    assert (made.model, made.fallback, made.calls, made.reflection) == ("test/scripted", "", 1, False)
    assert made.prompt.startswith("observe ")
    assert made.tokens < made.before
    covered = [item.turn for item in rig.talk.session.transcript.between(made.after, made.upto)]
    assert set(covered) == {1, 2, 3}
    assert TITLE not in shown(rig)
    assert rig.events(ObservationsPlaced) == []
    await go_on(rig, 2)
    (placed,) = rig.events(ObservationsPlaced)
    assert (placed.reason, placed.threshold) == (
        PlacementReason.THRESHOLD,
        0.38,
    )
    assert placed.saved > 1_000
    assert rig.talk.measure()[0].estimate < 4 * 627
    text = shown(rig)
    assert f"{TITLE} Reference material" in text
    assert "- (1) The user wants it built; never touch main [e3]" in text
    assert "e3 user: Think. Never touch main." in text
    assert text.count("word " * 520) == 3
    assert (await rig.store.get(made.index)).startswith(b"Index of cached outputs")
    await rig.sound()


async def test_the_request_says_what_is_known() -> None:
    """It holds the record of what is observed, and nothing of the turns after it."""
    rig = await talked(4)
    (request,) = rig.model.observing_requests
    text = request.messages[-1].text
    assert text.startswith(f"{OBSERVE}\nThe messages to observe:\ne3 user: Think.")
    assert text.count(" user: ") == 3
    assert request.messages[0].text.startswith("You take notes")
    await go_on(rig, 6)
    later = rig.model.observing_requests[1].messages[-1].text
    assert later.startswith(f"{OBSERVE}\nKnown already:\nobserved (1) ")


async def test_placing_at_once() -> None:
    """Where the two levels are one: before the next request."""
    rig = await talked(4, AT_ONCE)
    assert TITLE not in shown(rig)
    await go_on(rig, 1)
    assert [one.reason for one in rig.events(ObservationsPlaced)] == [PlacementReason.IMMEDIATE]


async def test_placing_when_the_provider_has_forgotten() -> None:
    """After a pause nothing is cached there, and the cut is free."""
    rig = await talked(4, LATE)
    await go_on(rig, 1)
    assert rig.events(ObservationsPlaced) == []
    rig.clock.pass_s(LATE.cache_ttl_s + 1)
    await go_on(rig, 1)
    assert [one.reason for one in rig.events(ObservationsPlaced)] == [PlacementReason.COLD]


async def test_placing_with_another_rewrite() -> None:
    """What is written afresh anyway carries them."""
    rig = await talked(4, LATE)
    rig.room.policy = msgspec.structs.replace(LATE, protect_steps=2, protect_tokens=0, sweep="at once")
    rig.model.script = once_loud()
    for _ in range(5):
        await rig.talk.run("Say more.")
        await rig.idle()
    assert "rewrite" in [one.reason for one in rig.events(ObservationsPlaced)]
    await rig.sound()


def once_loud() -> Script:
    """Each turn has one output that is worth a marker later."""
    number = iter(range(10**6))

    def play(request: ModelRequest) -> Play:
        if request.messages[-1].role == "user":
            return called(("say", {"text": "loud", "times": 200}), key=f"l{next(number)}-")
        return said("Done.")

    return play


async def test_no_room_puts_them_in_place() -> None:
    """A request that does not fit takes what is prepared before anything is lost."""
    rig = await talked(4, LATE)
    plays: list[Play] = [[ContextWindowExceeded("Too long.")], said("Done.")]
    rig.model.script = lambda _: plays.pop(0)
    assert (await rig.talk.run("And now?")).how == "done"
    await rig.idle()
    assert [one.reason for one in rig.events(ObservationsPlaced)] == [PlacementReason.OVERFLOW]
    assert rig.events(HandoverMade) == []
    await rig.sound()


async def test_undo_and_redo() -> None:
    """Taken back, the raw messages stand there again and stay; only what comes later is observed."""
    rig = await talked(6)
    (seq,) = [one.seq for one in rig.talk.session.log if isinstance(one.event, ObservationsPlaced)]
    after = rig.talk.measure()[0].request
    await rig.talk.undo(seq)
    assert TITLE not in shown(rig)
    assert shown(rig).count("word " * 520) == 6
    await rig.talk.redo(seq)
    assert rig.talk.measure()[0].request == after
    await rig.talk.undo(seq)
    (first,) = rig.events(ObservationsMade)
    rig.clock.pass_s(LATE.cache_ttl_s + 1)
    await go_on(rig, 4, 300)
    assert all(one.after >= first.upto for one in rig.events(ObservationsMade)[1:])
    assert [one.made for one in rig.events(ObservationsPlaced)].count(first_seq(rig)) == 1
    await rig.sound()


def first_seq(rig: Rig) -> int:
    """The seq of the first observations."""
    return next(one.seq for one in rig.talk.session.log if isinstance(one.event, ObservationsMade))


async def test_generations_and_reflection() -> None:
    """Observations follow each other; too many are refined into one generation, which can be taken back."""
    policy = msgspec.structs.replace(AT_ONCE, reflect_at=0.05, ledger_tokens=60)
    many = "\n".join(f"- (2) Fact number {n} about src/app{n}.py: never touch main [e3]" for n in range(40))

    def observing(request: ModelRequest) -> Play:
        if request.messages[-1].text.startswith(REFINE):
            return said("- (1) All forty facts in one [e3, e4]")
        return said(many)

    rig = await talked(12, policy, observing)
    made = rig.events(ObservationsMade)
    first = next(one for one in made if one.reflection)
    before = made[: made.index(first)]
    assert len(before) == len(first.replaces) >= 2
    assert (first.after, first.upto) == (before[0].after, before[-1].upto)
    assert first.prompt.startswith("reflect ")
    (asked, *_) = [one for one in rig.model.observing_requests if one.messages[-1].text.startswith(REFINE)]
    assert asked.messages[-1].text.count("observed (2)") == 40 * len(before)
    assert "All forty facts in one [e3, e4]" in shown(rig)
    assert "Fact number 7 about" not in shown(rig).split("All forty facts")[0]
    named = (await rig.store.get(first.index)).decode()
    assert all(one.index in named for one in before)
    seqs = [one.seq for one in rig.talk.session.log if isinstance(one.event, ObservationsPlaced)]
    window = rig.talk.measure()[0].request
    for seq in reversed(seqs):
        await rig.talk.undo(seq)
    assert TITLE not in shown(rig)
    for seq in seqs:
        await rig.talk.redo(seq)
    assert rig.talk.measure()[0].request == window
    await rig.sound()


async def test_failures_wait_longer_and_end_in_extracts() -> None:
    """Tried again after 120 and 240 s; the third time it is done without a model, and says why."""
    rig = await talked(4, observing=lambda _: [ModelUnreachable("The server does not answer.")])
    assert [one.why for one in rig.events(ObservationsFailed)] == [
        "no model could: test/scripted: The server does not answer."
    ]
    for wait, failures in ((117, 1), (1, 2), (238, 2)):
        rig.clock.pass_s(wait)
        await go_on(rig, 1, 20)
        assert len(rig.events(ObservationsFailed)) == failures
        assert rig.events(ObservationsMade) == []
    rig.clock.pass_s(1)
    await go_on(rig, 1, 20)
    (made,) = rig.events(ObservationsMade)
    assert (made.model, made.fallback) == (
        NO_MODEL,
        "no model could: test/scripted: The server does not answer.",
    )
    assert any("Think." in one.text for one in made.observations)
    assert rig.talk.session.transcript.observation_failures == 0
    await rig.sound()


async def test_no_growth() -> None:
    """What is no shorter than what it stands for is refused; three times, and only a person can begin it."""
    rig = await talked(4, observing=lambda _: said("- (2) Blah [e3]\n" * 2_000))
    for wait in (120, 240, 10_000):
        assert rig.events(ObservationsMade) == []
        rig.clock.pass_s(wait)
        await go_on(rig, 1, 20)
    assert len(rig.events(ObservationsFailed)) == 3
    assert rig.events(ObservationsFailed)[0].why.startswith("They take ")
    rig.model.observing = lambda _: said(OBSERVATIONS)
    rig.talk.observe()
    await rig.talk.wait_for_background_work()
    assert [one.reason for one in rig.events(ObservationsPlaced)] == [PlacementReason.MANUAL]
    assert rig.talk.session.transcript.observation_failures == 0
    await rig.sound()


async def test_overflow_is_told_apart() -> None:
    """The request for observations itself overflows: it is read in parts, and that is said."""

    def observing(request: ModelRequest) -> Play:
        if len(request.messages[-1].text.split()) > 1_000:
            return [ContextWindowExceeded("Too long.")]
        return said(OBSERVATIONS)

    rig = await talked(4, observing=observing)
    (made,) = rig.events(ObservationsMade)
    assert made.fallback == "test/scripted read it in parts: test/scripted: Too long."
    assert made.calls == len(rig.model.observing_requests) >= 3
    assert len(made.observations) == 2 * (made.calls - 1)


async def test_by_hand() -> None:
    """However little there is; it is put in place when it is made, and says so while it is written."""
    rig = await talked(3)
    assert rig.model.observing_requests == []
    rig.talk.observe()
    await rig.talk.wait_for_background_work()
    (made,) = rig.events(ObservationsMade)
    assert [one.reason for one in rig.events(ObservationsPlaced)] == [PlacementReason.MANUAL]
    assert TITLE in shown(rig)
    told = rig.told(ObservationProgress)
    assert [one.phase for one in told][:1] == ["read"]
    assert OBSERVATIONS in [one.text for one in told]
    assert told[-1].phase == "idle"
    covered = rig.talk.session.transcript.between(made.after, made.upto)
    assert {item.turn for item in covered} == {1, 2}
    with pytest.raises(CompactionRefused, match="Nothing to observe yet"):
        rig.talk.observe()
    await rig.sound()


async def test_by_hand_what_waits_is_put_in_place() -> None:
    """Without asking a model again."""
    rig = await talked(4, LATE)
    rig.talk.observe()
    await rig.talk.wait_for_background_work()
    assert [one.reason for one in rig.events(ObservationsPlaced)] == [PlacementReason.MANUAL]
    assert len(rig.model.observing_requests) == 1


async def test_by_hand_without_a_model() -> None:
    """A person's wish does not fail for want of a model."""
    rig = await talked(3, observing=lambda _: [ModelUnreachable("The server does not answer.")])
    rig.talk.observe()
    await rig.talk.wait_for_background_work()
    (made,) = rig.events(ObservationsMade)
    assert made.model == NO_MODEL
    assert TITLE in shown(rig)
