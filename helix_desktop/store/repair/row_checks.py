"""The invariants of each kind of row: its checksum, and the rows that were written together with it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from helix_desktop.domain.events.recorded_event import digests_in
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.leveldb.branches import holder_of
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.rows import ROWS, handover_mark


def check_row(view: ReadView, key: bytes, row: bytes) -> None:
    """Check a row, but not the bytes of a content. Raise RowDamaged if it or its counterpart is wrong."""
    check = _CHECKS.get(key[:1])
    if check is None:
        return
    try:
        check(view, key, row)
    except (ValueError, struct.error) as error:
        raise RowDamaged("its key is damaged") from error


def _check_event(view: ReadView, key: bytes, row: bytes) -> None:
    recorded = ROWS.event.decode(key, row)
    session_id, seq = keys.session_and_seq(key)
    if recorded.seq != seq:
        raise RowDamaged(f"it holds event {recorded.seq}")
    if seq > 1:
        _require_event(view, session_id, seq - 1, "the event before it")
    last = ROWS.last_seq.get(view, session_id) or 0
    if seq > last:
        raise RowDamaged(f"its session's log should end at {last}")
    if seq < last:
        _require_row(view, keys.event(session_id, seq + 1), "the event behind it")
    mark = handover_mark(session_id, recorded)
    if mark is not None:
        _require_row(view, mark, "its place among the handovers")
    for digest in digests_in(recorded.event):
        if view.get(keys.tombstone(digest)) is None:
            _require_row(view, keys.record(digest), f"the record of {digest}, which it names")
        _require_row(view, keys.reference(digest, session_id, seq), f"the reference from {digest}")
        _require_row(view, keys.back_reference(session_id, seq, digest), f"the reference to {digest}")


def _check_handover(view: ReadView, key: bytes, row: bytes) -> None:
    session_id, seq = keys.session_and_seq(key)
    recorded = ROWS.event.get(view, session_id, seq)
    if recorded is None:
        raise RowDamaged("its event is missing")
    if handover_mark(session_id, recorded) != key:
        raise RowDamaged("its event isn't a handover")


def _check_checkpoint(view: ReadView, key: bytes, row: bytes) -> None:
    """Check the key alone: a release that does not know checkpoints leaves the mark where the event went."""
    keys.session_and_seq(key)


def _check_record(view: ReadView, key: bytes, row: bytes) -> None:
    record, digest = ROWS.record.decode(key, row), keys.digest_in(key)
    index_key = keys.time_index(record.created, digest)
    listed = view.get(index_key)
    if listed is None:
        raise RowDamaged("the index by time doesn't list it")
    if ROWS.record.decode(index_key, listed) != record:
        raise RowDamaged("the index by time disagrees")
    actual = view.count(keys.references_of(digest))
    if actual != record.references:
        raise RowDamaged(f"it counts {record.references} references, but there are {actual}")


def _check_time_index(view: ReadView, key: bytes, row: bytes) -> None:
    ROWS.record.decode(key, row)
    digest = keys.digest_in(key)
    record = ROWS.record.get(view, digest)
    if record is None or keys.time_index(record.created, digest) != key:
        raise RowDamaged("it lists a record that isn't there")


def _check_content(view: ReadView, key: bytes, row: bytes) -> None:
    _require_row(view, keys.record(keys.digest_in(key)), "its record")


def _check_reference(view: ReadView, key: bytes, row: bytes) -> None:
    session_id, seq = keys.session_and_seq(key)
    _require_row(view, keys.event(session_id, seq), "the event that names it")


def _check_back_reference(view: ReadView, key: bytes, row: bytes) -> None:
    session_id, seq = keys.session_and_seq(key[: -keys.DIGEST_BYTES])
    _require_row(view, keys.reference(keys.digest_in(key), session_id, seq), "its counterpart")


def _check_counter(view: ReadView, key: bytes, row: bytes) -> None:
    first = keys.LAST_EVENTS[0]
    if key.startswith(first):
        last, session_id = ROWS.last_seq.decode(key, row), key[len(first) :].decode()
        _require_event(view, session_id, last, f"event {last}, the log's last")
    elif key == keys.TOTALS:
        ROWS.totals.decode(key, row)
    elif key in (keys.SCHEMA, keys.SEQUENCE):
        ROWS.sequence.decode(key, row)


def _check_tombstone(view: ReadView, key: bytes, row: bytes) -> None:
    ROWS.tombstone.decode(key, row)


def _check_branch(view: ReadView, key: bytes, row: bytes) -> None:
    point = ROWS.branch.decode(key, row)
    last = ROWS.last_seq.get(view, keys.session_of(key, keys.BRANCHES)) or 0
    if not 1 <= point.seq <= last:
        raise RowDamaged(f"its log should hold event {point.seq} of its parent, and ends at {last}")
    _require_row(view, keys.event(point.parent, point.seq), f"event {point.seq} of its parent")


def _check_summary(view: ReadView, key: bytes, row: bytes) -> None:
    ROWS.summary.decode(key, row)


def _check_draft(view: ReadView, key: bytes, row: bytes) -> None:
    ROWS.draft.decode(key, row)


def _require_event(view: ReadView, session_id: str, seq: int, what: str) -> None:
    """Raise RowDamaged unless an event of a log is there, of a branch perhaps in its parent's rows."""
    if view.get(keys.event(session_id, seq)) is None:
        _require_row(view, keys.event(holder_of(view, session_id, seq), seq), what)


def _require_row(view: ReadView, key: bytes, what: str) -> None:
    if view.get(key) is None:
        raise RowDamaged(f"{what} is missing")


_CHECKS: Mapping[bytes, Callable[[ReadView, bytes, bytes], None]] = {
    b"!": _check_counter,
    b"R": _check_back_reference,
    b"b": _check_content,
    b"d": _check_draft,
    b"e": _check_event,
    b"f": _check_tombstone,
    b"h": _check_handover,
    b"k": _check_checkpoint,
    b"m": _check_record,
    b"p": _check_branch,
    b"r": _check_reference,
    b"s": _check_summary,
    b"t": _check_time_index,
}
