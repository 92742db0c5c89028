"""What one commit holds, and the rules it must keep: the same for both stores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from helix_desktop.domain.digest import digest_of, is_digest
from helix_desktop.domain.events.session import RecordedEvent
from helix_desktop.domain.store.entries import Content, SessionSummary
from helix_desktop.store.core import keys, store_errors
from helix_desktop.store.core.row_codec import MAX_CONTENT_BYTES

Clock = Callable[[], int]
"""Milliseconds since 1970."""

_EVENT_BYTES = 512  # what an event counts for when queued work is bounded, in bytes


def now_ms() -> int:
    """Milliseconds since 1970, by the machine's clock."""
    return time.time_ns() // 1_000_000


class Commit(msgspec.Struct, frozen=True):
    """Everything that one call of `commit` stores at the time `at`, in milliseconds since 1970."""

    session: str
    at_ms: int
    events: Sequence[RecordedEvent] = ()
    contents: Sequence[Content] = ()
    recalls: Sequence[str] = ()
    summary: SessionSummary | None = None

    @property
    def size(self) -> int:
        """About how many bytes it holds in memory."""
        return _EVENT_BYTES * (1 + len(self.events)) + sum(len(one.data) for one in self.contents)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to store."""
        return not (self.events or self.contents or self.recalls or self.summary)

    def validate(self) -> None:
        """The rules that need no look at what is stored. Raises ValueError, ContentTooLarge."""
        keys.session_bytes(self.session)
        if self.summary is not None and self.summary.id != self.session:
            raise ValueError(f"the summary is of session {self.summary.id!r}, the commit of {self.session!r}")
        for content in self.contents:
            if len(content.data) > MAX_CONTENT_BYTES:
                raise store_errors.content_too_large(content)
            if not is_digest(content.digest):
                check_digest(content, digest_of(content.data))
        for digest in self.recalls:
            keys.digest_bytes(digest)


def check_digest(content: Content, actual_digest: str) -> None:
    """A content must lie under its own SHA-256, which is `digest`. Raises ValueError."""
    if content.digest != actual_digest:
        raise ValueError(f"the content given as {content.digest[:80]!r} has another SHA-256")


def check_sequence(session: str, last_seq: int, events: Sequence[RecordedEvent]) -> None:
    """The events must follow `last`, the seq of the log's last event, without a gap. Raises ValueError."""
    for expected, recorded in enumerate(events, last_seq + 1):
        if recorded.seq != expected:
            raise ValueError(f"session {session!r} goes on with event {expected}, not with {recorded.seq}")


def check_stored(digest: str, is_stored: bool, referrer: str) -> None:
    """Nothing may name a content that is not stored. Raises ValueError."""
    if not is_stored:
        raise ValueError(f"{referrer} names the content {digest}, which is not stored")
