"""The sections in what models write: headings of any form, JSON, and what is no handover at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.summaries.written_sections import parse_handover, section_texts
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.summary import Bullet, Section
from tests.support.tables import for_each
from tests.support.written_handovers import fields_of, written, written_forms

EVERYTHING = frozenset(range(1, 501))
FACTS = (
    "the importer reads orders.csv",
    "`load_rows` keeps at most 500 rows",
    "load_rows was moved to src/rows.py",
    "pytest fails in test_rows.py",
    "write the changelog",
    "never touch the schema",
)
CITED_FACTS = [f"{fact} [e4]" for fact in FACTS]
EXPECTED = tuple(Section(title, (Bullet(fact, (4,)),)) for title, fact in zip(TITLES, FACTS, strict=True))
BULLETS = [f"- {fact}" for fact in CITED_FACTS]
PLAIN = written(CITED_FACTS, "## {title}")
FORMS = written_forms(CITED_FACTS)


@for_each("form", FORMS)
def test_sections_are_read_in_any_form(form: str) -> None:
    assert parse_handover(FORMS[form], EVERYTHING) == EXPECTED, form


@for_each("left_out", range(len(TITLES)))
@for_each("heading", ["## {title}", "**{title}**", "{n}. {title}", "{title}\n{rule}"])
def test_a_missing_section_is_empty(left_out: int, heading: str) -> None:
    parts = [
        f"{written(CITED_FACTS, heading, between='%%').split('%%')[place]}" for place in range(len(TITLES))
    ]
    text = "\n\n".join(part for place, part in enumerate(parts) if place != left_out)
    expected = [
        section if place != left_out else Section(section.title) for place, section in enumerate(EXPECTED)
    ]
    assert parse_handover(text, EVERYTHING) == tuple(expected)


def test_six_numbered_facts_are_no_headings() -> None:
    """A section may list six of them, and one of the others may be missing."""
    facts = "\n".join(f"{number}. fact {number} [e{number}]" for number in range(1, 7))
    text = PLAIN.replace(BULLETS[1], facts).replace(f"## TODO Items\n{BULLETS[4]}\n", "")
    sections = {section.title: section.bullets for section in parse_handover(text, EVERYTHING)}
    assert [bullet.sources for bullet in sections["Technical Details"]] == [(n,) for n in range(1, 7)]
    assert sections["TODO Items"] == ()
    assert len(sections["Completed Work"]) == 1


def test_headings_inside_a_section_end_none() -> None:
    """Its parts, and comments of a script that it quotes; what Helix puts below the sections does."""
    script = "```sh\n# build it\nmake all\n```"
    text = PLAIN.replace(BULLETS[1], f"### Files\n- one [e4]\n**Notes**\n- two [e5]\n{script}")
    sections = {section.title: section.bullets for section in parse_handover(text, EVERYTHING)}
    assert [bullet.text for bullet in sections["Technical Details"]][:2] == ["one", "two"]
    assert len(sections["Completed Work"]) == 1
    ledger = parse_handover(f"{PLAIN}\n## Artifact Ledger\n- wrote src/rows.py e4", EVERYTHING)
    assert ledger == EXPECTED


def test_a_paragraph_is_a_statement_for_each_source_in_it() -> None:
    text = "## Technical Details\nRows are cut at 500 [e4]. The cap is\nset in rows.ini [e5, e6]."
    (details,) = [section for section in parse_handover(text, EVERYTHING) if section.bullets]
    assert details.bullets == (
        Bullet("Rows are cut at 500", (4,)),
        Bullet("The cap is set in rows.ini", (5, 6)),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I can't help with that.",
        "The importer reads orders.csv, and that is all there is to say [e4].",
        "1. one\n2. two\n3. three\n4. four\n5. five\n6. six",
        "## Eins\n- a\n## Zwei\n- b",
        json.dumps({"error": "not available"}),
        json.dumps(fields_of(CITED_FACTS))[:-20],
        "[]",
        "{" * 5_000,
    ],
)
def test_what_has_no_sections_is_refused(text: str) -> None:
    with pytest.raises(CompactionRefused):
        parse_handover(text, EVERYTHING)


@given(st.text(alphabet='#*_-=1. \n[]{}":|<h2>eTODOItemsNone', max_size=200))
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    texts = section_texts(text)
    assert set(texts) <= set(TITLES)
    assert all(sentence.strip() for sentences in texts.values() for sentence in sentences)
