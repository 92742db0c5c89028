"""The rows of a workspace's LevelDB: of each kind its keys, its type, and how it is encoded and checked.

    b digest                 content (or the head of its chunks)     c digest n        one chunk
    m digest                 record: metadata of a content           t time' digest    record, newest first
    e session 0 seq          event                                   h session 0 seq   the event is a handover
    r digest session 0 seq   content -> event that names it          R session 0 seq digest   event -> content
    s session                summary for the list of sessions        d session         text typed but not sent
    p session                where a branch leaves its parent    k session 0 seq   the event is a checkpoint
    ! name                   schema, identity and counters       f digest          when it was redacted

Digests are 32 raw bytes, `time'` is 2^64-1 minus milliseconds, numbers are big-endian: the order of the
bytes is the order of reading. Handovers, checkpoints and references are keys without a value.

A row is version, flags, payload (msgpack; zstd where that is smaller), CRC-32 of the key and everything
before it: it cannot be read under another key, and a flipped bit is noticed. The bytes of contents have their
own form (`contents.py`): their SHA-256 is their check. All of it is safe from any thread.
"""

from __future__ import annotations

import logging
import struct
import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

import msgspec
import zstandard

from helix_desktop.domain.digest import HEX_DIGITS, is_digest, is_digest_prefix
from helix_desktop.domain.events.recorded_event import RecordedEvent, format_problem
from helix_desktop.domain.events.summary import HandoverMade, checkpoint_in
from helix_desktop.domain.store import (
    NO_TOTALS,
    BranchPoint,
    Draft,
    EntryRecord,
    SessionSummary,
    StoreTotals,
)
from helix_desktop.domain.text_format import format_bytes, utc_day
from helix_desktop.domain.translatable_text import plain_text
from helix_desktop.store import store_errors

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

DIGEST_BYTES = HEX_DIGITS // 2
SESSION_BYTES = 200  # longest session id, in bytes of UTF-8

ALL_ROWS = (b"", b"\xff" * 8)
CONTENTS = (b"b", b"c")
CHUNKS = (b"c", b"d")
EVENTS = (b"e", b"f")
REFERENCES = (b"r", b"s")
RECORDS = (b"m", b"n")
TIME_INDEX = (b"t", b"u")
TIME_INDEX_BYTES = 1 + 8 + DIGEST_BYTES  # length of a key of the time index
SUMMARIES = (b"s", b"t")
HANDOVERS = (b"h", b"i")
CHECKPOINTS = (b"k", b"l")
BRANCHES = (b"p", b"q")
LAST_EVENTS = (b"!last\0", b"!last\1")
DRAFTS = (b"d", b"e")

SCHEMA_KEY = b"!schema"
IDENTITY_KEY = b"!workspace"
SEQUENCE_KEY = b"!sequence"
TOTALS_KEY = b"!totals"
PENDING_DELETION_KEY = b"!scour"

_MAX_TIME = 2**64 - 1
_NUMBER = struct.Struct(">Q")
_PART = struct.Struct(">I")

Span = tuple[bytes, bytes]
"""A range of keys: from the first one (inclusive) to the second (exclusive)."""


@lru_cache(maxsize=64)  # one put converts the same few digests ten times
def digest_bytes(digest: str) -> bytes:
    """Return a full digest as 32 bytes. Raise ValueError if it is not a digest."""
    if not is_digest(digest):
        raise ValueError(f"not a SHA-256 in lower-case hex: {digest[:80]!r}")
    return bytes.fromhex(digest)


def content_key(digest: str) -> bytes:
    return b"b" + digest_bytes(digest)


def chunk_key(digest: str, number: int) -> bytes:
    return b"c" + digest_bytes(digest) + _PART.pack(number)


def record_key(digest: str) -> bytes:
    return b"m" + digest_bytes(digest)


def time_index_key(created_ms: int, digest: str) -> bytes:
    return b"t" + _NUMBER.pack(_MAX_TIME - created_ms) + digest_bytes(digest)


