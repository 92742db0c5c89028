"""Handovers that are edited as Markdown, written again, or compared section by section."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, get_args

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock
from helix_desktop.context.summaries.cut_points import CutPoint
from helix_desktop.context.summaries.handover import (
    UNSUPPORTED,
    comparable_sentence,
    parse_bullet,
    parse_bullets,
    parse_heading,
    section_text,
    section_title,
    uncovered_messages,
)
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger, Undone
from helix_desktop.domain.events.summary import SECTIONS, Bullet, HandoverMade, Section
from helix_desktop.domain.file_history.line_match import Span, SpanBudget, compare_words
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


def without_handover(transcript: Transcript) -> tuple[Transcript, tuple[int, ...]]:
    """Return a fork without the active handover, and what another one of its messages replaces.

    That is the active one and those that would stand in its place: former texts and runs of it.
    """
    fork, replaced = transcript.fork(), list[int]()
    upto = transcript.window.handover[1].upto if transcript.window.handover else 0
    while fork.window.handover is not None and fork.window.handover[1].upto >= upto:
        replaced.append(fork.window.handover[0])
        undone = Undone(fork.window.handover[0])
        fork.apply(RecordedEvent(fork.last_seq + 1, fork.last_event_at_ms, undone))
    return fork, tuple(replaced)


def same_cut(fork: Transcript, upto: int, kept_seq: int) -> CutPoint:
    """Return the cut of a handover that `fork` is without; its tokens are those of the window."""
    messages = len(uncovered_messages(fork, upto, kept_seq))
    covered = (
        entry
        for entry in fork.window.entries()
        if isinstance(entry, LogItem | SummaryBlock)
        and entry.upto <= upto
        and entry.seq != kept_seq
        and not isinstance(entry.event, HandoverMade)
    )
    return CutPoint(upto, kept_seq, messages, sum(map(fork.window.entry_tokens, covered)))


ItemChange: TypeAlias = Literal["dropped", "below", "changed", "moved", "added", "same"]
"""`below`: no section has it any more, but the list below them, of what they don't name, says the same."""
ITEM_CHANGES: tuple[ItemChange, ...] = get_args(ItemChange)
MISSING_CHANGES: tuple[ItemChange, ...] = ("dropped", "below")
"""What no section of the later handover has."""

_MIN_SAME = 0.6  # of the characters of both: below it, one sentence was dropped and another one added
_MAX_OTHER_CHARS = 24  # that differ between two sentences of different events; two requests may begin alike
_SHARED_WORDS = 0.6  # of the words of the shorter of two sentences of one event: so many say the same
_WORD = re.compile(r"\w{3,}")


class ComparedItem(msgspec.Struct, frozen=True):
    """One sentence in both handovers, or in one of them; `moved_from` is the title of its former section.

    Of a changed one, the spans are what differs, in characters of `comparable_sentence` of its text.
    """

    change: ItemChange
    before: Bullet | None = None
    after: Bullet | None = None
    moved_from: str = ""
    before_spans: tuple[Span, ...] = ()
    after_spans: tuple[Span, ...] = ()


class ComparedSection(msgspec.Struct, frozen=True):
    """One section, its items in the order of `ITEM_CHANGES`."""

    title: str
    items: tuple[ComparedItem, ...] = ()

    def count(self, change: ItemChange) -> int:
        """Return how many items changed in this way."""
        return sum(item.change == change for item in self.items)


def listed_below(handover: HandoverMade) -> tuple[Bullet, ...]:
    """Return the facts that stand below a handover's sections because they don't name them."""
    return tuple(fact for kind in handover.coverage for fact in kind.missing)


