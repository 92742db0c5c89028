"""A session's append-only log of events, its branches, and the rows that link events and contents."""

from __future__ import annotations

import logging

import msgspec

from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store.commit import BranchPoint, listed_session
from helix_desktop.domain.store.retention import ContentReference
from helix_desktop.store.core import keys
from helix_desktop.store.core.commit import RowSource, WriteBatch
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.store.leveldb.rows import ROWS, handover_mark


class LogPart(msgspec.Struct, frozen=True):
    """The events of one session after `after` up to and with `upto`, as a part of a branch's log."""

    session_id: str
    after: int
    upto: int


def log_parts(source: RowSource, session_id: str) -> list[LogPart]:
    """Return the parts of a session's log, oldest first; the last is its own. Raise RowDamaged."""
    parts: list[LogPart] = []
    upto, passed = ROWS.last_seq.get(source, session_id) or 0, {session_id}
    while point := ROWS.branch.get(source, session_id):
        after = min(point.seq, upto)
        parts.append(LogPart(session_id, after, upto))
        session_id, upto = point.parent, after
        if session_id in passed:
            raise RowDamaged(f"session {session_id} is a branch of itself")
        passed.add(session_id)
    parts.append(LogPart(session_id, 0, upto))
    return parts[::-1]


def holder_of(source: RowSource, session_id: str, seq: int) -> str:
    """Return the session whose rows hold event `seq` of a log. Raise RowDamaged."""
    parts = log_parts(source, session_id)
    return next((part.session_id for part in parts if part.after < seq <= part.upto), session_id)


def read_branches(view: ReadView) -> dict[str, BranchPoint]:
    """Return every branch with its point. Raise RowDamaged."""
    rows = ROWS.branch.scan(view, keys.BRANCHES)
    return {keys.session_of(key, keys.BRANCHES): point for key, point in rows}


def shared_end(batch: WriteBatch, database: Database, session_id: str) -> int:
    """Return the last event of a session that branches begin with, as a batch will leave them; 0: none.

    Raise RowDamaged.
    """
    points = database.read(read_branches)
    for key in batch.changes(*keys.BRANCHES):
        branch = keys.session_of(key, keys.BRANCHES)
        point = ROWS.branch.get(batch, branch)
        points.pop(branch, None)
        if point is not None:
            points[branch] = point
    return max((point.seq for point in points.values() if point.parent == session_id), default=0)


_log = logging.getLogger(__name__)


def read_events(view: ReadView, session_id: str) -> list[RecordedEvent]:
    """Return a session's full log, with its parent's part. Raise RowDamaged, also if rows are missing."""
    *shared, own = log_parts(view, session_id)
    spans = [keys.events_between(part.session_id, part.after, part.upto) for part in shared]
    spans.append(keys.events_of(session_id))
    events = [recorded for span in spans for _, recorded in ROWS.event.scan(view, span)]
    last = own.upto
    # A log that ends early, or has a gap, must never pass for the whole conversation.
    if [recorded.seq for recorded in events] != list(range(1, last + 1)):
        raise RowDamaged(f"session {session_id} has {len(events)} of {last} events")
    return events


def read_handovers(view: ReadView, with_checkpoints: bool = False) -> list[tuple[str, RecordedEvent]]:
    """Return every handover, and checkpoint if asked, with its session, or a branch of one that is hidden.

    A damaged one is left out: it must not hide the others.
    """
    handovers: list[tuple[str, RecordedEvent]] = []
    hidden = {summary.id for _, summary in ROWS.summary.scan(view, keys.SUMMARIES) if summary.trashed}
    points = read_branches(view) if hidden else {}
    spans = (keys.HANDOVERS, keys.CHECKPOINTS) if with_checkpoints else (keys.HANDOVERS,)
    for key in (key for span in spans for key, _ in view.scan(span)):
        session_id, seq = keys.handover_session(key), keys.seq_in(key)
        event_key = keys.event(session_id, seq)
        row = view.get(event_key)
        try:
            if row is not None:
                recorded = ROWS.event.decode(event_key, row)
                if handover_mark(session_id, recorded) == key:
                    handovers.append((listed_session(session_id, seq, hidden, points), recorded))
        except RowDamaged as error:
            _log.warning("Event %d of session %s is damaged: %s", seq, session_id, error)
    return handovers


def read_references(view: ReadView, digest: str) -> list[ContentReference]:
    """Return the events that name a content, by session and seq. Raise RowDamaged; ValueError."""
    references = [
        ContentReference(keys.session_in(key), keys.seq_in(key))
        for key, _ in view.scan(keys.references_of(digest))
    ]
    return sorted(references, key=lambda reference: (reference.session, reference.seq))


def read_session_digests(view: ReadView, session_id: str) -> list[str]:
    """Return the contents a session names, each once, in order of the first event. Raise RowDamaged."""
    parts = log_parts(view, session_id)
    spans = (keys.back_references_between(part.session_id, part.after, part.upto) for part in parts)
    return list(dict.fromkeys(keys.digest_in(key) for span in spans for key, _ in view.scan(span)))


def is_referenced(view: ReadView, digest: str) -> bool:
    """Return True if any log names a content, whatever its record says. Raise RowDamaged."""
    return next(iter(view.scan(keys.references_of(digest))), None) is not None


def read_draft_digests(view: ReadView) -> frozenset[str]:
    """Return the contents that drafts name; a damaged draft names none."""
    digests: frozenset[str] = frozenset()
    for key, row in view.scan(keys.DRAFTS):
        try:
            digests |= ROWS.draft.decode(key, row).digests
        except RowDamaged:
            continue
    return digests
