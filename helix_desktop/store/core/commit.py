"""One commit and the rules it must keep; the same for both stores."""

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

_EVENT_BYTES = 512  # size in bytes assumed for an event when queued work is bounded


def now_ms() -> int:
    """Return the time of the machine's clock in ms since 1970."""
    return time.time_ns() // 1_000_000


class Commit(msgspec.Struct, frozen=True):
    """Everything that one call of `commit` stores, at the time `at_ms` (ms since 1970)."""

    session: str
    at_ms: int
    events: Sequence[RecordedEvent] = ()
    contents: Sequence[Content] = ()
    recalls: Sequence[str] = ()
    summary: SessionSummary | None = None

    @property
    def size(self) -> int:
        """Return the approximate size in memory, in bytes."""
        return _EVENT_BYTES * (1 + len(self.events)) + sum(len(content.data) for content in self.contents)

    @property
    def is_empty(self) -> bool:
        """Return True if there is nothing to store."""
        return not (self.events or self.contents or self.recalls or self.summary)

    def validate(self) -> None:
        """Check the rules that do not depend on stored rows. Raise ValueError, ContentTooLarge."""
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
    """Raise ValueError unless the content's digest is its own SHA-256, `actual_digest`."""
    if content.digest != actual_digest:
        raise ValueError(f"the content given as {content.digest[:80]!r} has another SHA-256")


def check_sequence(session: str, last_seq: int, events: Sequence[RecordedEvent]) -> None:
    """Raise ValueError unless the events follow `last_seq`, the log's last seq, without a gap."""
    for expected, recorded in enumerate(events, last_seq + 1):
        if recorded.seq != expected:
            raise ValueError(f"session {session!r} goes on with event {expected}, not with {recorded.seq}")


def check_stored(digest: str, is_stored: bool, referrer: str) -> None:
    """Raise ValueError unless the content that `referrer` names is stored."""
    if not is_stored:
        raise ValueError(f"{referrer} names the content {digest}, which is not stored")
