"""The encoding of values in rows: versioned, checksummed, compressed with zstd. Safe from any thread.

An encoded row is version, flags, payload, CRC-32 of the key and everything before it: it cannot be read under
another key, and a flipped bit is noticed. Contents have no row checksum: their SHA-256 is their check.
"""

from __future__ import annotations

import struct
import threading
import zlib
from typing import Any, Generic, TypeVar

import msgspec
import zstandard

from helix_desktop.domain.text_format import format_bytes
from helix_desktop.domain.translatable_text import plain_text

ROW_VERSION = 1
MAX_CONTENT_BYTES = (
    64 * 1024 * 1024
)  # largest content, in bytes; also the largest size that any row may claim to unpack to
# zstd-1: a quarter of the size on code and logs, four times the speed of the bindings' snappy. Its table of
# 128 KB made 32: the same size, and the thread's other data stays in the processor's cache.
_ZSTD_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(1, window_log=18, hash_log=13, min_match=6)
_MIN_COMPRESSED_BYTES = 512  # bytes below which compression of a row is not tried
_ZSTD_FLAG, _JSON_FLAG = 1, 2
_HEAD = struct.Struct("<BB")
_CRC = struct.Struct("<I")

T = TypeVar("T")


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
        self.unpack = zstandard.ZstdDecompressor(max_window_size=MAX_CONTENT_BYTES)


_zstd = _ThreadCompressors()


def compress(data: bytes) -> bytes | None:
    """Return `data` compressed, or None if that is not smaller."""
    packed = _zstd.pack.compress(data)
    return packed if len(packed) < len(data) else None


def decompress(compressed: bytes, length: int | None = None) -> bytes:
    """Return the data, at most MAX_CONTENT_BYTES; `length` in bytes, if known. Raise RowDamaged."""
    try:
        claimed = zstandard.frame_content_size(compressed)
        if not 0 <= claimed <= MAX_CONTENT_BYTES or (length is not None and claimed != length):
            raise RowDamaged(f"the row claims to hold {format_bytes(claimed)}")
        return _zstd.unpack.decompress(compressed)
    except zstandard.ZstdError as error:
        raise RowDamaged(f"the row does not unpack ({error})") from error


def encode(key: bytes, value: object) -> bytes:
    """Return `value` as the row of `key`. Raise ValueError for text that is not Unicode."""
    return with_checksum(key, encode_body(value))


def encode_body(value: object) -> bytes:
    """Return `value` as a row without checksum, for any key. Raise ValueError as `encode` does."""
    flags = 0
    try:
        payload = msgspec.msgpack.encode(value, enc_hook=plain_text)
    except OverflowError:
        # A provider's verbatim answer may hold integers of any size; msgpack ends at 64 bits.
        payload, flags = msgspec.json.encode(value, enc_hook=plain_text), _JSON_FLAG
    packed = compress(payload) if len(payload) > _MIN_COMPRESSED_BYTES else None
    if packed is not None:
        payload, flags = packed, flags | _ZSTD_FLAG
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
    version, flags = row[0], row[1]
    if version != ROW_VERSION or flags & ~(_ZSTD_FLAG | _JSON_FLAG):
        raise RowUnknown(f"the row was written in format {version}.{flags}, which is not known")
    payload = row[_HEAD.size : end]
    return row_type.read(
        decompress(payload) if flags & _ZSTD_FLAG else payload, is_json=bool(flags & _JSON_FLAG)
    )
