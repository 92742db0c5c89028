"""Observations: in the background, and before handovers."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import msgspec
import pytest

from helix_desktop.agent.session import ObservationProgress, Phase
from helix_desktop.context.summaries.observation import REFINE, TITLE
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.rewrite import FoldMade, PlacementReason
from helix_desktop.domain.events.summary import (
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.task_scope import TaskScope
from tests.support.agent_rig import AgentRig
from tests.support.observation_rig import (
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
    text_reply,
    tool_call_reply,
)

WORKSPACE = "7b0c1a52-5f0e-4c8e-9f30-2f4c8d1e6a11"


@pytest.mark.parametrize("phase", ["read", "summarize", "check", "write", "idle"])
async def test_observing_can_be_canceled_at_any_moment(phase: Phase) -> None:
    """In any phase, a little into it: made or not, never half; then they can be made at once."""
    for passes in range(6):
        rig = await rig_after_turns(3)
        rig.store.yields_per_write = 2
        rig.conversation.observations.start()
        if passes or phase != "read":  # else immediately
            await rig.wait_until(
                lambda rig=rig: phase in [update.phase for update in rig.updates_of(ObservationProgress)]
            )
        for _ in range(passes):
            await asyncio.sleep(0)
        phases = {update.phase for update in rig.updates_of(ObservationProgress)}
        rig.conversation.observations.cancel()
        await rig.conversation.wait_for_background_work()
        await rig.conversation.session.drain()
        await rig.assert_consistent()
        made_count, placed_count = len(rig.events(ObservationsMade)), len(rig.events(ObservationsPlaced))
        assert made_count == 0 or "write" in phases
        assert placed_count <= made_count <= 1
        if not placed_count:
            rig.conversation.observations.start()
            await rig.conversation.wait_for_background_work()
        assert len(rig.events(ObservationsPlaced)) == len(rig.events(ObservationsMade)) == 1
        assert TITLE in next_request_text(rig)
        await rig.assert_consistent()


async def test_only_one_observer_runs_at_a_time() -> None:
    """A second manual start while they are written is refused; a turn that ends starts none."""
    gate = asyncio.Event()
    rig = await rig_after_turns(3, observation_script=lambda _: [gate, *text_reply(OBSERVATIONS)])
    rig.conversation.observations.start()
    await rig.wait_until(lambda: rig.model.observation_requests)
    with pytest.raises(CompactionRefused, match="A summary is being written"):
        rig.conversation.observations.start()
    await rig.conversation.run("Think.")
    await rig.conversation.run("Think.")
    assert len(rig.model.observation_requests) == 1
    gate.set()
    await rig.conversation.wait_for_background_work()
    assert len(rig.events(ObservationsPlaced)) == 1


async def test_observations_turned_off_meanwhile() -> None:
    """Prepared ones stay out of the window when observations are switched off; a user can place them."""
    rig = await rig_after_turns(4, PLACE_LATE)
    assert len(rig.events(ObservationsMade)) == 1
    rig.workspace.policy = msgspec.structs.replace(PLACE_LATE, observe_at=0.0, observe_place_at=0.0)
    rig.clock.advance_s(10_000)
    await rig.conversation.run("And now?")
    assert rig.events(ObservationsPlaced) == []
    rig.conversation.observations.start()
    await rig.conversation.wait_for_background_work()
    assert [event.reason for event in rig.events(ObservationsPlaced)] == [PlacementReason.MANUAL]


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


async def test_a_concurrent_undo() -> None:
    """A reflection of observations undone while it was written is dropped."""
    gate, requested = asyncio.Event(), asyncio.Event()
    policy = msgspec.structs.replace(PLACE_AT_ONCE, reflect_at=0.05, ledger_tokens=0)
    facts = "\n".join(f"- (2) Fact number {n}: think about src/app{n}.py [e3]" for n in range(30))

    def observing(request: ModelRequest) -> ScriptedReply:
        if request.messages[-1].text.startswith(REFINE):
            requested.set()
            return [gate, *text_reply("- (1) In one [e3]")]
        return text_reply(facts)

    rig = AgentRig(ScriptedModel(thinking_turn_script(), observation_script=observing), policy)
    await rig.begin()
    scope = TaskScope()
    while not requested.is_set():
        await rig.conversation.run("Think.")
        settled = scope.start(rig.conversation.wait_for_background_work(), "settling")
        await rig.wait_until(lambda task=settled: task.done() or requested.is_set())
    (first, *_) = rig.seqs(ObservationsPlaced)
    await rig.conversation.window.undo(first)
    gate.set()
    await rig.conversation.wait_for_background_work()
    assert not any(event.reflection for event in rig.events(ObservationsMade))
    assert [event.why for event in rig.events(ObservationsFailed)] == ["The history changed in the meantime."]
    await rig.assert_consistent()
    await scope.close()


async def test_a_fold_does_not_cross_the_range_being_observed() -> None:
    """While they are written the turn goes on and is folded; their range stays intact."""
    gate = asyncio.Event()
    folding = msgspec.structs.replace(
        PLACE_LATE,
        protect_steps=2,
        protect_tokens=0,
        fold_after_steps=2,
        fold_least=0,
        condense_at=0.0,
        sweep_min=0,
    )
    rig = AgentRig(
        ScriptedModel(six_calls_model(), observation_script=lambda _: [gate, *text_reply(OBSERVATIONS)]),
        PLACE_LATE,
    )
    await rig.begin()
    for _ in range(4):
        await rig.conversation.run("Look.")
    await rig.wait_until(lambda: rig.model.observation_requests)
    rig.workspace.policy = folding
    rig.clock.advance_s(10_000)
    await rig.conversation.run("Look again.")
    await rig.conversation.run("Look again.")
    assert rig.events(FoldMade)
    gate.set()
    await rig.conversation.wait_for_background_work()
    (observations,) = rig.events(ObservationsMade)
    assert not any(event.after < observations.upto < event.upto for event in rig.events(FoldMade))


def six_calls_model() -> Script:

    def reply(request: ModelRequest) -> ScriptedReply:
        newest = max(n for n, message in enumerate(request.messages) if message.role == "user")
        if len(request.messages) - newest > 12:
            return text_reply("Done.")
        return tool_call_reply(
            ("say", {"times": 50}), text="so", id_prefix=f"k{len(request.messages)}-{newest}-"
        )

    return reply


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


@pytest.mark.parametrize("is_placed", [True, False])
async def test_observations_after_a_restart(tmp_path: Path, is_placed: bool) -> None:
    """On disk: the same window, prepared ones stay prepared, and undo works."""
    rig = AgentRig(ScriptedModel(thinking_turn_script()), PLACE_AT_ONCE)
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, rig.clock)
    workspace = rig.create_workspace(store, PLACE_AT_ONCE)
    conversation = await workspace.create_session()
    for _ in range(5 if is_placed else 4):
        await conversation.run("Think. Never touch main.")
        await conversation.wait_for_background_work()
    request = conversation.window.measure()[0].request
    assert (TITLE in request.messages[1].text) == is_placed
    identity, log = conversation.session.id, list(conversation.session.log)
    await workspace.close()
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, rig.clock)
    workspace = rig.create_workspace(store, PLACE_AT_ONCE)
    again = await workspace.open_session(identity)
    assert again.session.log == log
    assert again.window.measure()[0].request == request
    observations = next(recorded.event for recorded in log if isinstance(recorded.event, ObservationsMade))
    index = (await store.get(observations.index)).decode()
    output = next(
        line.split()[0] for line in index.splitlines() if line[:1] != "e" and len(line.split()[0]) == 64
    )
    assert (await store.get(output)).startswith(b"ok")
    await again.run("And now?")
    assert TITLE in again.window.measure()[0].request.messages[1].text
    await workspace.close()


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
    facts = (f"- (2) Think of src/app{n}.py: {f'fact{n} ' * 72}[e{entry}]" for n in range(_FACTS))
    return text_reply("\n".join(facts))


async def test_observations_just_short_of_their_threshold_are_refined_and_not_dropped() -> None:
    """At 85 %, of which 46 % are observations: refining them makes room, so no handover is made."""
    rig = AgentRig(ScriptedModel(thinking_turn_script(), observation_script=wordy_observer), EARLY)
    await rig.begin()
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
    assert refined.averted_handover_at == EARLY.handover_at
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
    await rig.conversation.run("Go on.")
    await rig.wait_until_idle()
    assert rig.events(HandoverMade) == []
    assert any(placed.averted_handover_at == policy.handover_at for placed in rig.events(ObservationsPlaced))
    assert not rig.conversation.window.measure()[1].is_due


async def test_prepared_observations_are_placed_before_a_handover() -> None:
    """Also where their own threshold lies above the handover's: it would drop them unused."""
    policy = msgspec.structs.replace(PLACE_AT_ONCE, observe_place_at=0.9, handover_least_messages=2)
    rig = AgentRig(ScriptedModel(thinking_turn_script()), policy)
    await rig.begin()
    await run_turns(rig, 4)
    assert len(rig.events(ObservationsMade)) == 1
    assert rig.events(ObservationsPlaced) == []
    await run_turns(rig, 3, 1_450)
    (placed, *_) = rig.events(ObservationsPlaced)
    assert (placed.reason, placed.threshold) == (PlacementReason.THRESHOLD, policy.handover_at)
    assert placed.averted_handover_at == policy.handover_at
    assert rig.events(HandoverMade) == []
