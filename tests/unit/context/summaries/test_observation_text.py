"""The text of observations: what of them stands in the window."""

from __future__ import annotations

import msgspec

from helix_desktop.context.log.mode_notes import mode_note
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries import observation
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.summary import Observation, ObservationsMade
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
