"""Edited handovers: the six sections as Markdown that the user may change, and how it is parsed."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.context.summaries.handover import (
    parse_bullet,
    parse_bullets,
    parse_heading,
    section_text,
    section_title,
)
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.summary import SECTIONS, Section
from helix_desktop.domain.user_text import TextContext

_text = TextContext("Context")

_WHAT = _text("The edited handover can't be read.")


def to_markdown(sections: Sequence[Section]) -> str:
    """Return the sections for editing, with unsupported sentences marked."""
    return "\n\n".join(section_text(section) for section in sections) + "\n"


def from_markdown(text: str, valid_seqs: frozenset[int]) -> tuple[Section, ...]:
    """Parse the six sections a user edited; every line under a heading is a sentence or continues one.

    A source that is not in `valid_seqs` is dropped. Raise InvalidInput, naming the line, if a heading is
    unknown, missing or repeated, if text precedes the first one, or if all sections are empty.
    """
    texts: dict[str, list[str]] = {}
    current: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        heading = parse_heading(line)
        if heading is not None:
            current = texts[_title(heading, number, texts)] = []
        elif current is None:
            fix = _text("Start with the heading ## {heading}.", heading=SECTIONS[0])
            raise InvalidInput(_WHAT, _text("Line {line} is before the first heading.", line=number), fix)
        elif current and line[0].isspace() and not parse_bullet(line):
            current[-1] += f" {line.strip()}"
        else:
            current.append(parse_bullet(line) or line.strip())
    missing = [title for title in SECTIONS if title not in texts]
    if missing:
        raise InvalidInput(
            _WHAT,
            _text("Headings are missing: {headings}.", headings=", ".join(missing)),
            _text("Add them again."),
        )
    sections = tuple(
        Section(title, parse_bullets(texts[title], valid_seqs, keep_mark=True)) for title in SECTIONS
    )
    if not any(section.bullets for section in sections):
        raise InvalidInput(_WHAT, _text("It is empty."), _text("Write at least one sentence."))
    return sections


def _title(heading: str, number: int, sections: dict[str, list[str]]) -> str:
    title = section_title(heading)
    if not title:
        why = _text(
            "Line {line}: {heading} isn't one of the six headings.", line=number, heading=repr(heading)
        )
        raise InvalidInput(
            _WHAT, why, _text("The six headings are: {headings}.", headings=", ".join(SECTIONS))
        )
    if title in sections:
        raise InvalidInput(
            _WHAT,
            _text("Line {line}: the heading {heading} appears twice.", line=number, heading=title),
            _text("Merge its two sections."),
        )
    return title
