"""Noted facts: each stands once, whoever notes it again."""

from __future__ import annotations

from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.observation import end_observations, leave_out_known, parse_observations
from helix_desktop.domain.events.summary import Observation
from tests.support.histories import SessionSimulator


def test_a_fact_that_is_noted_twice_stands_once() -> None:
    """With its longest words, the weight of the more vital note, and the entries of both."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Do it.")
    simulator.step("I looked at it.", 0)
    simulator.send_message("Go on.")
    items = simulator.transcript.messages.items
    answer = (
        "- (3) `Reader.close` is called twice, once by the pool, which… [e3]\n"
        "- (2) `Reader.close` is called twice, once by the pool, which drops it [e2]\n"
        "- (1) Tests pass [e3]\n- (3) tests  pass. [e3]\n- (3) Tests pass on CI [e3]\n"
    )
    assert [(fact.priority, fact.text, fact.sources) for fact in parse_observations(answer, items)] == [
        (2, "`Reader.close` is called twice, once by the pool, which drops it", (3, 2)),
        (1, "Tests pass", (3,)),
        (3, "Tests pass on CI", (3,)),
    ]


def test_a_known_fact_is_not_noted_again() -> None:
    """One that is more vital now takes the place of the known one; alone it is noted nevertheless."""
    earlier = Observation(1, 2, "Tests pass.", (3,)), Observation(2, 3, "The port is 80", (4,))
    again, vital = Observation(5, 2, "tests pass", (7,)), Observation(6, 1, "The port is 80", (8,))
    new = Observation(7, 3, "The port is 80, as the user wants", (9,))
    assert leave_out_known((again, vital, new), earlier, ()) == ((vital, new), (earlier[1],))
    assert leave_out_known((again,), earlier, ()) == ((again,), ())


def test_a_fact_that_is_noted_again_and_ended_stays_as_it_is_noted_now() -> None:
    """Its earlier note leaves the window: without the new one nothing would say it."""
    earlier = Observation(1, 1, "Tests pass.", (3,))
    answer = Observation(5, 2, "Over: known 1", (7,)), Observation(5, 2, "tests pass", (7,))
    notes, over = end_observations(answer, (earlier,))
    assert leave_out_known(notes, (earlier,), over) == (notes, (earlier,))
    assert notes[1] == answer[1]
