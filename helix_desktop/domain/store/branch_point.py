"""Where a branch leaves its parent: the row by which two sessions share a log."""

from __future__ import annotations

from collections.abc import Container, Mapping

import msgspec

from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionBranched


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
