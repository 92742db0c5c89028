"""The checksum in LevelDB's files: CRC-32C, stored masked. About 4 MB/s, so asked for where it decides."""

from __future__ import annotations

_POLYNOMIAL = 0x82F63B78  # reflected
_MASK_DELTA = 0xA282EAD8
_ALL = 0xFFFFFFFF


def masked_crc(data: bytes) -> int:
    """The checksum as it is stored: turned and shifted, since files hold checksums of checksums."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL


def crc32c(data: bytes) -> int:
    """CRC-32C of some bytes."""
    crc = _ALL
    table = _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ _ALL


def _of_byte(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
    return value


_TABLE = tuple(map(_of_byte, range(256)))
