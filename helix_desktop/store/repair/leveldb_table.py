"""Reads LevelDB's table files past any damage, block by block, and says which rows can be trusted.

A table is a row of blocks with their checksums: rows in order of their keys, then a filter, a list of what
else there is, an index of the blocks, and a footer that names the index. Without a sound index the blocks are
found one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from helix_desktop.store.repair.crc32c import masked_crc
from helix_desktop.store.repair.leveldb_encoding import ByteReader, Malformed

_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_FOOTER_BYTES = 48  # bytes
_TRAILER_BYTES = 5  # bytes behind each block: one for how it is compressed, four for its checksum
_UNCOMPRESSED = 0
_RESTART_INTERVAL = 16  # rows from one full key to the next
_STAMP_BYTES = 8  # bytes behind each key: sequence number and kind of change
_DELETE, _PUT = range(2)
_INDEX_SEQUENCE = 2**56 - 1  # stands in the index in the place of a sequence number

Change = tuple[bytes, bytes | None, int]
"""Key, row (None: deleted), sequence number."""


class TableBlock:
    """The changes that one block holds, in order of their keys, newest first."""

    def __init__(self, stored: bytes, bounds: tuple[bytes, bytes] | None = None) -> None:
        """A block with its trailer; changes outside of `bounds` are damaged keys and left out."""
        self._stored = stored
        found = _changes(stored[: max(0, len(stored) - _TRAILER_BYTES)])
        inside = (one for one in found if bounds is None or bounds[0] <= one[0] <= bounds[1])
        self.changes = sorted(inside, key=lambda one: (one[0], -one[2]))

    @cached_property
    def is_intact(self) -> bool:
        """Whether the checksum matches."""
        return _is_checksum_valid(self._stored)


def read_table(path: Path) -> Iterator[TableBlock]:
    """The blocks of a table, in order of their keys; one block when there is no index. Raises OSError."""
    index = _read_index(path)
    if index is None:
        yield from _scan_blocks(path.read_bytes())
        return
    first = b""
    for last, offset, size in index:
        with path.open("rb") as file:  # opened anew: a large store has more tables than a process has files
            file.seek(offset)
            yield TableBlock(file.read(size + _TRAILER_BYTES), (first, last))
        first = last


def has_index(path: Path) -> bool:
    """Whether a table's index can be read, so that its blocks come in order. Raises OSError."""
    return _read_index(path) is not None


def _is_checksum_valid(stored: bytes) -> bool:
    size = len(stored) - _TRAILER_BYTES
    return (
        size >= 0
        and stored[size] == _UNCOMPRESSED
        and masked_crc(stored[: size + 1]) == int.from_bytes(stored[size + 1 :], "little")
    )


def _read_index(path: Path) -> list[tuple[bytes, int, int]] | None:
    """The last possible key, offset and size in bytes of each block; None when that is not known for sure."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size < _FOOTER_BYTES:
            return None
        file.seek(size - _FOOTER_BYTES)
        reader = ByteReader(file.read(_FOOTER_BYTES))
        if reader.data[-8:] != _MAGIC:
            return None
        with suppress(Malformed):
            _, _, offset, length = (reader.read_varint() for _ in range(4))
            if offset + length + _TRAILER_BYTES > size:
                return None
            file.seek(offset)
            stored = file.read(length + _TRAILER_BYTES)
            if _is_checksum_valid(stored):
                return [(key[:-_STAMP_BYTES], *_read_handle(row)) for key, row in _entries(stored[:length])]
    return None


def _read_handle(row: bytes) -> tuple[int, int]:
    reader = ByteReader(row)
    return reader.read_varint(), reader.read_varint()


def _changes(block: bytes) -> Iterator[Change]:
    for key, row in _entries(block):
        stamp = int.from_bytes(key[-_STAMP_BYTES:], "little")
        sequence, kind = stamp >> 8, stamp & 0xFF
        if len(key) > _STAMP_BYTES and kind in (_DELETE, _PUT) and sequence != _INDEX_SEQUENCE:
            # A deletion has no row: one that has is a damaged stamp.
            yield key[:-_STAMP_BYTES], None if kind == _DELETE and not row else row, sequence


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys with their stamps, and rows, of a block without its trailer; ends where it is damaged."""
    end = len(block) - 4 - 4 * int.from_bytes(block[-4:], "little")
    # A damaged count of full keys must not hide the rows before them.
    reader = ByteReader(block, 0, end if end >= 0 else len(block))
    key = b""
    with suppress(Malformed):
        while not reader.is_done:
            key, row = _read_entry(reader, key)
            yield key, row


def _read_entry(reader: ByteReader, previous_key: bytes) -> tuple[bytes, bytes]:
    shared, more, length = reader.read_varint(), reader.read_varint(), reader.read_varint()
    if shared > len(previous_key) or not shared + more:
        raise Malformed("no key")
    return previous_key[:shared] + reader.read_bytes(more), reader.read_bytes(length)


def _scan_blocks(data: bytes) -> Iterator[TableBlock]:
    """The blocks of a table whose index is lost, as far as they can be told from each other."""
    at = 0
    while at < len(data):
        end = _block_end(data, at)
        if end is None:
            # The next place where a whole block begins; what lies before it is one damaged block.
            end = next((one for one in range(at + 1, len(data)) if _block_end(data, one)), len(data))
        yield TableBlock(data[at:end])
        at = end


def _block_end(data: bytes, offset: int) -> int | None:
    """Where the whole block that begins here ends with its trailer; None when none begins here."""
    reader = ByteReader(data, offset)
    count, key = 0, b""
    with suppress(Malformed):
        # Behind the rows stands the offset of the first full key, which is 0: no entry begins with it.
        while data[reader.offset : reader.offset + 2] != b"\0\0":
            key, _ = _read_entry(reader, key)
            count += 1
        restarts = -(-count // _RESTART_INTERVAL)
        reader.read_bytes(4 * restarts)
        if count and reader.read_fixed(4) == restarts:
            reader.read_bytes(_TRAILER_BYTES)
            return reader.offset if _is_checksum_valid(data[offset : reader.offset]) else None
    return None
