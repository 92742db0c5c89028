"""The full check: contents against their SHA-256, rows against their checksums, and rows against rows."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from msgspec.structs import astuple

from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.events.recorded_event import digests_in
from helix_desktop.domain.store import NO_TOTALS, EntryRecord, StoreTotals
from helix_desktop.domain.store_reports import IntegrityReport, LostContent
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store import kinds
from helix_desktop.store.commits import holder_of
from helix_desktop.store.contents import ContentStore
from helix_desktop.store.kinds import ROWS, RowDamaged, RowUnknown, RowView

_text = TextContext("Store")


def check_row(view: RowView, key: bytes, row: bytes) -> None:
    """Check a row, but not the bytes of a content. Raise RowDamaged if it or its counterpart is wrong."""
    check = _CHECKS.get(key[:1])
    if check is None:
        return
    try:
        check(view, key, row)
    except (ValueError, struct.error) as error:
        raise RowDamaged("its key is damaged") from error


def _check_event(view: RowView, key: bytes, row: bytes) -> None:
    recorded = ROWS.event.decode(key, row)
    session_id, seq = kinds.session_and_seq(key)
    if recorded.seq != seq:
        raise RowDamaged(f"it holds event {recorded.seq}")
    if seq > 1:
        _require_event(view, session_id, seq - 1, "the event before it")
    last = ROWS.last_seq.get(view, session_id) or 0
    if seq > last:
        raise RowDamaged(f"its session's log should end at {last}")
    if seq < last:
        _require_row(view, kinds.event_key(session_id, seq + 1), "the event behind it")
    mark = kinds.handover_mark(session_id, recorded)
    if mark is not None:
        _require_row(view, mark, "its place among the handovers")
    for digest in digests_in(recorded.event):
        if view.get(kinds.tombstone_key(digest)) is None:
            _require_row(view, kinds.record_key(digest), f"the record of {digest}, which it names")
        _require_row(view, kinds.reference_key(digest, session_id, seq), f"the reference from {digest}")
        _require_row(view, kinds.back_reference_key(session_id, seq, digest), f"the reference to {digest}")


def _check_handover(view: RowView, key: bytes, row: bytes) -> None:
    session_id, seq = kinds.session_and_seq(key)
    recorded = ROWS.event.get(view, session_id, seq)
    if recorded is None:
        raise RowDamaged("its event is missing")
    if kinds.handover_mark(session_id, recorded) != key:
        raise RowDamaged("its event isn't a handover")


def _check_record(view: RowView, key: bytes, row: bytes) -> None:
    record = ROWS.record.decode(key, row)
    digest = kinds.digest_in(key)
    index_key = kinds.time_index_key(record.created, digest)
    listed = view.get(index_key)
    if listed is None:
        raise RowDamaged("the index by time doesn't list it")
    if ROWS.record.decode(index_key, listed) != record:
        raise RowDamaged("the index by time disagrees")
    actual = view.count(kinds.references_of(digest))
    if actual != record.references:
        raise RowDamaged(f"it counts {record.references} references, but there are {actual}")


def _check_time_index(view: RowView, key: bytes, row: bytes) -> None:
    ROWS.record.decode(key, row)
    digest = kinds.digest_in(key)
    record = ROWS.record.get(view, digest)
    if record is None or kinds.time_index_key(record.created, digest) != key:
        raise RowDamaged("it lists a record that isn't there")


def _check_reference(view: RowView, key: bytes, row: bytes) -> None:
    session_id, seq = kinds.session_and_seq(key)
    _require_row(view, kinds.event_key(session_id, seq), "the event that names it")


def _check_back_reference(view: RowView, key: bytes, row: bytes) -> None:
    session_id, seq = kinds.session_and_seq(key[: -kinds.DIGEST_BYTES])
    _require_row(view, kinds.reference_key(kinds.digest_in(key), session_id, seq), "its counterpart")


def _check_counter(view: RowView, key: bytes, row: bytes) -> None:
    first = kinds.LAST_EVENTS[0]
    if key.startswith(first):
        last = ROWS.last_seq.decode(key, row)
        session_id = key[len(first) :].decode()
        _require_event(view, session_id, last, f"event {last}, the log's last")
    elif key == kinds.TOTALS_KEY:
        ROWS.totals.decode(key, row)
    elif key in (kinds.SCHEMA_KEY, kinds.SEQUENCE_KEY):
        ROWS.sequence.decode(key, row)


def _check_branch(view: RowView, key: bytes, row: bytes) -> None:
    point = ROWS.branch.decode(key, row)
    last = ROWS.last_seq.get(view, kinds.session_of(key, kinds.BRANCHES)) or 0
    if not 1 <= point.seq <= last:
        raise RowDamaged(f"its log should hold event {point.seq} of its parent, and ends at {last}")
    _require_row(view, kinds.event_key(point.parent, point.seq), f"event {point.seq} of its parent")


def _require_event(view: RowView, session_id: str, seq: int, what: str) -> None:
    """Raise RowDamaged unless an event of a log is there, of a branch perhaps in its parent's rows."""
    if view.get(kinds.event_key(session_id, seq)) is None:
        _require_row(view, kinds.event_key(holder_of(view, session_id, seq), seq), what)


