"""Contents of files and lists of changes, by the SHA-256 of their bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import zstandard

from helix_desktop.domain.digest import digest_of, is_digest_prefix
from helix_desktop.domain.errors import ContentDamaged, ContentRedacted, DigestUnknown
from helix_desktop.domain.store.retention import HOUR_MS
from helix_desktop.domain.text_format import utc_day
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.file_history.database.connection import Connection, blob
from helix_desktop.system.clock import ClockMs

text = TextContext("Changes")

_RAW, _ZSTD = 0, 1
_LEVEL = 3
_SMALLEST = 64  # bytes; below, compressing saves nothing


class ContentRow(NamedTuple):
    """What is known of a content without reading it; `used_ms` is when it was last stored."""

    digest: bytes
    size: int
    stored_size: int
    used_ms: int


class ContentRows:
    """The contents in one database."""

    def __init__(self, connection: Connection, clock: ClockMs) -> None:
        self._connection, self._clock = connection, clock
        self._compressor = zstandard.ZstdCompressor(_LEVEL)

    def put(self, data: bytes) -> str:
        """Store bytes, once; return their digest. What the user had removed is not stored again."""
        digest, at_ms = digest_of(data), self._clock()
        rows = self._connection.query(
            "SELECT id, used_ms FROM contents WHERE digest = ?", (bytes.fromhex(digest),)
        )
        if rows:
            id_, used_ms = rows[0]
            if at_ms - used_ms > HOUR_MS // 4:  # a clean-up spares what was stored a short while ago
                self._connection.execute("UPDATE contents SET used_ms = ? WHERE id = ?", (at_ms, id_))
        elif not self.removed_at(digest):
            encoding, stored = _RAW, data
            if len(data) >= _SMALLEST and len(packed := self._compressor.compress(data)) < len(data):
                encoding, stored = _ZSTD, packed
            self._connection.execute(
                "INSERT INTO contents (digest, size, stored_size, encoding, used_ms) VALUES (?, ?, ?, ?, ?)",
                (bytes.fromhex(digest), len(data), len(stored), encoding, at_ms),
            )
            self._connection.execute(
                "INSERT INTO content_data VALUES ((SELECT id FROM contents WHERE digest = ?), ?)",
                (bytes.fromhex(digest), stored),
            )
        return digest

    def has(self, digest: str) -> bool:
        """Return True if a content is stored."""
        return bool(
            self._connection.query("SELECT 1 FROM contents WHERE digest = ?", (bytes.fromhex(digest),))
        )

    def get(self, digest: str) -> bytes:
        """Return a content; of a list of changes with a secret, the list without it.

        Raises DigestUnknown, ContentRedacted, ContentDamaged.
        """
        rows = self._connection.query(
            "SELECT c.encoding, c.size, d.data FROM contents c LEFT JOIN content_data d ON d.id = c.id"
            " WHERE c.digest = ?",
            (bytes.fromhex(digest),),
        )
        if not rows:
            successor = self._successor(digest)
            if successor:
                return self.get(successor)
            raise self._unknown(digest)
        encoding, size, stored = rows[0]
        data = unpack(encoding, size, stored) if isinstance(stored, bytes) else b""
        if digest_of(data) != digest:
            raise ContentDamaged(
                text("This version of the file is damaged on disk, and can't be restored."),
                fix=text("Choose another version."),
            )
        return data

    def find(self, prefix: str) -> str:
        """Return the digest that begins so; empty if none does, or several do."""
        if not is_digest_prefix(prefix):
            return ""
        low, high = bytes.fromhex(prefix.ljust(64, "0")), bytes.fromhex(prefix.ljust(64, "f"))
        rows = self._connection.query(
            "SELECT digest FROM contents WHERE digest BETWEEN ? AND ? LIMIT 2", (low, high)
        )
        return rows[0][0].hex() if len(rows) == 1 else ""

    def totals(self) -> tuple[int, int, int]:
        """Return how many contents there are, their bytes, and those stored."""
        [totals] = self._connection.query(
            "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(stored_size), 0) FROM contents"
        )
        with self._connection.reading():
            return int(totals[0]), int(totals[1]), int(totals[2])

    def rows(self) -> list[ContentRow]:
        """Return what is known of every content, in the order in which they were first stored."""
        rows = self._connection.query("SELECT digest, size, stored_size, used_ms FROM contents ORDER BY id")
        with self._connection.reading():
            return [
                ContentRow(blob(digest), int(size), int(stored_size), int(used_ms))
                for digest, size, stored_size, used_ms in rows
            ]

    def remove(self, digests: Iterable[bytes]) -> None:
        """Delete contents."""
        keys = [(digest,) for digest in digests]
        self._connection.execute_many(
            "DELETE FROM content_data WHERE id = (SELECT id FROM contents WHERE digest = ?)", keys
        )
        self._connection.execute_many("DELETE FROM contents WHERE digest = ?", keys)

    def redact(self, digest: str, successor: str = "") -> None:
        """Delete a content; a list of changes has a successor, which is read in its place."""
        self.remove([bytes.fromhex(digest)])
        self._connection.execute(
            "INSERT OR REPLACE INTO removed VALUES (?, ?, ?)",
            (bytes.fromhex(digest), self._clock(), bytes.fromhex(successor)),
        )

    def removed_at(self, digest: str) -> int:
        """Return when the user had a content removed, in milliseconds since 1970; 0: they had not."""
        rows = self._connection.query("SELECT at_ms FROM removed WHERE digest = ?", (bytes.fromhex(digest),))
        with self._connection.reading():
            return int(rows[0][0]) if rows else 0

    def lift(self, digest: str) -> bool:
        """Allow a removed content to be stored again; return True if it was removed."""
        return self._connection.execute("DELETE FROM removed WHERE digest = ?", (bytes.fromhex(digest),)) > 0

    def _successor(self, digest: str) -> str:
        rows = self._connection.query(
            "SELECT successor FROM removed WHERE digest = ?", (bytes.fromhex(digest),)
        )
        with self._connection.reading():
            return blob(rows[0][0]).hex() if rows else ""

    def _unknown(self, digest: str) -> DigestUnknown:
        what = text("This version of the file is not in the file history.")
        if at_ms := self.removed_at(digest):
            return ContentRedacted(
                what,
                text("It contained a secret; the user removed it on {day}.", day=utc_day(at_ms)),
                text("Choose another version."),
            )
        return DigestUnknown(
            what, text("It was never saved, or a clean-up removed it."), text("Choose another version.")
        )


def unpack(encoding: int, size: int, stored: bytes) -> bytes:
    """Return the bytes of a content as it is stored; none, or others, if it is damaged."""
    if encoding == _RAW:
        return stored
    try:
        if zstandard.frame_content_size(stored) == size:  # else a damaged one could fill the memory
            return zstandard.ZstdDecompressor().decompress(stored)
    except zstandard.ZstdError:
        pass
    return b""
