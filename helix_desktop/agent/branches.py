"""Makes branches: a session that begins with a part of another one's log, which is not copied."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Container, Sequence

import msgspec

from helix_desktop.agent.ports.store import Store
from helix_desktop.agent.session import Session
from helix_desktop.context.log.branch_points import holder_of
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.continued_handover import continued_title
from helix_desktop.domain.draft import Draft
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import NEW_TITLE, BranchKind, SessionBranched
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import SessionSummary
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Agent")


class BranchSource(msgspec.Struct, frozen=True):
    """A session to branch, as it is now: its log and its reduction.

    `is_open` is True if the transcript belongs to a conversation, which changes it.
    """

    session: str
    log: list[RecordedEvent]
    transcript: Transcript
    is_open: bool = False

    def own_transcript(self) -> Transcript:
        """Return the reduction of the whole log, for one's own use."""
        return self.transcript.fork() if self.is_open else self.transcript


async def store_branch(
    store: Store, now_ms: int, source: BranchSource, seq: int, title: str, how: BranchKind, draft: Draft
) -> tuple[SessionSummary, RecordedEvent]:
    """Store a branch of events up to `seq`, with its draft; return it and its first own event.

    Raise StoreError.
    """
    session, parent = uuid.uuid4().hex, holder_of(source.transcript, source.session, seq)
    first = RecordedEvent(seq + 1, now_ms, SessionBranched(parent, seq, title, how))
    counts = source.transcript.counts(upto=seq)
    summary = SessionSummary(
        session,
        title,
        now_ms,
        now_ms,
        messages=counts.messages,
        calls=counts.calls,
        events=first.seq,
        branch_of=parent,
        branch_seq=seq,
        branch_how=how,
    )
    await store.commit(Commit(session, [first], summary=summary))
    if draft:
        await store.save_draft(session, draft.text, draft.attachments)
    return summary, first


def branch_title(transcript: Transcript, seq: int, titles: Container[str]) -> str:
    """Return the title of a branch that leaves a log behind event `seq`: with a number, none of `titles`.

    Without a message before the point its first one will title it.
    """
    users = transcript.user_items
    if not users or users[0].seq > seq:
        return NEW_TITLE
    return continued_title(transcript.title, titles)


async def read_branch_source(store: Store, session: str, open_session: Session | None) -> BranchSource:
    """Return a session as it is now. Raise InvalidInput if it cannot be branched, StoreError."""
    if open_session is not None:
        source = BranchSource(session, list(open_session.log), open_session.transcript, is_open=True)
    else:
        log = await store.events(session)
        source = BranchSource(session, log, await asyncio.to_thread(Transcript, log))
    _require_branchable(source)
    return source


def _require_branchable(source: BranchSource) -> None:
    """Raise InvalidInput for a session without a log, and for one of a subagent."""
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


def message_draft(log: Sequence[RecordedEvent], seq: int) -> Draft:
    """Return the user's message `seq` as a draft; an empty one if that is none."""
    event = log[seq - 1].event if 0 < seq <= len(log) else None
    return Draft(event.text, event.attachments) if isinstance(event, UserSpoke) else Draft()
