"""Contents of files and lists of changes, by the SHA-256 of their bytes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import zstandard

from helix_desktop.domain.digest import digest_of, is_digest_prefix
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.user_text import TextContext

text = TextContext("Changes")

_RAW, _ZSTD = 0, 1
_LEVEL = 3
_SMALLEST = 64  # bytes; below, compressing saves nothing


class ContentRows:
    """The contents in one database."""

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], int]) -> None:
        self._connection, self._clock = connection, clock
        self._compressor = zstandard.ZstdCompressor(_LEVEL)
        self._decompressor = zstandard.ZstdDecompressor()

    def put(self, data: bytes) -> str:
        """Store bytes, once; return their digest."""
        digest = digest_of(data)
        if not self.has(digest):
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
        row = self._connection.execute("SELECT 1 FROM contents WHERE digest = ?", (bytes.fromhex(digest),))
        return row.fetchone() is not None

    def get(self, digest: str) -> bytes:
        """Return a content. Raises DigestUnknown, ContentDamaged."""
        row = self._connection.execute(
            "SELECT encoding, size, data FROM contents WHERE digest = ?", (bytes.fromhex(digest),)
        ).fetchone()
        if row is None:
            raise DigestUnknown(
                text("This version of the file is not in the file history."),
                text("It was never stored, or a clean-up removed it."),
            )
        encoding, size, stored = row
        try:
            data = (
                self._decompressor.decompress(stored, max_output_size=size) if encoding == _ZSTD else stored
            )
        except zstandard.ZstdError:
            data = b""
        if digest_of(data) != digest:
            raise ContentDamaged(
                text("This version of the file is damaged on disk, and can't be brought back.")
            )
        return bytes(data)

    def find(self, prefix: str) -> str:
        """Return the digest that begins so; empty if none does, or several do."""
        if not is_digest_prefix(prefix):
            return ""
        low, high = bytes.fromhex(prefix.ljust(64, "0")), bytes.fromhex(prefix.ljust(64, "f"))
        rows = self._connection.execute(
            "SELECT digest FROM contents WHERE digest BETWEEN ? AND ? LIMIT 2", (low, high)
        ).fetchall()
        return rows[0][0].hex() if len(rows) == 1 else ""

    def totals(self) -> tuple[int, int, int]:
        """Return how many contents there are, their bytes, and those stored."""
        count, size, stored = self._connection.execute(
            "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(stored_size), 0) FROM contents"
        ).fetchone()
        return count, size, stored
