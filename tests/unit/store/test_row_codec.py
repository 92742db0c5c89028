"""Values in rows, and batches of them."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.store import kinds
from helix_desktop.store.kinds import MAX_CONTENT_BYTES, RowDamaged, RowType
from helix_desktop.store.writer import WriteBatch

TEXT = RowType(str)
KEY = b"a key"

texts = st.text(max_size=50) | st.text(min_size=1, max_size=20).map(lambda text: text * 200)


@given(texts)
def test_an_encoded_row_can_be_decoded(text: str) -> None:
    assert kinds.decode(KEY, kinds.encode(KEY, text), TEXT) == text


@given(texts, st.integers(0), st.integers(0, 7))
def test_a_flipped_bit_is_detected(text: str, position: int, bit: int) -> None:
    row = bytearray(kinds.encode(KEY, text))
    row[position % len(row)] ^= 1 << bit
    with pytest.raises(RowDamaged):
        kinds.decode(KEY, bytes(row), TEXT)


@given(texts, st.integers(0))
def test_a_truncated_row_is_detected(text: str, length: int) -> None:
    row = kinds.encode(KEY, text)
    with pytest.raises(RowDamaged):
        kinds.decode(KEY, row[: length % len(row)], TEXT)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_and_never_crash(row: bytes) -> None:
    with pytest.raises(RowDamaged):
        kinds.decode(KEY, row, TEXT)


@given(st.binary(max_size=200))
def test_any_bytes_with_a_valid_checksum_are_decoded_or_refused(body: bytes) -> None:
    row = body + struct.pack("<I", zlib.crc32(body, zlib.crc32(KEY)))
    with suppress(RowDamaged):
        assert isinstance(kinds.decode(KEY, row, TEXT), str)


def test_a_row_cannot_be_read_under_another_key() -> None:
    with pytest.raises(RowDamaged, match="checksum"):
        kinds.decode(b"other", kinds.encode(KEY, "text"), TEXT)


def test_a_row_of_another_version_is_refused_by_name() -> None:
    body = b"\x09\x00" + b"\xa1x"
    row = body + struct.pack("<I", zlib.crc32(body, zlib.crc32(KEY)))
    with pytest.raises(RowDamaged, match=r"format 9\.0"):
        kinds.decode(KEY, row, TEXT)


def test_integers_of_any_size_round_trip() -> None:
    value = {"n": 10**40}
    assert kinds.decode(KEY, kinds.encode(KEY, value), RowType(dict[str, int])) == value


def test_a_frame_that_claims_more_than_the_cap_is_not_unpacked() -> None:
    claim = zstandard.ZstdCompressor(level=1).compress(bytes(MAX_CONTENT_BYTES + 1))
    assert len(claim) < 100_000
    with pytest.raises(RowDamaged, match="claims"):
        kinds.decompress(claim)


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


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_by_decompression(data: bytes) -> None:
    with suppress(RowDamaged):
        kinds.decompress(data)


def nothing(key: bytes) -> None:
    """A store without rows."""


def test_a_row_written_after_its_removal_in_the_same_write_stays() -> None:
    batch = WriteBatch(nothing)
    removing, writing = batch.nested(), batch.nested()
    removing.delete(b"c1")
    removing.delete(b"c2")
    batch.absorb(removing)
    writing.unreferenced_rows[b"c1"] = b"data"
    batch.absorb(writing)
    assert batch.rows == {b"c2": None}
    assert batch.unreferenced_rows == {b"c1": b"data"}
