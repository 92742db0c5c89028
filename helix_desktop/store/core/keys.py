"""The key space of a workspace's LevelDB: pure functions, one first byte per kind of row.

    b digest                 content (or the head of its chunks)     c digest n        one chunk
    m digest                 record: metadata of a content           t time' digest    record, newest first
    e session 0 seq          event                                   h session 0 seq   the event is a handover
    r digest session 0 seq   content -> event that names it          R session 0 seq digest   event -> content
    s session                summary for the list of sessions        d session         text typed but not sent
    p session                where a branch leaves its parent    k session 0 seq   the event is a checkpoint
    ! name                   schema, identity and counters       f digest          when it was redacted

Digests are 32 raw bytes, `time'` is 2^64-1 minus milliseconds, numbers are big-endian: the order of the
bytes is the order of reading.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from helix_desktop.domain.digest import HEX_DIGITS, is_digest, is_digest_prefix

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

SCHEMA = b"!schema"
IDENTITY = b"!workspace"
SEQUENCE = b"!sequence"
TOTALS = b"!totals"
PENDING_DELETION = b"!scour"

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


def content(digest: str) -> bytes:
    """Return the key of a content, or of the head of its chunks."""
    return b"b" + digest_bytes(digest)


def chunk(digest: str, number: int) -> bytes:
    """Return the key of chunk `number` (from 0) of a large content."""
    return b"c" + digest_bytes(digest) + _PART.pack(number)


def record(digest: str) -> bytes:
    return b"m" + digest_bytes(digest)


def time_index(created_ms: int, digest: str) -> bytes:
    return b"t" + _NUMBER.pack(_MAX_TIME - created_ms) + digest_bytes(digest)


def time_index_from(created_ms: int, start: bytes) -> bytes:
    """Return the first key in the time index of that millisecond and of digests that begin with `start`."""
    return b"t" + _NUMBER.pack(_MAX_TIME - created_ms) + start


def created_ms_in(key: bytes) -> int:
    return _MAX_TIME - int(_NUMBER.unpack(key[1:9])[0])


def digest_in(key: bytes) -> str:
    """Return the digest at the end of a record, index or back-reference key."""
    return key[-DIGEST_BYTES:].hex()


def chunks_of(digest: str) -> Span:
    name = digest_bytes(digest)
    return b"c" + name, b"c" + name + b"\xff" * (_PART.size + 1)


def tombstone(digest: str) -> bytes:
    """Return the key of the mark that a content was removed at the user's request."""
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
    """Return session and seq from the key of an event, or of a reference to a content."""
    first = 1 + DIGEST_BYTES if key[:1] == b"r" else 1
    return key[first : -_NUMBER.size - 1].decode(), seq_in(key)


def event(session_id: str, seq: int) -> bytes:
    return b"e" + session_bytes(session_id) + b"\0" + _NUMBER.pack(seq)


def session_of_event(key: bytes) -> str:
    return key[1 : -_NUMBER.size - 1].decode()


def events_of(session_id: str) -> Span:
    name = session_bytes(session_id)
    return b"e" + name + b"\0", b"e" + name + b"\1"


def events_after(session_id: str, seq: int) -> Span:
    return event(session_id, seq + 1), events_of(session_id)[1]


def events_between(session_id: str, after: int, upto: int) -> Span:
    """Return the range of the keys of the events after `after` up to and with `upto`."""
    return event(session_id, after + 1), event(session_id, upto + 1)


def seq_in(key: bytes) -> int:
    """Return the seq at the end of an event, handover, checkpoint or reference key."""
    return int(_NUMBER.unpack(key[-_NUMBER.size :])[0])


def handover_session(key: bytes) -> str:
    """Return the session in a handover or checkpoint key."""
    return key[1 : -1 - _NUMBER.size].decode()


def handover(session_id: str, seq: int) -> bytes:
    """Return the key of the mark that an event is a handover."""
    return b"h" + session_bytes(session_id) + b"\0" + _NUMBER.pack(seq)


def checkpoint(session_id: str, seq: int) -> bytes:
    """Return the key of the mark that an event is a checkpoint.

    It has a kind of its own: releases before checkpoints take no event but a handover under `handover`.
    """
    return b"k" + session_bytes(session_id) + b"\0" + _NUMBER.pack(seq)


def handovers_of(session_id: str) -> Span:
    name = session_bytes(session_id)
    return b"h" + name + b"\0", b"h" + name + b"\1"


def checkpoints_of(session_id: str) -> Span:
    name = session_bytes(session_id)
    return b"k" + name + b"\0", b"k" + name + b"\1"


def reference(digest: str, session_id: str, seq: int) -> bytes:
    """Return the key of the mark that an event names a content."""
    return b"r" + digest_bytes(digest) + session_bytes(session_id) + b"\0" + _NUMBER.pack(seq)


def references_of(digest: str) -> Span:
    name = digest_bytes(digest)
    return b"r" + name, b"r" + name + b"\xff"


def back_reference(session_id: str, seq: int, digest: str) -> bytes:
    """Return the key of the reverse mark, from an event to a content it names."""
    return b"R" + session_bytes(session_id) + b"\0" + _NUMBER.pack(seq) + digest_bytes(digest)


def session_in(key: bytes) -> str:
    return key[1 + DIGEST_BYTES : -_NUMBER.size - 1].decode()


def seq_and_digest(key: bytes) -> tuple[int, str]:
    return seq_in(key[:-DIGEST_BYTES]), digest_in(key)


def back_references_between(session_id: str, after: int, upto: int) -> Span:
    """Return the range of the back-reference keys of the events after `after` up to and with `upto`."""
    first, _ = back_references_of(session_id)
    return first + _NUMBER.pack(after + 1), first + _NUMBER.pack(upto + 1)


def back_references_of(session_id: str) -> Span:
    name = session_bytes(session_id)
    return b"R" + name + b"\0", b"R" + name + b"\1"


def summary(session_id: str) -> bytes:
    return b"s" + session_bytes(session_id)


def draft(session_id: str) -> bytes:
    return b"d" + session_bytes(session_id)


def branch(session_id: str) -> bytes:
    """Return the key of the row that makes a session a branch."""
    return b"p" + session_bytes(session_id)


def session_of(key: bytes, span: Span) -> str:
    """Return the session at the end of a key of SUMMARIES, DRAFTS, BRANCHES or LAST_EVENTS."""
    return key[len(span[0]) :].decode()


def last_event(session_id: str) -> bytes:
    """Return the key of the seq of a session's last event."""
    return b"!last\0" + session_bytes(session_id)
