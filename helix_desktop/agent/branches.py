"""Branches of sessions, and sessions that start with the handover of another one."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Container, Sequence

import msgspec

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.ports import Store, TokenCounter
from helix_desktop.agent.session import Session
from helix_desktop.context.log.steps import holder_of, point_after, point_before_message, point_of_retry
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.summaries.extractive_handover import without_repeated_bullets
from helix_desktop.context.summaries.handover import render_handover
from helix_desktop.context.summaries.handover_revision import continued_handover, continued_title
from helix_desktop.context.summaries.index_entry import index_content
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import Excluded, Redone, Undone
from helix_desktop.domain.events.session import (
    NEW_TITLE,
    BranchKind,
    BudgetSet,
    EffortChosen,
    ModelChosen,
    SessionBranched,
    SessionStarted,
)
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverMade,
    HandoverPrepared,
    checkpoint_in,
)
from helix_desktop.domain.store import Commit, Content, Draft, SessionSummary
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.system.clock import ClockMs

FindSession = Callable[[str], Session | None]
OpenLog = Callable[[str, list[RecordedEvent], Transcript], Awaitable[Conversation]]
_NO_DRAFT = Draft()
_text = TextContext("Agent")


class BranchSource(msgspec.Struct, frozen=True):
    """A session to branch, as it is now: its log and its reduction.

    `is_open` is True if the transcript belongs to a conversation, which changes it.
    """

    session_id: str
    log: list[RecordedEvent]
    transcript: Transcript
    is_open: bool = False

    def own_transcript(self) -> Transcript:
        return self.transcript.fork() if self.is_open else self.transcript


class SessionBranches:
    """Makes branches of a workspace's sessions, of open ones as they are at that moment.

    Every method raises InvalidInput if the session is empty or a subagent's, and StoreError.
    """

    def __init__(self, store: Store, clock: ClockMs, find_session: FindSession, open_log: OpenLog) -> None:
        """`find_session` returns an open session, `open_log` opens a conversation with a log."""
        self._store = store
        self._clock = clock
        self._find_session = find_session
        self._open_log = open_log

    async def open(self, session_id: str, seq: int = 0, title: str = "") -> Conversation:
        """Create a branch of a session behind event `seq` (0: its last), and return its conversation.

        It goes on to the end of the step that this event is part of. Raises InvalidInput if there is no such
        event, or its step still runs.
        """
        source = await self._read_source(session_id)
        return await self._open(source, point_after(source.log, seq), title)

    async def create(self, session_id: str, seq: int = 0, title: str = "") -> SessionSummary:
        """Create a branch as `open` does, without opening it; return its line in the list."""
        source = await self._read_source(session_id)
        summary, _ = await self._create(source, point_after(source.log, seq), title)
        return summary

    async def open_for_edit(self, session_id: str, seq: int) -> Conversation:
        """Create a branch just before the user's message `seq`, with it as its draft.

        Raises InvalidInput if the event is no message of the user.
        """
        source = await self._read_source(session_id)
        draft = _message_draft(source.log, seq)
        return await self._open(source, point_before_message(source.log, seq), how="edit", draft=draft)

    async def open_for_rewind(self, session_id: str, seq: int) -> Conversation:
        """Create a branch just before the user's message `seq`, with it as its draft.

        It has the title of the session also where nothing precedes the message. Raises InvalidInput if the
        event is no message of the user.
        """
        source = await self._read_source(session_id)
        point = point_before_message(source.log, seq)
        return await self._open(source, point, how="rewind", draft=_message_draft(source.log, seq))

    async def open_for_retry(self, session_id: str, seq: int) -> Conversation:
        """Create a branch just after the message that began the turn of event `seq`.

        `Conversation.retry` then runs the turn again. Raises InvalidInput if the event is in no turn.
        """
        source = await self._read_source(session_id)
        return await self._open(source, point_of_retry(source.log, seq), how="retry")

    async def _read_source(self, session_id: str) -> BranchSource:
        """Return a session as it is now. Raise InvalidInput if it cannot be branched, StoreError."""
        if (session := self._find_session(session_id)) is not None:
            await session.drain()  # a branch of what the store refuses would be none
            await session.record_shown()
            source = BranchSource(session_id, list(session.log), session.transcript, is_open=True)
        else:
            log = await self._store.events(session_id)
            source = BranchSource(session_id, log, await asyncio.to_thread(Transcript, log))
        if not source.log:
            raise InvalidInput(
                _text("The session can't be branched there."),
                _text("It is empty."),
                _text("Start a new session."),
            )
        if source.transcript.parent:
            raise InvalidInput(
                _text("A subagent's session can't be branched."),
                _text("It belongs to the call that started it."),
                _text("Branch the session that it works for."),
            )
        return source

    async def _open(
        self, source: BranchSource, seq: int, title: str = "", how: BranchKind = "", draft: Draft = _NO_DRAFT
    ) -> Conversation:
        at_end = seq == len(source.log)
        state = source.own_transcript() if at_end else None  # at once: an open session goes on meanwhile
        branch, own = await self._create(source, seq, title, how, draft)
        if state is None:
            state = await asyncio.to_thread(Transcript, source.log[:seq])
        for recorded in own:
            state.apply(recorded)
        return await self._open_log(branch.id, [*source.log[:seq], *own], state)

    async def _create(
        self, source: BranchSource, seq: int, title: str = "", how: BranchKind = "", draft: Draft = _NO_DRAFT
    ) -> tuple[SessionSummary, list[RecordedEvent]]:
        """Store a branch of events up to `seq`, with its draft; return it and its own events.

        A version has the title of the session, but a first message that is edited titles it again unless the
        user did.
        """
        users = source.transcript.messages.user_items
        is_untitled = (not users or users[0].seq > seq) and how != "rewind"  # its first message titles it
        if not title and how in ("edit", "retry"):
            title = NEW_TITLE if is_untitled and source.transcript.titled_by else source.transcript.title
        elif not title:
            titles = {summary.title for summary in await self._store.sessions() if not summary.parent}
            title = NEW_TITLE if is_untitled else continued_title(source.transcript.title, titles)
        now_ms = self._clock()
        session_id = uuid.uuid4().hex
        parent = holder_of(source.transcript, source.session_id, seq)
        branched = SessionBranched(parent, seq, title, how)
        events = [branched, *_later_choices(source.log, seq, is_version=branched.is_version)]
        events += _later_checkpoint(source.log, seq)
        own = [RecordedEvent(number, now_ms, event) for number, event in enumerate(events, seq + 1)]
        counts = source.transcript.messages.counts(upto=seq)
        summary = SessionSummary(
            session_id,
            title,
            now_ms,
            now_ms,
            messages=counts.messages,
            calls=counts.calls,
            events=own[-1].seq,
            branch_of=parent,
            branch_seq=seq,
            branch_how=how,
        )
        await self._store.commit(Commit(session_id, own, summary=summary))
        if draft:
            await self._store.save_draft(session_id, draft.text, draft.attachments)
        return summary, own


def _later_choices(log: Sequence[RecordedEvent], seq: int, *, is_version: bool) -> list[Event]:
    """Return what the user chose behind event `seq`, with which the branch goes on: model and effort.

    A version has the session's budget, too.
    """
    kinds = (ModelChosen, EffortChosen, BudgetSet) if is_version else (ModelChosen, EffortChosen)
    choices = (entry for entry in log if isinstance(entry.event, kinds))
    newest = {type(entry.event): entry for entry in choices}
    return [entry.event for entry in newest.values() if entry.seq > seq]


def _later_checkpoint(log: Sequence[RecordedEvent], seq: int) -> list[Event]:
    """Return the newest checkpoint that was recorded behind event `seq` and covers nothing behind it.

    Without it a model would be asked again, in the same words. It is paid for in the other log. One that was
    written with other messages left out is not taken along.
    """
    for recorded in reversed(log[seq:]):
        if isinstance(recorded.event, Excluded | Undone | Redone):
            return []
        checkpoint = checkpoint_in(recorded.event)
        if checkpoint is None or checkpoint.handover.upto > seq:
            continue
        handover = msgspec.structs.replace(
            checkpoint.handover, calls=0, spent=0, read=0, cost=0.0, unpriced=0, duration_ms=0
        )
        cited = (source for part in handover.sections for bullet in part.bullets for source in bullet.sources)
        if max(handover.former, handover.revises, *cited, 0) > seq:
            continue
        return [HandoverDiscarded(unpriced=0, prepared=HandoverPrepared(handover, checkpoint.history))]
    return []


def _message_draft(log: Sequence[RecordedEvent], seq: int) -> Draft:
    """Return the user's message `seq` as a draft; an empty one if that is none."""
    event = log[seq - 1].event if 0 < seq <= len(log) else None
    return Draft(event.text, event.attachments) if isinstance(event, UserSpoke) else Draft()


async def continuation(
    transcript: Transcript,
    session_id: str,
    seq: int,
    policy: ContextPolicy,
    window_size: int,
    counter: TokenCounter,
    titles: Container[str] = (),
    handover: HandoverMade | None = None,
) -> tuple[tuple[Event, ...], tuple[Content, ...]]:
    """Return the first events of a session that continues `session_id`, and the content to store with them.

    Its title is none of `titles`; for `seq`, `handover` and errors see `continued_handover`. The transcript
    must not change meanwhile.
    """
    event, index_text = await asyncio.to_thread(
        continued_handover, transcript, session_id, seq, policy, window_size, handover
    )
    as_sent = without_repeated_bullets(event, [quote.text for quote in event.quotes])
    (tokens,) = await counter.count([render_handover(as_sent, ())])
    quoted = sum(quote.tokens for quote in event.quotes)
    event = msgspec.structs.replace(event, tokens=tokens, after=tokens + quoted)
    contents = (index_content(index_text, "handover", f"e{transcript.last_seq}"),) if index_text else ()
    return (SessionStarted(continued_title(transcript.title, titles)), event), contents
