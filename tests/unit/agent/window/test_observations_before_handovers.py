"""At 85 % a handover must not drop observations that would have been put in place, or are being written."""

from __future__ import annotations

import asyncio
import re

import msgspec

from helix_desktop.context.summaries.observation import REFINE, TITLE
from helix_desktop.domain.events.rewrite import PlacementReason
from helix_desktop.domain.events.summary import (
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import ModelRequest
from tests.support.agent_rig import AgentRig
from tests.support.observation_rig import PLACE_AT_ONCE, next_request_text, run_turns, thinking_turn_script
from tests.support.scripted_model import OBSERVATIONS, ScriptedModel, ScriptedReply, text_reply

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
    assert rig.conversation.window.measure()[1].pressure == "none"
    await rig.assert_consistent()


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
    assert rig.conversation.window.measure()[1].pressure == "compact"
    assert model.summary_requests == []
    gate.set()
    await rig.wait_until_idle()
    model.script = thinking_turn_script(100)
    await rig.conversation.run("Go on.")
    await rig.wait_until_idle()
    assert rig.events(HandoverMade) == []
    assert any(placed.averted_handover_at == policy.handover_at for placed in rig.events(ObservationsPlaced))
    assert rig.conversation.window.measure()[1].pressure == "none"
    await rig.assert_consistent()


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
    await rig.assert_consistent()
