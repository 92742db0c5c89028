"""The full check: contents against their SHA-256, rows against their checksums, and rows against rows."""

from __future__ import annotations

import struct

from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.store.entries import StoreTotals
from helix_desktop.domain.store.repair_report import IntegrityReport, LostContent
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.leveldb.contents import ContentStore
from helix_desktop.store.leveldb.counters import read_sequence, read_totals
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.entry_record import EntryRecord
from helix_desktop.store.leveldb.rows import ROWS
from helix_desktop.store.repair.row_checks import check_row

_text = TextContext("Store")

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
        self._counted_totals = StoreTotals(0, 0, 0, 0)
        self._damaged: list[LostContent] = []
        self._problems: list[str] = []

    @property
    def result(self) -> IntegrityReport:
        """Return the findings so far."""
        more = len(self._problems) - _MAX_PROBLEMS
        problems = self._problems[:_MAX_PROBLEMS] + (
            [_text("And {count} more", count=more)] if more > 0 else []
        )
        return IntegrityReport(self._rows, self._verified, tuple(self._damaged), tuple(problems))

    def count_entries(self, view: ReadView) -> int:
        """Return the number of contents that the counters state."""
        try:
            return read_totals(view).entries
        except RowDamaged:
            return 0

    def check_next_slice(self, view: ReadView) -> bool:
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

    def _check_slice(self, view: ReadView, verify_checksums: bool) -> bool:
        self._bytes_left = _SLICE_BYTES
        for number, (key, row) in enumerate(
            view.scan((self._next_key, keys.ALL_ROWS[1]), verify_checksums=verify_checksums)
        ):
            if number >= _SLICE_ROWS or self._bytes_left <= 0:
                return True
            self._next_key = key + b"\0"
            self._rows += 1
            self._bytes_left -= len(row)
            try:
                check_row(view, key, row)
            except RowDamaged as error:
                kind, name = key[:1].decode(errors="replace"), _readable_key(key)
                self._add_problem(_text("Row {kind} {key}: {detail}", kind=kind, key=name, detail=str(error)))
            if key[:1] == keys.RECORDS[0]:
                self._verify(view, keys.digest_in(key))
            elif key[:1] == keys.SUMMARIES[0]:
                self._add_totals(0, 0, 0, _listed_sessions(key, row))
        self._compare_totals(view)
        return False

    def _verify(self, view: ReadView, digest: str) -> None:
        """Compare a content with its digest; a damaged one is quarantined, once."""
        try:
            record = ROWS.record.get(view, digest)
        except (RowDamaged, ValueError):  # no record, or no digest in the key
            record = None  # reported already
        if record is not None:
            self._add_totals(1, record.size, record.stored_size, 0)
        self._verified += 1
        try:
            self._bytes_left -= len(self._contents.read(view, digest))
        except (ContentDamaged, DigestUnknown):
            self._damaged.append(_lost_content(digest, record))

    def _add_totals(self, *delta: int) -> None:
        totals = self._counted_totals
        counted = (totals.entries, totals.size, totals.stored_size, totals.sessions)
        self._counted_totals = StoreTotals(
            *(value + change for value, change in zip(counted, delta, strict=True))
        )

    def _compare_totals(self, view: ReadView) -> None:
        """Compare the totals with what was counted, if nothing was written meanwhile."""
        if self._read_sequence(view) != self._start_sequence or self._problems:
            return
        stated, counted = read_totals(view), self._counted_totals
        if stated.entries != counted.entries:
            self._add_problem(
                _text(
                    "The totals say {stated} entries, but there are {actual}",
                    stated=stated.entries,
                    actual=counted.entries,
                )
            )
        if stated.size != counted.size:
            self._add_problem(
                _text(
                    "The totals say {stated} bytes, but there are {actual}",
                    stated=stated.size,
                    actual=counted.size,
                )
            )
        if stated.stored_size != counted.stored_size:
            self._add_problem(
                _text(
                    "The totals say {stated} bytes on disk, but there are {actual}",
                    stated=stated.stored_size,
                    actual=counted.stored_size,
                )
            )
        if stated.sessions != counted.sessions:
            self._add_problem(
                _text(
                    "The totals say {stated} sessions, but there are {actual}",
                    stated=stated.sessions,
                    actual=counted.sessions,
                )
            )

    def _read_sequence(self, view: ReadView) -> int:
        try:
            return read_sequence(view)
        except RowDamaged:
            return -1

    def _add_problem(self, text: str) -> None:
        if text not in self._problems[-1:]:
            self._problems.append(text)


def _readable_key(key: bytes) -> str:
    """Return a key in readable form: digests in hex, sessions as text, their events by number."""
    rest = key[1:]
    try:
        text = (
            "{} {}".format(*keys.session_and_seq(key)) if key[:1] in _KINDS_WITH_SEQ else rest.decode("ascii")
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
