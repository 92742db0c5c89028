"""Frames between processes: a head with length, version, form and id, then one value in msgpack.

An id matches an answer to its request; id 0 belongs to the handshake. A value that msgpack cannot hold (an
integer beyond 64 bits in a provider's verbatim answer) is sent as JSON, and the head says so. If the request
wants progress, progress frames come before the answer, under its id.
"""

from __future__ import annotations

import struct
from typing import Any, TypeVar

import msgspec

from helix_desktop.domain.translatable_text import plain_text
from helix_desktop.store.core.row_codec import MAX_CONTENT_BYTES

PROTOCOL_VERSION = 1
HANDSHAKE_ID = 0
MAX_HANDSHAKE_BYTES = 1024  # bytes of a frame from a peer who has not proved to be the same user
MAX_REQUEST_BYTES = (
    MAX_CONTENT_BYTES + 4 * 1024 * 1024
)  # bytes: one content of the largest size, and the rest of the message
MAX_ANSWER_BYTES = 1024 * 1024 * 1024  # bytes: the longest log of a session
_MSGPACK, _JSON, _PROGRESS = range(3)
_HEAD = struct.Struct(">IBBI")
HEAD_BYTES = _HEAD.size

T = TypeVar("T")


class InvalidFrame(Exception):
    """What was received is not a frame of this protocol; the connection cannot continue."""


class UnsupportedVersion(InvalidFrame):
    """The other process uses another version of the protocol."""


class FrameHead(msgspec.Struct, frozen=True):
    """The header of a payload of `length` bytes."""

    length: int
    id: int
    is_json: bool
    is_progress: bool = False  # reports the progress of an answer


class Frame(msgspec.Struct, frozen=True):
    """An encoded value for the wire."""

    payload: bytes
    is_json: bool = False
    is_progress: bool = False

    def encode_head(self, request_id: int) -> bytes:
        """Return the bytes before the payload."""
        form = _PROGRESS if self.is_progress else _JSON if self.is_json else _MSGPACK
        return _HEAD.pack(len(self.payload), PROTOCOL_VERSION, form, request_id)

    def decode(self, value_type: type[T]) -> T:
        """Return the value as `value_type`. Raise InvalidFrame."""
        try:
            if self.is_json:
                return msgspec.json.decode(self.payload, type=value_type)
            return msgspec.msgpack.decode(self.payload, type=value_type)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidFrame(f"a value is not understood ({error})") from error


def encode_frame(value: Any) -> Frame:
    """Return a value encoded for the wire. Raise ValueError for text that is not Unicode."""
    try:
        return Frame(msgspec.msgpack.encode(value, enc_hook=plain_text))
    except OverflowError:
        return Frame(msgspec.json.encode(value, enc_hook=plain_text), is_json=True)


def encode_progress(done: int, size: int) -> Frame:
    """Return a frame that reports the progress of an answer."""
    return Frame(msgspec.msgpack.encode((done, size)), is_progress=True)


def read_frame_head(data: bytes, max_bytes: int) -> FrameHead:
    """Parse the head of a payload that has at most `max_bytes` bytes. Raise InvalidFrame."""
    length, version, form, request_id = _HEAD.unpack(data)
    if version != PROTOCOL_VERSION:
        raise UnsupportedVersion(f"a frame of version {version} came, not of {PROTOCOL_VERSION}")
    if form not in (_MSGPACK, _JSON, _PROGRESS):
        raise InvalidFrame(f"a frame of the unknown form {form} came")
    if length > max_bytes:
        raise InvalidFrame(f"a frame claims {length} bytes, of at most {max_bytes}")
    return FrameHead(length, request_id, form == _JSON, form == _PROGRESS)
