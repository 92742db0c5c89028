"""What one commit holds, and the rules it must keep: the same for both stores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from helix_desktop.context.content import Content, SessionSummary
from helix_desktop.context.digest import digest_of, is_digest
from helix_desktop.context.event import Recorded
from helix_desktop.store import keys, refusals
from helix_desktop.store.codec import CONTENT_CAP

Clock = Callable[[], int]
"""Milliseconds since 1970."""

_EVENT_SIZE = 512  # what an event counts for when queued work is bounded, in bytes


def now() -> int:
    """Milliseconds since 1970, by the machine's clock."""
    return time.time_ns() // 1_000_000


class Commit(msgspec.Struct, frozen=True):
    """Everything that one call of `commit` stores at the time `at`, in milliseconds since 1970."""

    session: str
    at: int
    events: Sequence[Recorded] = ()
    contents: Sequence[Content] = ()
    recalls: Sequence[str] = ()
    summary: SessionSummary | None = None

    @property
    def size(self) -> int:
        """About how many bytes it holds in memory."""
        return _EVENT_SIZE * (1 + len(self.events)) + sum(len(one.data) for one in self.contents)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to store."""
        return not (self.events or self.contents or self.recalls or self.summary)

    def check(self) -> None:
        """The rules that need no look at what is stored. Raises ValueError, ContentTooLarge."""
        keys.session_bytes(self.session)
        if self.summary is not None and self.summary.id != self.session:
            raise ValueError(f"the summary is of session {self.summary.id!r}, the commit of {self.session!r}")
        for content in self.contents:
            if len(content.data) > CONTENT_CAP:
                raise refusals.too_large(content)
            if not is_digest(content.digest):
                check_match(content, digest_of(content.data))
        for digest in self.recalls:
            keys.raw(digest)


def check_match(content: Content, digest: str) -> None:
    """A content must lie under its own SHA-256, which is `digest`. Raises ValueError."""
    if content.digest != digest:
        raise ValueError(f"the content given as {content.digest[:80]!r} has another SHA-256")


def check_continues(session: str, last: int, events: Sequence[Recorded]) -> None:
    """The events must follow `last`, the seq of the log's last event, without a gap. Raises ValueError."""
    for expected, recorded in enumerate(events, last + 1):
        if recorded.seq != expected:
            raise ValueError(f"session {session!r} goes on with event {expected}, not with {recorded.seq}")


def check_held(digest: str, held: bool, by: str) -> None:
    """Nothing may name a content that is not stored. Raises ValueError."""
    if not held:
        raise ValueError(f"{by} names the content {digest}, which is not stored")
