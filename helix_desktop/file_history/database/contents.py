"""Contents of files and lists of changes, by the SHA-256 of their bytes."""

from __future__ import annotations

from collections.abc import Callable

import zstandard

from helix_desktop.domain.digest import digest_of, is_digest_prefix
from helix_desktop.domain.errors import ContentDamaged, ContentRedacted, DigestUnknown
from helix_desktop.domain.text_format import utc_day
from helix_desktop.domain.user_text import TextContext
from helix_desktop.file_history.database.connection import Connection

text = TextContext("Changes")

_RAW, _ZSTD = 0, 1
_LEVEL = 3
_SMALLEST = 64  # bytes; below, compressing saves nothing


class ContentRows:
    """The contents in one database."""

    def __init__(self, connection: Connection, clock: Callable[[], int]) -> None:
        self._connection, self._clock = connection, clock
        self._compressor = zstandard.ZstdCompressor(_LEVEL)
        self._decompressor = zstandard.ZstdDecompressor()

    def put(self, data: bytes) -> str:
        """Store bytes, once; return their digest. What the user had removed is not stored again."""
        digest = digest_of(data)
        if not self.has(digest) and not self.removed_at(digest):
            encoding, stored = _RAW, data
            if len(data) >= _SMALLEST and len(packed := self._compressor.compress(data)) < len(data):
                encoding, stored = _ZSTD, packed
            self._connection.execute(
                "INSERT INTO contents VALUES (?, ?, ?, ?, ?, ?)",
                (bytes.fromhex(digest), len(data), len(stored), encoding, self._clock(), stored),
            )
        return digest

    def has(self, digest: str) -> bool:
        """Return True if a content is stored."""
        return bool(
            self._connection.query("SELECT 1 FROM contents WHERE digest = ?", (bytes.fromhex(digest),))
        )

    def get(self, digest: str) -> bytes:
        """Return a content. Raises DigestUnknown, ContentRedacted, ContentDamaged."""
        rows = self._connection.query(
            "SELECT encoding, size, data FROM contents WHERE digest = ?", (bytes.fromhex(digest),)
        )
        if not rows:
            raise self._unknown(digest)
        encoding, size, stored = rows[0]
        data = self._unpack(stored, size) if encoding == _ZSTD else stored
        if digest_of(data) != digest:
            raise ContentDamaged(text("This version of the file is damaged on disk, and can't be restored."))
        return bytes(data)

    def find(self, prefix: str) -> str:
        """Return the digest that begins so; empty if none does, or several do."""
        if not is_digest_prefix(prefix):
            return ""
        low, high = bytes.fromhex(prefix.ljust(64, "0")), bytes.fromhex(prefix.ljust(64, "f"))
        rows = self._connection.query(
            "SELECT digest FROM contents WHERE digest BETWEEN ? AND ? LIMIT 2", (low, high)
        )
        return rows[0][0].hex() if len(rows) == 1 else ""

    def removed_at(self, digest: str) -> int:
        """Return when the user had a content removed, in milliseconds since 1970; 0: they had not."""
        rows = self._connection.query("SELECT at_ms FROM removed WHERE digest = ?", (bytes.fromhex(digest),))
        return int(rows[0][0]) if rows else 0

    def totals(self) -> tuple[int, int, int]:
        """Return how many contents there are, their bytes, and those stored."""
        [totals] = self._connection.query(
            "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(stored_size), 0) FROM contents"
        )
        return totals[0], totals[1], totals[2]

    def _unpack(self, stored: bytes, size: int) -> bytes:
        """Return the bytes; none if they are damaged."""
        try:
            if zstandard.frame_content_size(stored) == size:  # else a damaged one could fill the memory
                return self._decompressor.decompress(stored)
        except zstandard.ZstdError:
            pass
        return b""

    def _unknown(self, digest: str) -> DigestUnknown:
        what = text("This version of the file is not in the file history.")
        if at_ms := self.removed_at(digest):
            return ContentRedacted(
                what, text("It contained a secret; the user removed it on {day}.", day=utc_day(at_ms))
            )
        return DigestUnknown(what, text("It was never stored, or a clean-up removed it."))