def created_ms_in(key: bytes) -> int:
    return _MAX_TIME - int(_NUMBER.unpack(key[1:9])[0])


def digest_in(key: bytes) -> str:
    """Return the digest at the end of a record, index or back-reference key."""
    return key[-DIGEST_BYTES:].hex()


def chunks_of(digest: str) -> Span:
    name = digest_bytes(digest)
    return b"c" + name, b"c" + name + b"\xff" * (_PART.size + 1)


def tombstone_key(digest: str) -> bytes:
    return b"f" + digest_bytes(digest)


def records_of(prefix: str) -> Span:
    """Return the record keys of all digests that begin with `prefix`. Raise ValueError if none can."""
    if not is_digest_prefix(prefix):
        raise ValueError(f"not 1 to 64 lower-case hex digits: {prefix[:80]!r}")
    first = bytes.fromhex(prefix.ljust(HEX_DIGITS, "0"))
    last = bytes.fromhex(prefix.ljust(HEX_DIGITS, "f"))
    return b"m" + first, b"m" + last + b"\0"


def session_bytes(session_id: str) -> bytes:
    """Return a session id as it is in keys. Raise ValueError if it cannot be in a key."""
    name = session_id.encode()
    if not 0 < len(name) <= SESSION_BYTES or b"\0" in name:
        raise ValueError(f"a session id has 1 to {SESSION_BYTES} bytes and no NUL: {session_id[:80]!r}")
    return name


def session_and_seq(key: bytes) -> tuple[str, int]:
    """Return session and seq from the key of an event, handover, checkpoint, or reference to a content."""
    first = 1 + DIGEST_BYTES if key[:1] == b"r" else 1
    return key[first : -_NUMBER.size - 1].decode(), seq_in(key)


def event_key(session_id: str, seq: int) -> bytes:
    return b"e" + session_bytes(session_id) + b"\0" + _NUMBER.pack(seq)


def session_of_event(key: bytes) -> str:
    return key[1 : -_NUMBER.size - 1].decode()


def rows_of(session_id: str, kind: bytes) -> Span:
    """Return the keys of a session's events (e), handovers (h), checkpoints (k) or back-references (R)."""
    name = kind + session_bytes(session_id)
    return name + b"\0", name + b"\1"


def events_after(session_id: str, seq: int) -> Span:
    return event_key(session_id, seq + 1), rows_of(session_id, b"e")[1]


def events_between(session_id: str, after: int, upto: int) -> Span:
    """Return the range of the keys of the events after `after` up to and with `upto`."""
    return event_key(session_id, after + 1), event_key(session_id, upto + 1)


def seq_in(key: bytes) -> int:
    """Return the seq at the end of an event, handover, checkpoint or reference key."""
    return int(_NUMBER.unpack(key[-_NUMBER.size :])[0])


def handover_key(session_id: str, seq: int) -> bytes:
    return b"h" + session_bytes(session_id) + b"\0" + _NUMBER.pack(seq)


def checkpoint_key(session_id: str, seq: int) -> bytes:
    """Return the key of the mark that an event is a checkpoint.

    It has a kind of its own, as no event but a handover is found under `handover_key`.
    """
    return b"k" + session_bytes(session_id) + b"\0" + _NUMBER.pack(seq)


def reference_key(digest: str, session_id: str, seq: int) -> bytes:
    return b"r" + digest_bytes(digest) + session_bytes(session_id) + b"\0" + _NUMBER.pack(seq)


def references_of(digest: str) -> Span:
    name = digest_bytes(digest)
    return b"r" + name, b"r" + name + b"\xff"


def back_reference_key(session_id: str, seq: int, digest: str) -> bytes:
    return b"R" + session_bytes(session_id) + b"\0" + _NUMBER.pack(seq) + digest_bytes(digest)


def seq_and_digest(key: bytes) -> tuple[int, str]:
    return seq_in(key[:-DIGEST_BYTES]), digest_in(key)


