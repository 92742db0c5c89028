"""Rows: their keys, whose byte order is reading order, their checksums, and the bytes of records."""

from __future__ import annotations

import struct
import zlib

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import ContentKind, Draft, EntryRecord
from helix_desktop.store import kinds
from helix_desktop.store.contents import new_record
from helix_desktop.store.kinds import MAX_VALUE_BYTES, ROWS, RowDamaged, RowType, Span
from helix_desktop.store.threads import WriteBatch
from tests.support.store.builders import make_content, make_summary, user_message_event
from tests.support.tables import for_each

digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
numbers = st.integers(0, 2**64 - 1)
sessions = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)


def within(key: bytes, span: Span) -> bool:
    return span[0] <= key < span[1]


@given(digests, numbers, sessions)
def test_digests_and_seqs_round_trip(digest: str, number: int, session_id: str) -> None:
    assert kinds.digest_in(kinds.record_key(digest)) == digest
    assert kinds.digest_in(kinds.time_index_key(number, digest)) == digest
    assert kinds.digest_in(kinds.back_reference_key(session_id, number, digest)) == digest
    assert kinds.seq_in(kinds.event_key(session_id, number)) == number
    assert kinds.seq_in(kinds.handover_key(session_id, number)) == number
    assert kinds.seq_in(kinds.reference_key(digest, session_id, number)) == number


@given(digests, digests, numbers, numbers)
def test_newest_comes_first_and_equal_times_by_digest(
    digest: str, other_digest: str, early: int, late: int
) -> None:
    earlier, later = sorted((early, late))
    first = kinds.time_index_key(later, digest)
    second = kinds.time_index_key(earlier, other_digest)
    assert (first < second) == ((-later, digest) < (-earlier, other_digest))
    assert within(first, kinds.TIME_INDEX)


@given(sessions, sessions, numbers, numbers, digests)
def test_a_session_covers_its_own_rows_in_order(
    first: str, second: str, low: int, high: int, digest: str
) -> None:
    assert (kinds.event_key(first, low) < kinds.event_key(first, high)) == (low < high)
    assert within(kinds.event_key(second, low), kinds.rows_of(first, b"e")) == (first == second)
    assert within(kinds.handover_key(second, low), kinds.rows_of(first, b"h")) == (first == second)
    assert within(kinds.back_reference_key(second, low, digest), kinds.rows_of(first, b"R")) == (
        first == second
    )


@given(digests, digests, sessions, numbers)
def test_a_digest_covers_its_own_references(first: str, second: str, session_id: str, number: int) -> None:
    assert within(kinds.reference_key(second, session_id, number), kinds.references_of(first)) == (
        first == second
    )


@given(digests, digests, st.integers(1, 64))
def test_a_prefix_covers_exactly_the_digests_that_begin_with_it(first: str, second: str, length: int) -> None:
    span = kinds.records_of(first[:length])
    assert within(kinds.record_key(first), span)
    assert within(kinds.record_key(second), span) == second.startswith(first[:length])
    assert within(span[0], kinds.RECORDS)


@given(digests, sessions, numbers)
def test_no_two_kinds_of_row_share_a_key(digest: str, session_id: str, number: int) -> None:
    all_keys = [
        kinds.content_key(digest),
        kinds.record_key(digest),
        kinds.time_index_key(number, digest),
        kinds.chunk_key(digest, 0),
        kinds.event_key(session_id, number),
        kinds.handover_key(session_id, number),
        kinds.reference_key(digest, session_id, number),
        kinds.back_reference_key(session_id, number, digest),
        kinds.summary_key(session_id),
        kinds.draft_key(session_id),
        kinds.last_event_key(session_id),
        kinds.SCHEMA_KEY,
        kinds.IDENTITY_KEY,
        kinds.SEQUENCE_KEY,
        kinds.TOTALS_KEY,
    ]
    assert len(set(all_keys)) == len(all_keys)
    assert within(kinds.summary_key(session_id), kinds.SUMMARIES)


@pytest.mark.parametrize("text", ["", "0" * 63, "0" * 65, "G" * 64, "A" * 64])
def test_an_invalid_digest_gets_no_key(text: str) -> None:
    with pytest.raises(ValueError, match="SHA-256"):
        kinds.record_key(text)


TEXT = RowType(str)
KEY = b"a key"


def test_a_row_cannot_be_read_under_another_key() -> None:
    with pytest.raises(RowDamaged, match="checksum"):
        kinds.decode(b"other", kinds.encode(KEY, "text"), TEXT)


def test_a_row_of_another_version_is_refused_by_name() -> None:
    body = b"\x09\x00" + b"\xa1x"
    row = body + struct.pack("<I", zlib.crc32(body, zlib.crc32(KEY)))
    with pytest.raises(RowDamaged, match=r"format 9\.0"):
        kinds.decode(KEY, row, TEXT)


def test_a_row_of_an_older_version_that_is_larger_than_a_new_one_may_be_is_read() -> None:
    """Zeros pack best: no frame claims more for its size."""
    value = "\0" * (MAX_VALUE_BYTES + 1)
    row = kinds.encode(KEY, value)
    assert len(row) < 20_000
    assert kinds.decode(KEY, row, TEXT) == value


def test_a_frame_that_claims_more_than_its_bytes_can_hold_is_not_unpacked() -> None:
    claim = zstandard.ZstdCompressor(level=1).compress(bytes(MAX_VALUE_BYTES))
    with pytest.raises(RowDamaged, match="claims"):
        kinds.decompress(claim[:1000])


