"""Handovers edited as Markdown, written again, compared, or continued to what they would be now."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from itertools import count
from typing import Literal, TypeAlias, get_args

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.summaries.covered_facts import (
    CHARS_PER_TOKEN,
    CoveredFacts,
    check_covered_facts,
    missing_facts_text,
)
from helix_desktop.context.summaries.extractive_handover import HistoryExtract
from helix_desktop.context.summaries.handover import (
    NOTHING_RECORDED,
    UNSUPPORTED,
    comparable_sentence,
    inherited_quotes,
    newest_checkpoint,
    parse_bullet,
    parse_bullets,
    parse_heading,
    previous_handover,
    section_text,
    section_title,
    uncovered_messages,
    user_text_seqs,
    user_texts,
)
from helix_desktop.context.summaries.index_entry import build_index_entry
from helix_desktop.context.summaries.legal_ranges import HandoverRange
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger, Undone
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    Bullet,
    HandoverMade,
    Quote,
    Section,
    SummaryCoverage,
)
from helix_desktop.domain.file_history.line_match import Span, SpanBudget, compare_words
from helix_desktop.domain.store import MessageCounts
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.typed_text import typed_text

_text = TextContext("Context")


class HandoverPreview(msgspec.Struct, frozen=True):
    """The handover of all messages up to event `upto`: sections, ledger, and what they do not name.

    `counts` counts these messages.
    """

    upto: int
    counts: MessageCounts
    sections: tuple[Section, ...]
    ledger: str
    coverage: tuple[SummaryCoverage, ...]


def preview_handover(transcript: Transcript, policy: ContextPolicy, window_size: int) -> HandoverPreview:
    """Return the handover of the whole history as it would be now, without a model.

    It reads all messages but those that the user excluded, about 20 ms for 1,000 events: use a fork and a
    thread.
    """
    items = transcript.messages.items
    extract = HistoryExtract()
    facts = CoveredFacts(extract.ledger)
    for item in transcript.window.without_excluded(items):
        extract.add(item)
        facts.add(item)
    extract.ledger.mark_reverted(transcript.reverted_files.by_path)
    extract.ledger.mark_skills(transcript.skill_folders)
    checkpoint = newest_checkpoint(transcript)
    sections = extract.sections(checkpoint[1] if checkpoint else previous_handover(transcript))
    ledger = extract.ledger.text(policy.ledger_tokens)
    text = "\n".join([*(section_text(section, mark_unsupported=False) for section in sections), ledger])
    upto = items[-1].seq if items else 0
    todo_list = transcript.todo_list_between(0, upto)
    quoted = user_text_seqs(transcript, upto, 0, policy.user_text_tokens, window_size)
    coverage = check_covered_facts(facts, text, policy.ledger_tokens * CHARS_PER_TOKEN, quoted, todo_list)
    return HandoverPreview(upto, transcript.messages.counts(upto=upto), sections, ledger, coverage)


_LAST_ANSWER_TOKENS = 4_000  # the newest answer goes along up to this size: follow-ups are about it
_COVERED = 1  # the event before it in its own log: the session's start, which is no message
_ENTRY_NUMBER = re.compile(r"(?<= [0-9a-f]{12}) e\d+\b| e\d+(?=$|: )")  # of a ledger's line
_EDIT_NUMBER = re.compile(r"(?<=edited since), e\d+(?=\)$)")
_SPACED_CITED = re.compile(r" \[e\d+\]")
_COPY = re.compile(r" \((\d{1,2})\)$")


def continued_handover(
    transcript: Transcript,
    session_id: str,
    seq: int,
    policy: ContextPolicy,
    window_size: int,
    handover: HandoverMade | None = None,
) -> tuple[HandoverMade, str]:
    """Return the first event of a session that continues another one, and the text of its index entry.

    `transcript` is that of the other one, `session_id`; `seq` is a handover or checkpoint of it, 0 the
    handover as it would be now, of every message: `handover` where a model wrote it, else made without one.
    The text is empty where the index entry is stored already. Event numbers of the other session are left
    out: here they would name other events. Raise InvalidInput if there is no such handover, or no message.
    The tokens of the event are to be counted.
    """
    recorded = transcript.written_handovers.get(seq)
    source = recorded if seq else handover or _preview(transcript, policy, window_size)
    if source is None:
        raise InvalidInput(
            _text("No session can start from this."),
            _text("Event e{event} isn't a handover summary of that session.", event=str(seq))
            if seq
            else _text("That session has no messages yet."),
            _text("Choose another session or handover summary."),
        )
    quotes, quoted, answer_seq = _quotes(transcript, source, policy, window_size)
    source = _without_quoted(source, quoted, answer_seq)
    index_text = ""
    entries = source.index_entries
    if not (seq and source.index):
        index_text, entries = build_index_entry(transcript, 0, source.upto)
    index = digest_of(index_text.encode("utf-8", "surrogatepass")) if index_text else source.index
    event = msgspec.structs.replace(
        source,
        upto=_COVERED,
        kept=0,
        sections=tuple(
            Section(section.title, tuple(Bullet(bullet.text) for bullet in section.bullets))
            for section in source.sections
        ),
        ledger=_without_numbers(source),
        coverage=(),
        handle_digits=policy.handle_digits,
        words=(),
        index=index,
        index_entries=entries,
        before=0,
        former=0,
        revises=0,
        replaces=(),
        checkpoint=0,
        trigger=HandoverTrigger.CONTINUED,
        threshold=0.0,
        origin=session_id,
        origin_title=transcript.title,
        origin_seq=seq,
        quotes=quotes,
    )
    if handover is None:  # what it took is on record in the other session
        event = msgspec.structs.replace(
            event, calls=0, spent=0, read=0, cost=0.0, duration_ms=0, refused="", fallback=""
        )
    return event, index_text


def continued_title(title: str, titles: Container[str]) -> str:
    """Return the title of a session that continues one of this title: its next number not in `titles`."""
    copy = _COPY.search(title)
    base, number = (title[: copy.start()], int(copy.group(1))) if copy else (title, 1)
    numbered = (f"{base} ({following})" for following in count(number + 1))
    return next(candidate for candidate in numbered if candidate not in titles)


def _preview(transcript: Transcript, policy: ContextPolicy, window_size: int) -> HandoverMade | None:
    preview = preview_handover(transcript, policy, window_size)
    if not transcript.messages.items:
        return None
    return HandoverMade(
        upto=preview.upto,
        kept=0,
        sections=preview.sections,
        ledger=preview.ledger,
        coverage=preview.coverage,
        index="",
        index_entries=0,
        tokens=0,
        before=0,
        after=0,
        messages=preview.counts.messages,
        model="",
        trigger=HandoverTrigger.CONTINUED,
    )


def _without_numbers(handover: HandoverMade) -> str:
    """Return the ledger, and below it what the check found missing, without the numbers of events."""
    lines = [
        _EDIT_NUMBER.sub("", _ENTRY_NUMBER.sub("", line, count=1)) for line in handover.ledger.splitlines()
    ]
    return "\n".join([*lines, *_SPACED_CITED.sub("", missing_facts_text(handover.coverage)).splitlines()])


def _without_quoted(handover: HandoverMade, quoted: Set[int], answer_seq: int) -> HandoverMade:
    """Return a handover without what stands whole below it: of the newest answer, and of what it leaves out.

    What a model or the user wrote stays.
    """
    sections = handover.sections
    if not handover.edited and handover.model in ("", NO_MODEL):
        sections = tuple(
            Section(section.title, tuple(each for each in section.bullets if each.sources != (answer_seq,)))
            for section in sections
        )
    coverage = tuple(
        msgspec.structs.replace(
            kind, missing=missing, verbatim=kind.verbatim + len(kind.missing) - len(missing)
        )
        for kind in handover.coverage
        for missing in [tuple(fact for fact in kind.missing if not set(fact.sources) <= quoted)]
    )
    return msgspec.structs.replace(handover, sections=sections, coverage=coverage)


def _quotes(
    transcript: Transcript, handover: HandoverMade, policy: ContextPolicy, window_size: int
) -> tuple[tuple[Quote, ...], Set[int], int]:
    """Return the words that go along verbatim, which messages these are, and which of them is an answer.

    They are the user's covered ones that fit, and the newest answer; 0 if that is too long.
    """
    cap = policy.user_text_tokens
    own = user_texts(transcript, handover, cap, window_size)
    quotes = [*inherited_quotes(transcript, handover, cap, window_size)]
    quotes += [Quote("user", text, tokens) for _, text, tokens in own]
    quoted = {seq for seq, _, _ in own}
    answer_seq = 0
    instruction = transcript.messages.item(handover.kept)  # it stays in the other window as a message
    if instruction is not None and isinstance(instruction.event, UserSpoke):
        words = typed_text(instruction.event.text)
        quotes += [Quote("user", words, instruction.word_tokens)] if words else []
    covered = [item for item in transcript.messages.items if item.seq <= handover.upto]
    covered = transcript.window.without_excluded(reversed(covered))
    newest = next(
        (item for item in covered if isinstance(item.event, AssistantSpoke) and item.event.text), None
    )
    if newest is not None and newest.event.tokens <= _LAST_ANSWER_TOKENS:
        quotes.append(Quote("agent", newest.event.text, newest.event.tokens))
        answer_seq = newest.seq
    return tuple(quotes), quoted | {answer_seq}, answer_seq


_CITED = re.compile(r"\s*\[(e\d{1,12}(?:\s*[,;]\s*e\d{1,12})*)\]")
_CITED_WITHIN = re.compile(_CITED.pattern + r"(?=\s*[^\s.])")
NO_SOURCE = "(no source)"
"""How the mark of an unsupported sentence reads where a user edits it."""
_MARK = re.compile(rf"{re.escape(UNSUPPORTED)}$", re.MULTILINE)
_WHAT = _text("The edited handover summary can't be read.")


def to_markdown(sections: Sequence[Section]) -> str:
    """Return the sections for editing, with unsupported sentences marked."""
    return "\n\n".join(section_text(section) for section in sections) + "\n"


def from_markdown(text: str, valid_seqs: frozenset[int]) -> tuple[Section, ...]:
    """Parse the sections a user edited; every line under a heading is a sentence or continues one.

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
            fix = _text("Start with the heading ## {heading}.", heading=TITLES[0])
            raise InvalidInput(_WHAT, _text("Line {line} is before the first heading.", line=number), fix)
        else:
            _add_line(current, line)
    missing = [title for title in TITLES if title not in texts]
    if missing:
        raise InvalidInput(
            _WHAT,
            _text("Headings are missing: {headings}.", headings=", ".join(missing)),
            _text("Add them again."),
        )
    return _parsed(texts, valid_seqs)


