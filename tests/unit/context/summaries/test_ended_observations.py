"""Observations that are over leave the window, and stay in the log; each fact stands once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from helix_desktop.context.log.window_entries import OBSERVATIONS_LABEL_TOKENS
from helix_desktop.context.log.window_layout import ended_observations, ended_tokens
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.observation import (
    end_observations,
    leave_out_known,
    merge_observations,
    parse_observations,
    reflection_task,
    still_ended,
)
from helix_desktop.context.summaries.summary_task import transcript_lines
from helix_desktop.domain.events.rewrite import Undone
from helix_desktop.domain.events.summary import EndedObservation, Observation, ObservationsMade
from tests.support.histories import SessionSimulator, count_tokens
from tests.support.rewrite_histories import place_observations

TODO = Observation(1_000, 1, "Tests of the parser are still to write", (3,))
RULE = Observation(2_000, 1, "Never push to main", (3, 5))
TOOL_SEARCH = (RULE, TODO)


def note(text: str, *sources: int) -> Observation:
    return Observation(9_000, 2, text, sources)


def test_a_note_ends_a_known_fact_by_its_number() -> None:
    """The note says what it was and how it ended, or only what holds now where that names it."""
    notes, ended = end_observations((note("Over: known 2, written and pass", 90),), TOOL_SEARCH)
    assert ended == (TODO,)
    assert [each.text for each in notes] == [
        'Over: "Tests of the parser are still to write": written and pass'
    ]
    whole = note("Over: known 2, the tests of the parser are written and pass", 90)
    notes, ended = end_observations((whole,), TOOL_SEARCH)
    assert ended == (TODO,)
    assert [each.text for each in notes] == ["Now: the tests of the parser are written and pass"]
    notes, _ = end_observations((note("Over: known 1", 95),), (note("Over: 217 tests pass", 90),))
    assert [each.text for each in notes] == ['Over: "217 tests pass"']


def test_a_note_that_ends_nothing_known_stays_a_note() -> None:
    """A wrong number, a number in the text of a fact, or none: nothing ends, nothing is lost."""
    texts = ("Over: known 7", "It is over 2 MB", "Over: something else", "The parser of known 2 works")
    notes, ended = end_observations(tuple(note(text, 90) for text in texts), TOOL_SEARCH)
    assert ended == ()
    assert [each.text for each in notes] == [*texts]


FACTS = st.lists(
    st.builds(Observation, st.integers(0, 5), st.integers(1, 3), st.sampled_from("abcdef"), st.just((2,))),
    min_size=1,
    max_size=4,
    unique_by=lambda fact: fact.text,
).map(tuple)


@st.composite
def generations(draw: st.DrawFn) -> list[ObservationsMade]:
    events: list[ObservationsMade] = []
    standing: list[Observation] = []
    for number in range(draw(st.integers(1, 4))):
        over = draw(st.lists(st.sampled_from(standing), unique=True, max_size=2)) if standing else []
        facts = tuple(replace(fact, text=f"{number}{fact.text}") for fact in draw(FACTS))
        events.append(
            ObservationsMade(
                number, number + 1, facts, (), "", "d" * 64, 0, 50, 400, 1, "m",
                over=tuple(EndedObservation(fact, 7) for fact in over),
            )
        )  # fmt: skip
        standing += facts
    return events


@given(generations())
def test_each_fact_stands_in_the_window_or_was_ended_by_a_later_note(events: list[ObservationsMade]) -> None:
    """Nothing else is lost; the log has every fact; tokens are counted for what stands there."""
    transcript = SessionSimulator(PROFILES["balanced"]).transcript
    text = observation.render_observations(events, transcript)
    ended = ended_observations(events)
    facts = [fact for generation in events for fact in generation.observations]
    for fact in facts:
        assert (f"- ({fact.priority}) {fact.text} " in text) != (fact in ended)
    assert ended_tokens(events) == 7 * len(ended)
    assert {fact.text for fact in merge_observations(events)} <= {fact.text for fact in facts} - {
        fact.text for fact in ended
    }
    refined = "\n".join(line.text for line in reflection_task("Refine.", events).lines)
    assert all(fact.text in refined for fact in facts if fact not in ended)
    assert set(still_ended(events[1:])) <= set(ended)  # what the refined ones ended elsewhere stays over


def test_undoing_the_later_observations_brings_the_fact_back() -> None:
    """As with every rewrite; the count of the window follows."""
    simulator = SessionSimulator(PROFILES["balanced"])
    for turn in range(4):
        simulator.send_message(f"Do task {turn}.")
        simulator.step("Done.", 0)
    tokens = count_tokens(observation.observation_bullet(TODO))
    seqs = []
    for after, facts, over in ((1, TOOL_SEARCH, ()), (7, (note("Over: the tests are written", 9),), (TODO,))):
        later = ObservationsMade(
            after, after + 6, facts, (), "", "d" * 64, 0, 60, 400, 4, "m",
            over=tuple(EndedObservation(fact, tokens) for fact in over),
        )  # fmt: skip
        simulator.record(later)
        seqs.append(place_observations(simulator, simulator.transcript.last_seq))
    text = simulator.window().request.messages[1].text
    assert TODO.text not in text
    assert RULE.text in text
    record = "\n".join(
        line.text
        for line in transcript_lines(simulator.transcript.messages.items, simulator.transcript.window.covers)
    )
    assert RULE.text in record
    assert TODO.text not in record
    (block, *_) = simulator.transcript.window.entries()
    assert simulator.transcript.window.entry_tokens(block) == 120 + OBSERVATIONS_LABEL_TOKENS + 4 - tokens
    simulator.record(Undone(seqs[-1]))
    assert TODO.text in simulator.window().request.messages[1].text


def test_a_fact_that_is_noted_twice_stands_once() -> None:
    """With the weight of the more vital note, and the entries of both."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Do it.")
    simulator.step("I looked at it.", 0)
    simulator.send_message("Go on.")
    items = simulator.transcript.messages.items
    answer = "- (2) Tests pass [e2]\n- (1) tests  pass. [e3]\n- (3) Tests pass on CI [e3]\n"
    assert [(fact.priority, fact.text, fact.sources) for fact in parse_observations(answer, items)] == [
        (1, "Tests pass", (2, 3)),
        (3, "Tests pass on CI", (3,)),
    ]


def test_a_known_fact_is_not_noted_again() -> None:
    """Alone it is noted nevertheless."""
    earlier = (Observation(1, 2, "Tests pass.", (3,)),)
    again = Observation(5, 2, "tests pass", (7,))
    new = Observation(7, 3, "The port is 80, as the user wants", (9,))
    assert leave_out_known((again, new), earlier, ()) == (new,)
    assert leave_out_known((again,), earlier, ()) == (again,)


def test_a_fact_that_is_noted_again_and_ended_stays_as_it_is_noted_now() -> None:
    """Its earlier note leaves the window: without the new one nothing would say it."""
    earlier = Observation(1, 1, "Tests pass.", (3,))
    answer = Observation(5, 2, "Over: known 1", (7,)), Observation(5, 2, "tests pass", (7,))
    notes, over = end_observations(answer, (earlier,))
    assert over == (earlier,)
    assert leave_out_known(notes, (earlier,), over) == notes
    assert notes[1] == answer[1]
