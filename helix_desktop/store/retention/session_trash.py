"""Deleted sessions: hidden from the list with their subagents, restored, or deleted permanently.

Of a session that branches begin with, the part of the log that they need stays, and with it the subagents
that were started there; it goes with the last of these branches.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from helix_desktop.domain.events.conversation import SubagentStarted
from helix_desktop.domain.store.entries import SessionSummary
from helix_desktop.store.core import keys
from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.branches import shared_end
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.store.leveldb.entry_record import EntryRecord
from helix_desktop.store.leveldb.rows import ROWS


def read_trashed(view: ReadView) -> list[SessionSummary]:
    """Return the sessions in the trash, last trashed first. Raise RowDamaged."""
    summaries = [summary for _, summary in ROWS.summary.scan(view, keys.SUMMARIES)]
    return sorted(
        (summary for summary in summaries if summary.trashed and not summary.is_removed),
        key=lambda summary: (-summary.trashed, summary.id),
    )


def stage_trashed(batch: WriteBatch, database: Database, session_id: str, trashed_ms: int) -> list[str]:
    """Set since when (0: not) a session and its subagents' are in the trash; return the ids that changed.

    The subagents of a session that branches begin with stay where they are: branches may show them.
    """
    changed: list[str] = []
    own = ROWS.summary.get(batch, session_id)
    subagents = _subagents(batch, database, session_id)
    if trashed_ms and shared_end(batch, database, session_id):
        subagents = []
    for summary in [*([own] if own is not None else []), *subagents]:
        if bool(summary.trashed) != bool(trashed_ms) and not summary.is_removed:
            ROWS.summary.put(batch, msgspec.structs.replace(summary, trashed=trashed_ms), summary.id)
            changed.append(summary.id)
    return changed


def _subagents(batch: WriteBatch, database: Database, session_id: str) -> list[SessionSummary]:
    stored = database.read(lambda view: list(ROWS.summary.scan(view, keys.SUMMARIES)))
    current = (ROWS.summary.get(batch, summary.id) for _, summary in stored if summary.parent == session_id)
    return [summary for summary in current if summary is not None]


def stage_session_removal(batch: WriteBatch, database: Database, session_id: str, before_ms: int) -> bool:
    """Delete a session that was trashed before `before_ms`, at once; return False if it was restored."""
    summary = ROWS.summary.get(batch, session_id)
    if summary is None or summary.is_removed or batch.has_change(keys.last_event(session_id)):
        return False
    if not 0 < summary.trashed < before_ms:
        return False
    _remove(batch, database, summary)
    return True


def _remove(batch: WriteBatch, database: Database, summary: SessionSummary) -> None:
    """Delete what no branch needs of a session, and what was left of its parent for its sake."""
    session_id, end = summary.id, shared_end(batch, database, summary.id)
    later_keys, subagents = database.read(lambda view: _rows_after(view, session_id, end))
    reference_counts: Counter[str] = Counter()
    for key in later_keys:
        batch.delete(key)
        if key[:1] == b"R":
            seq, digest = keys.seq_and_digest(key)
            batch.delete(keys.reference(digest, session_id, seq))
            reference_counts[digest] += 1
    for digest, count in reference_counts.items():
        _remove_references(batch, digest, count)
    batch.delete(keys.draft(session_id))
    if not summary.is_removed:
        batch.add_totals(sessions=-1)
    if end:
        ROWS.last_seq.put(batch, end, session_id)
        stub = SessionSummary(session_id, "", 0, 0, events=end, trashed=summary.trashed, is_removed=True)
        ROWS.summary.put(batch, stub, session_id)
    else:
        _remove_rest(batch, database, session_id)
    for subagent in _subagents(batch, database, session_id):
        # Those of a session that goes at once have their own place in the trash.
        if subagent.id in subagents or (summary.is_removed and not end):
            _remove(batch, database, subagent)


def _remove_rest(batch: WriteBatch, database: Database, session_id: str) -> None:
    point = ROWS.branch.get(batch, session_id)
    for key in (keys.summary(session_id), keys.last_event(session_id), keys.branch(session_id)):
        batch.delete(key)
    parent = ROWS.summary.get(batch, point.parent) if point is not None else None
    if parent is not None and parent.is_removed:
        _remove(batch, database, parent)


def _rows_after(view: ReadView, session_id: str, end: int) -> tuple[list[bytes], set[str]]:
    """Return the keys of what a session has behind event `end`, and the subagents that were started there."""
    events = keys.events_after(session_id, end)
    others = (
        keys.handovers_of(session_id),
        keys.checkpoints_of(session_id),
        keys.back_references_of(session_id),
    )
    found = [key for key, _ in view.scan(events)]
    found += [key for span in others for key, _ in view.scan(span) if _seq_of(key) > end]
    if not end:
        return found, set()
    later = (recorded.event for _, recorded in ROWS.event.scan(view, events))
    return found, {event.session for event in later if isinstance(event, SubagentStarted)}


def _seq_of(key: bytes) -> int:
    return keys.seq_and_digest(key)[0] if key[:1] == b"R" else keys.seq_in(key)


def _remove_references(batch: WriteBatch, digest: str, count: int) -> None:
    def released(record: EntryRecord) -> EntryRecord:
        return msgspec.structs.replace(record, references=max(0, record.references - count))

    ROWS.record.change(batch, digest, released)