def to_fields(sections: Sequence[Section]) -> dict[str, str]:
    """Return the sentences of the sections for editing, by title; all of them, and what else there is."""
    fields = dict.fromkeys(TITLES, "")
    for section in sections:
        if section.bullets:
            text = section_text(section, mark_unsupported=False).partition("\n")[2]
            fields[section.title] = _MARK.sub(NO_SOURCE, text)
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


def fields_to_markdown(fields: Mapping[str, str]) -> str:
    return "\n\n".join(f"## {title}\n{text.strip()}".rstrip() for title, text in fields.items()) + "\n"


def markdown_to_fields(text: str) -> dict[str, str]:
    """Return the text below each heading; what stands before the first one, or below others, is kept, too."""
    fields = {title: list[str]() for title in TITLES}
    title = TITLES[0]
    for line in text.splitlines():
        known = section_title(parse_heading(line) or "")
        title = known or title
        if not known and line != NOTHING_RECORDED:
            fields[title].append(line)
    return {title: "\n".join(lines).strip("\n") for title, lines in fields.items()}


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
    """Return the sections of these sentences, the usual ones first. Raise InvalidInput if there is none."""
    titles = dict.fromkeys((*TITLES, *texts))
    sections = tuple(
        Section(title, parse_bullets(map(_as_sent, texts.get(title, ())), valid_seqs, keep_mark=True))
        for title in titles
    )
    if not any(section.bullets for section in sections):
        raise InvalidInput(_WHAT, _text("It is empty."), _text("Write at least one sentence."))
    return sections


