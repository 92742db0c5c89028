"""Frames between processes: a head with length, version, form and id, then one value in msgpack.

An id joins an answer to its request; id 0 belongs to the greeting. A value that msgpack cannot hold (an
integer beyond 64 bits in a provider's verbatim answer) travels as JSON, and the head says so. To who asked to
be told, frames that say how far it is go ahead of the answer, under its id.
"""

from __future__ import annotations

import struct
from typing import Any, TypeVar

import msgspec

from helix_desktop.store.codec import CONTENT_CAP

VERSION = 1
GREETING = 0
GREETING_CAP = 1024  # bytes of a frame from somebody who has not proved to be the same person
REQUEST_CAP = CONTENT_CAP + 4 * 1024 * 1024  # bytes: one content of the largest size, and what comes with it
ANSWER_CAP = 1024 * 1024 * 1024  # bytes: the longest log of a session
_MSGPACK, _JSON, _FAR = range(3)
_HEAD = struct.Struct(">IBBI")
HEAD_BYTES = _HEAD.size

T = TypeVar("T")


class FrameRefused(Exception):
    """What came is no frame of this protocol; the connection cannot go on."""


class VersionRefused(FrameRefused):
    """The other process speaks another version of the protocol."""


class Head(msgspec.Struct, frozen=True):
    """What stands before a payload of `length` bytes."""

    length: int
    id: int
    json: bool
    far: bool = False  # says how far an answer is


class Frame(msgspec.Struct, frozen=True):
    """A value on its way, encoded."""

    payload: bytes
    json: bool = False
    far: bool = False

    def head(self, identity: int) -> bytes:
        """The bytes that go before the payload."""
        form = _FAR if self.far else _JSON if self.json else _MSGPACK
        return _HEAD.pack(len(self.payload), VERSION, form, identity)

    def read(self, kind: type[T]) -> T:
        """The value, of the wanted type. Raises FrameRefused."""
        try:
            if self.json:
                return msgspec.json.decode(self.payload, type=kind)
            return msgspec.msgpack.decode(self.payload, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise FrameRefused(f"a value is not understood ({error})") from error


def frame(value: Any) -> Frame:
    """A value as it travels. Raises ValueError for text that is not Unicode."""
    try:
        return Frame(msgspec.msgpack.encode(value))
    except OverflowError:
        return Frame(msgspec.json.encode(value), json=True)


def far_frame(done: int, size: int) -> Frame:
    """Says how far an answer is."""
    return Frame(msgspec.msgpack.encode((done, size)), far=True)


def read_head(data: bytes, cap: int) -> Head:
    """What a head says of a payload that has at most `cap` bytes. Raises FrameRefused."""
    length, version, form, identity = _HEAD.unpack(data)
    if version != VERSION:
        raise VersionRefused(f"a frame of version {version} came, not of {VERSION}")
    if form not in (_MSGPACK, _JSON, _FAR):
        raise FrameRefused(f"a frame of the unknown form {form} came")
    if length > cap:
        raise FrameRefused(f"a frame claims {length} bytes, of at most {cap}")
    return Head(length, identity, form == _JSON, form == _FAR)
