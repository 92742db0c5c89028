"""A summary too short for a long history, or without any of its names, may not replace it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import section_text
from helix_desktop.context.summaries.handover_fallback import extractive_handover
from helix_desktop.context.summaries.summary_task import (
    LONG_INPUT,
    MIN_SHARE,
    SummaryInput,
    accept_observations,
    find_problem,
    reflection_input,
    summary_input,
    transcript_lines,
)
from helix_desktop.domain.errors import SummaryRefused
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import SummaryProblem
from helix_desktop.domain.events.summary import Observation, ObservationsMade
from tests.support.histories import SessionSimulator, histories

SHORT, UNSPECIFIC = SummaryProblem.SHORT, SummaryProblem.UNSPECIFIC
PARSER = SummaryInput(
    90_000,
    files=frozenset({"src/parser.py"}),
    commands=frozenset({"cd app && pytest -q tests"}),
    instructions={2: "Mend the parser, never touch main, and use tabs everywhere."},
)


@pytest.mark.parametrize(
    ("text", "cited", "problem"),
    [
        ("Everything is in order.", {2}, SHORT),
        ("The file parser.py was read. " * 40, set(), None),
        ("It was tried with pytest -q and failed. " * 30, set(), None),
        ("Tabs everywhere, and main is never to be touched. " * 30, set(), None),
        ("What was asked for was done as it had been asked. " * 30, {2}, None),
        ("What was asked for was done as it had been asked. " * 30, {3}, UNSPECIFIC),
        ("What was asked for was done as it had been asked. " * 30, set(), UNSPECIFIC),
    ],
)
def test_a_long_history_needs_a_summary_that_names_it(
    text: str, cited: set[int], problem: SummaryProblem | None
) -> None:
    """A file, a command, the user's words, or their message as a source: one of them is enough."""
    assert find_problem(text, cited, PARSER) is problem


def test_one_line_for_a_long_history_is_refused_with_its_text() -> None:
    """The refusal says how long both are, and includes what the model wrote."""
    facts = (Observation(0, 1, "The parser was mended.", (2,)),)
    with pytest.raises(SummaryRefused) as refused:
        accept_observations(facts, PARSER, "- (1) The parser was mended. [e2]")
    assert refused.value.problem is SHORT
    assert refused.value.text == "- (1) The parser was mended. [e2]"
    assert (
        refused.value.why == "Its sentences have 22 characters: fewer than the 800 expected for this history."
    )


@given(st.integers(1, 10**7), st.integers(0, 3_000))
def test_the_minimum_length_of_a_summary(size: int, summary_size: int) -> None:
    """At least 2 % of a long input up to a fixed limit; a short input can be one word."""
    problem = find_problem("x" * summary_size, set(), SummaryInput(size))
    assert (problem is SHORT) == (size > LONG_INPUT and summary_size < min(MIN_SHARE * size, 800))


@given(histories())
def test_an_extract_names_its_input(simulator: SessionSimulator) -> None:
    """Sections made without a model would pass for any history: the rule asks little."""
    items = simulator.transcript.messages.items
    source = summary_input(transcript_lines(items), items)
    sections = extractive_handover(items, None)
    text = "\n".join(section_text(section, mark_unsupported=False) for section in sections)
    cited = {seq for section in sections for bullet in section.bullets for seq in bullet.sources}
    assert find_problem(text, cited, source) is not UNSPECIFIC


def test_the_names_of_an_input() -> None:
    """Files and commands of the ledger, the user's messages; of a reflection, what its facts name too."""
    log: tuple[Event, ...] = (
        UserSpoke("Mend it.", 3),
        ToolAnswered("1", "read_file", "text", "a" * 64, 4, 1, 1, target="src/app.py"),
        ToolAnswered("2", "run_command", "ok", "b" * 64, 4, 1, 1, target="make test"),
    )
    items = Transcript([RecordedEvent(seq, 0, event) for seq, event in enumerate(log, 1)]).messages.items
    checked_input = summary_input(transcript_lines(items), items)
    assert [*checked_input.files, *checked_input.commands] == ["src/app.py", "make test"]
    assert checked_input.instructions == {1: "Mend it."}
    fact = Observation(0, 1, "lib/util.c holds the loop", (2,))
    observations = ObservationsMade(0, 3, (fact,), (), "", "", 0, 9, 90, 3, "m")
    assert reflection_input((observations,), items).files == frozenset(("src/app.py", "lib/util.c"))
