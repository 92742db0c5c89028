"""Observations and reflections: made, placed, refined, canceled, in the way of other rewrites."""

from __future__ import annotations

import asyncio
import re
from itertools import count

import msgspec
import pytest

from helix_desktop.agent.session import ObservationProgress
from helix_desktop.context.log.window_entries import OBSERVATIONS_LABEL_TOKENS
from helix_desktop.context.summaries.observation import OBSERVE, REFINE, TITLE
from helix_desktop.domain.errors import CompactionRefused, ContextWindowExceeded, ModelUnreachable
from helix_desktop.domain.events.rewrite import FoldMade, PlacementReason
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.compaction_rig import (
    OBSERVE_ONLY,
    PLACE_AT_ONCE,
    PLACE_LATE,
    next_request_text,
    rig_after_turns,
    run_turns,
    thinking_turn_script,
)
from tests.support.scripted_model import (
    OBSERVATIONS,
    Script,
    ScriptedModel,
    ScriptedReply,
    WordCounter,
    text_reply,
    tool_call_reply,
)


async def test_observations_are_prepared_then_placed() -> None:
    """Above 30 % they are made at a turn's end and change nothing; above 38 % they are placed."""
    rig = await rig_after_turns(4)
    (observations,) = rig.events(ObservationsMade)
    assert [
        (observation.priority, observation.text, observation.sources)
        for observation in observations.observations
    ] == [
        (1, "The user wants it built; never touch main", (3,)),
        (2, "src/app.py was read", (4, 5)),
    ]
    assert (observations.model, observations.fallback, observations.calls, observations.reflection) == (
        "test/scripted",
        "",
        1,
        False,
    )
    assert observations.prompt.startswith("observe ")
    assert observations.tokens < observations.before
    covered = [
        item.turn
        for item in rig.conversation.session.transcript.messages.between(
            observations.after, observations.upto
        )
    ]
    assert set(covered) == {1, 2, 3}
    check_request_has_the_observed_record(rig)
    assert TITLE not in next_request_text(rig)
    assert rig.events(ObservationsPlaced) == []
    await run_turns(rig, 2)
    (placement,) = rig.events(ObservationsPlaced)
    assert (placement.reason, placement.threshold) == (
        PlacementReason.THRESHOLD,
        0.38,
    )
    assert placement.saved > 1_000
    assert rig.conversation.window.measure()[0].estimate < 4 * 627
    text = next_request_text(rig)
    assert f"{TITLE} Reference material" in text
    assert "- (1) The user wants it built; never touch main [e3]" in text
    assert "e3 user: Think. Never touch main." in text
    assert text.count("word " * 520) == 3
    assert (await rig.store.get(observations.index)).startswith(b"Index of cached outputs")
    await run_turns(rig, 4)
    later = rig.model.observation_requests[1].messages[-1].text
    assert later.startswith(f"{OBSERVE}\nKnown already:\nknown 1: observed (1) ")


def check_request_has_the_observed_record(rig: AgentRig) -> None:
    """Check that it has the record of what is observed; what came after is told apart, in brief."""
    (request,) = rig.model.observation_requests
    later, record = request.messages[-1].text.split("The messages to observe:\n")
    assert later.startswith(
        f"{OBSERVE}\nKnown already: nothing\n"
        "What came after, and stays beside your text:\nlater e18 user: Think."
    )
    assert all(len(line) < 300 for line in later.splitlines())
    assert record.startswith("e3 user: Think.")
    assert record.count(" user: ") == 3
    assert request.messages[0].text.startswith("You take notes")


async def test_placement_when_the_provider_s_cache_is_cold() -> None:
    """After a pause nothing is cached there, and the change is free."""
    rig = await rig_after_turns(4, PLACE_LATE)
    await run_turns(rig, 1)
    assert rig.events(ObservationsPlaced) == []
    rig.clock.advance_s(PLACE_LATE.cache_ttl_s + 1)
    await run_turns(rig, 1)
    assert [event.reason for event in rig.events(ObservationsPlaced)] == [PlacementReason.COLD]


