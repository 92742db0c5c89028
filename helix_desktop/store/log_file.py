"""Reads LevelDB's log files and manifests past any damage, and says which records can be trusted.

A log is a row of blocks of 32 KB. Each holds fragments: checksum, length, type, payload. A record is one
fragment, or first, middle and last ones. A damaged fragment is handed on as doubtful, up to the next place
where a checksum matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from helix_desktop.store.crc32c import masked_crc
from helix_desktop.store.wire import Malformed, Reader

BLOCK = 32 * 1024  # bytes
_HEAD = 7  # bytes before a fragment's payload
_FULL, _FIRST, _MIDDLE, _LAST = range(1, 5)
_DELETE, _PUT = range(2)
_BATCH_HEAD = 12  # bytes of a batch before its rows


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record's bytes; `sound` says that all its checksums match and that none of it is missing."""

    payload: bytes
    sound: bool


@dataclass(frozen=True, slots=True)
class _Fragment:
    kind: int
    payload: bytes
    sound: bool


@dataclass(slots=True)
class _Open:
    """A record of which the end has not come yet."""

    parts: list[bytes] = field(default_factory=list)
    sound: bool = True

    def close(self, whole: bool) -> LogRecord:
        return LogRecord(b"".join(self.parts), self.sound and whole)


def read_log(data: bytes) -> Iterator[LogRecord]:
    """The records of a log, in order. One that was cut off comes too, as not sound."""
    held: _Open | None = None
    for fragment in _fragments(data):
        if held is not None and fragment.kind in (_FULL, _FIRST):
            yield held.close(whole=False)
            held = None
        begins = held is None
        if held is None:
            held = _Open(sound=fragment.kind in (_FULL, _FIRST))
        held.parts.append(fragment.payload)
        held.sound = held.sound and fragment.sound
        if fragment.kind in (_FULL, _LAST) or (begins and fragment.kind == _MIDDLE):
            yield held.close(whole=True)
            held = None
    if held is not None:
        yield held.close(whole=False)


def _fragments(data: bytes) -> Iterator[_Fragment]:
    for start in range(0, len(data), BLOCK):
        at, end = start, min(start + BLOCK, len(data))
        while end - at >= _HEAD:
            length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
            if not length and not kind:
                break  # room that was made and not used
            if _sound_at(data, at, end):
                yield _Fragment(kind, data[at + _HEAD : at + _HEAD + length], sound=True)
                at += _HEAD + length
                continue
            stop = next((one for one in range(at + 1, end) if _sound_at(data, one, end)), end)
            inside = at + _HEAD + length
            if kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
                kind = _MIDDLE if stop == end else _FULL
            yield _Fragment(kind, data[at + _HEAD : inside if inside <= stop else stop], sound=False)
            at = stop


def _beginnings(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the writes of a log begin, and where their blocks end; checksums are not looked at."""
    for start in range(0, len(data), BLOCK):
        at, end = start, min(start + BLOCK, len(data))
        while end - at >= _HEAD:
            length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
            if not length and not kind:
                break
            if kind in (_FULL, _FIRST):
                yield at, end
            at += _HEAD + length


def _batch_head(data: bytes, at: int, end: int) -> bytes | None:
    """The first bytes of a write, which may go on in the next block; None when nobody can tell them."""
    stop = min(at + _HEAD + int.from_bytes(data[at + 4 : at + 6], "little"), end)
    head = data[at + _HEAD : stop][:_BATCH_HEAD]
    if len(head) < _BATCH_HEAD and stop == end:  # it began where the block had less room than that
        after = min(end + BLOCK, len(data))
        if not (
            _sound_at(data, at, end) and _sound_at(data, end, after) and data[end + 6] in (_MIDDLE, _LAST)
        ):
            return None
        length = int.from_bytes(data[end + 4 : end + 6], "little")
        head += data[end + _HEAD : end + _HEAD + length][: _BATCH_HEAD - len(head)]
    return head if len(head) == _BATCH_HEAD else None


def _sound_at(data: bytes, at: int, end: int) -> bool:
    """Whether a fragment begins here whose checksum matches."""
    if end - at < _HEAD or not _FULL <= data[at + 6] <= _LAST:
        return False
    stop = at + _HEAD + int.from_bytes(data[at + 4 : at + 6], "little")
    return stop <= end and masked_crc(data[at + 6 : stop]) == int.from_bytes(data[at : at + 4], "little")


def find_hole(data: bytes, last: int) -> tuple[int, int]:
    """How many changes are missing in a log whose first one follows `last` at the latest, and its last one.

    Each write says the number of its first change. LevelDB passes over a stretch of zeros without a word: it
    takes it for room that was not used. Damage that LevelDB notices by itself ends the look.
    """
    missing = 0
    for at, end in _beginnings(data):
        head = _batch_head(data, at, end)
        if head is None:
            break
        sequence = int.from_bytes(head[:8], "little")
        if sequence > last + 1:
            if not _sound_at(data, at, end):
                break
            missing += sequence - last - 1
        last = sequence + int.from_bytes(head[8:], "little") - 1
    return missing, last


def read_batch(payload: bytes) -> Iterator[tuple[bytes, bytes | None, int]]:
    """Key, row (None: deleted) and sequence number of what one write changed; ends where it is damaged."""
    if len(payload) < _BATCH_HEAD:
        return
    reader = Reader(payload)
    sequence = reader.fixed(8)
    reader.take(_BATCH_HEAD - 8)
    try:
        while not reader.done:
            (kind,) = reader.take(1)
            if kind not in (_DELETE, _PUT):
                return
            key = reader.text()
            yield key, reader.text() if kind == _PUT else None, sequence
            sequence += 1
    except Malformed:
        return