def test_a_frame_with_a_wrong_length_is_refused() -> None:
    packed = kinds.compress(b"x" * 1000)
    assert packed is not None
    assert kinds.decompress(packed, 1000) == b"x" * 1000
    with pytest.raises(RowDamaged, match="claims"):
        kinds.decompress(packed, 999)


def test_a_frame_without_a_length_is_refused() -> None:
    streamed = zstandard.ZstdCompressor(level=1, write_content_size=False).compress(b"x" * 1000)
    with pytest.raises(RowDamaged):
        kinds.decompress(streamed)


def test_a_row_written_after_its_removal_in_the_same_write_stays() -> None:
    batch = empty_batch()
    removing = batch.nested()
    writing = batch.nested()
    removing.delete(b"c1")
    removing.delete(b"c2")
    batch.absorb(removing)
    writing.unreferenced_rows[b"c1"] = b"data"
    batch.absorb(writing)
    assert batch.rows == {b"c2": None}
    assert batch.unreferenced_rows == {b"c1": b"data"}


def empty_batch() -> WriteBatch:
    """Return a batch over a store without rows."""
    return WriteBatch(lambda key: None)


def test_a_missing_row_has_no_value_and_a_written_one_is_read() -> None:
    batch = empty_batch()
    assert ROWS.summary.get(batch, "s") is None
    ROWS.summary.put(batch, make_summary("s"), "s")
    ROWS.event.put(batch, user_message_event(3), "s", 3)
    ROWS.sequence.put(batch, 7)
    assert ROWS.summary.get(batch, "s") == make_summary("s")
    assert ROWS.event.get(batch, "s", 3) == user_message_event(3)
    assert ROWS.event.get(batch, "s", 4) is None
    assert ROWS.sequence.get(batch) == 7
    assert set(batch.rows) == {kinds.summary_key("s"), kinds.event_key("s", 3), kinds.SEQUENCE_KEY}


def test_a_record_stands_in_the_index_by_time_too_and_is_changed_in_both() -> None:
    content = make_content(b"x")
    batch = empty_batch()
    record = new_record(content, 1, 5, "s")
    ROWS.record.put(batch, record, content.digest)
    ROWS.record.change(batch, content.digest, lambda record: msgspec.structs.replace(record, recalls=2))
    ROWS.record.change(batch, digest_of(b"unknown"), lambda record: record)
    assert set(batch.rows) == {kinds.record_key(content.digest), kinds.time_index_key(5, content.digest)}
    for key, row in batch.rows.items():
        assert row is not None
        assert ROWS.record.decode(key, row).recalls == 2


def test_a_damaged_record_is_left_as_it_is() -> None:
    digest = digest_of(b"x")
    batch = empty_batch()
    batch.put(kinds.record_key(digest), b"damaged")
    ROWS.record.change(batch, digest, lambda record: record)
    assert batch.rows == {kinds.record_key(digest): b"damaged"}


def test_a_draft_without_attachments_is_a_plain_text_and_an_empty_one_no_row() -> None:
    batch = empty_batch()
    key = kinds.draft_key("s")
    ROWS.draft.put(batch, Draft("text"), "s")
    row = batch.rows[key]
    assert row is not None
    assert kinds.decode(key, row, RowType(str)) == "text"
    ROWS.draft.put(batch, Draft(), "s")
    assert batch.rows == {key: None}


RECORD_KEY = kinds.record_key(digest_of(b"a content"))
TIMES = [
    1, 127, 128, 255, 256, 1 << 14, 65_535, 65_536, 1 << 31, 1 << 32, 1_763_812_352_000, 1 << 41, 1 << 62,
]  # fmt: skip


def record_row(kind: ContentKind = "output", trashed: int = 0, target: str = "src/app.py") -> bytes:
    record = EntryRecord(1_763_812_352_000, 0, 9, 9, 2, "read_file", target, "", kind, trashed=trashed)
    return kinds.encode(RECORD_KEY, record)


@for_each("trashed", TIMES)
def test_no_time_in_the_trash_is_missed(trashed: int) -> None:
    assert kinds.may_be_trashed(record_row(trashed=trashed))


def test_what_is_not_in_the_trash_and_no_index_is_skipped() -> None:
    assert not kinds.may_be_trashed(record_row())
    assert not kinds.may_be_index(record_row())
    assert kinds.may_be_index(record_row("index"))


def test_a_compressed_row_is_decoded() -> None:
    row = record_row("index", trashed=1_763_812_352_000, target="src/" * 2_000)
    assert not kinds.is_plain(row)
    assert kinds.may_be_trashed(row)
    assert kinds.may_be_index(row)


def test_a_record_of_an_older_version_was_never_in_the_trash() -> None:
    """It ends with an earlier field, whatever that is: decoding decides."""
    older = (1, 0, 9, 9, 2, "read_file", "src/app.py", "", "output", 0, 0)
    row = kinds.encode(RECORD_KEY, older)
    assert not kinds.decode(RECORD_KEY, row, RowType(EntryRecord)).trashed
    assert not kinds.may_be_index(row)


def test_rows_that_are_no_records_are_not_skipped() -> None:
    for row in (b"", b"\0", b"\x01\0", b"\xff" * 40, msgspec.msgpack.encode(["x"])):
        assert kinds.may_be_trashed(row)