def _as_sent(sentence: str) -> str:
    return f"{sentence.removesuffix(NO_SOURCE)}{UNSUPPORTED * sentence.endswith(NO_SOURCE)}"


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


def editable_sections(handover: HandoverMade) -> tuple[Section, ...]:
    """Return the sections of a handover for editing, with unsupported sentences marked in the text."""
    if handover.edited:
        return handover.sections
    marked = (
        (section.title, (it if it.sources else Bullet(f"{it.text} {UNSUPPORTED}") for it in section.bullets))
        for section in handover.sections
    )
    return tuple(Section(title, tuple(bullets)) for title, bullets in marked)


def _title(heading: str, number: int, sections: dict[str, list[str]]) -> str:
    title = section_title(heading)
    if not title:
        why = _text("Line {line}: {heading} isn't one of the headings.", line=number, heading=repr(heading))
        raise InvalidInput(_WHAT, why, _text("The headings are: {headings}.", headings=", ".join(TITLES)))
    if title in sections:
        raise InvalidInput(
            _WHAT,
            _text("Line {line}: the heading {heading} appears twice.", line=number, heading=title),
            _text("Merge its two sections."),
        )
    return title


def without_handover(transcript: Transcript) -> tuple[Transcript, tuple[int, ...]]:
    """Return a fork without the active handover, and what another one of its messages replaces.

    That is the active one and those that would stand in its place: former texts and runs of it.
    """
    fork = transcript.fork()
    replaced = list[int]()
    upto = transcript.window.handover[1].upto if transcript.window.handover else 0
    while fork.window.handover is not None and fork.window.handover[1].upto >= upto:
        replaced.append(fork.window.handover[0])
        undone = Undone(fork.window.handover[0])
        fork.apply(RecordedEvent(fork.last_seq + 1, fork.last_event_at_ms, undone))
    return fork, tuple(replaced)


def same_range(fork: Transcript, upto: int, kept_seq: int) -> HandoverRange:
    """Return the range of a handover that `fork` is without; its tokens are those of the window."""
    messages = len(uncovered_messages(fork, upto, kept_seq))
    covered = (
        entry
        for entry in fork.window.entries()
        if isinstance(entry, LogItem | SummaryBlock)
        and entry.upto <= upto
        and entry.seq != kept_seq
        and not isinstance(entry.event, HandoverMade)
    )
    return HandoverRange(upto, kept_seq, messages, sum(map(fork.window.entry_tokens, covered)))


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
    titles = dict.fromkeys((*TITLES, *(section.title for section in (*before, *after))))
    old = _by_title(before, titles)
    new = _by_title(after, titles)
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
        for lengths in [(_length(pair.old_spans), _length(pair.new_spans))]
        if 1 - sum(lengths) / max(1, len(removed[pair.old]) + len(added[pair.new])) >= _MIN_SAME
        and (_may_be_of_one_event(old[pair.old], new[pair.new]) or max(lengths) <= _MAX_OTHER_CHARS)
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


def _length(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)
