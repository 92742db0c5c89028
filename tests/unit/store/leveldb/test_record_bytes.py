"""A scan skips a record by its bytes only if decoding it would have left it out too."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import ContentKind
from helix_desktop.store.core import keys, row_codec
from helix_desktop.store.leveldb.rows import EntryRecord, may_be_index, may_be_trashed

KEY = keys.record(digest_of(b"a content"))
TIMES = [
    1,
    127,
    128,
    255,
    256,
    1 << 14,
    65_535,
    65_536,
    1 << 31,
    1 << 32,
    1_763_812_352_000,
    1 << 41,
    1 << 62,
]


def record_row(kind: ContentKind = "output", trashed: int = 0, target: str = "src/app.py") -> bytes:
    """The row of a record."""
    record = EntryRecord(1_763_812_352_000, 0, 9, 9, 2, "read_file", target, "", kind, trashed=trashed)
    return row_codec.encode(KEY, record)


@pytest.mark.parametrize("trashed", TIMES)
def test_no_time_in_the_trash_is_missed(trashed: int) -> None:
    assert may_be_trashed(record_row(trashed=trashed))


def test_what_is_not_in_the_trash_and_no_index_is_skipped() -> None:
    assert not may_be_trashed(record_row())
    assert not may_be_index(record_row())
    assert may_be_index(record_row("index"))


def test_a_compressed_row_is_decoded() -> None:
    row = record_row("index", trashed=1_763_812_352_000, target="src/" * 2_000)
    assert not row_codec.is_plain(row)
    assert may_be_trashed(row)
    assert may_be_index(row)


def test_a_record_of_an_older_version_was_never_in_the_trash() -> None:
    """It ends with an earlier field, whatever that is: decoding decides."""
    older = (1, 0, 9, 9, 2, "read_file", "src/app.py", "", "output", 0, 0)
    row = row_codec.encode(KEY, older)
    assert not row_codec.decode(KEY, row, row_codec.RowType(EntryRecord)).trashed
    assert not may_be_index(row)


def test_rows_that_are_no_records_are_not_skipped() -> None:
    for row in (b"", b"\0", b"\x01\0", b"\xff" * 40, msgspec.msgpack.encode(["x"])):
        assert may_be_trashed(row)
