"""Finds messages and calls by their words in the logs of sessions, and the part of each that a list shows."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

import msgspec

from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.files.file_use import call_target
from helix_desktop.domain.store import SessionSummary
from helix_desktop.domain.text_format import plain_line
from helix_desktop.domain.text_search import normalize, original_index, visible_text

_log = logging.getLogger(__name__)

_MAX_CHARS = 160
_MAX_PLACES = 100  # of one word in a message that are looked at
_LEAST_PIECE = 12  # characters; less of a line says nothing
_GAP = " … "
_CUT = "…"


class ExcerptSize(NamedTuple):
    """How many characters a list has the width for, and how many of them before the first word."""

    room: int
    lead: int


class _Place(NamedTuple):
    """Where a word stands in the folded text of a message, and whether as a whole word."""

    start: int
    end: int
    term: int
    is_whole: bool
    line_end: int


class _Span(NamedTuple):
    """From one word to another on the same line of the folded text."""

    start: int
    end: int


@dataclass
class _Piece:
    """A part of the line with this number; `line` is the line as it is written."""

    number: int
    line: str
    begin: int
    end: int


def excerpt_of(text: str, folded: str, terms: Sequence[str], size: ExcerptSize) -> str:
    """Return one line of a message with as many of the normalized words as fit; `folded` has all of them.

    Where the words are near each other, it begins shortly before the first of them. Else it is made of pieces
    round them, which may come from several lines, each without the marks of Markdown.
    """
    places = _places(folded, terms)
    spans: list[_Span] = []
    most = max(1, min(len(terms), size.room // _LEAST_PIECE))
    width = size.room
    for count in range(1, most + 1):
        width = size.room if count == 1 else size.room // count - len(_GAP)
        spans, missing = _choose_spans(places, max(width, *map(len, terms)), count)
        if not missing:
            break
    return _join(_pieces(text, folded, sorted(spans), width, size.lead))


def _places(folded: str, terms: Sequence[str]) -> list[_Place]:
    places: list[_Place] = []
    for term, word in enumerate(terms):
        line_end = -1
        for match in islice(re.finditer(re.escape(word), folded), _MAX_PLACES):
            start, end = match.span()
            if start > line_end:
                line_end = folded.find("\n", start)
                line_end = len(folded) if line_end < 0 else line_end
            around = folded[max(0, start - 1) : start] + folded[end : end + 1]
            is_whole = not any(char.isalnum() or char == "_" for char in around)
            places.append(_Place(start, end, term, is_whole, line_end))
    return sorted(places)


def _choose_spans(places: Sequence[_Place], width: int, count: int) -> tuple[list[_Span], set[int]]:
    """Return spans of at most this width that hold the most words together, and the words in none of them."""
    missing, spans = {place.term for place in places}, list[_Span]()
    while missing and len(spans) < count:
        span, terms = _best_span(places, width, missing)
        spans.append(span)
        missing -= terms
    return spans, missing


def _best_span(places: Sequence[_Place], width: int, sought: set[int]) -> tuple[_Span, set[int]]:
    """Return the span with most of the sought words; then as whole words, then the shortest, the first."""

    def rank(candidate: tuple[_Span, dict[int, bool]]) -> tuple[int, int, int]:
        span, words = candidate
        return len(words), sum(words.values()), span.start - span.end

    span, words = max(_spans(places, width, sought), key=rank)
    return span, set(words)


def _spans(places: Sequence[_Place], width: int, sought: set[int]) -> Iterator[tuple[_Span, dict[int, bool]]]:
    """Yield each span from one place on, with the words in it, and if they stand there as whole words."""
    for at, first in enumerate(places):
        if first.term not in sought:
            continue
        end, words = first.end, {first.term: first.is_whole}
        yield _Span(first.start, end), dict(words)
        for place in islice(places, at + 1, None):
            if place.start >= min(first.start + width, first.line_end):
                break
            is_better = place.is_whole > words.get(place.term, False) or place.term not in words
            if place.term in sought and is_better and place.end <= first.start + width:
                end = max(end, place.end)
                words[place.term] = place.is_whole
                yield _Span(first.start, end), dict(words)


def _pieces(text: str, folded: str, spans: Sequence[_Span], width: int, lead: int) -> list[_Piece]:
    """Return what is shown round each span; the last goes on as far as there is something."""
    lines, pieces = text.split("\n"), list[_Piece]()
    for span in spans:
        line_start = folded.rfind("\n", 0, span.start) + 1
        number = folded.count("\n", 0, line_start)
        line, folded_line = lines[number].rstrip(), folded[line_start:].partition("\n")[0]
        start = original_index(lines[number], folded_line, span.start - line_start)
        end = original_index(lines[number], folded_line, span.end - 1 - line_start) + 1
        spare = max(0, width - (end - start))
        begin = _begin(line, start, min(lead, spare if len(spans) == 1 else spare // 2))
        limit = begin + _MAX_CHARS if span is spans[-1] else _end(line, end, begin + width)
        piece = _Piece(number, line, begin, min(len(line), limit))
        if pieces and pieces[-1].number == number and begin <= pieces[-1].end + 1:
            pieces[-1].end = max(pieces[-1].end, piece.end)
        else:
            pieces.append(piece)
    return pieces


def _begin(line: str, start: int, lead: int) -> int:
    """Return where a piece begins: with the line, or with a word at most `lead` characters before `start`."""
    first = len(line) - len(line.lstrip())
    if start - first <= lead:
        return first
    space = line.find(" ", start - lead, start)
    return space + 1 if space >= 0 else start - lead


def _end(line: str, end: int, limit: int) -> int:
    """Return where a piece ends, behind a word, from `end` on up to `limit`."""
    if limit >= len(line):
        return len(line)
    space = line.rfind(" ", end, limit + 1)
    return space if space >= 0 else max(end, limit)


def _join(pieces: Sequence[_Piece]) -> str:
    first, last = pieces[0], pieces[-1]
    before = _CUT if first.line[: first.begin].strip() else ""
    after = _CUT if last.line[last.end :].strip() else ""
    words = _GAP.join(plain_line(visible_text(piece.line[piece.begin : piece.end])) for piece in pieces)
    return f"{before}{words}{after}"


Speaker = Literal["user", "agent"]

_MAX_REMEMBERED = 40_000_000  # characters of messages that stay in memory while the user types
_WIDE = ExcerptSize(room=80, lead=30)
_STEP = 1_000  # events or messages between two looks whether the search still goes on


class SearchedSession(NamedTuple):
    """A session to search: its workspace, its summary, and what reads its whole log into a new list."""

    workspace_id: str
    summary: SessionSummary
    read_log: Callable[[], Awaitable[list[RecordedEvent]]]


class MessageHit(NamedTuple):
    """A message with all words of a search; `excerpt` is a line of it, or pieces, that shows them.

    Commands, paths and patterns of calls belong to the answer that made the calls.
    """

    workspace_id: str
    session_id: str
    seq: int
    at_ms: int
    speaker: Speaker
    excerpt: str


class _Message(msgspec.Struct, frozen=True, gc=False):
    """A message in memory; the garbage collector need not look at 100,000 of them, which stops the window."""

    seq: int
    at_ms: int
    speaker: Speaker
    text: str
    normalized: str


class _ReadMessages(NamedTuple):
    """The messages of a session, newest first, their characters, and when the session had changed last."""

    messages: list[_Message]
    size: int
    updated: int


class MessageSearch:
    """Searches the same sessions again and again, and remembers the messages it has read.

    Let it `forget` when the user has found what they looked for: a secret that is removed later is in no
    memory then.
    """

    def __init__(
        self,
        sessions: Iterable[SearchedSession],
        *,
        per_session: int | None = None,
        excerpt_size: ExcerptSize = _WIDE,
    ) -> None:
        """Search these sessions, last used first; find at most `per_session` messages of each (None: all)."""
        self._per_session, self._excerpt_size = per_session, excerpt_size
        self.unread: set[str] = set()  # sessions that could not be read by the newest search
        self._messages: dict[tuple[str, str], _ReadMessages] = {}
        self._remembered = 0
        self.set_sessions(sessions)

    def set_sessions(self, sessions: Iterable[SearchedSession]) -> None:
        """Search these sessions from now on; those that changed are read again."""
        self._sessions = sorted(sessions, key=lambda session: session.summary.updated, reverse=True)
        self._ids = {(session.workspace_id, session.summary.id) for session in self._sessions}

    async def find(self, terms: Sequence[str], limit: int) -> AsyncGenerator[list[MessageHit]]:
        """Yield messages with all of the normalized words, session by session, at most `limit`, newest first.

        A session that cannot be read is left out, and in `unread`. Ends between two steps when the caller is
        canceled.
        """
        self.unread = set()
        for session in self._sessions:
            stop_event = threading.Event()
            try:
                messages = await self._read(session, stop_event)
                most = min(limit, self._per_session or limit)
                found = await asyncio.to_thread(
                    _matches, messages, terms, most, self._excerpt_size, stop_event
                )
            except StoreError as error:
                _log.warning("The messages of session %s are not searched: %s", session.summary.id, error)
                self.unread.add(session.summary.id)
                continue
            finally:
                stop_event.set()  # canceling does not end a thread
            if found:
                where = (session.workspace_id, session.summary.id)
                yield [
                    MessageHit(*where, message.seq, message.at_ms, message.speaker, excerpt)
                    for message, excerpt in found
                ]
            limit -= len(found)
            if limit <= 0:
                return

    async def forget(self) -> None:
        """Drop what was read, in a thread: to free 100,000 messages takes longer than a frame."""
        messages, self._messages, self._remembered = self._messages, {}, 0
        await asyncio.to_thread(_drop, messages)

    async def _read(self, session: SearchedSession, stop_event: threading.Event) -> list[_Message]:
        """Return a session's messages, newest first. Raises StoreError."""
        key, updated = (session.workspace_id, session.summary.id), session.summary.updated
        remembered = self._messages.get(key)
        if remembered is not None and remembered.updated != updated:
            self._remembered -= self._messages.pop(key).size
            remembered = None
        if remembered is None:
            log = await session.read_log()
            # What a branch has of its parent is found there, if the parent is listed.
            is_in_parent = (session.workspace_id, session.summary.branch_of) in self._ids
            after = session.summary.branch_seq if is_in_parent else 0
            messages, size = await asyncio.to_thread(_messages_of, log, after, stop_event)
            if self._remembered + size > _MAX_REMEMBERED:
                return messages
            remembered = self._messages[key] = _ReadMessages(messages, size, updated)
            self._remembered += size
        return remembered.messages


