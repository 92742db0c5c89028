"""A session's append-only log of events, with the rows that lead from events to contents and back."""

from __future__ import annotations

import logging
from collections.abc import Container, Sequence

import msgspec

from helix_desktop.context.event import Recorded, digests_in
from helix_desktop.context.event_summary import HandoverMade
from helix_desktop.store import keys
from helix_desktop.store.batch import Batch, Get
from helix_desktop.store.codec import Codec, RowDamaged, Shape
from helix_desktop.store.commit import check_continues, check_held
from helix_desktop.store.handle import View
from helix_desktop.store.record import Record, change_record
from helix_desktop.store.tombstone import is_forgotten

_log = logging.getLogger(__name__)

EVENT = Shape(Recorded)
_SEQ = Shape(int)


def last_seq(get: Get, codec: Codec, session: str) -> int:
    """The seq of a session's last event; 0 when there is none. Raises RowDamaged."""
    key = keys.last_event(session)
    row = get(key)
    return 0 if row is None else codec.unseal(key, row, _SEQ)


def stage_events(
    batch: Batch, codec: Codec, session: str, events: Sequence[Recorded], missing: Container[str] = ()
) -> None:
    """Append events to a session's log. Raises ValueError when they leave a gap or name unknown contents.

    `missing` are contents that are known to be lost: the log may name them all the same.
    """
    if not events:
        return
    check_continues(session, last_seq(batch.get, codec, session), events)
    for recorded in events:
        key = keys.event(session, recorded.seq)
        batch.put(key, codec.seal(key, recorded))
        if isinstance(recorded.event, HandoverMade):
            batch.put(keys.handover(session, recorded.seq))
        for digest in digests_in(recorded.event):
            refer(batch, codec, session, recorded.seq, digest, digest in missing)
    key = keys.last_event(session)
    batch.put(key, codec.seal(key, events[-1].seq))


def refer(batch: Batch, codec: Codec, session: str, seq: int, digest: str, missing: bool = False) -> None:
    """Say that an event names a content. Raises ValueError unless it is stored, forgotten or `missing`."""
    held = missing or is_known(batch, codec, digest)
    check_held(digest, held, f"event {seq}")
    batch.put(keys.reference(digest, session, seq))
    batch.put(keys.back_reference(session, seq, digest))
    change_record(batch, codec, digest, _referred)


def unrefer(batch: Batch, codec: Codec, session: str, seq: int, digest: str) -> None:
    """Say that an event no longer names a content."""
    batch.delete(keys.reference(digest, session, seq))
    batch.delete(keys.back_reference(session, seq, digest))
    change_record(batch, codec, digest, _released)


def is_known(batch: Batch, codec: Codec, digest: str) -> bool:
    """Whether a content is stored, or was forgotten: then events may name it, and its bytes stay away."""
    return batch.get(keys.record(digest)) is not None or is_forgotten(batch.get, codec, digest)


def _released(record: Record) -> Record:
    return msgspec.structs.replace(record, references=max(0, record.references - 1))


def _referred(record: Record) -> Record:
    return msgspec.structs.replace(record, references=record.references + 1, trashed=0)


def read_handovers(view: View, codec: Codec) -> list[tuple[str, Recorded]]:
    """Every handover with its session. A damaged one is left out: it must not hide the others."""
    found: list[tuple[str, Recorded]] = []
    for key, _ in view.scan(keys.HANDOVERS):
        session, seq = keys.handover_session(key), keys.seq_in(key)
        row = view.get(keys.event(session, seq))
        try:
            if row is not None:
                found.append((session, codec.unseal(keys.event(session, seq), row, EVENT)))
        except RowDamaged as error:
            _log.warning("Event %d of session %s is damaged: %s", seq, session, error)
    return found


def read_events(view: View, codec: Codec, session: str) -> list[Recorded]:
    """A session's whole log. Raises RowDamaged, also when rows of it are missing."""
    events = [codec.unseal(key, row, EVENT) for key, row in view.scan(keys.events_of(session))]
    last = last_seq(view.get, codec, session)
    # A log that ends early, or has a hole, must never be taken for the whole conversation.
    if [recorded.seq for recorded in events] != list(range(1, last + 1)):
        raise RowDamaged(f"session {session} has {len(events)} of {last} events")
    return events
