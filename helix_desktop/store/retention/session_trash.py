"""Deleted sessions: hidden from the list with their subagents, restored, or deleted for good."""

from __future__ import annotations

from collections import Counter

import msgspec

from helix_desktop.domain.store.entries import SessionSummary
from helix_desktop.store.core import keys
from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.store.leveldb.entry_record import EntryRecord
from helix_desktop.store.leveldb.rows import ROWS


def read_trashed(view: ReadView) -> list[SessionSummary]:
    """Return the sessions in the trash, last trashed first. Raise RowDamaged."""
    summaries = [summary for _, summary in ROWS.summary.scan(view, keys.SUMMARIES)]
    return sorted(
        (summary for summary in summaries if summary.trashed),
        key=lambda summary: (-summary.trashed, summary.id),
    )


def stage_trashed(batch: WriteBatch, database: Database, session: str, trashed_ms: int) -> list[str]:
    """Set since when (0: not) a session and its subagents' are in the trash; return the ids that changed."""
    changed: list[str] = []
    for summary in _session_and_subagents(batch, database, session):
        if bool(summary.trashed) != bool(trashed_ms):
            ROWS.summary.put(batch, msgspec.structs.replace(summary, trashed=trashed_ms), summary.id)
            changed.append(summary.id)
    return changed


def _session_and_subagents(batch: WriteBatch, database: Database, session: str) -> list[SessionSummary]:
    stored = database.read(lambda view: list(ROWS.summary.scan(view, keys.SUMMARIES)))
    family = [session, *(summary.id for _, summary in stored if summary.parent == session)]
    current = (ROWS.summary.get(batch, session_id) for session_id in family)
    return [summary for summary in current if summary is not None]


def stage_session_removal(batch: WriteBatch, database: Database, session: str, before_ms: int) -> bool:
    """Delete a session that was trashed before `before_ms`, at once; return False if it was restored."""
    summary = ROWS.summary.get(batch, session)
    if summary is None or batch.has_change(keys.last_event(session)):
        return False
    if not 0 < summary.trashed < before_ms:
        return False
    reference_counts: Counter[str] = Counter()
    for key in database.read(lambda view: _session_keys(view, session)):
        batch.delete(key)
        if key[:1] == b"R":
            seq, digest = keys.seq_and_digest(key)
            batch.delete(keys.reference(digest, session, seq))
            reference_counts[digest] += 1
    for digest, count in reference_counts.items():
        _remove_references(batch, digest, count)
    for key in (keys.summary(session), keys.draft(session), keys.last_event(session)):
        batch.delete(key)
    batch.add_totals(sessions=-1)
    return True


def _session_keys(view: ReadView, session: str) -> list[bytes]:
    spans = (keys.events_of(session), keys.handovers_of(session), keys.back_references_of(session))
    return [key for span in spans for key, _ in view.scan(span)]


def _remove_references(batch: WriteBatch, digest: str, count: int) -> None:
    def released(record: EntryRecord) -> EntryRecord:
        return msgspec.structs.replace(record, references=max(0, record.references - count))

    ROWS.record.change(batch, digest, released)
