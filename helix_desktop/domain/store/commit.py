"""What is stored at once: one commit, on its whole way from the agent to the rows."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store.entries import Content, SessionSummary

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
