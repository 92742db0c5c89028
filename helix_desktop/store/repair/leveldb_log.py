"""Reading of LevelDB's log files and manifests past any damage; says which records can be trusted.

A log is a sequence of blocks of 32 KB. Each holds fragments: checksum, length, type, payload. A record is one
fragment, or first, middle and last ones. A damaged fragment is returned as not intact, up to the next place
where a checksum matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from helix_desktop.store.repair.crc32c import masked_crc
from helix_desktop.store.repair.leveldb_encoding import ByteReader, Malformed

BLOCK_BYTES = 32 * 1024  # bytes
_HEADER_BYTES = 7  # bytes before a fragment's payload
_FULL, _FIRST, _MIDDLE, _LAST = range(1, 5)
_DELETE, _PUT = range(2)
_BATCH_HEADER_BYTES = 12  # bytes of a batch before its rows


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record's bytes; `is_intact`: all its checksums match and no part is missing."""

    payload: bytes
    is_intact: bool


@dataclass(frozen=True, slots=True)
class _Fragment:
    kind: int
    payload: bytes
    is_intact: bool


@dataclass(slots=True)
class _PartialRecord:
    """A record whose end has not come yet."""

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
        offset, end = start, min(start + BLOCK_BYTES, len(data))
        while end - offset >= _HEADER_BYTES:
            length, kind = int.from_bytes(data[offset + 4 : offset + 6], "little"), data[offset + 6]
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
        offset, end = start, min(start + BLOCK_BYTES, len(data))
        while end - offset >= _HEADER_BYTES:
            length, kind = int.from_bytes(data[offset + 4 : offset + 6], "little"), data[offset + 6]
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
