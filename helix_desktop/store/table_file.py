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

from helix_desktop.store.crc32c import masked_crc
from helix_desktop.store.wire import Malformed, Reader

_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_FOOTER = 48  # bytes
_TRAILER = 5  # bytes behind each block: one for how it is compressed, four for its checksum
_PLAIN = 0
_EVERY = 16  # rows from one full key to the next
_STAMP = 8  # bytes behind each key: sequence number and kind of change
_DELETE, _PUT = range(2)
_NO_NUMBER = 2**56 - 1  # stands in the index in the place of a sequence number

Change = tuple[bytes, bytes | None, int]
"""Key, row (None: deleted), sequence number."""


class Block:
    """The changes that one block holds, in order of their keys, newest first."""

    def __init__(self, stored: bytes, bounds: tuple[bytes, bytes] | None = None) -> None:
        """A block with its trailer; changes outside of `bounds` are damaged keys and left out."""
        self._stored = stored
        found = _changes(stored[: max(0, len(stored) - _TRAILER)])
        inside = (one for one in found if bounds is None or bounds[0] <= one[0] <= bounds[1])
        self.changes = sorted(inside, key=lambda one: (one[0], -one[2]))

    @cached_property
    def sound(self) -> bool:
        """Whether the checksum matches."""
        return _matches(self._stored)


def read_table(path: Path) -> Iterator[Block]:
    """The blocks of a table, in order of their keys; one block when there is no index. Raises OSError."""
    index = _index(path)
    if index is None:
        yield from _without_index(path.read_bytes())
        return
    first = b""
    for last, offset, size in index:
        with path.open("rb") as file:  # opened anew: a large store has more tables than a process has files
            file.seek(offset)
            yield Block(file.read(size + _TRAILER), (first, last))
        first = last


def indexed(path: Path) -> bool:
    """Whether a table's index can be read, so that its blocks come in order. Raises OSError."""
    return _index(path) is not None


def _matches(stored: bytes) -> bool:
    size = len(stored) - _TRAILER
    return (
        size >= 0
        and stored[size] == _PLAIN
        and masked_crc(stored[: size + 1]) == int.from_bytes(stored[size + 1 :], "little")
    )


def _index(path: Path) -> list[tuple[bytes, int, int]] | None:
    """The last possible key, offset and size in bytes of each block; None when that is not known for sure."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size < _FOOTER:
            return None
        file.seek(size - _FOOTER)
        reader = Reader(file.read(_FOOTER))
        if reader.data[-8:] != _MAGIC:
            return None
        with suppress(Malformed):
            _, _, offset, length = (reader.varint() for _ in range(4))
            if offset + length + _TRAILER > size:
                return None
            file.seek(offset)
            stored = file.read(length + _TRAILER)
            if _matches(stored):
                return [(key[:-_STAMP], *_handle(row)) for key, row in _entries(stored[:length])]
    return None


def _handle(row: bytes) -> tuple[int, int]:
    reader = Reader(row)
    return reader.varint(), reader.varint()


def _changes(block: bytes) -> Iterator[Change]:
    for key, row in _entries(block):
        stamp = int.from_bytes(key[-_STAMP:], "little")
        sequence, kind = stamp >> 8, stamp & 0xFF
        if len(key) > _STAMP and kind in (_DELETE, _PUT) and sequence != _NO_NUMBER:
            # A deletion has no row: one that has is a damaged stamp.
            yield key[:-_STAMP], None if kind == _DELETE and not row else row, sequence


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys with their stamps, and rows, of a block without its trailer; ends where it is damaged."""
    end = len(block) - 4 - 4 * int.from_bytes(block[-4:], "little")
    # A damaged count of full keys must not hide the rows before them.
    reader = Reader(block, 0, end if end >= 0 else len(block))
    key = b""
    with suppress(Malformed):
        while not reader.done:
            key, row = _entry(reader, key)
            yield key, row


def _entry(reader: Reader, before: bytes) -> tuple[bytes, bytes]:
    shared, more, length = reader.varint(), reader.varint(), reader.varint()
    if shared > len(before) or not shared + more:
        raise Malformed("no key")
    return before[:shared] + reader.take(more), reader.take(length)


def _without_index(data: bytes) -> Iterator[Block]:
    """The blocks of a table whose index is lost, as far as they can be told from each other."""
    at = 0
    while at < len(data):
        end = _block_end(data, at)
        if end is None:
            # The next place where a whole block begins; what lies before it is one damaged block.
            end = next((one for one in range(at + 1, len(data)) if _block_end(data, one)), len(data))
        yield Block(data[at:end])
        at = end


def _block_end(data: bytes, at: int) -> int | None:
    """Where the whole block that begins here ends with its trailer; None when none begins here."""
    reader = Reader(data, at)
    count, key = 0, b""
    with suppress(Malformed):
        # Behind the rows stands the offset of the first full key, which is 0: no entry begins with it.
        while data[reader.at : reader.at + 2] != b"\0\0":
            key, _ = _entry(reader, key)
            count += 1
        restarts = -(-count // _EVERY)
        reader.take(4 * restarts)
        if count and reader.fixed(4) == restarts:
            reader.take(_TRAILER)
            return reader.at if _matches(data[at : reader.at]) else None
    return None
