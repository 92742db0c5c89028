"""What a model's text has to say before it stands for what it read."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.extractive_handover import extractive_handover
from helix_desktop.context.summaries.handover import section_text
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.summaries.summary_acceptance import (
    LONG_INPUT,
    MIN_SHARE,
    SummaryInput,
    accept_observations,
    accept_sections,
    find_doubt,
    find_problem,
    is_of_other_session,
    reflection_input,
    summary_input,
)
from helix_desktop.context.summaries.summary_task import SummaryTask, transcript_lines
from helix_desktop.context.summaries.written_sections import parse_handover
from helix_desktop.domain.errors import SummaryRefused
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger, SummaryProblem
from helix_desktop.domain.events.summary import Bullet, HandoverMade, Observation, ObservationsMade, Section
from tests.support.histories import SessionSimulator, histories

SHORT = SummaryProblem.SHORT
UNSPECIFIC = SummaryProblem.UNSPECIFIC
PARSER = SummaryInput(
    90_000,
    files=frozenset({"src/parser.py", "README.md"}),
    commands=frozenset({"cd app && pytest -q tests"}),
    instructions={2: "Mend the parser, never touch main, and use tabs everywhere."},
    entries=frozenset(range(2, 90)),
    names=frozenset({"parser.py", "readme.md", "read_block"}),
)
NOTHING = "What was asked for was done as it had been asked. "


@pytest.mark.parametrize(
    ("text", "cited", "problem"),
    [
        ("Everything is in order.", {2, 5}, None),
        ("Everything is in order.", {2}, UNSPECIFIC),
        ("Everything is in order.", set(), SHORT),
        ("The file parser.py was read. " * 40, set(), UNSPECIFIC),
        ("The file parser.py was read, as README.md says. " * 40, set(), None),
        ("In parser.py `read_block` fails. " * 40, set(), None),
        ("It was tried with pytest -q on parser.py and failed. " * 30, set(), None),
        ("Tabs everywhere, and main is never to be touched. " * 30, set(), UNSPECIFIC),
        ("Tabs everywhere in parser.py, and main is never to be touched. " * 30, set(), None),
        (NOTHING * 30, {2, 3}, None),
        (NOTHING * 30, {3}, UNSPECIFIC),
        (NOTHING * 30, set(), UNSPECIFIC),
    ],
)
def test_a_summary_names_two_subjects_of_what_it_read(
    text: str, cited: set[int], problem: SummaryProblem | None
) -> None:
    """Files, commands, other names, the user's words, or entries; by length alone none is refused."""
    assert find_problem(text, cited, PARSER) is problem


def test_a_history_with_one_subject_needs_no_second() -> None:
    source = SummaryInput(900, files=frozenset({"a.py"}))
    assert find_problem("a.py was read.", set(), source) is None
    assert find_problem("It was read.", set(), source) is UNSPECIFIC


def test_one_line_that_names_no_entry_is_refused_with_its_text() -> None:
    """The refusal says how long both are, and includes what the model wrote."""
    facts = (Observation(0, 1, "The parser was mended.", ()),)
    with pytest.raises(SummaryRefused) as refused:
        accept_observations(facts, PARSER, "- (1) The parser was mended.")
    assert refused.value.problem is SHORT
    assert refused.value.text == "- (1) The parser was mended."
    assert "have 22 characters: fewer than the 800 expected for this history." in refused.value.why
    cited = (Observation(0, 1, "The parser was mended.", (2, 3)),)
    assert accept_observations(cited, PARSER, "") == cited


@given(st.integers(1, 10**7), st.integers(0, 3_000))
def test_the_minimum_length_of_a_summary_without_sources(size: int, summary_size: int) -> None:
    """At least 2 % of a long input up to a fixed limit; a short input can be one word."""
    source = SummaryInput(size, entries=frozenset({1, 2}))
    problem = find_problem("x" * summary_size, set(), source)
    assert (problem is SHORT) == (size > LONG_INPUT and summary_size < min(MIN_SHARE * size, 800))
    assert find_problem("x" * summary_size, {1, 2}, source) is None


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot write about src/parser.py and README.md.",
        "As an AI, I have no view of entries.",
    ],
)
def test_a_refusal_is_no_summary(text: str) -> None:
    """Not even with the sources that a summary would have."""
    section = Section(TITLES[0], (Bullet(text, (2, 3)),))
    with pytest.raises(SummaryRefused, match="wasn't used") as refused:
        accept_sections((section,), PARSER, text)
    assert refused.value.why == "It is a refusal."
    mixed = (section, Section(TITLES[1], (Bullet("parser.py reads README.md", (4,)),)))
    assert accept_sections(mixed, PARSER, text) == mixed