def _require_row(view: RowView, key: bytes, what: str) -> None:
    if view.get(key) is None:
        raise RowDamaged(f"{what} is missing")


_CHECKS: Mapping[bytes, Callable[[RowView, bytes, bytes], object]] = {
    b"!": _check_counter,
    b"R": _check_back_reference,
    b"b": lambda view, key, _: _require_row(view, kinds.record_key(kinds.digest_in(key)), "its record"),
    b"d": lambda _, key, row: ROWS.draft.decode(key, row),
    b"e": _check_event,
    b"f": lambda _, key, row: ROWS.tombstone.decode(key, row),
    b"h": _check_handover,
    b"k": _check_handover,
    b"m": _check_record,
    b"p": _check_branch,
    b"r": _check_reference,
    b"s": lambda _, key, row: ROWS.summary.decode(key, row),
    b"t": _check_time_index,
}


_SLICE_BYTES = 4 * 1024 * 1024  # of contents and rows that are read at once
_SLICE_ROWS = 500
_MAX_PROBLEMS = 100  # problems that are reported in full
_KINDS_WITH_SEQ = (b"e", b"h", b"k")  # kinds of rows whose keys end in a seq


class IntegrityChecker:
    """One full check, in slices so that it blocks nobody: each slice sees the store as it is then."""

    def __init__(self, contents: ContentStore) -> None:
        self._contents = contents
        self._next_key = b""
        self._bytes_left = 0
        self._start_sequence = self._rows = self._verified = 0
        self._counted_totals = NO_TOTALS
        self._damaged: list[LostContent] = []
        self._problems: list[str] = []
        self.damage = ""  # the first problem that a repair mends

    @property
    def result(self) -> IntegrityReport:
        more = len(self._problems) - _MAX_PROBLEMS
        problems = self._problems[:_MAX_PROBLEMS] + (
            [_text("And {count} more", count=more)] if more > 0 else []
        )
        is_of_another_version = bool(problems) and not self.damage
        damaged = tuple(self._damaged)
        return IntegrityReport(self._rows, self._verified, damaged, tuple(problems), is_of_another_version)

    def count_entries(self, view: RowView) -> int:
        """Return the number of contents that the counters state."""
        try:
            return kinds.read_totals(view).entries
        except RowDamaged:
            return 0

    def check_next_slice(self, view: RowView) -> bool:
        """Check the next slice; return True if there is more."""
        if not self._next_key:
            self._start_sequence = self._read_sequence(view)
        try:
            return self._check_slice(view, verify_checksums=True)
        except RowDamaged as error:
            self._add_problem(_text("A block of rows is damaged ({detail})", detail=str(error)))
        try:  # each row of the block is still checked by its own checksum
            return self._check_slice(view, verify_checksums=False)
        except RowDamaged:
            self._next_key = bytes([self._next_key[0] + 1]) if self._next_key else b"\1"
            return True

    def _check_slice(self, view: RowView, verify_checksums: bool) -> bool:
        self._bytes_left = _SLICE_BYTES
        for number, (key, row) in enumerate(
            view.scan((self._next_key, kinds.ALL_ROWS[1]), verify_checksums=verify_checksums)
        ):
            if number >= _SLICE_ROWS or self._bytes_left <= 0:
                return True
            self._next_key = key + b"\0"
            self._rows += 1
            self._bytes_left -= len(row)
            try:
                check_row(view, key, row)
            except RowDamaged as error:
                kind = key[:1].decode(errors="replace")
                name = _readable_key(key)
                problem = _text("Row {kind} {key}: {detail}", kind=kind, key=name, detail=str(error))
                self._add_problem(problem, is_damage=not isinstance(error, RowUnknown))
            if key[:1] == kinds.RECORDS[0]:
                self._verify(view, kinds.digest_in(key))
            elif key[:1] == kinds.SUMMARIES[0]:
                self._counted_totals += StoreTotals(0, 0, 0, _listed_sessions(key, row))
        self._compare_totals(view)
        return False

    def _verify(self, view: RowView, digest: str) -> None:
        """Compare a content with its digest; a damaged one is quarantined, once."""
        try:
            record = ROWS.record.get(view, digest)
        except (RowDamaged, ValueError):  # no record, or no digest in the key
            record = None  # reported already
        if record is not None:
            self._counted_totals += StoreTotals(1, record.size, record.stored_size, 0)
        self._verified += 1
        try:
            self._bytes_left -= len(self._contents.read(view, digest))
        except (ContentDamaged, DigestUnknown):
            self._damaged.append(_lost_content(digest, record))

    def _compare_totals(self, view: RowView) -> None:
        """Compare the totals with what was counted, if nothing was written meanwhile."""
        if self._read_sequence(view) != self._start_sequence or self._problems:
            return
        stated = kinds.read_totals(view)
        counted = self._counted_totals
        for number, (was, actual) in enumerate(zip(astuple(stated), astuple(counted), strict=True)):
            problems = (
                _text("The totals say {stated} entries, but there are {actual}", stated=was, actual=actual),
                _text("The totals say {stated} bytes, but there are {actual}", stated=was, actual=actual),
                _text(
                    "The totals say {stated} bytes on disk, but there are {actual}", stated=was, actual=actual
                ),
                _text("The totals say {stated} sessions, but there are {actual}", stated=was, actual=actual),
            )
            if was != actual:
                self._add_problem(problems[number])

    def _read_sequence(self, view: RowView) -> int:
        try:
            return kinds.read_sequence(view)
        except RowDamaged:
            return -1

    def _add_problem(self, text: str, *, is_damage: bool = True) -> None:
        self.damage = self.damage or (text if is_damage else "")
        if text not in self._problems[-1:]:
            self._problems.append(text)


def _readable_key(key: bytes) -> str:
    """Return a key in readable form: digests in hex, sessions as text, their events by number."""
    rest = key[1:]
    try:
        text = (
            "{} {}".format(*kinds.session_and_seq(key))
            if key[:1] in _KINDS_WITH_SEQ
            else rest.decode("ascii")
        )
    except (ValueError, struct.error):
        return rest.hex()
    return text if text.isprintable() else rest.hex()


def _listed_sessions(key: bytes, row: bytes) -> int:
    """Return 1 for the summary of a session; 0 for one of which only the log is left, for its branches."""
    try:
        return int(not ROWS.summary.decode(key, row).is_removed)
    except RowDamaged:
        return 1  # reported already


def _lost_content(digest: str, record: EntryRecord | None) -> LostContent:
    if record is None:
        return LostContent(digest)
    return LostContent(digest, record.size, record.tool, record.target, record.first_line, record.references)
