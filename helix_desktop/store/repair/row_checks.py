"""The invariants of each kind of row: its checksum, and the rows that were written together with it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from helix_desktop.domain.events.session import digests_in
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import Codec, RowDamaged
from helix_desktop.store.core.tombstone import TOMBSTONE_TYPE
from helix_desktop.store.leveldb.counters import INTEGER_TYPE, TOTALS_TYPE
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.draft_rows import read_draft
from helix_desktop.store.leveldb.entry_record import RECORD_TYPE, read_record
from helix_desktop.store.leveldb.event_log import EVENT_TYPE, last_seq
from helix_desktop.store.leveldb.listings import SUMMARY_TYPE


def check_row(view: ReadView, codec: Codec, key: bytes, row: bytes) -> None:
    """Check a row, but not the bytes of a content. Raise RowDamaged if it or its counterpart is wrong."""
    check = _CHECKS.get(key[:1])
    if check is None:
        return
    try:
        check(view, codec, key, row)
    except (ValueError, struct.error) as error:
        raise RowDamaged("its key is damaged") from error


def _check_event(view: ReadView, codec: Codec, key: bytes, row: bytes) -> None:
    recorded = codec.decode(key, row, EVENT_TYPE)
    session, seq = keys.session_and_seq(key)
    if recorded.seq != seq:
        raise RowDamaged(f"it holds event {recorded.seq}")
    if seq > 1:
        _require_row(view, keys.event(session, seq - 1), "the event before it")
    last = last_seq(view.get, codec, session)
    if seq > last:
        raise RowDamaged(f"the session's log is said to end at {last}")
    if seq < last:
        _require_row(view, keys.event(session, seq + 1), "the event behind it")
    if isinstance(recorded.event, HandoverMade):
        _require_row(view, keys.handover(session, seq), "its place among the handovers")
    for digest in digests_in(recorded.event):
        if view.get(keys.tombstone(digest)) is None:
            _require_row(view, keys.record(digest), f"the record of {digest}, which it names")
        _require_row(view, keys.reference(digest, session, seq), f"the reference from {digest}")
        _require_row(view, keys.back_reference(session, seq, digest), f"the reference to {digest}")


def _check_handover(view: ReadView, codec: Codec, key: bytes, row: bytes) -> None:
    session, seq = keys.session_and_seq(key)
    event = view.get(keys.event(session, seq))
    if event is None:
        raise RowDamaged("its event is missing")
    if not isinstance(codec.decode(keys.event(session, seq), event, EVENT_TYPE).event, HandoverMade):
        raise RowDamaged("its event is no handover")


def _check_record(view: ReadView, codec: Codec, key: bytes, row: bytes) -> None:
    record, digest = codec.decode(key, row, RECORD_TYPE), keys.digest_in(key)
    index_key = keys.time_index(record.created, digest)
    listed = view.get(index_key)
    if listed is None:
        raise RowDamaged("it is missing in the index by time")
    if codec.decode(index_key, listed, RECORD_TYPE) != record:
        raise RowDamaged("the index by time says something else")
    actual = view.count(keys.references_of(digest))
    if actual != record.references:
        raise RowDamaged(f"it counts {record.references} references, there are {actual}")


def _check_time_index(view: ReadView, codec: Codec, key: bytes, row: bytes) -> None:
    codec.decode(key, row, RECORD_TYPE)
    digest = keys.digest_in(key)
    record = read_record(view.get, codec, digest)
    if record is None or keys.time_index(record.created, digest) != key:
        raise RowDamaged("it lists a record that is not there")


def _check_content(view: ReadView, codec: Codec, key: bytes, row: bytes) -> None:
    _require_row(view, keys.record(keys.digest_in(key)), "its record")


def _check_reference(view: ReadView, codec: Codec, key: bytes, row: bytes) -> None:
    session, seq = keys.session_and_seq(key)
    _require_row(view, keys.event(session, seq), "the event that names it")


def _check_back_reference(view: ReadView, codec: Codec, key: bytes, row: bytes) -> None:
    session, seq = keys.session_and_seq(key[: -keys.DIGEST_BYTES])
    _require_row(view, keys.reference(keys.digest_in(key), session, seq), "its counterpart")


def _check_counter(view: ReadView, codec: Codec, key: bytes, row: bytes) -> None:
    first = keys.LAST_EVENTS[0]
    if key.startswith(first):
        last = codec.decode(key, row, INTEGER_TYPE)
        _require_row(view, keys.event(key[len(first) :].decode(), last), f"event {last}, the log's last")
    elif key == keys.TOTALS:
        codec.decode(key, row, TOTALS_TYPE)
    elif key in (keys.SCHEMA, keys.SEQUENCE):
        codec.decode(key, row, INTEGER_TYPE)


def _check_tombstone(view: ReadView, codec: Codec, key: bytes, row: bytes) -> None:
    codec.decode(key, row, TOMBSTONE_TYPE)


def _check_summary(view: ReadView, codec: Codec, key: bytes, row: bytes) -> None:
    codec.decode(key, row, SUMMARY_TYPE)


def _check_draft(view: ReadView, codec: Codec, key: bytes, row: bytes) -> None:
    read_draft(codec, key, row)


def _require_row(view: ReadView, key: bytes, what: str) -> None:
    if view.get(key) is None:
        raise RowDamaged(f"{what} is missing")


_CHECKS: Mapping[bytes, Callable[[ReadView, Codec, bytes, bytes], None]] = {
    b"!": _check_counter,
    b"R": _check_back_reference,
    b"b": _check_content,
    b"d": _check_draft,
    b"e": _check_event,
    b"f": _check_tombstone,
    b"h": _check_handover,
    b"m": _check_record,
    b"r": _check_reference,
    b"s": _check_summary,
    b"t": _check_time_index,
}