def _messages_of(
    log: list[RecordedEvent], after: int, stop_event: threading.Event
) -> tuple[list[_Message], int]:
    """Return what was said and called after an event, newest first, and its characters, or a part.

    Empties the log, so that its events are freed here, one by one, and not all at once where it was read.
    """
    messages: list[_Message] = []
    size = 0
    while log:
        recorded = log.pop()
        if len(log) < after or stop_event.is_set():
            continue
        match recorded.event:
            case UserSpoke(text=text):
                speaker: Speaker = "user"
            case AssistantSpoke(text=text, calls=calls):
                speaker = "agent"
                targets = (call_target(call.arguments) for call in calls)
                text = "\n".join(filter(None, (text, *targets)))
            case _:
                continue
        if text:
            messages.append(_Message(recorded.seq, recorded.at, speaker, text, normalize(text)))
            size += len(text)
    return messages, size


def _drop(messages: dict[tuple[str, str], _ReadMessages]) -> None:
    """Empty the lists in steps: what runs beside it never waits for all of them."""
    while messages:
        dropped = messages.popitem()[1].messages
        while dropped:
            del dropped[-_STEP:]


def _matches(
    messages: Sequence[_Message],
    terms: Sequence[str],
    limit: int,
    excerpt_size: ExcerptSize,
    stop_event: threading.Event,
) -> list[tuple[_Message, str]]:
    """Return the first messages with all words, each with an excerpt."""
    first, *others = sorted(terms, key=len, reverse=True)  # a long word is in few messages
    found: list[tuple[_Message, str]] = []
    for start in range(0, len(messages), _STEP):
        if stop_event.is_set():
            break
        for message in messages[start : start + _STEP]:
            if first in message.normalized and all(term in message.normalized for term in others):
                excerpt = excerpt_of(message.text, message.normalized, terms, excerpt_size)
                found.append((message, excerpt))
                if len(found) == limit:
                    return found
    return found
