"""Observations and reflections while a conversation goes on."""

from __future__ import annotations

import re
from itertools import count

import msgspec
import pytest

from helix_desktop.agent.session import ObservationProgress
from helix_desktop.context.log.window_entries import OBSERVATIONS_LABEL_TOKENS
from helix_desktop.context.summaries.observation import OBSERVE, REFINE, TITLE
from helix_desktop.domain.errors import CompactionRefused, ContextWindowExceeded, ModelUnreachable
from helix_desktop.domain.events.rewrite import PlacementReason
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig
from tests.support.observation_rig import (
    PLACE_AT_ONCE,
    PLACE_LATE,
    next_request_text,
    rig_after_turns,
    run_turns,
)
from tests.support.scripted_model import (
    OBSERVATIONS,
    Script,
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


async def test_the_request_has_the_observed_record() -> None:
    """It has the record of what is observed; what came after is told apart, in brief."""
    rig = await rig_after_turns(4)
    (request,) = rig.model.observation_requests
    text = request.messages[-1].text
    later, record = text.split("The messages to observe:\n")
    assert later.startswith(
        f"{OBSERVE}\nWhat came after, and stays beside your text:\nlater e18 user: Think."
    )
    assert all(len(line) < 300 for line in later.splitlines())
    assert record.startswith("e3 user: Think.")
    assert record.count(" user: ") == 3
    assert request.messages[0].text.startswith("You take notes")
    await run_turns(rig, 6)
    later = rig.model.observation_requests[1].messages[-1].text
    assert later.startswith(f"{OBSERVE}\nKnown already:\nknown 1: observed (1) ")


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
        await rig.conversation.run("Say more.")
        await rig.wait_until_idle()
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


async def test_undo_and_redo() -> None:
    """Undone, the raw messages are back and stay; only later ones are observed."""
    rig = await rig_after_turns(6)
    (seq,) = rig.seqs(ObservationsPlaced)
    after = rig.conversation.window.measure()[0].request
    await rig.conversation.window.undo(seq)
    assert TITLE not in next_request_text(rig)
    assert next_request_text(rig).count("word " * 520) == 6
    await rig.conversation.window.redo(seq)
    assert rig.conversation.window.measure()[0].request == after
    await rig.conversation.window.undo(seq)
    (first,) = rig.events(ObservationsMade)
    rig.clock.advance_s(PLACE_LATE.cache_ttl_s + 1)
    await run_turns(rig, 4, 300)
    assert all(event.after >= first.upto for event in rig.events(ObservationsMade)[1:])
    assert [event.made for event in rig.events(ObservationsPlaced)].count(first_seq(rig)) == 1


def first_seq(rig: AgentRig) -> int:
    return rig.seqs(ObservationsMade)[0]


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
        await run_turns(rig, 1, 20)
    assert len(rig.events(ObservationsFailed)) == 3
    assert rig.events(ObservationsFailed)[0].why.startswith("They have ")
    rig.model.observation_script = lambda _: text_reply(OBSERVATIONS)
    rig.conversation.observations.start()
    await rig.conversation.wait_for_background_work()
    assert [event.reason for event in rig.events(ObservationsPlaced)] == [PlacementReason.MANUAL]
    assert rig.conversation.session.transcript.observation_failures == 0


async def test_an_overflowing_request_is_read_in_parts() -> None:
    """The request for observations itself overflows: it is read in parts, and that is reported."""

    def observing(request: ModelRequest) -> ScriptedReply:
        if len(request.messages[-1].text.split()) > 1_000:
            return [ContextWindowExceeded(verbatim("Too long."))]
        return text_reply(OBSERVATIONS)

    rig = await rig_after_turns(4, observation_script=observing)
    (observations,) = rig.events(ObservationsMade)
    assert observations.fallback == "test/scripted read it in parts. test/scripted: Too long."
    assert observations.calls == len(rig.model.observation_requests) >= 3
    assert len(observations.observations) == 2  # each part has them


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
    covered = rig.conversation.session.transcript.messages.between(observations.after, observations.upto)
    assert {item.turn for item in covered} == {1, 2}
    with pytest.raises(CompactionRefused, match="All older messages are summarized already"):
        rig.conversation.observations.start()


async def test_manual_observations_without_a_model() -> None:
    """A user's request does not fail for lack of a model."""
    rig = await rig_after_turns(
        3, observation_script=lambda _: [ModelUnreachable(verbatim("The server does not answer."))]
    )
    rig.conversation.observations.start()
    await rig.conversation.wait_for_background_work()
    (observations,) = rig.events(ObservationsMade)
    assert observations.model == NO_MODEL
    assert TITLE in next_request_text(rig)


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