def back_references_between(session_id: str, after: int, upto: int) -> Span:
    """Return the range of the back-reference keys of the events after `after` up to and with `upto`."""
    first, _ = rows_of(session_id, b"R")
    return first + _NUMBER.pack(after + 1), first + _NUMBER.pack(upto + 1)


def summary_key(session_id: str) -> bytes:
    return b"s" + session_bytes(session_id)


def draft_key(session_id: str) -> bytes:
    return b"d" + session_bytes(session_id)


def branch_key(session_id: str) -> bytes:
    return b"p" + session_bytes(session_id)


def session_of(key: bytes, span: Span) -> str:
    """Return the session at the end of a key of SUMMARIES, DRAFTS, BRANCHES or LAST_EVENTS."""
    return key[len(span[0]) :].decode()


def last_event_key(session_id: str) -> bytes:
    return b"!last\0" + session_bytes(session_id)


ROW_VERSION = 1
MAX_VALUE_BYTES = 64 * 1024 * 1024
"""The most bytes that an event, draft or content may have, not compressed. Nothing larger is acknowledged."""
MAX_ZSTD_RATIO = 32_768  # a block of at most 128 KB has four bytes or more
# zstd-1: a quarter of the size on code and logs, four times the speed of the bindings' snappy. Its table of
# 128 KB made 32: the same size, and the thread's other data stays in the processor's cache.
_ZSTD_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(1, window_log=18, hash_log=13, min_match=6)
_MIN_COMPRESSED_BYTES = 512  # bytes below which compression of a row is not tried
_ZSTD_FLAG = 1
_JSON_FLAG = 2
_HEAD = struct.Struct("<BB")
_CRC = struct.Struct("<I")


class RowDamaged(Exception):
    """A row is not what was written; the layers above translate this for the user."""


class RowUnknown(RowDamaged):
    """A row is what was written, by its checksum, but holds what this version does not know."""


class RowType(Generic[T]):
    """A type as it is read from rows. The domain types carry the names that are the stored format."""

    def __init__(self, kind: type[T]) -> None:
        self._msgpack = msgspec.msgpack.Decoder(kind)
        self._json = msgspec.json.Decoder(kind)

    def read(self, payload: bytes, is_json: bool) -> T:
        """Return the value that was written as `payload`. Raise RowDamaged."""
        try:
            return self._json.decode(payload) if is_json else self._msgpack.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RowUnknown(f"the row's content is not understood ({error})") from error


class EventTime(msgspec.Struct, frozen=True):
    """When an event was recorded, whatever its format is; `at` is milliseconds since 1970."""

    seq: int
    at: int


class EventType(RowType[RecordedEvent]):
    """Events of the one format that this version reads; of another one it says the event and its day."""

    def __init__(self) -> None:
        super().__init__(RecordedEvent)
        self._time = RowType(EventTime)

    def read(self, payload: bytes, is_json: bool) -> RecordedEvent:
        try:
            recorded = super().read(payload, is_json)
        except RowUnknown as error:
            time = self._time.read(payload, is_json)
            raise RowUnknown(f"event {time.seq} of {utc_day(time.at)}: {error}") from error
        problem = format_problem(recorded.event)
        if problem:
            raise RowUnknown(f"event {recorded.seq} of {utc_day(recorded.at)} is not understood ({problem})")
        return recorded


class ValueRow(bytes):
    """A row of a store in memory: no bytes, but the value itself, which may hold text that is not Unicode."""

    value: Any

    def __new__(cls, value: object) -> ValueRow:
        row = super().__new__(cls)
        row.value = value
        return row


class _ThreadCompressors(threading.local):
    """Compressors for one thread: sharing one between threads crashes the process."""

    def __init__(self) -> None:
        self.pack = zstandard.ZstdCompressor(compression_params=_ZSTD_PARAMETERS)
        self.unpack = zstandard.ZstdDecompressor()


_zstd = _ThreadCompressors()