async def test_placement_with_another_rewrite() -> None:
    """A rewrite of the prefix places them at no extra cost."""
    rig = await rig_after_turns(4, PLACE_LATE)
    rig.workspace.policy = msgspec.structs.replace(
        PLACE_LATE, protect_steps=2, protect_tokens=0, sweep="at once"
    )
    rig.model.script = one_large_output()
    for _ in range(5):
        await rig.run_and_wait("Say more.")
    assert "rewrite" in [event.reason for event in rig.events(ObservationsPlaced)]


def one_large_output() -> Script:
    """Each turn has one output that is worth a marker later."""
    number = iter(range(10**6))

    def reply(request: ModelRequest) -> ScriptedReply:
        if request.messages[-1].role == "user":
            return tool_call_reply(("say", {"text": "loud", "times": 200}), id_prefix=f"l{next(number)}-")
        return text_reply("Done.")

    return reply


async def test_an_overflow_places_observations() -> None:
    """A request that does not fit uses prepared observations before anything is lost."""
    rig = await rig_after_turns(4, PLACE_LATE)
    replies: list[ScriptedReply] = [[ContextWindowExceeded(verbatim("Too long."))], text_reply("Done.")]
    rig.model.script = lambda _: replies.pop(0)
    assert (await rig.conversation.run("And now?")).how == "done"
    await rig.wait_until_idle()
    assert [event.reason for event in rig.events(ObservationsPlaced)] == [PlacementReason.OVERFLOW]
    assert rig.events(HandoverMade) == []


async def test_generations_and_reflection() -> None:
    """Observations accumulate; too many are refined into one reflection, which can be undone."""
    policy = msgspec.structs.replace(PLACE_AT_ONCE, reflect_at=0.05, ledger_tokens=60)
    numbers = count()

    def observing(request: ModelRequest) -> ScriptedReply:
        if request.messages[-1].text.startswith(REFINE):
            return text_reply("- (1) All forty facts in one [e3, e4]")
        facts = (f"- (2) Fact {next(numbers)} about src/app.py: never touch main [e3]" for _ in range(40))
        return text_reply("\n".join(facts))

    rig = await rig_after_turns(12, policy, observing)
    generations = rig.events(ObservationsMade)
    first = next(event for event in generations if event.reflection)
    before = generations[: generations.index(first)]
    assert len(before) == len(first.replaces) >= 2
    assert (first.after, first.upto) == (before[0].after, before[-1].upto)
    assert first.prompt.startswith("reflect ")
    (refine_request, *_) = [
        request for request in rig.model.observation_requests if request.messages[-1].text.startswith(REFINE)
    ]
    assert refine_request.messages[-1].text.count("observed (2)") == 40 * len(before)
    assert "All forty facts in one [e3, e4]" in next_request_text(rig)
    assert "Fact 7 about" not in next_request_text(rig).split("All forty facts")[0]
    index = (await rig.store.get(first.index)).decode()
    assert all(event.index in index for event in before)
    seqs = rig.seqs(ObservationsPlaced)
    window = rig.conversation.window.measure()[0].request
    for seq in reversed(seqs):
        await rig.conversation.window.undo(seq)
    assert TITLE not in next_request_text(rig)
    for seq in seqs:
        await rig.conversation.window.redo(seq)
    assert rig.conversation.window.measure()[0].request == window


async def test_failures_back_off_and_end_in_extracts() -> None:
    """Retried after 120 and 240 s; the third time it is done without a model, with the reason."""
    rig = await rig_after_turns(
        4, observation_script=lambda _: [ModelUnreachable(verbatim("The server does not answer."))]
    )
    assert [event.why for event in rig.events(ObservationsFailed)] == [
        "No model could write it. test/scripted: The server does not answer."
    ]
    for wait, failures in ((117, 1), (1, 2), (238, 2)):
        rig.clock.advance_s(wait)
        await run_turns(rig, 1, 20)
        assert len(rig.events(ObservationsFailed)) == failures
        assert rig.events(ObservationsMade) == []
    rig.clock.advance_s(1)
    await run_turns(rig, 1, 20)
    (observations,) = rig.events(ObservationsMade)
    assert (observations.model, observations.fallback) == (
        NO_MODEL,
        "No model could write it. test/scripted: The server does not answer.",
    )
    assert any("Think." in observation.text for observation in observations.observations)
    assert rig.conversation.session.transcript.observation_failures == 0


