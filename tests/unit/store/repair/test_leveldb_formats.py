"""LevelDB's file formats, read without LevelDB: what it wrote is read, and damage stays local."""

from __future__ import annotations

from pathlib import Path

import plyvel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.store.repair.leveldb_files import (
    BLOCK_BYTES,
    ByteReader,
    Malformed,
    find_gap,
    masked_crc,
    read_batch,
    read_log,
)


def test_the_checksum_is_the_one_that_leveldb_stores() -> None:
    unmasked = 0xE3069283  # CRC-32C of the nine digits, in its standard
    assert masked_crc(b"123456789") == ((unmasked >> 15 | unmasked << 17) + 0xA282EAD8) & 0xFFFFFFFF


@given(st.lists(st.binary(min_size=12, max_size=70_000), max_size=4), st.integers(0), st.integers(0, 7))
def test_a_flipped_bit_of_a_log_loses_one_record(payloads: list[bytes], position: int, bit: int) -> None:
    """No record is shorter than a write's number and count: an empty one could look like unused space."""
    log = written_log(payloads)
    assert [(record.payload, record.is_intact) for record in read_log(log)] == [
        (record, True) for record in payloads
    ]
    if log:
        damaged = bytearray(log)
        damaged[position % len(log)] ^= 1 << bit
        sound = [record.payload for record in read_log(bytes(damaged)) if record.is_intact]
        assert len(sound) >= len(payloads) - 1
        rest = iter(payloads)
        assert all(payload in rest for payload in sound), "in order, and nothing that was not written"


@given(st.data(), st.lists(st.tuples(st.integers(1, 9), st.integers(0, 40_000)), min_size=2, max_size=8))
def test_a_write_missing_from_a_log_is_counted(data: st.DataObject, writes: list[tuple[int, int]]) -> None:
    payloads = []
    last = 41
    for count, size in writes:
        payloads.append((last + 1).to_bytes(8, "little") + count.to_bytes(4, "little") + bytes(size))
        last += count
    log = written_log(payloads)
    assert find_gap(log, 41) == (0, last)
    assert find_gap(log, 39) == (2, last)  # earlier ones are missing as well
    assert find_gap(log, 50) == (0, last)  # some of them are in a table already
    missing = data.draw(st.integers(0, len(writes) - 2))
    assert find_gap(written_log([*payloads[:missing], *payloads[missing + 1 :]]), 41) == (
        writes[missing][0],
        last,
    )


def written_log(payloads: list[bytes]) -> bytes:
    log = bytearray()
    for payload in payloads:
        remaining = payload
        first = True
        while first or remaining:
            free_bytes = BLOCK_BYTES - len(log) % BLOCK_BYTES
            if free_bytes < 7:
                log += bytes(free_bytes)
                continue
            part = remaining[: free_bytes - 7]
            remaining = remaining[free_bytes - 7 :]
            kind = {(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}[
                first, not remaining
            ]
            log += masked_crc(bytes([kind]) + part).to_bytes(4, "little")
            log += len(part).to_bytes(2, "little") + bytes([kind]) + part
            first = False
    return bytes(log)


@pytest.mark.parametrize("free_bytes", range(7, 24))
def test_a_write_that_begins_near_the_end_of_a_block_is_no_gap(tmp_path: Path, free_bytes: int) -> None:
    db = plyvel.DB(str(tmp_path), create_if_missing=True)
    around = 7 + 12 + 1 + 1 + 1 + 3  # fragment, batch, kind, key's length, key, value's length
    for key, size in (
        (b"a", BLOCK_BYTES - free_bytes - around),
        (b"b", 100),
        (b"c", 3 * BLOCK_BYTES),
        (b"d", 5),
    ):
        db.put(key, bytes(size))
    db.close()
    (log,) = tmp_path.glob("*.log")
    data = log.read_bytes()
    assert find_gap(data, 0) == (0, 4)
    assert find_gap(data[:BLOCK_BYTES], 0)[0] == 0  # the second write is torn
    blank = data[: BLOCK_BYTES - free_bytes] + bytes(free_bytes) + data[BLOCK_BYTES:]
    assert find_gap(blank, 0)[0] > 0


def test_a_batch_ends_at_its_damage() -> None:
    batch = (7).to_bytes(8, "little") + (3).to_bytes(4, "little") + b"\1\1a\1x" + b"\0\1b" + b"\1\1c\1y"
    assert list(read_batch(batch)) == [(b"a", b"x", 7), (b"b", None, 8), (b"c", b"y", 9)]
    assert list(read_batch(batch[:-1])) == [(b"a", b"x", 7), (b"b", None, 8)]
    assert list(read_batch(batch[:11])) == []


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 12])
def test_an_unterminated_number_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        ByteReader(data).read_varint()
