"""Bodies of HTTP replies, decompressed in pieces of bounded size: a small reply fills no memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

ACCEPT_ENCODING = "gzip, deflate"
"""The header that asks for no other compression than `BodyDecoder` reads."""

_MAX_PIECE_BYTES = 64 * 1024
_GZIP = zlib.MAX_WBITS | 16
_RAW = -zlib.MAX_WBITS


class BodyUndecodable(ValueError):
    """A reply in a compression that was not asked for, in several, or one that is damaged."""


class BodyDecoder:
    """Decompresses one body, chunk by chunk. The constructor and `feed` raise BodyUndecodable."""

    def __init__(self, content_encoding: str) -> None:
        names = [name.strip().lower() for name in content_encoding.split(",")]
        names = [name for name in names if name not in ("", "identity")]
        # One above the other multiplies: a thousand times of a thousand times.
        if names not in ([], ["gzip"], ["x-gzip"], ["deflate"]):
            raise BodyUndecodable(f"content encoding {', '.join(names)[:80]}")
        self._is_plain = not names
        self._may_be_raw = names == ["deflate"]  # some servers leave out the header that the standard wants
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS if self._may_be_raw else _GZIP)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what a chunk holds, in pieces of at most 64 KB where it is compressed."""
        if self._is_plain:
            yield chunk
            return
        piece = self._inflate(chunk)
        while piece:
            yield piece
            piece = self._inflate(self._inflater.unconsumed_tail)

    def _inflate(self, data: bytes) -> bytes:
        try:
            piece = self._inflater.decompress(data, _MAX_PIECE_BYTES)
        except zlib.error as error:
            if not self._may_be_raw:
                raise BodyUndecodable(str(error)) from error
            self._may_be_raw = False
            self._inflater = zlib.decompressobj(_RAW)
            return self._inflate(data)
        self._may_be_raw = self._may_be_raw and not piece
        return piece