async def test_observations_that_are_no_shorter_are_refused() -> None:
    """After three refusals only a user can start them."""
    facts = "".join(f"- (2) Blah {n} [e3]\n" for n in range(2_000))
    rig = await rig_after_turns(4, observation_script=lambda _: text_reply(facts))
    for wait in (120, 240, 10_000):
        assert rig.events(ObservationsMade) == []
        rig.clock.advance_s(wait)
        await run_turns(rig, 2, 20)
    assert len(rig.events(ObservationsFailed)) == 3
    assert rig.events(ObservationsFailed)[0].why.startswith("It has ")
    rig.model.observation_script = lambda _: text_reply(OBSERVATIONS)
    rig.conversation.observations.start()
    await rig.conversation.wait_for_background_work()
    assert [event.reason for event in rig.events(ObservationsPlaced)] == [PlacementReason.MANUAL]
    assert rig.conversation.session.transcript.observation_failures == 0


async def test_the_user_can_have_observations_made_however_little_there_is() -> None:
    """However little there is; placed when made, and progress is reported meanwhile."""
    rig = await rig_after_turns(3)
    assert rig.model.observation_requests == []
    rig.conversation.observations.start()
    await rig.conversation.wait_for_background_work()
    (observations,) = rig.events(ObservationsMade)
    assert [event.reason for event in rig.events(ObservationsPlaced)] == [PlacementReason.MANUAL]
    assert TITLE in next_request_text(rig)
    updates = rig.updates_of(ObservationProgress)
    assert [update.phase for update in updates][:1] == ["read"]
    assert OBSERVATIONS in [update.text for update in updates]
    assert updates[-1].phase == "idle"
    assert {str(update.turns) for update in updates[:-1]} == {"turns 1–2"}
    covered = rig.conversation.session.transcript.messages.between(observations.after, observations.upto)
    assert {item.turn for item in covered} == {1, 2}
    with pytest.raises(CompactionRefused, match="All older messages are compacted already"):
        rig.conversation.observations.start()


async def test_an_observation_that_is_over_leaves_the_window_with_the_note_that_ends_it() -> None:
    """The log has both; undoing the later observations brings it back, and the count is that of the text."""
    todo = "Tests of src/app.py are still to write; never touch main"

    def observing(request: ModelRequest) -> ScriptedReply:
        text = request.messages[-1].text
        entry = re.findall(r"^e(\d+) user: ", text, re.MULTILINE)[-1]
        if "known 1: " in text:
            return text_reply(f"- (2) Over: known 1, they are written and pass [e{entry}]")
        return text_reply(f"- (1) {todo} [e{entry}]\n- (2) src/app.py was read [e{entry}]")

    rig = await rig_after_turns(8, PLACE_AT_ONCE, observation_script=observing)
    first, second, *_ = rig.events(ObservationsMade)
    assert [ended.observation for ended in second.over] == [first.observations[0]]
    text = next_request_text(rig)
    assert f"- (1) {todo}" not in text
    assert f'Over: "{todo}": they are written and pass' in text
    assert "src/app.py was read" in text
    window = rig.conversation.window.measure()[0]
    (counted,) = await WordCounter().count([window.request.messages[1].text])
    assert abs(window.entry_tokens[0] - counted) <= OBSERVATIONS_LABEL_TOKENS
    placed = rig.seqs(ObservationsPlaced)
    await rig.conversation.window.undo(placed[1])
    assert f"- (1) {todo}" in next_request_text(rig)


