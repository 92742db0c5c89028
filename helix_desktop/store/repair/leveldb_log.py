"""Reads LevelDB's log files and manifests past any damage, and says which records can be trusted.

A log is a row of blocks of 32 KB. Each holds fragments: checksum, length, type, payload. A record is one
fragment, or first, middle and last ones. A damaged fragment is handed on as doubtful, up to the next place
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
    """A record's bytes; `sound` says that all its checksums match and that none of it is missing."""

    payload: bytes
    is_intact: bool


@dataclass(frozen=True, slots=True)
class _Fragment:
    kind: int
    payload: bytes
    is_intact: bool


@dataclass(slots=True)
class _PartialRecord:
    """A record of which the end has not come yet."""

    parts: list[bytes] = field(default_factory=list)
    is_intact: bool = True

    def finish(self, is_complete: bool) -> LogRecord:
        return LogRecord(b"".join(self.parts), self.is_intact and is_complete)


def read_log(data: bytes) -> Iterator[LogRecord]:
    """The records of a log, in order. One that was cut off comes too, as not sound."""
    held: _PartialRecord | None = None
    for fragment in _fragments(data):
        if held is not None and fragment.kind in (_FULL, _FIRST):
            yield held.finish(is_complete=False)
            held = None
        begins = held is None
        if held is None:
            held = _PartialRecord(is_intact=fragment.kind in (_FULL, _FIRST))
        held.parts.append(fragment.payload)
        held.is_intact = held.is_intact and fragment.is_intact
        if fragment.kind in (_FULL, _LAST) or (begins and fragment.kind == _MIDDLE):
            yield held.finish(is_complete=True)
            held = None
    if held is not None:
        yield held.finish(is_complete=False)


def _fragments(data: bytes) -> Iterator[_Fragment]:
    for start in range(0, len(data), BLOCK_BYTES):
        at, end = start, min(start + BLOCK_BYTES, len(data))
        while end - at >= _HEADER_BYTES:
            length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
            if not length and not kind:
                break  # room that was made and not used
            if _is_intact_fragment(data, at, end):
                yield _Fragment(kind, data[at + _HEADER_BYTES : at + _HEADER_BYTES + length], is_intact=True)
                at += _HEADER_BYTES + length
                continue
            stop = next((one for one in range(at + 1, end) if _is_intact_fragment(data, one, end)), end)
            inside = at + _HEADER_BYTES + length
            if kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
                kind = _MIDDLE if stop == end else _FULL
            yield _Fragment(
                kind, data[at + _HEADER_BYTES : inside if inside <= stop else stop], is_intact=False
            )
            at = stop


def _write_starts(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the writes of a log begin, and where their blocks end; checksums are not looked at."""
    for start in range(0, len(data), BLOCK_BYTES):
        at, end = start, min(start + BLOCK_BYTES, len(data))
        while end - at >= _HEADER_BYTES:
            length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
            if not length and not kind:
                break
            if kind in (_FULL, _FIRST):
                yield at, end
            at += _HEADER_BYTES + length


def _read_batch_header(data: bytes, offset: int, end: int) -> bytes | None:
    """The first bytes of a write, which may go on in the next block; None when nobody can tell them."""
    stop = min(offset + _HEADER_BYTES + int.from_bytes(data[offset + 4 : offset + 6], "little"), end)
    head = data[offset + _HEADER_BYTES : stop][:_BATCH_HEADER_BYTES]
    if len(head) < _BATCH_HEADER_BYTES and stop == end:  # it began where the block had less room than that
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
    """Whether a fragment begins here whose checksum matches."""
    if end - offset < _HEADER_BYTES or not _FULL <= data[offset + 6] <= _LAST:
        return False
    stop = offset + _HEADER_BYTES + int.from_bytes(data[offset + 4 : offset + 6], "little")
    return stop <= end and masked_crc(data[offset + 6 : stop]) == int.from_bytes(
        data[offset : offset + 4], "little"
    )


def find_gap(data: bytes, last_sequence: int) -> tuple[int, int]:
    """How many changes are missing in a log whose first one follows `last` at the latest, and its last one.

    Each write says the number of its first change. LevelDB passes over a stretch of zeros without a word: it
    takes it for room that was not used. Damage that LevelDB notices by itself ends the look.
    """
    missing = 0
    for at, end in _write_starts(data):
        head = _read_batch_header(data, at, end)
        if head is None:
            break
        sequence = int.from_bytes(head[:8], "little")
        if sequence > last_sequence + 1:
            if not _is_intact_fragment(data, at, end):
                break
            missing += sequence - last_sequence - 1
        last_sequence = sequence + int.from_bytes(head[8:], "little") - 1
    return missing, last_sequence


def read_batch(payload: bytes) -> Iterator[tuple[bytes, bytes | None, int]]:
    """Key, row (None: deleted) and sequence number of what one write changed; ends where it is damaged."""
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
