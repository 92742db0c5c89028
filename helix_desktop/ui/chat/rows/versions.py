"""Versions of messages and answers: the branches that were made by editing or retrying them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from helix_desktop.domain.events.conversation import TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import SessionSummary, SessionVersions
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import Versions

_Point = tuple[str, int, str]  # the parent, the last event that it shares, and what the branch was made for


def find_versions(
    session_id: str, log: Sequence[RecordedEvent], summaries: Iterable[SessionSummary]
) -> dict[RowKey, Versions]:
    """Return the versions of messages and answers of a session, by row of its log, where there are several.

    A parent that is deleted has none any more, and a branch shows no versions of the session that it left.
    """
    by_id = {summary.id: summary for summary in summaries}
    own = SessionVersions(by_id.values()).ids_of(session_id)
    parts = _log_parts(session_id, len(log), by_id)
    found: dict[RowKey, Versions] = {}
    for (parent, seq, how), branches in _groups(by_id.values()).items():
        ids = [version for version in (parent, *(branch.id for branch in branches)) if version in own]
        on_screen = next((branch.id for branch in branches if branch.id in parts), parent)
        begins_before_end = on_screen != parent or parts.get(parent, 0) > seq
        key = _row_behind(log, seq, UserSpoke if how == "edit" else TurnEnded)
        if begins_before_end and key is not None and on_screen in ids and len(ids) > 1:
            found[key] = Versions(tuple(ids), ids.index(on_screen))
    return found


def _log_parts(session_id: str, last_seq: int, by_id: dict[str, SessionSummary]) -> dict[str, int]:
    """Return the sessions that a log is made of, each with the last event that it takes from it."""
    parts: dict[str, int] = {}
    while session_id and session_id not in parts:
        parts[session_id] = last_seq
        summary = by_id.get(session_id)
        if summary is None:
            break
        session_id, last_seq = summary.branch_of, min(last_seq, summary.branch_seq)
    return parts


def _groups(summaries: Iterable[SessionSummary]) -> dict[_Point, list[SessionSummary]]:
    """Return the branches made by editing or retrying, by their point, oldest first."""
    groups: dict[_Point, list[SessionSummary]] = {}
    for summary in sorted(summaries, key=lambda summary: summary.created):
        if summary.is_version:
            point = (summary.branch_of, summary.branch_seq, summary.branch_how)
            groups.setdefault(point, []).append(summary)
    return groups


def _row_behind(
    log: Sequence[RecordedEvent], seq: int, kind: type[UserSpoke] | type[TurnEnded]
) -> RowKey | None:
    """Return the row of the first event of a kind behind event `seq`; None if there is none."""
    return next((RowKey(recorded.seq) for recorded in log[seq:] if isinstance(recorded.event, kind)), None)