async def test_only_one_observer_runs_at_a_time() -> None:
    """A second manual start while they are written is refused; a turn that ends starts none."""
    gate = asyncio.Event()
    rig = await rig_after_turns(3, observation_script=lambda _: [gate, *text_reply(OBSERVATIONS)])
    rig.conversation.observations.start()
    await rig.wait_until(lambda: rig.model.observation_requests)
    with pytest.raises(CompactionRefused, match="Older messages are being summarized"):
        rig.conversation.observations.start()
    await rig.say("Think.", "Think.")
    assert len(rig.model.observation_requests) == 1
    gate.set()
    await rig.conversation.wait_for_background_work()
    assert len(rig.events(ObservationsPlaced)) == 1


async def test_prepared_observations_stay_out_of_the_window_once_they_are_turned_off() -> None:
    rig = await rig_after_turns(4, PLACE_LATE)
    rig.workspace.policy = msgspec.structs.replace(PLACE_LATE, observe_at=0.0, observe_place_at=0.0)
    rig.clock.advance_s(10_000)
    await rig.conversation.run("And now?")
    assert (len(rig.events(ObservationsMade)), rig.events(ObservationsPlaced)) == (1, [])


async def test_a_fold_does_not_cross_the_range_being_observed() -> None:
    """While they are written the turn goes on and is folded; what they are paid for is not lost."""
    gate = asyncio.Event()
    numbers = count(1)

    def six_calls(_: ModelRequest) -> ScriptedReply:
        number = next(numbers)
        is_done = number % 7 == 0
        ids = f"k{number}-"
        return text_reply("Done.") if is_done else tool_call_reply(("say", {"times": 50}), id_prefix=ids)

    rig, conversation = await begin_with(
        script=six_calls, observe=lambda _: [gate, *text_reply(OBSERVATIONS)], policy=PLACE_LATE
    )
    await rig.say(*["Look."] * 4)
    await rig.wait_until(lambda: rig.model.observation_requests)
    rig.workspace.policy = msgspec.structs.replace(
        PLACE_LATE, protect_steps=2, protect_tokens=0, fold_after_steps=2, fold_least=0, condense_at=0.0,
        sweep_min=0,
    )  # fmt: skip
    rig.clock.advance_s(10_000)
    await rig.say("Look again.", "Look again.")
    assert rig.events(FoldMade)
    gate.set()
    await conversation.wait_for_background_work()
    (observations,) = rig.events(ObservationsMade)
    assert not any(event.after < observations.upto < event.upto for event in rig.events(FoldMade))


async def test_observations_of_a_range_handed_over_meanwhile_are_not_used() -> None:
    """The observed history is covered now: only the attempt is recorded."""
    gate = asyncio.Event()
    rig = await rig_after_turns(3, PLACE_LATE, lambda _: [gate, *text_reply(OBSERVATIONS)])
    for _ in range(5):
        await rig.conversation.run("Think once more.")
    await rig.wait_until(lambda: rig.model.observation_requests)
    await rig.conversation.handovers.writer.commit(await rig.conversation.handovers.writer.draft())
    gate.set()
    await rig.conversation.wait_for_background_work()
    assert rig.events(ObservationsMade) == []
    assert [event.why for event in rig.events(ObservationsFailed)] == ["The history changed in the meantime."]


async def test_a_handover_includes_observations() -> None:
    """Their facts are in its request instead of what they cover, with the user's own text."""
    rig = await rig_after_turns(
        6, msgspec.structs.replace(OBSERVE_ONLY, handover_least_gain=0.0, ledger_tokens=0)
    )
    assert TITLE in next_request_text(rig)
    await run_turns(rig, 1, 1_400)
    await rig.conversation.run("And now?")
    await rig.conversation.handovers.writer.draft()
    text = rig.model.summary_requests[-1].messages[-1].text
    assert "observed (1) 2025-06-15: The user wants it built; never touch main [e3]" in text
    assert "e3 user: Think. Never touch main." in text
    assert "e4 assistant: " not in text


# Observations are taken of each turn, and would be refined at half the window.
EARLY = msgspec.structs.replace(
    PLACE_AT_ONCE, observe_at=0.1, observe_place_at=0.1, ledger_tokens=0, user_text_tokens=0
)
_FACTS = 12  # in what the observer writes of a turn: about 900 words


