"""Reading of LevelDB's own files past any damage: logs, manifest and tables; says what can be trusted.

A log is a sequence of blocks of 32 KB. Each holds fragments: checksum, length, type, payload. A record is one
fragment, or first, middle and last ones. A damaged fragment is returned as not intact, up to the next place
where a checksum matches.

A table is a sequence of blocks with their checksums: rows in order of their keys, then a filter, a list of
the other blocks, an index of the blocks, and a footer that points to the index. Without an intact index the
blocks are found by scanning.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.system.files import open_regular, read_regular

text = TextContext("Store")

_MASK_DELTA = 0xA282EAD8
_ALL_ONES = 0xFFFFFFFF


def masked_crc(data: bytes) -> int:
    """Return the CRC-32C as it is stored: rotated and offset, since files hold checksums of checksums."""
    from google_crc32c import value

    crc: int = value(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL_ONES


_LOW_BITS = 0x7F  # the value bits of a byte; the eighth bit means that more bytes follow
_MAX_VARINT_BYTES = 10  # bytes of a 64-bit varint


class Malformed(Exception):
    """The bytes are not what they should be."""


class ByteReader:
    """Reader of consecutive values. Every method raises Malformed if the bytes end too early."""

    def __init__(self, data: bytes, offset: int = 0, end: int | None = None) -> None:
        self.data = data
        self.offset = offset
        self.end = len(data) if end is None else end

    @property
    def is_done(self) -> bool:
        return self.offset >= self.end

    def read_varint(self) -> int:
        """Return a number with seven bits per byte, lowest first."""
        value = shift = 0
        for index in range(self.offset, min(self.end, self.offset + _MAX_VARINT_BYTES)):
            byte = self.data[index]
            value |= (byte & _LOW_BITS) << shift
            if byte <= _LOW_BITS:
                self.offset = index + 1
                return value
            shift += 7
        raise Malformed(f"no number at {self.offset}")

    def read_fixed(self, size: int) -> int:
        """Return a number of `size` bytes, lowest first."""
        return int.from_bytes(self.read_bytes(size), "little")

    def read_bytes(self, size: int) -> bytes:
        stop = self.offset + size
        if stop > self.end:
            raise Malformed(f"{size} bytes claimed at {self.offset}, {self.end - self.offset} are there")
        data = self.data[self.offset : stop]
        self.offset = stop
        return data

    def read_prefixed(self) -> bytes:
        """Return bytes that follow their length."""
        return self.read_bytes(self.read_varint())


BLOCK_BYTES = 32 * 1024  # bytes
_HEADER_BYTES = 7  # bytes before a fragment's payload
_FULL, _FIRST, _MIDDLE, _LAST = range(1, 5)
_DELETE, _PUT = range(2)
_BATCH_HEADER_BYTES = 12  # bytes of a batch before its rows


class LogRecord(msgspec.Struct, frozen=True):
    """A record's bytes; `is_intact`: all its checksums match and no part is missing."""

    payload: bytes
    is_intact: bool


class _Fragment(msgspec.Struct, frozen=True):
    kind: int
    payload: bytes
    is_intact: bool


@dataclass(slots=True)
class _PartialRecord:
    parts: list[bytes] = field(default_factory=list)
    is_intact: bool = True

    def finish(self, is_complete: bool) -> LogRecord:
        return LogRecord(b"".join(self.parts), self.is_intact and is_complete)


def read_log(data: bytes) -> Iterator[LogRecord]:
    """Yield the records of a log, in order. A truncated one comes too, as not intact."""
    partial: _PartialRecord | None = None
    for fragment in _fragments(data):
        if partial is not None and fragment.kind in (_FULL, _FIRST):
            yield partial.finish(is_complete=False)
            partial = None
        begins = partial is None
        if partial is None:
            partial = _PartialRecord(is_intact=fragment.kind in (_FULL, _FIRST))
        partial.parts.append(fragment.payload)
        partial.is_intact = partial.is_intact and fragment.is_intact
        if fragment.kind in (_FULL, _LAST) or (begins and fragment.kind == _MIDDLE):
            yield partial.finish(is_complete=True)
            partial = None
    if partial is not None:
        yield partial.finish(is_complete=False)


