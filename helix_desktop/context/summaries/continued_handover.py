"""The handover as it would be now, never stored, and the one that a new session begins with."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Set
from itertools import count

import msgspec

from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.context.log.rewrite_state import ExcludedCover
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries.handover import (
    inherited_quotes,
    newest_checkpoint,
    previous_handover,
    section_text,
    user_text_seqs,
    user_texts,
)
from helix_desktop.context.summaries.handover_fallback import HistoryExtract
from helix_desktop.context.summaries.index_entry import build_index_entry
from helix_desktop.context.summaries.summary_coverage import (
    CHARS_PER_TOKEN,
    CoveredFacts,
    also_named,
    check_summary_coverage,
)
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.rewrite import Excluded, HandoverTrigger
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    Bullet,
    HandoverMade,
    Quote,
    Section,
    SummaryCoverage,
)
from helix_desktop.domain.store.entries import MessageCounts
from helix_desktop.domain.translatable_text import TextContext


class HandoverPreview(msgspec.Struct, frozen=True):
    """The handover of all messages up to event `upto`: six sections, ledger, and what they do not name.

    `counts` counts these messages.
    """

    upto: int
    counts: MessageCounts
    sections: tuple[Section, ...]
    ledger: str
    coverage: tuple[SummaryCoverage, ...]


class HandoverPreviewWriter:
    """Writes the preview of one session again and again, without reading any message twice.

    A first call reads the whole history (about 20 ms for 1,000 events: use a thread), later ones what came
    since. It may run beside the session, one call at a time: it reads messages only. What the user excluded
    is left out; another exclusion reads all again.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._extract = HistoryExtract()
        self._facts = CoveredFacts(self._extract.ledger)
        self._count = 0
        self._last: LogItem | None = None
        self._hidden: tuple[dict[int, Excluded], tuple[ExcludedCover, ...]] = ({}, ())
        self._reverts: Mapping[str, FileRevert] = {}

    def write(self, transcript: Transcript, policy: ContextPolicy, window_size: int) -> HandoverPreview:
        """Return the preview, as it would be in a window of `window_size` tokens."""
        items, excluded = transcript.messages.items, transcript.rewrites.excluded
        end = len(items)
        hidden = excluded, transcript.rewrites.excluded_covers
        is_shorter = self._count > end or (self._count and items[self._count - 1] is not self._last)
        reverts = transcript.reverted_files.by_path
        if is_shorter or hidden != self._hidden or reverts != self._reverts:
            self._reset()  # a repeated step removed messages, others are excluded, or files were reverted
            self._hidden, self._reverts = hidden, dict(reverts)
        for item in transcript.window.without_excluded(items[self._count : end]):
            self._extract.add(item)
            self._facts.add(item)
        self._extract.ledger.mark_reverted(reverts)
        self._count, self._last = end, items[end - 1] if end else None
        checkpoint = newest_checkpoint(transcript)
        sections = self._extract.sections(checkpoint[1] if checkpoint else previous_handover(transcript))
        ledger = self._extract.ledger.text(policy.ledger_tokens)
        text = "\n".join([*(section_text(section, mark_unsupported=False) for section in sections), ledger])
        upto = self._last.seq if self._last else 0
        todo_list = transcript.todo_list_between(0, upto)
        quoted = user_text_seqs(transcript, upto, 0, policy.user_text_tokens, window_size)
        max_chars = policy.ledger_tokens * CHARS_PER_TOKEN
        coverage = check_summary_coverage(self._facts, text, max_chars, quoted, todo_list)
        return HandoverPreview(upto, transcript.messages.counts(upto=upto), sections, ledger, coverage)


def preview_handover(transcript: Transcript, policy: ContextPolicy, window_size: int) -> HandoverPreview:
    """Return the handover of the whole history as it would be now, without a model."""
    return HandoverPreviewWriter().write(transcript, policy, window_size)


_text = TextContext("Context")

_LAST_ANSWER_TOKENS = 4_000  # the newest answer goes along up to this size: follow-ups are about it
_COVERED = 1  # the event before it in its own log: the session's start, which is no message
_ENTRY_NUMBER = re.compile(r"(?<= [0-9a-f]{12}) e\d+\b| e\d+(?=$|: )")  # of a ledger's line
_EDIT_NUMBER = re.compile(r"(?<=edited since), e\d+(?=\)$)")
_CITED = re.compile(r" \[e\d+\]")
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
            _text("Event e{event} isn't a handover of that session.", event=str(seq))
            if seq
            else _text("That session has no messages yet."),
            _text("Choose another session or handover."),
        )
    quotes, quoted, answer_seq = _quotes(transcript, source, policy, window_size)
    source = _without_quoted(source, quoted, answer_seq)
    index_text, entries = "", source.index_entries
    if not (seq and source.index):
        index_text, entries = build_index_entry(transcript, 0, source.upto)
    index = digest_of(index_text.encode("utf-8", "surrogatepass")) if index_text else source.index
    event = msgspec.structs.replace(
        source,
        upto=_COVERED,
        kept=0,
        sections=tuple(_without_sources(section) for section in source.sections),
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
    return "\n".join([*lines, *_CITED.sub("", also_named(handover.coverage)).splitlines()])


def _without_sources(section: Section) -> Section:
    return Section(section.title, tuple(Bullet(bullet.text) for bullet in section.bullets))


def _without_quoted(handover: HandoverMade, quoted: Set[int], answer_seq: int) -> HandoverMade:
    """Return a handover without what stands whole below it: of the newest answer, and of what it leaves out.

    What a model or the user wrote stays.
    """
    is_written = handover.edited or handover.model not in ("", NO_MODEL)
    sections = handover.sections
    if not is_written:
        sections = tuple(_without_bullets_of(answer_seq, section) for section in sections)
    coverage = tuple(
        msgspec.structs.replace(
            kind, missing=missing, verbatim=kind.verbatim + len(kind.missing) - len(missing)
        )
        for kind in handover.coverage
        for missing in [tuple(fact for fact in kind.missing if not set(fact.sources) <= quoted)]
    )
    return msgspec.structs.replace(handover, sections=sections, coverage=coverage)


def _without_bullets_of(seq: int, section: Section) -> Section:
    return Section(section.title, tuple(bullet for bullet in section.bullets if bullet.sources != (seq,)))


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
    quoted, answer_seq = {seq for seq, _, _ in own}, 0
    instruction = transcript.messages.item(handover.kept)  # it stays in the other window as a message
    if instruction is not None and isinstance(instruction.event, UserSpoke):
        quotes.append(Quote("user", instruction.event.text, instruction.event.tokens))
    covered = [item for item in transcript.messages.items if item.seq <= handover.upto]
    covered = transcript.window.without_excluded(reversed(covered))
    newest = next(
        (item for item in covered if isinstance(item.event, AssistantSpoke) and item.event.text), None
    )
    if newest is not None and newest.event.tokens <= _LAST_ANSWER_TOKENS:
        quotes.append(Quote("agent", newest.event.text, newest.event.tokens))
        answer_seq = newest.seq
    return tuple(quotes), quoted | {answer_seq}, answer_seq