def compress(data: bytes) -> bytes | None:
    """Return `data` compressed, or None if that is not smaller."""
    packed = _zstd.pack.compress(data)
    return packed if len(packed) < len(data) else None


def decompress(compressed: bytes, length: int | None = None) -> bytes:
    """Return the data, which has `length` bytes, if that is known. Raise RowDamaged.

    What claims more than so few bytes can hold costs no memory.
    """
    try:
        claimed = zstandard.frame_content_size(compressed)
        is_possible = 0 <= claimed <= MAX_ZSTD_RATIO * len(compressed)
        if not is_possible or (length is not None and claimed != length):
            raise RowDamaged(f"the row claims to hold {format_bytes(claimed)}")
        return _zstd.unpack.decompress(compressed)
    except zstandard.ZstdError as error:
        raise RowDamaged(f"the row does not unpack ({error})") from error


def encode(key: bytes, value: object) -> bytes:
    """Return `value` as the row of `key`. Raise ValueError for text that is not Unicode."""
    return with_checksum(key, encode_body(value))


def encode_payload(value: object, max_bytes: int | None) -> tuple[bytes, int]:
    """Return `value` as msgpack, or JSON, and the flags that say which.

    Raise ValueError as `encode` does; ContentTooLarge above `max_bytes`, if there is a limit.
    """
    flags = 0
    try:
        payload = msgspec.msgpack.encode(value, enc_hook=plain_text)
    except OverflowError:
        # A provider's verbatim answer may hold integers of any size; msgpack ends at 64 bits.
        payload = msgspec.json.encode(value, enc_hook=plain_text)
        flags = _JSON_FLAG
    if max_bytes is not None and len(payload) > max_bytes:
        raise store_errors.value_too_large(len(payload), max_bytes)
    return payload, flags


def encode_body(value: object, max_bytes: int | None = None) -> bytes:
    """Return `value` as a row without checksum, for any key. Raise as `encode_payload` does."""
    payload, flags = encode_payload(value, max_bytes)
    packed = compress(payload) if len(payload) > _MIN_COMPRESSED_BYTES else None
    if packed is not None:
        payload = packed
        flags = flags | _ZSTD_FLAG
    return _HEAD.pack(ROW_VERSION, flags) + payload


def with_checksum(key: bytes, body: bytes) -> bytes:
    return body + _CRC.pack(zlib.crc32(body, zlib.crc32(key)))


def is_plain(row: bytes) -> bool:
    """Return True if a row's payload is msgpack as it is: neither compressed nor of another format."""
    return row[:1] == bytes([ROW_VERSION]) and row[1:2] == b"\0"


def decode(key: bytes, row: bytes, row_type: RowType[T]) -> T:
    """Return the value in the row of `key`. Raise RowDamaged."""
    if isinstance(row, ValueRow):
        value: T = row.value
        return value
    end = len(row) - _CRC.size
    if end < _HEAD.size or row[end:] != _CRC.pack(zlib.crc32(row[:end], zlib.crc32(key))):
        raise RowDamaged("the row's checksum does not match")
    version = row[0]
    flags = row[1]
    if version != ROW_VERSION or flags & ~(_ZSTD_FLAG | _JSON_FLAG):
        raise RowUnknown(f"the row was written in format {version}.{flags}, which is not known")
    payload = row[_HEAD.size : end]
    return row_type.read(
        decompress(payload) if flags & _ZSTD_FLAG else payload, is_json=bool(flags & _JSON_FLAG)
    )


RowGetter = Callable[[bytes], bytes | None]
"""Read one row; None if there is none."""


class RowSource(Protocol):
    """Stored rows: a view, a batch or the database."""

    def get(self, key: bytes) -> bytes | None: ...


