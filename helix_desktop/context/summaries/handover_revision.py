"""Edited handovers: the six sections as Markdown that the user may change, and how it is parsed."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

import msgspec

from helix_desktop.context.summaries.handover import (
    UNSUPPORTED,
    parse_bullet,
    parse_bullets,
    parse_heading,
    section_text,
    section_title,
)
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import SECTIONS, Bullet, HandoverMade, Section
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Context")

_CITED = re.compile(r"\s*\[(e\d{1,12}(?:\s*[,;]\s*e\d{1,12})*)\]")
_CITED_WITHIN = re.compile(_CITED.pattern + r"(?=\s*[^\s.])")
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
        else:
            _add_line(current, line)
    missing = [title for title in SECTIONS if title not in texts]
    if missing:
        raise InvalidInput(
            _WHAT,
            _text("Headings are missing: {headings}.", headings=", ".join(missing)),
            _text("Add them again."),
        )
    return _parsed(texts, valid_seqs)


def to_fields(sections: Sequence[Section]) -> dict[str, str]:
    """Return the sentences of the sections for editing, by title; all six, and what else there is."""
    fields = dict.fromkeys(SECTIONS, "")
    for section in sections:
        if section.bullets:
            fields[section.title] = section_text(section, mark_unsupported=False).partition("\n")[2]
    return fields


def from_fields(fields: Mapping[str, str], valid_seqs: frozenset[int]) -> tuple[Section, ...]:
    """Parse the sections that a user edited one by one: every line is a sentence or continues one.

    A source that is not in `valid_seqs` is dropped. Raise InvalidInput if all are empty.
    """
    texts: dict[str, list[str]] = {}
    for title, text in fields.items():
        texts[title] = []
        for line in filter(str.strip, text.splitlines()):
            _add_line(texts[title], line)
    return _parsed(texts, valid_seqs)


def _add_line(sentences: list[str], line: str) -> None:
    """Add a line: another sentence, or more of the one before where it is indented."""
    if sentences and line[0].isspace() and not parse_bullet(line):
        sentences[-1] = _with_sources_last(f"{sentences[-1]} {line.strip()}")
    else:
        sentences.append(_with_sources_last(parse_bullet(line) or line.strip()))


def _with_sources_last(sentence: str) -> str:
    """Move sources that the user typed more behind to the end, where they are read."""
    if not _CITED_WITHIN.search(sentence):
        return sentence
    return f"{_CITED.sub('', sentence).strip()} [{', '.join(_CITED.findall(sentence))}]"


def _parsed(texts: Mapping[str, Sequence[str]], valid_seqs: frozenset[int]) -> tuple[Section, ...]:
    """Return the sections of these sentences, the six first. Raise InvalidInput if there is none."""
    titles = dict.fromkeys((*SECTIONS, *texts))
    sections = tuple(
        Section(title, parse_bullets(texts.get(title, ()), valid_seqs, keep_mark=True)) for title in titles
    )
    if not any(section.bullets for section in sections):
        raise InvalidInput(_WHAT, _text("It is empty."), _text("Write at least one sentence."))
    return sections


def original_of(handovers: Mapping[int, HandoverMade], seq: int) -> int:
    """Return the handover that the revision `seq` goes back to; itself where it is no revision."""
    while (revised := handovers[seq].revises) < seq and revised in handovers:
        seq = revised
    return seq


def revised_handover(seq: int, handover: HandoverMade, sections: tuple[Section, ...]) -> HandoverMade:
    """Return handover `seq` with other sections: the user's own work, which took no model, time or money.

    What depends on the window is that of the former one still.
    """
    return msgspec.structs.replace(
        handover,
        sections=sections,
        trigger=HandoverTrigger.MANUAL,
        former=seq,
        revises=seq,
        edited=True,
        fallback="",
        focus="",
        duration_ms=0,
        calls=0,
        spent=0,
        read=0,
        prompt="",
        cost=0.0,
        threshold=0.0,
        refused="",
    )


def sections_with(
    handover: HandoverMade, title: str, bullet: Bullet, valid_seqs: Container[int]
) -> tuple[Section, ...]:
    """Return the sections of a handover with one more sentence at the end of the section `title`.

    Of its sources those in `valid_seqs` stay. Sentences that were unsupported still say so: of a handover
    that the user edited, nothing else would.
    """
    sections = editable_sections(handover)
    sources = tuple(seq for seq in bullet.sources if seq in valid_seqs)
    returned = Bullet(" ".join(bullet.text.split()), sources)
    if all(section.title != title for section in sections):
        sections = (*sections, Section(title))
    return tuple(
        Section(title, (*section.bullets, returned)) if section.title == title else section
        for section in sections
    )


def editable_sections(handover: HandoverMade) -> tuple[Section, ...]:
    """Return the sections of a handover for editing, with unsupported sentences marked in the text."""
    return handover.sections if handover.edited else tuple(map(_with_marks, handover.sections))


def _with_marks(section: Section) -> Section:
    bullets = (
        bullet if bullet.sources else Bullet(f"{bullet.text} {UNSUPPORTED}") for bullet in section.bullets
    )
    return Section(section.title, tuple(bullets))


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


def with_preference(text: str, rule: Bullet) -> str:
    """Return the text of the six sections with an instruction at the end of the user's preferences."""
    sources = ", ".join(f"e{seq}" for seq in rule.sources)
    bullet = f"- {' '.join(rule.text.split())} [{sources}]"
    head, heading, rest = text.partition("## User Preferences")
    if not heading:
        return f"{text.rstrip()}\n\n## User Preferences\n{bullet}\n"
    section, following, others = rest.partition("\n## ")
    end = f"\n\n## {others}" if following else "\n"
    return f"{head}{heading}{section.rstrip()}\n{bullet}{end}"
