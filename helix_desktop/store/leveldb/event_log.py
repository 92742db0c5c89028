"""A session's append-only log of events, and the rows that link events and contents both ways, as read."""

from __future__ import annotations

import logging

from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store.branch_point import listed_session
from helix_desktop.domain.store.retention import ContentReference
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.leveldb.branches import log_parts, read_branches
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.rows import ROWS, handover_mark

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