def _fragments(data: bytes) -> Iterator[_Fragment]:
    for start in range(0, len(data), BLOCK_BYTES):
        offset = start
        end = min(start + BLOCK_BYTES, len(data))
        while end - offset >= _HEADER_BYTES:
            length = int.from_bytes(data[offset + 4 : offset + 6], "little")
            kind = data[offset + 6]
            if not length and not kind:
                break  # space that was reserved and not used
            if _is_intact_fragment(data, offset, end):
                yield _Fragment(
                    kind, data[offset + _HEADER_BYTES : offset + _HEADER_BYTES + length], is_intact=True
                )
                offset += _HEADER_BYTES + length
                continue
            next_offset = next(
                (
                    candidate
                    for candidate in range(offset + 1, end)
                    if _is_intact_fragment(data, candidate, end)
                ),
                end,
            )
            payload_end = offset + _HEADER_BYTES + length
            if kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
                kind = _MIDDLE if next_offset == end else _FULL
            yield _Fragment(
                kind,
                data[offset + _HEADER_BYTES : payload_end if payload_end <= next_offset else next_offset],
                is_intact=False,
            )
            offset = next_offset


def _write_starts(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the writes of a log begin, and where their blocks end; checksums are not verified."""
    for start in range(0, len(data), BLOCK_BYTES):
        offset = start
        end = min(start + BLOCK_BYTES, len(data))
        while end - offset >= _HEADER_BYTES:
            length = int.from_bytes(data[offset + 4 : offset + 6], "little")
            kind = data[offset + 6]
            if not length and not kind:
                break
            if kind in (_FULL, _FIRST):
                yield offset, end
            offset += _HEADER_BYTES + length


def _read_batch_header(data: bytes, offset: int, end: int) -> bytes | None:
    """Return the header of a write, which may continue in the next block; None if it is not certain."""
    stop = min(offset + _HEADER_BYTES + int.from_bytes(data[offset + 4 : offset + 6], "little"), end)
    head = data[offset + _HEADER_BYTES : stop][:_BATCH_HEADER_BYTES]
    if len(head) < _BATCH_HEADER_BYTES and stop == end:  # it began where the block had less space than that
        after = min(end + BLOCK_BYTES, len(data))
        if not (
            _is_intact_fragment(data, offset, end)
            and _is_intact_fragment(data, end, after)
            and data[end + 6] in (_MIDDLE, _LAST)
        ):
            return None
        length = int.from_bytes(data[end + 4 : end + 6], "little")
        head += data[end + _HEADER_BYTES : end + _HEADER_BYTES + length][: _BATCH_HEADER_BYTES - len(head)]
    return head if len(head) == _BATCH_HEADER_BYTES else None


def _is_intact_fragment(data: bytes, offset: int, end: int) -> bool:
    """Return True if a fragment begins here whose checksum matches."""
    if end - offset < _HEADER_BYTES or not _FULL <= data[offset + 6] <= _LAST:
        return False
    stop = offset + _HEADER_BYTES + int.from_bytes(data[offset + 4 : offset + 6], "little")
    return stop <= end and masked_crc(data[offset + 6 : stop]) == int.from_bytes(
        data[offset : offset + 4], "little"
    )


def find_gap(data: bytes, last_sequence: int) -> tuple[int, int]:
    """Return how many changes are missing in a log, and the number of its last change.

    The log's first change follows `last_sequence` at the latest.

    Each write states the number of its first change. LevelDB silently skips a range of zeros: it takes
    them for unused space. Damage that LevelDB notices by itself ends the search.
    """
    missing = 0
    for offset, end in _write_starts(data):
        head = _read_batch_header(data, offset, end)
        if head is None:
            break
        sequence = int.from_bytes(head[:8], "little")
        if sequence > last_sequence + 1:
            if not _is_intact_fragment(data, offset, end):
                break
            missing += sequence - last_sequence - 1
        last_sequence = sequence + int.from_bytes(head[8:], "little") - 1
    return missing, last_sequence


def read_batch(payload: bytes) -> Iterator[tuple[bytes, bytes | None, int]]:
    """Yield key, row (None: deleted) and sequence number of each change of a write; end where damaged."""
    if len(payload) < _BATCH_HEADER_BYTES:
        return
    reader = ByteReader(payload)
    sequence = reader.read_fixed(8)
    reader.read_bytes(_BATCH_HEADER_BYTES - 8)
    try:
        while not reader.is_done:
            (kind,) = reader.read_bytes(1)
            if kind not in (_DELETE, _PUT):
                return
            key = reader.read_prefixed()
            yield key, reader.read_prefixed() if kind == _PUT else None, sequence
            sequence += 1
    except Malformed:
        return


@dataclass(slots=True)
class LevelDbManifest:
    """The numbers of the files that make up a database; `is_intact` if all of the manifest was readable.

    `tables`: their sizes in bytes by number. `last_sequence`: the number of the last change that is known to
    come before the logs' next one, at the latest.
    """

    tables: dict[int, int] = field(default_factory=dict)
    log_number: int = 0
    last_sequence: int = 0
    is_intact: bool = True

    def truncated_tables(self, db: Path) -> list[str]:
        """Return a description of each table that is shorter than when it was written."""
        paths = ((db / f"{number:06d}.ldb", size) for number, size in sorted(self.tables.items()))
        sizes = ((path, path.stat().st_size, size) for path, size in paths if path.exists())
        return [
            text("{file} has {actual} of {size} bytes", file=path.name, actual=actual, size=size)
            for path, actual, size in sizes
            if actual < size
        ]

    def missing_files(self, db: Path) -> list[str]:
        names = [f"{number:06d}.ldb" for number in sorted(self.tables)]
        lost = [name for name in names if not _any_exists(db, name, name.replace(".ldb", ".sst"))]
        log = f"{self.log_number:06d}.log"
        return lost + ([log] if self.log_number and not _any_exists(db, log) else [])


def read_current(db: Path) -> LevelDbManifest | None:
    """Return the manifest that CURRENT names; None if there is none."""
    try:
        name = read_regular(db / "CURRENT").decode("ascii").removesuffix("\n")
        if not name.startswith("MANIFEST-") or "/" in name:
            return None
        return _read_manifest(read_regular(db / name))
    except (OSError, UnicodeDecodeError, ValueError):
        return None


def read_newest(db: Path) -> LevelDbManifest | None:
    """Return the newest manifest, for a database whose CURRENT is lost."""
    try:
        names = sorted(db.glob("MANIFEST-*"))
        return _read_manifest(read_regular(names[-1])) if names else None
    except OSError:
        return None


def _read_manifest(data: bytes) -> LevelDbManifest:
    """Return the content of a manifest, as far as it can be read."""
    manifest = LevelDbManifest()
    for record in read_log(data):
        try:
            if not record.is_intact:
                raise Malformed("a damaged record")
            _apply_edit(manifest, ByteReader(record.payload))
        except Malformed:
            manifest.is_intact = False
    return manifest


_EDITS = {1: "s", 2: "n", 3: "n", 4: "n", 5: "ns", 6: "nn", 7: "nnnss", 9: "n"}
"""The numbers (n) and strings (s) of each kind of change: comparator, log, next file, last sequence, place of
the next compaction, dropped table, new table, previous log.
"""


def _apply_edit(manifest: LevelDbManifest, reader: ByteReader) -> None:
    """Apply one change of the manifest. Raise Malformed."""
    while not reader.is_done:
        kind = reader.read_varint()
        if kind not in _EDITS:
            raise Malformed("an unknown kind of change")
        values = [reader.read_varint() if form == "n" else reader.read_prefixed() for form in _EDITS[kind]]
        match kind, values:
            case 2, [int(number)]:
                manifest.log_number = number
            case 4, [int(number)]:
                manifest.last_sequence = number
            case 6, [_, int(number)]:
                manifest.tables.pop(number, None)
            case 7, [_, int(number), int(size), *_]:
                manifest.tables[number] = size


def _any_exists(db: Path, *names: str) -> bool:
    return any((db / name).is_file() for name in names)


_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_FOOTER_BYTES = 48  # bytes
_TRAILER_BYTES = 5  # bytes after each block: one for the compression, four for the checksum
_UNCOMPRESSED = 0
_RESTART_INTERVAL = 16  # rows from one full key to the next
_STAMP_BYTES = 8  # bytes after each key: sequence number and kind of change
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
        sequence = stamp >> 8
        kind = stamp & 0xFF
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
    shared = reader.read_varint()
    unshared = reader.read_varint()
    length = reader.read_varint()
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
    count = 0
    key = b""
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
