"""The text of observations: what of them stands in the window."""

from __future__ import annotations

import msgspec

from helix_desktop.context.log.notes import mode_note
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.handover import handover_parts
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import (
    SUMMARY_TEXT_VERSION,
    HandoverMade,
    Observation,
    ObservationsMade,
    Section,
)
from tests.support.histories import SessionSimulator


def observations_with(facts: tuple[Observation, ...]) -> ObservationsMade:
    """Return observations with these facts."""
    return ObservationsMade(1, 9, facts, (), "", "d" * 64, 2, 60, 400, 8, "m")


def test_a_fact_that_repeats_a_quoted_message_does_not_stand_beside_it() -> None:
    """What it says beyond the message stays, and all of them where the message is not quoted."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Please write docs/inline.md: one page, with the limits that the parser uses.")
    (item,) = simulator.transcript.messages.items
    facts = [
        Observation(0, 1, text, (item.seq,))
        for text in (
            "The user wants docs/inline.md, one page with the limits of the parser",
            "Tests failed with three errors",
            "One page with the limits that the parser uses, from lib/limits.py",
            "DB: PG",
            'Over: "Please write docs/inline.md"',
        )
    ]
    observations = observations_with(tuple(facts))
    quoted = msgspec.structs.replace(observations, quoted=(item.seq,), quote_tokens=400)
    for generation, in_text in ((observations, facts), (quoted, facts[1:])):
        text = observation.render_generation(generation, simulator.transcript)
        assert [line for line in text.splitlines() if line[:3] == "- ("] == [
            observation.observation_bullet(fact) for fact in in_text
        ]


def test_observations_repeat_the_mode_that_is_in_force() -> None:
    """It left the window with the message that announced it."""
    note = mode_note("ask", "auto")
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.record(UserSpoke("Begin.", 1, mode="auto", note=note))
    observations = observations_with((Observation(0, 1, "A fact"),))
    assert observation.render_generation(observations, simulator.transcript).splitlines()[-1] == note


def test_an_index_names_its_range_at_the_head_of_its_section() -> None:
    """Below, it stood above the next section as if it was its own; older events keep their words."""
    simulator = SessionSimulator(PROFILES["balanced"])
    older = observations_with((Observation(0, 1, "A fact"),))
    newer = msgspec.structs.replace(older, text_version=SUMMARY_TEXT_VERSION)
    lines = observation.render_generation(newer, simulator.transcript).splitlines()
    assert lines[0].endswith(" 2 outputs covered here, e2-e9")
    assert observation.render_generation(older, simulator.transcript).splitlines()[-1] == (
        lines[0].removesuffix(", e2-e9")
    )
    assert "(1 vital, 3 minor)" not in observation.render_observations([newer], simulator.transcript)
    assert "(1 vital, 3 minor)" in observation.render_observations([older, newer], simulator.transcript)
    made = HandoverMade(
        9, 0, (Section("TODO Items", ()),), "", "d" * 64, 2, 1, 2, 1, 8, "m", HandoverTrigger.MANUAL
    )
    order = [part.kind for part in handover_parts(made, ["e1: Begin."])]
    assert order == ["note", "sections", "index", "user"]
    first = msgspec.structs.replace(made, text_version=SUMMARY_TEXT_VERSION)
    parts = handover_parts(first, ["e1: Begin."])
    assert [part.kind for part in parts] == ["note", "index", "sections", "user"]
    assert parts[1].text.endswith(" 2 outputs covered here, e1-e9")
