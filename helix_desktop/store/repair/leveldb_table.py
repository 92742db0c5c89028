"""Reading of LevelDB's table files past any damage, block by block; says which rows can be trusted.

A table is a sequence of blocks with their checksums: rows in order of their keys, then a filter, a list of
the other blocks, an index of the blocks, and a footer that points to the index. Without an intact index the
blocks are found by scanning.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from helix_desktop.store.repair.crc32c import masked_crc
from helix_desktop.store.repair.leveldb_encoding import ByteReader, Malformed
from helix_desktop.system.files import open_regular, read_regular

_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_FOOTER_BYTES = 48  # bytes
_TRAILER_BYTES = 5  # bytes after each block: one for the compression, four for the checksum
_UNCOMPRESSED = 0
_RESTART_INTERVAL = 16  # rows from one full key to the next
_STAMP_BYTES = 8  # bytes after each key: sequence number and kind of change
_DELETE, _PUT = range(2)
_INDEX_SEQUENCE = 2**56 - 1  # in the index, in place of a sequence number

Change = tuple[bytes, bytes | None, int]
"""Key, row (None: deleted), sequence number."""


class TableBlock:
    """The changes in one block, in order of their keys, newest first."""

    def __init__(self, stored: bytes, bounds: tuple[bytes, bytes] | None = None) -> None:
        """Parse a block with its trailer; changes outside of `bounds` have damaged keys and are left out."""
        self._stored = stored
        changes = _changes(stored[: max(0, len(stored) - _TRAILER_BYTES)])
        inside = (change for change in changes if bounds is None or bounds[0] <= change[0] <= bounds[1])
        self.changes = sorted(inside, key=lambda change: (change[0], -change[2]))

    @cached_property
    def is_intact(self) -> bool:
        """Return True if the checksum matches."""
        return _is_checksum_valid(self._stored)


def read_table(path: Path) -> Iterator[TableBlock]:
    """Yield the blocks of a table, in order of their keys; one by one from a scan if there is no index.

    Raise OSError.
    """
    index = _read_index(path)
    if index is None:
        yield from _scan_blocks(read_regular(path))
        return
    first = b""
    for last, offset, size in index:
        # Opened each time: a large store has more tables than file handles.
        with open_regular(path) as file:
            file.seek(offset)
            yield TableBlock(file.read(size + _TRAILER_BYTES), (first, last))
        first = last


def has_index(path: Path) -> bool:
    """Return True if a table's index can be read, so that its blocks come in order. Raise OSError."""
    return _read_index(path) is not None


def _is_checksum_valid(stored: bytes) -> bool:
    size = len(stored) - _TRAILER_BYTES
    return (
        size >= 0
        and stored[size] == _UNCOMPRESSED
        and masked_crc(stored[: size + 1]) == int.from_bytes(stored[size + 1 :], "little")
    )


def _read_index(path: Path) -> list[tuple[bytes, int, int]] | None:
    """Return the last possible key, offset and size in bytes of each block; None if that is not certain."""
    with open_regular(path) as file:
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
    """Yield keys with their stamps, and rows, of a block without its trailer; end where it is damaged."""
    end = len(block) - 4 - 4 * int.from_bytes(block[-4:], "little")
    # A damaged count of full keys must not hide the rows before them.
    reader = ByteReader(block, 0, end if end >= 0 else len(block))
    key = b""
    with suppress(Malformed):
        while not reader.is_done:
            key, row = _read_entry(reader, key)
            yield key, row


def _read_entry(reader: ByteReader, previous_key: bytes) -> tuple[bytes, bytes]:
    shared, unshared, length = reader.read_varint(), reader.read_varint(), reader.read_varint()
    if shared > len(previous_key) or not shared + unshared:
        raise Malformed("no key")
    return previous_key[:shared] + reader.read_bytes(unshared), reader.read_bytes(length)


def _scan_blocks(data: bytes) -> Iterator[TableBlock]:
    """Yield the blocks of a table whose index is lost, as far as they can be separated."""
    offset = 0
    while offset < len(data):
        end = _block_end(data, offset)
        if end is None:
            # The next position where an intact block begins; everything before it is one damaged block.
            end = next(
                (candidate for candidate in range(offset + 1, len(data)) if _block_end(data, candidate)),
                len(data),
            )
        yield TableBlock(data[offset:end])
        offset = end


def _block_end(data: bytes, offset: int) -> int | None:
    """Return the end (with trailer) of the intact block that begins here; None if none begins here."""
    reader = ByteReader(data, offset)
    count, key = 0, b""
    with suppress(Malformed):
        # After the rows comes the offset of the first full key, which is 0: no entry begins with it.
        while data[reader.offset : reader.offset + 2] != b"\0\0":
            key, _ = _read_entry(reader, key)
            count += 1
        restarts = -(-count // _RESTART_INTERVAL)
        reader.read_bytes(4 * restarts)
        if count and reader.read_fixed(4) == restarts:
            reader.read_bytes(_TRAILER_BYTES)
            return reader.offset if _is_checksum_valid(data[offset : reader.offset]) else None
    return None
