"""Where a branch leaves its parent: the row by which two sessions share a log."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.events.session import RecordedEvent, SessionBranched


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
