"""The checksum in LevelDB's files: CRC-32C, stored masked. About 20 MB/s on blocks of 32 KB."""

from __future__ import annotations

from functools import cache

_POLYNOMIAL = 0x82F63B78  # reflected
_MASK_DELTA = 0xA282EAD8
_ALL_ONES = 0xFFFFFFFF
_LANE = 64  # bytes of each of the pieces that are gone through side by side
_MIN_LANE_BLOCKS = 1024  # bytes below which one after the other is faster


def masked_crc(data: bytes) -> int:
    """The checksum as it is stored: turned and shifted, since files hold checksums of checksums."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL_ONES


def crc32c(data: bytes) -> int:
    """CRC-32C of some bytes."""
    crc, done = (_ALL_ONES, 0) if len(data) < _MIN_LANE_BLOCKS else _crc_of_lanes(data)
    table = _TABLE
    for byte in data[done:]:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ _ALL_ONES


def _crc_of_lanes(data: bytes) -> tuple[int, int]:
    """The state after as many whole lanes as there are, and how many bytes that was.

    The states of all lanes are four long numbers, one for each byte of a state: a step looks a whole column
    of bytes up with `translate`. In the end each lane's state is shifted over the lanes behind it.
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
    one, two, three, four = _lane_shift_tables()
    columns = (one.to_bytes(lanes, "little") for one in (low, second, third, high))
    for state in zip(*columns, strict=True):
        shifted = one[crc & 0xFF] ^ two[crc >> 8 & 0xFF] ^ three[crc >> 16 & 0xFF] ^ four[crc >> 24]
        crc = shifted ^ int.from_bytes(bytes(state), "little")
    return crc, end


@cache
def _lane_shift_tables() -> tuple[tuple[int, ...], ...]:
    """What a lane of zeros makes of each byte of a state."""
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
