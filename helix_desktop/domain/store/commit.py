"""What is stored at once: one commit, where a branch leaves its parent, and what is not recorded yet."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import msgspec

from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.store.entries import Content, SessionSummary


class PartialOutput(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end of what a running call has printed so far.

    `duration_ms` is for how many milliseconds it had run when this was saved; 0: an older version saved it.
    """

    call_id: str
    text: str
    duration_ms: int = 0


class Draft(msgspec.Struct, frozen=True, omit_defaults=True):
    """An unsent message: its text and attachments.

    With it is stored what came so far of an answer: as it would be recorded, with the seq of the event that
    it follows; and what running calls printed.
    """

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    partial_answer: RecordedEvent | None = None
    partial_outputs: tuple[PartialOutput, ...] = ()

    def __bool__(self) -> bool:
        """Return True if the message is not empty."""
        return bool(self.text or self.attachments)

    @property
    def digests(self) -> frozenset[str]:
        """The digests of the stored contents it refers to; clean-ups must keep them."""
        image_digests = {
            attachment.image.digest for attachment in self.attachments if attachment.image is not None
        }
        return frozenset(image_digests | {attachment.digest for attachment in self.attachments})

    @property
    def size(self) -> int:
        """The length of the message's texts, in characters."""
        return len(self.text) + sum(len(attachment.text) for attachment in self.attachments)


def without_partial_answer(draft: Draft) -> Draft:
    """Return it without what came so far of an answer."""
    return msgspec.structs.replace(draft, partial_answer=None)


class BranchPoint(msgspec.Struct, frozen=True):
    """The session whose log a branch begins with, and the last event that the two share."""

    parent: str
    seq: int


def point_in(recorded: RecordedEvent) -> BranchPoint | None:
    """Return the point at which an event begins a branch; None for any other event."""
    event = recorded.event
    if not isinstance(event, SessionBranched) or recorded.seq != event.seq + 1:
        return None
    return BranchPoint(event.parent, event.seq)


def listed_session(
    session_id: str, seq: int, hidden: Container[str], points: Mapping[str, BranchPoint]
) -> str:
    """Return a session that has event `seq` of `session_id` and is not hidden: itself, or a branch of it."""
    if session_id not in hidden:
        return session_id
    having = {session_id}
    for _ in points:
        more = {
            name for name, point in points.items() if point.parent in having and seq <= point.seq
        } - having
        if not more:
            break
        having |= more
    return min((name for name in having if name not in hidden), default=session_id)


_EVENT_BYTES = 512  # size in bytes assumed for an event when queued work is bounded


class Commit(msgspec.Struct, frozen=True, array_like=True):
    """Events, contents, recalled contents and the summary of one session: all of it is stored, or nothing.

    With `ends_partial_answer`, what was saved of an answer that was still being received is deleted.
    It crosses the wire as a list in this order: fields are only added, last and with a default.
    """

    session_id: str
    events: Sequence[RecordedEvent] = ()
    contents: Sequence[Content] = ()
    recalls: Sequence[str] = ()
    summary: SessionSummary | None = None
    ends_partial_answer: bool = False

    def __post_init__(self) -> None:
        """Keep what was passed, whatever the caller does with its lists meanwhile."""
        for name in ("events", "contents", "recalls"):
            msgspec.structs.force_setattr(self, name, tuple(getattr(self, name)))

    @property
    def size(self) -> int:
        """Return the approximate size in memory, in bytes."""
        return _EVENT_BYTES * (1 + len(self.events)) + sum(len(content.data) for content in self.contents)

    @property
    def is_empty(self) -> bool:
        """Return True if there is nothing to store."""
        return not (self.events or self.contents or self.recalls or self.summary)

    @property
    def changes_session(self) -> bool:
        """Return True if the session itself changes: its log, or its place in the list."""
        return bool(self.events or self.summary)
