"""The rows of one commit: contents, events, references, recall counts and summary."""

from __future__ import annotations

from collections.abc import Container, Sequence

import msgspec

from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.store.commit import BranchPoint, Commit, point_in, without_partial_answer
from helix_desktop.domain.store.entries import SessionSummary
from helix_desktop.store.core import keys
from helix_desktop.store.core.commit import WriteBatch, check_branch, check_sequence, check_stored
from helix_desktop.store.leveldb.contents import ContentStore
from helix_desktop.store.leveldb.event_log import holder_of
from helix_desktop.store.leveldb.rows import ROWS, EntryRecord, delete_reference, handover_mark, put_reference


def stage_commit(batch: WriteBatch, contents: ContentStore, commit: Commit, at_ms: int) -> None:
    """Put everything of a commit, made at `at_ms` (ms since 1970), into the batch.

    Raise ValueError if the stored rows do not allow it.
    """
    for content in commit.contents:
        contents.stage(batch, content, at_ms, commit.session_id)
    stage_events(batch, commit.session_id, commit.events)
    for digest in commit.recalls:
        check_stored(digest, _is_referable(batch, digest), "a recall")
        ROWS.record.change(batch, digest, lambda record: _with_recall(record, at_ms))
    if commit.summary is not None:
        stage_summary(batch, commit.summary)
    if commit.ends_partial_answer:
        ROWS.draft.change(batch, commit.session_id, without_partial_answer)


def stage_events(
    batch: WriteBatch, session_id: str, events: Sequence[RecordedEvent], missing: Container[str] = ()
) -> None:
    """Append events to a session's log. Raise ValueError if they leave a gap or name unknown contents.

    `missing` are contents that are known to be lost: the log may name them nevertheless.
    """
    if not events:
        return
    point = point_in(events[0])
    if point is not None and ROWS.last_seq.get(batch, session_id) is None:
        stage_branch(batch, session_id, point)
    check_sequence(session_id, ROWS.last_seq.get(batch, session_id) or 0, events)
    for recorded in events:
        ROWS.event.put(batch, recorded, session_id, recorded.seq)
        mark = handover_mark(session_id, recorded)
        if mark is not None:
            batch.put(mark)
        for digest in digests_in(recorded.event):
            add_reference(batch, session_id, recorded.seq, digest, digest in missing)
    ROWS.last_seq.put(batch, events[-1].seq, session_id)


def stage_branch(batch: WriteBatch, session_id: str, point: BranchPoint) -> None:
    """Let a new session begin with a part of another log. Raise ValueError if that does not reach so far."""
    check_branch(session_id, point, ROWS.last_seq.get(batch, point.parent) or 0)
    holder = holder_of(batch, point.parent, point.seq)
    ROWS.branch.put(batch, BranchPoint(holder, point.seq), session_id)
    ROWS.last_seq.put(batch, point.seq, session_id)


def stage_summary(batch: WriteBatch, summary: SessionSummary) -> None:
    """Put a session's summary for the session list into the batch."""
    stored = ROWS.summary.get(batch, summary.id)
    batch.add_totals(sessions=_listed(summary) - _listed(stored))
    ROWS.summary.put(batch, summary, summary.id)


def _listed(summary: SessionSummary | None) -> int:
    return int(summary is not None and not summary.is_removed)


def add_reference(
    batch: WriteBatch, session_id: str, seq: int, digest: str, allow_missing: bool = False
) -> None:
    """Add a reference from an event to a content.

    Raise ValueError unless the content is stored or redacted, or `allow_missing`.
    """
    check_stored(digest, allow_missing or _is_referable(batch, digest), f"event {seq}")
    put_reference(batch, session_id, seq, digest)
    ROWS.record.change(
        batch,
        digest,
        lambda record: msgspec.structs.replace(record, references=record.references + 1, trashed=0),
    )


def remove_reference(batch: WriteBatch, session_id: str, seq: int, digest: str) -> None:
    """Remove a reference from an event to a content."""
    delete_reference(batch, session_id, seq, digest)
    ROWS.record.change(
        batch,
        digest,
        lambda record: msgspec.structs.replace(record, references=max(0, record.references - 1)),
    )


def _is_referable(batch: WriteBatch, digest: str) -> bool:
    """Return True if a content is stored or was redacted: events may name it, its bytes may be gone."""
    if batch.get(keys.record(digest)) is not None:
        return True
    tombstone = ROWS.tombstone.get(batch, digest)
    return tombstone is not None and not tombstone.lifted


def _with_recall(record: EntryRecord, at_ms: int) -> EntryRecord:
    return msgspec.structs.replace(record, recalls=record.recalls + 1, last_used=at_ms, trashed=0)
