"""What must be true of each kind of row: its checksum, and the rows that were written together with it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from helix_desktop.context.event import digests_in
from helix_desktop.context.event_summary import HandoverMade
from helix_desktop.store import keys
from helix_desktop.store.codec import Codec, RowDamaged
from helix_desktop.store.counters import NUMBER, TOTALS
from helix_desktop.store.draft_rows import read_draft
from helix_desktop.store.event_log import EVENT, last_seq
from helix_desktop.store.handle import View
from helix_desktop.store.listing import SUMMARY
from helix_desktop.store.record import RECORD, read_record
from helix_desktop.store.tombstone import TOMBSTONE


def check_row(view: View, codec: Codec, key: bytes, row: bytes) -> None:
    """Check a row, but not the bytes of a content. Raises RowDamaged when it is wrong or alone."""
    check = _CHECKS.get(key[:1])
    if check is None:
        return
    try:
        check(view, codec, key, row)
    except (ValueError, struct.error) as error:
        raise RowDamaged("its key is damaged") from error


def _event(view: View, codec: Codec, key: bytes, row: bytes) -> None:
    recorded = codec.unseal(key, row, EVENT)
    session, seq = keys.place_in(key)
    if recorded.seq != seq:
        raise RowDamaged(f"it holds event {recorded.seq}")
    if seq > 1:
        _need(view, keys.event(session, seq - 1), "the event before it")
    last = last_seq(view.get, codec, session)
    if seq > last:
        raise RowDamaged(f"the session's log is said to end at {last}")
    if seq < last:
        _need(view, keys.event(session, seq + 1), "the event behind it")
    if isinstance(recorded.event, HandoverMade):
        _need(view, keys.handover(session, seq), "its place among the handovers")
    for digest in digests_in(recorded.event):
        if view.get(keys.forgotten(digest)) is None:
            _need(view, keys.record(digest), f"the record of {digest}, which it names")
        _need(view, keys.reference(digest, session, seq), f"the reference from {digest}")
        _need(view, keys.back_reference(session, seq, digest), f"the reference to {digest}")


def _handover(view: View, codec: Codec, key: bytes, row: bytes) -> None:
    session, seq = keys.place_in(key)
    event = view.get(keys.event(session, seq))
    if event is None:
        raise RowDamaged("its event is missing")
    if not isinstance(codec.unseal(keys.event(session, seq), event, EVENT).event, HandoverMade):
        raise RowDamaged("its event is no handover")


def _record(view: View, codec: Codec, key: bytes, row: bytes) -> None:
    record, digest = codec.unseal(key, row, RECORD), keys.digest_in(key)
    twin = keys.newest(record.created, digest)
    listed = view.get(twin)
    if listed is None:
        raise RowDamaged("it is missing in the index by time")
    if codec.unseal(twin, listed, RECORD) != record:
        raise RowDamaged("the index by time says something else")
    named = view.count(keys.references_of(digest))
    if named != record.references:
        raise RowDamaged(f"it counts {record.references} references, there are {named}")


def _index(view: View, codec: Codec, key: bytes, row: bytes) -> None:
    codec.unseal(key, row, RECORD)
    digest = keys.digest_in(key)
    record = read_record(view.get, codec, digest)
    if record is None or keys.newest(record.created, digest) != key:
        raise RowDamaged("it lists a record that is not there")


def _content(view: View, codec: Codec, key: bytes, row: bytes) -> None:
    _need(view, keys.record(keys.digest_in(key)), "its record")


def _reference(view: View, codec: Codec, key: bytes, row: bytes) -> None:
    session, seq = keys.place_in(key)
    _need(view, keys.event(session, seq), "the event that names it")


def _back_reference(view: View, codec: Codec, key: bytes, row: bytes) -> None:
    session, seq = keys.place_in(key[: -keys.DIGEST_BYTES])
    _need(view, keys.reference(keys.digest_in(key), session, seq), "its counterpart")


def _counter(view: View, codec: Codec, key: bytes, row: bytes) -> None:
    first = keys.LAST_EVENTS[0]
    if key.startswith(first):
        last = codec.unseal(key, row, NUMBER)
        _need(view, keys.event(key[len(first) :].decode(), last), f"event {last}, the log's last")
    elif key == keys.TOTALS:
        codec.unseal(key, row, TOTALS)
    elif key in (keys.SCHEMA, keys.SEQUENCE):
        codec.unseal(key, row, NUMBER)


def _tombstone(view: View, codec: Codec, key: bytes, row: bytes) -> None:
    codec.unseal(key, row, TOMBSTONE)


def _summary(view: View, codec: Codec, key: bytes, row: bytes) -> None:
    codec.unseal(key, row, SUMMARY)


def _draft(view: View, codec: Codec, key: bytes, row: bytes) -> None:
    read_draft(codec, key, row)


def _need(view: View, key: bytes, what: str) -> None:
    if view.get(key) is None:
        raise RowDamaged(f"{what} is missing")


_CHECKS: Mapping[bytes, Callable[[View, Codec, bytes, bytes], None]] = {
    b"!": _counter,
    b"R": _back_reference,
    b"b": _content,
    b"d": _draft,
    b"e": _event,
    b"f": _tombstone,
    b"h": _handover,
    b"m": _record,
    b"r": _reference,
    b"s": _summary,
    b"t": _index,
}