class RowView(RowSource, Protocol):
    """Reads of stored rows that no write changes meanwhile. Every method may raise RowDamaged."""

    def get_verified(self, key: bytes) -> bytes | None:
        """Return one row whose block's checksum was verified."""
        ...

    def scan(
        self, span: Span, reverse: bool = False, verify_checksums: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows of a range of keys, in order or from its end."""
        ...

    def count(self, span: Span) -> int: ...


class RowDatabase(RowSource, Protocol):
    """The rows of one workspace, on disk or in memory."""

    def read(self, query: Callable[[RowView], T], /) -> T:
        """Return the result of `query`; the view is valid only within it."""
        ...

    def get_verified(self, key: bytes) -> bytes | None:
        """Return one row, its block's checksum verified. Raise RowDamaged."""
        ...


class RowSink(ABC):
    @abstractmethod
    def put(self, key: bytes, row: bytes = b"") -> None:
        """Write a row."""

    @abstractmethod
    def delete(self, key: bytes) -> None:
        """Remove a row, if it is there."""

    def put_value(self, value: object, *row_keys: bytes, max_bytes: int | None = None) -> None:
        """Write a value, of at most `max_bytes` if there is a limit, as the row of each key.

        Raise ValueError for text that is not Unicode, ContentTooLarge.
        """
        body = encode_body(value, max_bytes)
        for key in row_keys:
            self.put(key, with_checksum(key, body))


class RowBatch(RowSink):
    """Rows to be written, read as they will be then."""

    @abstractmethod
    def get(self, key: bytes) -> bytes | None:
        """Return the row as it will be once the batch is written."""


_LAST = -5  # the payload's last byte: the row ends with a checksum of four
_SHORTEST = 16  # bytes of a row with any payload
# Where the head of a msgpack number is if it ends the payload, by its first byte: of 1, 2, 4 and 8 bytes.
_NUMBER_HEADS = ((_LAST - 1, 0xCC), (_LAST - 2, 0xCD), (_LAST - 4, 0xCE), (_LAST - 8, 0xCF))


def may_be_index(row: bytes) -> bool:
    """Return False only for the row of a record whose kind is not "index"."""
    return b"index" in row or not is_plain(row)


def may_be_trashed(row: bytes) -> bool:
    """Return False only for the row of a record that ends in zero: its last field is when it was trashed."""
    if len(row) < _SHORTEST or not is_plain(row) or row[_LAST]:
        return True
    return any(row[at] == head for at, head in _NUMBER_HEADS)


class Tombstone(msgspec.Struct, array_like=True, frozen=True):
    """When a content was redacted; `successor` is the digest of an index entry's redacted version.

    `lifted`: it may be stored again.
    """

    at: int
    successor: str = ""
    lifted: bool = False


class PendingDeletion(msgspec.Struct, array_like=True, frozen=True):
    """What a written redaction still has to delete: damaged rows and copies of the store, by name."""

    at: int
    damaged: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()


class RowKind(Generic[P, T]):
    """One kind of row: `key` makes its key of what names it. Reading raises RowDamaged."""

    def __init__(self, key: Callable[P, bytes], value_type: type[T] | RowType[T]) -> None:
        self.key = key
        self._type = value_type if isinstance(value_type, RowType) else RowType(value_type)

    def get(self, source: RowSource, *args: P.args, **kwargs: P.kwargs) -> T | None:
        key = self.key(*args, **kwargs)
        row = source.get(key)
        return None if row is None else self.decode(key, row)

    def scan(self, view: RowView, span: Span) -> Iterator[tuple[bytes, T]]:
        return ((key, self.decode(key, row)) for key, row in view.scan(span))

    def put(self, sink: RowSink, value: T, *args: P.args, **kwargs: P.kwargs) -> None:
        """Write a row. Raise ValueError for text that is not Unicode."""
        self.put_within(None, sink, value, *args, **kwargs)

    def put_within(
        self, max_bytes: int | None, sink: RowSink, value: T, *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Write a row as `put` does. Raise ContentTooLarge above `max_bytes`, if there is a limit."""
        sink.put_value(value, self.key(*args, **kwargs), max_bytes=max_bytes)

    def decode(self, key: bytes, row: bytes) -> T:
        return decode(key, row, self._type)


class _RecordKind(RowKind[[str], EntryRecord]):
    """Records of contents; each is stored by digest, and a second time in the index by time."""

    def put(self, sink: RowSink, value: EntryRecord, digest: str) -> None:
        sink.put_value(value, record_key(digest), time_index_key(value.created, digest))

    def change(self, batch: RowBatch, digest: str, change: Callable[[EntryRecord], EntryRecord]) -> None:
        """Rewrite a record, if there is one. A damaged one stays: it can be rebuilt from other rows."""
        try:
            record = self.get(batch, digest)
        except RowDamaged as error:
            _log.warning("The record of %s is damaged (%s) and was not updated.", digest, error)
            return
        if record is not None:
            self.put(batch, change(record), digest)


class _DraftKind(RowKind[[str], Draft]):
    """Drafts; one of text alone is stored as a plain text, an empty one not at all."""

    def put_within(self, max_bytes: int | None, sink: RowSink, value: Draft, session_id: str) -> None:
        key = draft_key(session_id)
        if value.attachments or value.partial_answer is not None or value.partial_outputs:
            sink.put_value(value, key, max_bytes=max_bytes)
        elif value.text:
            sink.put_value(value.text, key, max_bytes=max_bytes)
        else:
            sink.delete(key)

    def change(
        self,
        batch: RowBatch,
        session_id: str,
        change: Callable[[Draft], Draft],
        max_bytes: int | None = None,
    ) -> None:
        """Rewrite a draft, or an empty one. A damaged one is lost: what is saved now takes its place.

        Raise RowUnknown: another version's draft stays. Raise ContentTooLarge above `max_bytes`.
        """
        try:
            stored = self.get(batch, session_id)
        except RowUnknown:
            raise
        except RowDamaged as error:
            _log.warning("The draft of %s is damaged (%s) and was replaced.", session_id, error)
            stored = None
        self.put_within(max_bytes, batch, change(stored if stored is not None else Draft()), session_id)

    def decode(self, key: bytes, row: bytes) -> Draft:
        stored: Any = super().decode(key, row)
        draft: Draft = Draft(stored) if isinstance(stored, str) else stored
        return draft


class Rows:
    """Every kind of row that has a value."""

    schema = RowKind(lambda: SCHEMA_KEY, int)
    identity = RowKind(lambda: IDENTITY_KEY, str)
    sequence = RowKind(lambda: SEQUENCE_KEY, int)
    totals = RowKind(lambda: TOTALS_KEY, StoreTotals)
    pending_deletion = RowKind(lambda: PENDING_DELETION_KEY, PendingDeletion)
    record = _RecordKind(record_key, EntryRecord)
    tombstone = RowKind(tombstone_key, Tombstone)
    event = RowKind(event_key, EventType())
    last_seq = RowKind(last_event_key, int)
    summary = RowKind(summary_key, SessionSummary)
    branch = RowKind(branch_key, BranchPoint)
    draft = _DraftKind(draft_key, str | Draft)  # type: ignore[arg-type]  # a union is no class to mypy


ROWS = Rows()


def handover_mark(session_id: str, recorded: RecordedEvent) -> bytes | None:
    """Return the key of the mark that finds an event with a handover or checkpoint; None for any other."""
    if isinstance(recorded.event, HandoverMade):
        return handover_key(session_id, recorded.seq)
    return checkpoint_key(session_id, recorded.seq) if checkpoint_in(recorded.event) else None


def put_reference(sink: RowSink, session_id: str, seq: int, digest: str) -> None:
    """Write the two rows that link an event and a content."""
    sink.put(reference_key(digest, session_id, seq))
    sink.put(back_reference_key(session_id, seq, digest))


def read_sequence(source: RowSource) -> int:
    return ROWS.sequence.get(source) or 0


def read_totals(source: RowSource) -> StoreTotals:
    return ROWS.totals.get(source) or NO_TOTALS
