"""Ways to damage a closed store's files, and to look at them."""

from __future__ import annotations

from pathlib import Path

import plyvel


def compact_tables(folder: Path) -> None:
    """Move everything from the log into tables."""
    db = plyvel.DB(str(folder / "db"), create_if_missing=False, compression=None, bloom_filter_bits=10)
    # Without bounds this does nothing.
    db.compact_range(start=b"\x00", stop=b"\xff" * 40)
    db.close()


def database_files(folder: Path, pattern: str = "*") -> dict[str, bytes]:
    """The LevelDB's files by name."""
    return {path.name: path.read_bytes() for path in (folder / "db").glob(pattern) if path.name != "LOCK"}


def flip_last_bit(folder: Path, key: bytes) -> None:
    """Flip the last bit of one row, so that its own checksum no longer fits, and LevelDB's does."""
    db = plyvel.DB(str(folder / "db"), create_if_missing=False, compression=None)
    row = db.get(key)
    db.put(key, row[:-1] + bytes([row[-1] ^ 1]), sync=True)
    db.close()


def flip_bit_near(
    folder: Path, needle: bytes, offset: int = 0, patterns: tuple[str, ...] = ("*.ldb", "*.log")
) -> int:
    """Flip one bit `offset` bytes after each occurrence of `needle`; return the number of occurrences."""
    places = 0
    for pattern in patterns:
        for path in (folder / "db").glob(pattern):
            data = bytearray(path.read_bytes())
            at = data.find(needle)
            while at >= 0:
                data[at + offset] ^= 0x10
                places += 1
                at = data.find(needle, at + len(needle))
            path.write_bytes(data)
    return places
