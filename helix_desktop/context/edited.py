"""Edited handovers: the six sections as Markdown that a person may change, and what is read from it."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.context.errors import InputUnusable
from helix_desktop.context.event_summary import SECTIONS, Section
from helix_desktop.context.handover import bullet_of, bullets, heading_of, section_text, title_of

_WHAT = "The edited handover cannot be read."


def markdown(sections: Sequence[Section]) -> str:
    """The sections as they are offered for editing, unsupported sentences marked."""
    return "\n\n".join(section_text(section) for section in sections) + "\n"


def read_edited(text: str, known: frozenset[int]) -> tuple[Section, ...]:
    """The six sections that a person wrote; every line under a heading counts, as a sentence or its rest.

    A source that is not in `known` is dropped. Raises InputUnusable, naming the line, when a heading is
    unknown, missing or there twice, when something stands before the first, and when nothing is said.
    """
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        heading = heading_of(line)
        if heading is not None:
            current = found[_title(heading, number, found)] = []
        elif current is None:
            fix = f"Begin with the heading ## {SECTIONS[0]}."
            raise InputUnusable(_WHAT, f"Line {number} stands before the first heading.", fix)
        elif current and line[0].isspace() and not bullet_of(line):
            current[-1] += f" {line.strip()}"
        else:
            current.append(bullet_of(line) or line.strip())
    missing = [title for title in SECTIONS if title not in found]
    if missing:
        raise InputUnusable(_WHAT, f"Headings are missing: {', '.join(missing)}.", "Put them back.")
    sections = tuple(Section(title, bullets(found[title], known, marked=True)) for title in SECTIONS)
    if not any(section.bullets for section in sections):
        raise InputUnusable(_WHAT, "It says nothing.", "Write at least one sentence.")
    return sections


def _title(heading: str, number: int, found: dict[str, list[str]]) -> str:
    title = title_of(heading)
    if not title:
        fix = f"The six headings are: {', '.join(SECTIONS)}."
        raise InputUnusable(_WHAT, f"Line {number}: {heading!r} is none of the six headings.", fix)
    if title in found:
        raise InputUnusable(
            _WHAT, f"Line {number}: {title} stands there twice.", "Put its sentences together."
        )
    return title