def compare_handovers(
    before: Sequence[Section], after: Sequence[Section], below: Sequence[Bullet] = ()
) -> tuple[ComparedSection, ...]:
    """Return all sections of two handovers, those with dropped items first, else in their usual order.

    Sentences are equal whatever their spaces, sources and mark of an unsupported one. One that stands in
    another section was moved, one of which most characters are the same was changed; of another event, one
    of which all but a few are. `below` are the facts listed below the later one's sections.
    """
    titles = dict.fromkeys((*SECTIONS, *(section.title for section in (*before, *after))))
    old, new = _by_title(before, titles), _by_title(after, titles)
    items: dict[str, list[ComparedItem]] = {title: [] for title in titles}
    for title in titles:
        for was, now in _take_equal(old[title], new[title]):
            items[title].append(ComparedItem("same", was, now))
    for title in titles:
        for old_title in titles:
            for was, now in _take_equal(old[old_title], new[title]):
                items[title].append(ComparedItem("moved", was, now, old_title))
    budget = SpanBudget()
    for title in titles:
        items[title] += _take_changed(old[title], new[title], budget)
        items[title] += (
            ComparedItem("below" if _is_among(bullet, below) else "dropped", before=bullet)
            for bullet in old[title]
        )
        items[title] += (ComparedItem("added", after=bullet) for bullet in new[title])
        items[title].sort(key=lambda item: ITEM_CHANGES.index(item.change))
    sections = (ComparedSection(title, tuple(items[title])) for title in titles)
    return tuple(sorted(sections, key=lambda section: not section.count("dropped")))


def _is_among(bullet: Bullet, below: Iterable[Bullet]) -> bool:
    """Return True if a fact of one of the sentence's events has most of its words."""
    words = _words(bullet)
    same_event = [_words(fact) for fact in below if {*fact.sources} & {*bullet.sources}]
    return any(len(words & fact) >= max(1, _SHARED_WORDS * min(len(words), len(fact))) for fact in same_event)


def _words(bullet: Bullet) -> frozenset[str]:
    return frozenset(_WORD.findall(comparable_sentence(bullet.text).lower()))


def _by_title(sections: Iterable[Section], titles: Iterable[str]) -> dict[str, list[Bullet]]:
    bullets: dict[str, list[Bullet]] = {title: [] for title in titles}
    for section in sections:
        bullets[section.title] += section.bullets
    return bullets


def _take_equal(old: list[Bullet], new: list[Bullet]) -> list[tuple[Bullet, Bullet]]:
    """Remove the sentences that are in both lists from them, and return them in the order of `new`."""
    places: dict[str, list[int]] = {}
    for place, bullet in enumerate(old):
        places.setdefault(comparable_sentence(bullet.text), []).append(place)
    pairs: list[tuple[int, Bullet]] = []
    rest: list[Bullet] = []
    for bullet in new:
        equal = places.get(comparable_sentence(bullet.text))
        if equal:
            pairs.append((equal.pop(0), bullet))
        else:
            rest.append(bullet)
    result = [(old[place], bullet) for place, bullet in pairs]
    paired = {place for place, _ in pairs}
    old[:] = [bullet for place, bullet in enumerate(old) if place not in paired]
    new[:] = rest
    return result


def _take_changed(old: list[Bullet], new: list[Bullet], budget: SpanBudget) -> list[ComparedItem]:
    """Remove the sentences that became others from both lists, and return them."""
    removed, added = ([comparable_sentence(bullet.text) for bullet in bullets] for bullets in (old, new))
    compared = [
        pair
        for pair in compare_words(removed, added, budget)
        if _same_share(removed[pair.old], pair.old_spans, added[pair.new], pair.new_spans) >= _MIN_SAME
        and (
            _may_be_of_one_event(old[pair.old], new[pair.new])
            or max(_length(pair.old_spans), _length(pair.new_spans)) <= _MAX_OTHER_CHARS
        )
    ]
    items = [
        ComparedItem("changed", old[pair.old], new[pair.new], "", pair.old_spans, pair.new_spans)
        for pair in compared
    ]
    for place in sorted((pair.old for pair in compared), reverse=True):
        del old[place]
    for place in sorted((pair.new for pair in compared), reverse=True):
        del new[place]
    return items


def _may_be_of_one_event(old: Bullet, new: Bullet) -> bool:
    return not old.sources or not new.sources or bool({*old.sources} & {*new.sources})


def _same_share(old: str, old_spans: Iterable[Span], new: str, new_spans: Iterable[Span]) -> float:
    return 1 - (_length(old_spans) + _length(new_spans)) / max(1, len(old) + len(new))


def _length(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)
