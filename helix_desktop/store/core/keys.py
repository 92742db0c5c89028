"""The key space of a workspace's LevelDB: pure functions, one first byte per kind of row.

    b digest                 content (or the head of its chunks)     c digest n        one chunk
    m digest                 record: what is known of it             t time' digest    record, newest first
    e session 0 seq          event                                   h session 0 seq   the event is a handover
    r digest session 0 seq   content -> event that names it          R session 0 seq digest   event -> content
    s session                summary for the list of sessions        d session         text typed and not sent
    ! name                   schema, identity and counters       f digest            forgotten, and when

Digests are 32 raw bytes, `time'` is 2^64-1 minus milliseconds, numbers are big-endian: byte order is reading
order.
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
TIME_INDEX_BYTES = 1 + 8 + DIGEST_BYTES  # of a key of the index by time
SUMMARIES = (b"s", b"t")
HANDOVERS = (b"h", b"i")
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
"""A range of keys: from the first one on, up to but without the second."""


@lru_cache(maxsize=64)  # a put asks for the same few digests ten times
def digest_bytes(digest: str) -> bytes:
    """A full digest as 32 bytes. Raises ValueError when it is none."""
    if not is_digest(digest):
        raise ValueError(f"not a SHA-256 in lower-case hex: {digest[:80]!r}")
    return bytes.fromhex(digest)


def content(digest: str) -> bytes:
    """Where a content, or the head of its chunks, lies."""
    return b"b" + digest_bytes(digest)


def chunk(digest: str, number: int) -> bytes:
    """Where chunk `number` (from 0) of a large content lies."""
    return b"c" + digest_bytes(digest) + _PART.pack(number)


def record(digest: str) -> bytes:
    """Where the record of a content lies."""
    return b"m" + digest_bytes(digest)


def time_index(created_ms: int, digest: str) -> bytes:
    """Where a record lies in the index by time; `created` in milliseconds since 1970."""
    return b"t" + _NUMBER.pack(_MAX_TIME - created_ms) + digest_bytes(digest)


def time_index_from(created_ms: int, start: bytes) -> bytes:
    """Where the records of a millisecond whose digests begin with `start` begin in the index by time."""
    return b"t" + _NUMBER.pack(_MAX_TIME - created_ms) + start


def created_ms_in(key: bytes) -> int:
    """The time of creation in a key of the index by time, in milliseconds since 1970."""
    return _MAX_TIME - int(_NUMBER.unpack(key[1:9])[0])


def digest_in(key: bytes) -> str:
    """The digest at the end of a record, index or back-reference key."""
    return key[-DIGEST_BYTES:].hex()


def chunks_of(digest: str) -> Span:
    """The chunk keys of one content."""
    name = digest_bytes(digest)
    return b"c" + name, b"c" + name + b"\xff" * (_PART.size + 1)


def tombstone(digest: str) -> bytes:
    """Says that a content was removed on the person's word."""
    return b"f" + digest_bytes(digest)


def records_of(prefix: str) -> Span:
    """The record keys of all digests that begin with `prefix`. Raises ValueError when it cannot begin one."""
    if not is_digest_prefix(prefix):
        raise ValueError(f"not 1 to 64 lower-case hex digits: {prefix[:80]!r}")
    first = bytes.fromhex(prefix.ljust(HEX_DIGITS, "0"))
    last = bytes.fromhex(prefix.ljust(HEX_DIGITS, "f"))
    return b"m" + first, b"m" + last + b"\0"


def session_bytes(session: str) -> bytes:
    """A session's id as it stands in keys. Raises ValueError when it cannot."""
    name = session.encode()
    if not 0 < len(name) <= SESSION_BYTES or b"\0" in name:
        raise ValueError(f"a session id has 1 to {SESSION_BYTES} bytes and no NUL: {session[:80]!r}")
    return name


def session_and_seq(key: bytes) -> tuple[str, int]:
    """Session and seq in the key of an event, or of a reference to a content."""
    first = 1 + DIGEST_BYTES if key[:1] == b"r" else 1
    return key[first : -_NUMBER.size - 1].decode(), seq_in(key)


def event(session: str, seq: int) -> bytes:
    """Where an event lies."""
    return b"e" + session_bytes(session) + b"\0" + _NUMBER.pack(seq)


def session_of_event(key: bytes) -> str:
    """The session in an event key."""
    return key[1 : -_NUMBER.size - 1].decode()


def events_of(session: str) -> Span:
    """The event keys of one session, in order of seq."""
    name = session_bytes(session)
    return b"e" + name + b"\0", b"e" + name + b"\1"


def seq_in(key: bytes) -> int:
    """The seq at the end of an event, handover or reference key."""
    return int(_NUMBER.unpack(key[-_NUMBER.size :])[0])


def handover_session(key: bytes) -> str:
    """The session in a handover key."""
    return key[1 : -1 - _NUMBER.size].decode()


def handover(session: str, seq: int) -> bytes:
    """Says that an event is a handover."""
    return b"h" + session_bytes(session) + b"\0" + _NUMBER.pack(seq)


def handovers_of(session: str) -> Span:
    """The handover keys of one session, in order of seq."""
    name = session_bytes(session)
    return b"h" + name + b"\0", b"h" + name + b"\1"


def reference(digest: str, session: str, seq: int) -> bytes:
    """Says that an event names a content."""
    return b"r" + digest_bytes(digest) + session_bytes(session) + b"\0" + _NUMBER.pack(seq)


def references_of(digest: str) -> Span:
    """The reference keys of one content."""
    name = digest_bytes(digest)
    return b"r" + name, b"r" + name + b"\xff"


def back_reference(session: str, seq: int, digest: str) -> bytes:
    """Says which contents an event names."""
    return b"R" + session_bytes(session) + b"\0" + _NUMBER.pack(seq) + digest_bytes(digest)


def session_in(key: bytes) -> str:
    """The session in a reference key."""
    return key[1 + DIGEST_BYTES : -_NUMBER.size - 1].decode()


def seq_and_digest(key: bytes) -> tuple[int, str]:
    """The seq and the digest in a back-reference key."""
    return seq_in(key[:-DIGEST_BYTES]), digest_in(key)


def back_references_of(session: str) -> Span:
    """The back-reference keys of one session, in order of seq."""
    name = session_bytes(session)
    return b"R" + name + b"\0", b"R" + name + b"\1"


def summary(session: str) -> bytes:
    """Where a session's summary lies."""
    return b"s" + session_bytes(session)


def draft(session: str) -> bytes:
    """Where a session's unsent text lies."""
    return b"d" + session_bytes(session)


def session_of(key: bytes, span: Span) -> str:
    """The session at the end of a key of SUMMARIES, DRAFTS or LAST_EVENTS."""
    return key[len(span[0]) :].decode()


def last_event(session: str) -> bytes:
    """Where the seq of a session's last event lies."""
    return b"!last\0" + session_bytes(session)
