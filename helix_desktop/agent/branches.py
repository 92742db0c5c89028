"""Makes branches: a session that begins with a part of another one's log, which is not copied."""

from __future__ import annotations

import uuid
from collections.abc import Container, Sequence

from helix_desktop.agent.ports import Clock, Store
from helix_desktop.context.summaries.continued_handover import continued_title
from helix_desktop.domain.draft import Draft
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.session import (
    NEW_TITLE,
    AssistantSpoke,
    BranchKind,
    RecordedEvent,
    SessionBranched,
    SessionRenamed,
    SessionStarted,
    ToolAnswered,
    UserSpoke,
)
from helix_desktop.domain.store.branch_point import BranchPoint
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import SessionSummary
from helix_desktop.domain.user_text import TextContext

_text = TextContext("Agent")

_MESSAGES = (UserSpoke, AssistantSpoke, ToolAnswered)
_TITLED = (SessionStarted, SessionRenamed, SessionBranched)


async def store_branch(
    store: Store,
    clock: Clock,
    log: Sequence[RecordedEvent],
    point: BranchPoint,
    title: str,
    how: BranchKind,
    draft: Draft,
) -> tuple[SessionSummary, RecordedEvent]:
    """Store a branch of a log, with its draft; return it and its first own event. Raise StoreError."""
    session, now_ms = uuid.uuid4().hex, clock()
    first = RecordedEvent(point.seq + 1, now_ms, SessionBranched(point.parent, point.seq, title, how))
    summary = SessionSummary(
        session,
        title,
        now_ms,
        now_ms,
        messages=sum(isinstance(recorded.event, _MESSAGES) for recorded in log[: point.seq]),
        events=first.seq,
        branch_of=point.parent,
        branch_seq=point.seq,
        branch_how=how,
    )
    await store.commit(Commit(session, [first], summary=summary))
    if draft:
        await store.save_draft(session, draft.text, draft.attachments)
    return summary, first


def branch_title(log: Sequence[RecordedEvent], point: BranchPoint, titles: Container[str]) -> str:
    """Return the title of a branch of a log: that of the log with a number, none of `titles`.

    Without a message before the point its first one will title it.
    """
    if not any(isinstance(recorded.event, UserSpoke) for recorded in log[: point.seq]):
        return NEW_TITLE
    events = (recorded.event for recorded in reversed(log))
    titled = (event.title for event in events if isinstance(event, _TITLED))
    return continued_title(next(titled, NEW_TITLE), titles)


def require_branchable(log: Sequence[RecordedEvent]) -> None:
    """Raise InvalidInput for a session without a log, and for one of a subagent."""
    first = log[0].event if log else None
    if first is None:
        raise InvalidInput(
            _text("The session can't be branched there."),
            _text("It is empty."),
            _text("Start a new session."),
        )
    if isinstance(first, SessionStarted) and first.parent:
        raise InvalidInput(
            _text("A subagent's session can't be branched."),
            _text("It belongs to the call that started it."),
            _text("Branch the session that it works for."),
        )


def message_draft(log: Sequence[RecordedEvent], seq: int) -> Draft:
    """Return the user's message `seq` as a draft; an empty one if that is none."""
    event = log[seq - 1].event if 0 < seq <= len(log) else None
    return Draft(event.text, event.attachments) if isinstance(event, UserSpoke) else Draft()
