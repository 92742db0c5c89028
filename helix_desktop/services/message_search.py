"""Finds messages and calls by their words in the logs of sessions."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.files.file_use import call_target
from helix_desktop.domain.store import SessionSummary
from helix_desktop.domain.text_search import ExcerptSize, excerpt_of, normalize

_log = logging.getLogger(__name__)

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