def test_the_text_of_another_session_is_no_summary() -> None:
    """Its entry numbers may be here, too; a summary may say some names that the record has not."""
    foreign = "lib/billing.rs and lib/tax.rs, `add_invoice`, `round_half_up` and make_release.sh"
    assert is_of_other_session(foreign, PARSER)
    section = Section(TITLES[0], (Bullet(foreign, (2, 3)),))
    with pytest.raises(SummaryRefused):
        accept_sections((section,), PARSER, foreign)
    assert not is_of_other_session(f"{foreign}, src/parser.py and README.md", PARSER)
    assert not is_of_other_session("lib/billing.rs and lib/tax.rs", PARSER), "too few names to tell"


@given(histories())
def test_an_extract_names_its_input(simulator: SessionSimulator) -> None:
    """Sections made without a model would pass for any history: the rule asks little."""
    items = simulator.transcript.messages.items
    source = summary_input(SummaryTask("", "", "", transcript_lines(items)), items)
    sections = extractive_handover(items, None)
    text = "\n".join(section_text(section, mark_unsupported=False) for section in sections)
    cited = {seq for section in sections for bullet in section.bullets for seq in bullet.sources}
    assert find_problem(text, cited, source) is not UNSPECIFIC or len(cited) == 1
    assert not is_of_other_session(text, source)


def test_the_names_of_an_input() -> None:
    """Files and commands of the ledger, the user's messages; of a reflection, what its facts name too."""
    log: tuple[Event, ...] = (
        UserSpoke("Mend it.", 3),
        ToolAnswered("1", "read_file", "text", "a" * 64, 4, 1, 1, target="src/app.py"),
        ToolAnswered("2", "run_command", "ok", "b" * 64, 4, 1, 1, target="make test"),
    )
    items = Transcript([RecordedEvent(seq, 0, event) for seq, event in enumerate(log, 1)]).messages.items
    task = SummaryTask("", "", "", transcript_lines(items))
    checked_input = summary_input(task, items)
    assert [*checked_input.files, *checked_input.commands] == ["src/app.py", "make test"]
    assert checked_input.instructions == {1: "Mend it."}
    assert checked_input.entries == {1, 2, 3}
    assert checked_input.names == {"app.py"}, "any session has its tools"
    fact = Observation(0, 1, "lib/util.c holds the loop", (2,))
    observations = ObservationsMade(0, 3, (fact,), (), "", "", 0, 9, 90, 3, "m")
    reflected = reflection_input(SummaryTask("", "", "", ()), (observations,), items)
    assert reflected.files == frozenset(("src/app.py", "lib/util.c"))
    assert reflected.names == {"util.c"}


FORMER_FACTS = (
    "`load_rows` reads orders.csv",
    "rows.ini sets a cap of 500",
    "pytest passed after e30",
    "ABC-1",
)


def former(*facts: str, title: str = "Technical Details") -> HandoverMade:
    section = Section(title, tuple(Bullet(fact, (seq,)) for seq, fact in enumerate(facts, 30)))
    return HandoverMade(9, 0, (section,), "", "", 3, 10, 100, 50, 8, "m", HandoverTrigger.MANUAL)


def doubt(*facts: str, of: HandoverMade | None, sections: int = 6) -> str:
    bullets = "\n".join(f"- {fact}" for fact in facts)
    text = "\n".join(f"## {title}\n{bullets}" for title in TITLES[:sections])
    return find_doubt(text, parse_handover(text, frozenset(range(1, 99))), of)


def test_most_facts_of_the_former_summary_are_not_dropped_without_a_word() -> None:
    """A fact stays by a name of it, by most of its words, or by its source; what was open may be settled."""
    known = former(*FORMER_FACTS)
    lost = doubt("all is well [e2]", of=known)
    assert lost.startswith("It leaves out 4 statements of the previous summary, such as “`load_rows` reads")
    assert doubt("`load_rows` is renamed [e50]", "the cap is in rows.ini [e51]", of=known) == ""
    assert doubt("all four are over [e30, e31]", of=known) == ""
    assert doubt("all is well [e2]", of=None) == ""
    assert doubt("all is well [e2]", of=former(*FORMER_FACTS[:3])) == "", "of few facts it is no loss"
    assert doubt("all is well [e2]", of=former(*FORMER_FACTS, title="TODO Items")) == ""
    edited = msgspec.structs.replace(known, edited=True)
    assert doubt("all is well [e2]", of=edited) == lost


def test_a_text_with_two_sections_is_asked_for_again() -> None:
    assert doubt("all is well [e2]", of=None, sections=3) == ""
    missing = doubt("all is well [e2]", of=None, sections=2)
    assert missing == f"Sections are missing: {', '.join(TITLES[2:])}."