def wordy_observer(request: ModelRequest) -> ScriptedReply:
    """Observe at length; refine to a few facts."""
    if request.messages[-1].text.startswith(REFINE):
        refined = (f"- (1) Never touch main: {f'fact{n} ' * 30}[e3]" for n in range(_FACTS))
        return text_reply("\n".join(refined))
    entry = re.findall(r"^e(\d+) user: ", request.messages[-1].text, re.MULTILINE)[-1]
    facts = (f"- (2) Think of part {n}: {f'fact{n} ' * 72}[e{entry}]" for n in range(_FACTS))
    return text_reply("\n".join(facts))


async def test_observations_just_short_of_their_threshold_are_refined_and_not_dropped() -> None:
    """At 85 %, of which 46 % are observations: refining them makes room, so no handover is made."""
    rig, _ = await begin_with(script=thinking_turn_script(), observe=wordy_observer, policy=EARLY)
    await run_turns(rig, 10, 800)
    observed = sum(event.tokens for event in rig.events(ObservationsMade))
    assert 0.45 * rig.model.info.window < observed < EARLY.reflect_at * rig.model.info.window
    assert not any(event.reflection for event in rig.events(ObservationsMade))
    await run_turns(rig, 2, 1_700)
    assert rig.events(HandoverMade) == []
    assert rig.events(ObservationsFailed) == []
    assert any(event.reflection for event in rig.events(ObservationsMade))
    (refined,) = (
        placed
        for placed in rig.events(ObservationsPlaced)
        if rig.conversation.session.transcript.rewrites.observations[placed.made].reflection
    )
    assert refined.averted_handover_at == 0.8
    assert f"{TITLE} Reference material" in next_request_text(rig)
    assert not rig.conversation.window.measure()[1].is_due


async def test_a_handover_waits_for_observations_that_are_being_written() -> None:
    """It would drop what they cover; when they are in place it is not needed any more."""
    gate = asyncio.Event()
    policy = msgspec.structs.replace(PLACE_AT_ONCE, handover_least_messages=2)
    model = ScriptedModel(
        thinking_turn_script(), observation_script=lambda _: [gate, *text_reply(OBSERVATIONS)]
    )
    rig = AgentRig(model, policy)
    await rig.begin()
    for _ in range(3):
        await rig.conversation.run("Think. Never touch main.")
    model.script = thinking_turn_script(1_500)
    await rig.conversation.run("Think. Never touch main.")
    await rig.wait_until(lambda: model.observation_requests)
    await rig.conversation.run("Think. Never touch main.")
    model.script = thinking_turn_script(1_950)
    await rig.conversation.run("Think. Never touch main.")
    assert rig.conversation.window.measure()[1].is_due
    assert model.summary_requests == []
    gate.set()
    await rig.wait_until_idle()
    model.script = thinking_turn_script(100)
    await rig.run_and_wait("Go on.")
    assert rig.events(HandoverMade) == []
    assert any(placed.averted_handover_at == 0.8 for placed in rig.events(ObservationsPlaced))
    assert not rig.conversation.window.measure()[1].is_due


async def test_prepared_observations_are_placed_before_a_handover() -> None:
    """Also where their own threshold lies above the handover's: it would drop them unused."""
    policy = msgspec.structs.replace(PLACE_AT_ONCE, observe_place_at=0.9, handover_least_messages=2)
    rig, _ = await begin_with(script=thinking_turn_script(), policy=policy)
    await run_turns(rig, 4)
    assert len(rig.events(ObservationsMade)) == 1
    assert rig.events(ObservationsPlaced) == []
    await run_turns(rig, 3, 1_450)
    (placed, *_) = rig.events(ObservationsPlaced)
    assert (placed.reason, placed.threshold) == (PlacementReason.THRESHOLD, policy.handover_at)
    assert placed.averted_handover_at == 0.8
    assert rig.events(HandoverMade) == []
