"""The full check: contents against their SHA-256, rows against their checksums, and rows against rows."""

from __future__ import annotations

import struct

from helix_desktop.context.content import StoreTotals
from helix_desktop.context.damage import Checked, LostContent
from helix_desktop.context.errors import ContentDamaged, DigestUnknown
from helix_desktop.store import keys
from helix_desktop.store.codec import Codec, RowDamaged
from helix_desktop.store.content import Contents
from helix_desktop.store.counters import read_sequence, read_totals
from helix_desktop.store.handle import View
from helix_desktop.store.record import Record, read_record
from helix_desktop.store.row_checks import check_row

_SLICE_BYTES = 4 * 1024 * 1024  # of contents and rows that are read in one go
_SLICE_ROWS = 500
_NAMED = 100  # problems that are told in full
_PLACED = (b"e", b"h")  # kinds of rows whose keys end in a seq


class Checker:
    """One full check, taken in slices so that nobody waits: each sees the store as it is then."""

    def __init__(self, codec: Codec, contents: Contents) -> None:
        self._codec, self._contents = codec, contents
        self._from = b""
        self._left = 0
        self._began = self._rows = self._verified = 0
        self._counted = StoreTotals(0, 0, 0, 0)
        self._damaged: list[LostContent] = []
        self._problems: list[str] = []

    @property
    def result(self) -> Checked:
        """What was found until now."""
        more = len(self._problems) - _NAMED
        said = self._problems[:_NAMED] + ([f"And {more} more"] if more > 0 else [])
        return Checked(self._rows, self._verified, tuple(self._damaged), tuple(said))

    def total(self, view: View) -> int:
        """How many contents there are said to be."""
        try:
            return read_totals(view.get, self._codec).entries
        except RowDamaged:
            return 0

    def step(self, view: View) -> bool:
        """Check the next slice; whether there is more."""
        if not self._from:
            self._began = self._sequence(view)
        try:
            return self._slice(view, checked=True)
        except RowDamaged as error:
            self._problem(f"A block of rows is damaged ({error})")
        try:  # each row of the block is still judged by its own checksum
            return self._slice(view, checked=False)
        except RowDamaged:
            self._from = bytes([self._from[0] + 1]) if self._from else b"\1"
            return True

    def _slice(self, view: View, checked: bool) -> bool:
        self._left = _SLICE_BYTES
        for number, (key, row) in enumerate(view.scan((self._from, keys.EVERYTHING[1]), checked=checked)):
            if number >= _SLICE_ROWS or self._left <= 0:
                return True
            self._from = key + b"\0"
            self._rows += 1
            self._left -= len(row)
            try:
                check_row(view, self._codec, key, row)
            except RowDamaged as error:
                self._problem(f"Row {key[:1].decode(errors='replace')} {_named(key)}: {error}")
            if key[:1] == keys.RECORDS[0]:
                self._verify(view, keys.digest_in(key))
            elif key[:1] == keys.SUMMARIES[0]:
                self._count(0, 0, 0, 1)
        self._compare(view)
        return False

    def _verify(self, view: View, digest: str) -> None:
        """Compare a content with its digest; a damaged one is set aside, once."""
        try:
            record = read_record(view.get, self._codec, digest)
        except (RowDamaged, ValueError):  # no record, or no digest in the key
            record = None  # told of already
        if record is not None:
            self._count(1, record.size, record.stored_size, 0)
        self._verified += 1
        try:
            self._left -= len(self._contents.read(view, digest))
        except (ContentDamaged, DigestUnknown):
            self._damaged.append(_lost(digest, record))

    def _count(self, *more: int) -> None:
        had = self._counted
        was = (had.entries, had.size, had.stored_size, had.sessions)
        self._counted = StoreTotals(*(one + other for one, other in zip(was, more, strict=True)))

    def _compare(self, view: View) -> None:
        """Compare the totals with what was counted, if nothing was written meanwhile."""
        if self._sequence(view) != self._began or self._problems:
            return
        stored = read_totals(view.get, self._codec)
        pairs = (
            ("entries", stored.entries, self._counted.entries),
            ("bytes", stored.size, self._counted.size),
            ("bytes on disk", stored.stored_size, self._counted.stored_size),
            ("sessions", stored.sessions, self._counted.sessions),
        )
        for what, said, counted in pairs:
            if said != counted:
                self._problem(f"The totals say {said} {what}, there are {counted}")

    def _sequence(self, view: View) -> int:
        try:
            return read_sequence(view.get, self._codec)
        except RowDamaged:
            return -1

    def _problem(self, text: str) -> None:
        if text not in self._problems[-1:]:
            self._problems.append(text)


def _named(key: bytes) -> str:
    """A key as a person can read it: digests in hex, sessions as text, their events by number."""
    rest = key[1:]
    try:
        text = "{} {}".format(*keys.place_in(key)) if key[:1] in _PLACED else rest.decode("ascii")
    except (ValueError, struct.error):
        return rest.hex()
    return text if text.isprintable() else rest.hex()


def _lost(digest: str, record: Record | None) -> LostContent:
    if record is None:
        return LostContent(digest)
    return LostContent(digest, record.size, record.tool, record.target, record.first_line, record.references)
