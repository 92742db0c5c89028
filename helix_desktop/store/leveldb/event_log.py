"""A session's append-only log of events, with the rows that link events and contents both ways."""

from __future__ import annotations

import logging
from collections.abc import Container, Sequence

import msgspec

from helix_desktop.domain.events.session import RecordedEvent, digests_in
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.store.core import keys
from helix_desktop.store.core.commit import check_sequence, check_stored
from helix_desktop.store.core.row_codec import Codec, RowDamaged, RowType
from helix_desktop.store.core.tombstone import is_redacted
from helix_desktop.store.core.write_batch import RowGetter, WriteBatch
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.entry_record import EntryRecord, change_record

_log = logging.getLogger(__name__)

EVENT_TYPE = RowType(RecordedEvent)
_SEQ_TYPE = RowType(int)


def last_seq(get: RowGetter, codec: Codec, session: str) -> int:
    """Return the seq of a session's last event; 0 if there is none. Raise RowDamaged."""
    key = keys.last_event(session)
    row = get(key)
    return 0 if row is None else codec.decode(key, row, _SEQ_TYPE)


def stage_events(
    batch: WriteBatch,
    codec: Codec,
    session: str,
    events: Sequence[RecordedEvent],
    missing: Container[str] = (),
) -> None:
    """Append events to a session's log. Raise ValueError if they leave a gap or name unknown contents.

    `missing` are contents that are known to be lost: the log may name them nevertheless.
    """
    if not events:
        return
    check_sequence(session, last_seq(batch.get, codec, session), events)
    for recorded in events:
        key = keys.event(session, recorded.seq)
        batch.put(key, codec.encode(key, recorded))
        if isinstance(recorded.event, HandoverMade):
            batch.put(keys.handover(session, recorded.seq))
        for digest in digests_in(recorded.event):
            add_reference(batch, codec, session, recorded.seq, digest, digest in missing)
    key = keys.last_event(session)
    batch.put(key, codec.encode(key, events[-1].seq))


def add_reference(
    batch: WriteBatch, codec: Codec, session: str, seq: int, digest: str, allow_missing: bool = False
) -> None:
    """Add a reference from an event to a content.

    Raise ValueError unless the content is stored or redacted, or `allow_missing`.
    """
    is_stored = allow_missing or is_referable(batch, codec, digest)
    check_stored(digest, is_stored, f"event {seq}")
    batch.put(keys.reference(digest, session, seq))
    batch.put(keys.back_reference(session, seq, digest))
    change_record(batch, codec, digest, _with_one_reference_more)


def remove_reference(batch: WriteBatch, codec: Codec, session: str, seq: int, digest: str) -> None:
    """Remove a reference from an event to a content."""
    batch.delete(keys.reference(digest, session, seq))
    batch.delete(keys.back_reference(session, seq, digest))
    change_record(batch, codec, digest, _with_one_reference_less)


def is_referable(batch: WriteBatch, codec: Codec, digest: str) -> bool:
    """Return True if a content is stored or was redacted: events may name it, its bytes may be gone."""
    return batch.get(keys.record(digest)) is not None or is_redacted(batch.get, codec, digest)


def _with_one_reference_less(record: EntryRecord) -> EntryRecord:
    return msgspec.structs.replace(record, references=max(0, record.references - 1))


def _with_one_reference_more(record: EntryRecord) -> EntryRecord:
    return msgspec.structs.replace(record, references=record.references + 1, trashed=0)


def read_handovers(view: ReadView, codec: Codec) -> list[tuple[str, RecordedEvent]]:
    """Return every handover with its session. A damaged one is left out: it must not hide the others."""
    handovers: list[tuple[str, RecordedEvent]] = []
    for key, _ in view.scan(keys.HANDOVERS):
        session, seq = keys.handover_session(key), keys.seq_in(key)
        row = view.get(keys.event(session, seq))
        try:
            if row is not None:
                handovers.append((session, codec.decode(keys.event(session, seq), row, EVENT_TYPE)))
        except RowDamaged as error:
            _log.warning("Event %d of session %s is damaged: %s", seq, session, error)
    return handovers


def read_events(view: ReadView, codec: Codec, session: str) -> list[RecordedEvent]:
    """Return a session's full log. Raise RowDamaged, also if rows of it are missing."""
    events = [codec.decode(key, row, EVENT_TYPE) for key, row in view.scan(keys.events_of(session))]
    last = last_seq(view.get, codec, session)
    # A log that ends early, or has a gap, must never pass for the whole conversation.
    if [recorded.seq for recorded in events] != list(range(1, last + 1)):
        raise RowDamaged(f"session {session} has {len(events)} of {last} events")
    return events
