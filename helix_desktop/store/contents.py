"""Contents by their SHA-256: how their rows are written, verified whenever they are read, and found.

A content row is version, method, length and time of creation, then the bytes. Above 1 MB it is the head of
chunks, which are written before it: a crash in between leaves chunks that no head names.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import msgspec

from helix_desktop.domain.digest import digest_of, is_digest
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.store import Content, EntryRecord, StoreTotals
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store import kinds, store_errors
from helix_desktop.store.files import Quarantine
from helix_desktop.store.kinds import (
    MAX_VALUE_BYTES,
    ROW_VERSION,
    ROWS,
    RowDamaged,
    RowDatabase,
    RowGetter,
    RowView,
)
from helix_desktop.store.threads import WriteBatch

text = TextContext("Store")

MAX_SINGLE_ROW_BYTES = 1024 * 1024  # largest content stored in one row, in bytes
CHUNK_BYTES = 512 * 1024  # bytes of content per chunk above that
_PLAIN, _ZSTD, _CHUNKED = range(3)
_HEAD = struct.Struct(">BBQQ")
_COUNT = struct.Struct(">I")


def _check_digest(content: Content) -> None:
    """Raise ValueError unless the content's digest is the SHA-256 of its bytes."""
    if content.digest != digest_of(content.data):
        raise ValueError(f"the content given as {content.digest[:80]!r} has another SHA-256")


class ContentStore:
    """Stage contents for writing, and read them back verified."""

    def __init__(self, database: RowDatabase, quarantine: Quarantine) -> None:
        self._database = database
        self.quarantine = quarantine

    def stage(self, batch: WriteBatch, content: Content, at_ms: int, session_id: str = "") -> None:
        """Put a content's rows into the batch, unless it is stored and intact. Raise ValueError."""
        digest = content.digest
        try:
            record = ROWS.record.get(batch, digest)
            readable = True
        except RowDamaged:
            record = None
            readable = False
        tombstone = ROWS.tombstone.get(batch, digest) if record is None else None
        if tombstone is not None and not tombstone.lifted:
            _check_digest(content)
        elif record is not None and self._is_intact(batch, digest):
            _check_digest(content)
            revived = msgspec.structs.replace(record, trashed=0, last_used=max(at_ms, record.last_used))
            if revived != record:
                ROWS.record.put(batch, revived, digest)
        elif record is not None:
            self._restore_bytes(batch, content, record, at_ms)
        elif readable and tombstone is None:
            record = new_record(content, self._stage_bytes(batch, content, at_ms), at_ms, session_id)
            ROWS.record.put(batch, record, digest)
            batch.totals += StoreTotals(1, record.size, record.stored_size, 0)
        else:
            self._stage_known(batch, content, at_ms, session_id, readable)

    def _restore_bytes(self, batch: WriteBatch, content: Content, record: EntryRecord, at_ms: int) -> None:
        """Stage the bytes of a content again whose record is intact and whose bytes are not."""
        stored_size = self._stage_bytes(batch, content, record.created)
        last_used = max(at_ms, record.last_used)
        restored = msgspec.structs.replace(record, stored_size=stored_size, trashed=0, last_used=last_used)
        ROWS.record.put(batch, restored, content.digest)
        batch.totals += StoreTotals(0, 0, stored_size - record.stored_size, 0)
        # Not before it is written: a reader would meanwhile find the damage and quarantine it once more.
        batch.durable_callbacks.append(lambda: self.quarantine.mark_healed(content.digest))

    def _stage_known(
        self, batch: WriteBatch, content: Content, at_ms: int, session_id: str, record_readable: bool
    ) -> None:
        """Stage a content that events may already name: it was redacted, or lost its record
        (not `record_readable`).
        """
        digest = content.digest
        created_ms = self._created_ms(content.digest, at_ms)
        record = new_record(content, self._stage_bytes(batch, content, created_ms), created_ms, session_id)
        references = self._database.read(lambda view: view.count(kinds.references_of(digest)))
        record = msgspec.structs.replace(record, last_used=max(at_ms, created_ms), references=references)
        ROWS.record.put(batch, record, digest)
        batch.delete(kinds.tombstone_key(digest))
        if record_readable:
            batch.totals += StoreTotals(1, record.size, record.stored_size, 0)
        batch.durable_callbacks.append(lambda: self.quarantine.mark_healed(digest))

    def read(self, view: RowView, digest: str) -> bytes:
        """Return the bytes of a digest. Raise DigestUnknown, ContentDamaged; never return other bytes."""
        if not is_digest(digest):
            raise missing_error(view, digest)
        why = text("Its bytes don't match its digest.")
        for get in (view.get, view.get_verified):
            try:
                data = self._load_unverified(get, digest)
            except RowDamaged as error:
                why = text("Its data is damaged ({detail}).", detail=str(error))
                continue
            if data is None:
                break
            if digest_of(data) == digest:
                return data
        else:
            raise store_errors.content_damaged(
                digest, why, self.quarantine.save(digest, self._raw_rows(view, digest))
            )
        if view.get(kinds.record_key(digest)) is not None:
            raise store_errors.content_damaged(digest, text("Its bytes are missing."))
        raise missing_error(view, digest)

    def _stage_bytes(self, batch: WriteBatch, content: Content, created_ms: int) -> int:
        """Stage the bytes; return the stored size in bytes. Raise ValueError if their digest differs."""
        length = len(content.data)
        digest = content.digest
        _check_digest(content)
        rows = [_encode_row(part, created_ms, batch.is_compressed) for part in _split_parts(content.data)]
        if length > MAX_SINGLE_ROW_BYTES:
            for number, row in enumerate(rows):
                batch.unreferenced_rows[kinds.chunk_key(digest, number)] = row
            rows.append(_HEAD.pack(ROW_VERSION, _CHUNKED, length, created_ms) + _COUNT.pack(len(rows)))
        batch.put(kinds.content_key(digest), rows[-1])
        return sum(map(len, rows))

    def _load_unverified(self, get: RowGetter, digest: str) -> bytes | None:
        """Return the bytes, not yet verified; None if there is no row. Raise RowDamaged."""
        row = get(kinds.content_key(digest))
        if row is None:
            return None
        method, length, _ = _decode_head(row)
        if method != _CHUNKED:
            if length > MAX_SINGLE_ROW_BYTES:
                raise RowDamaged(f"its row claims {length} bytes")
            return _unpack(row, method, length)
        data = b"".join(self._read_chunk(get, digest, number) for number in range(_chunk_count(row, length)))
        if len(data) != length:
            raise RowDamaged(f"its chunks have {len(data)} bytes, not {length}")
        return data

    def _read_chunk(self, get: RowGetter, digest: str, number: int) -> bytes:
        row = get(kinds.chunk_key(digest, number))
        if row is None:
            raise RowDamaged(f"its chunk {number} is missing")
        method, length, _ = _decode_head(row)
        if length > CHUNK_BYTES:
            raise RowDamaged(f"its chunk {number} claims {length} bytes")
        return _unpack(row, method, length)

    def content_of(self, row: bytes) -> bytes:
        """Return the bytes in a content or chunk row that may be damaged, unverified. Raise RowDamaged."""
        method, length, _ = _decode_head(row)
        return b"" if method == _CHUNKED else _unpack(row, method, length)

    def _is_intact(self, batch: WriteBatch, digest: str) -> bool:
        """Return True if the stored bytes exist and their blocks' checksums match; cheaper than a read."""
        key = kinds.content_key(digest)
        if batch.has_change(key):
            return True
        if self.quarantine.holds(digest):
            return False
        try:
            row = self._database.get_verified(key)
            if row is None:
                return False
            method, length, _ = _decode_head(row)
            if method != _CHUNKED:
                return True
            chunks = (kinds.chunk_key(digest, number) for number in range(_chunk_count(row, length)))
            return all(self._database.get_verified(chunk) is not None for chunk in chunks)
        except RowDamaged:
            return False

    def _created_ms(self, digest: str, at_ms: int) -> int:
        """Return when a content without a readable record was first stored, to find its index row again."""
        try:
            row = self._database.get_verified(kinds.content_key(digest))
            return at_ms if row is None else _decode_head(row)[2]
        except RowDamaged:
            return at_ms

    def _raw_rows(self, view: RowView, digest: str) -> list[bytes]:
        """Return what can still be read of a damaged content."""
        rows = []
        try:
            head = view.get(kinds.content_key(digest))
            rows.append(head or b"")
            rows.extend(
                row for _, row in view.scan((kinds.chunk_key(digest, 0), kinds.chunk_key(digest, 2**32 - 1)))
            )
        except RowDamaged:
            rows = rows or [b""]
        return rows


def new_record(content: Content, stored_size: int, at_ms: int, session_id: str) -> EntryRecord:
    return EntryRecord(
        at_ms,
        at_ms,
        len(content.data),
        stored_size,
        content.tokens,
        content.tool,
        content.target,
        content.first_line,
        content.kind,
        session=session_id,
    )


def missing_error(view: RowView, digest: str) -> DigestUnknown:
    """Return why a content is missing: it was never stored, or was redacted. Raise RowDamaged."""
    tombstone = ROWS.tombstone.get(view, digest) if is_digest(digest) else None
    if tombstone is not None:
        return store_errors.content_redacted(digest, tombstone.at, tombstone.successor)
    return store_errors.digest_unknown(digest, lambda prefix, limit: find_digests(view, prefix, limit))


def find_digests(view: RowView, prefix: str, limit: int) -> list[str]:
    """Return the digests that begin with `prefix`, sorted, at most `limit`. Raise ValueError, RowDamaged."""
    digests: list[str] = []
    for key, _ in view.scan(kinds.records_of(prefix)):
        if len(digests) >= limit:
            break
        digests.append(kinds.digest_in(key))
    return digests


def _split_parts(data: bytes) -> Iterator[bytes]:
    """Yield the bytes of each row: all of them, or chunks."""
    if len(data) <= MAX_SINGLE_ROW_BYTES:
        yield data
        return
    for offset in range(0, len(data), CHUNK_BYTES):
        yield data[offset : offset + CHUNK_BYTES]


def _encode_row(part: bytes, created_ms: int, is_compressed: bool) -> bytes:
    packed = kinds.compress(part) if is_compressed else None
    method, payload = (_PLAIN, part) if packed is None else (_ZSTD, packed)
    return _HEAD.pack(ROW_VERSION, method, len(part), created_ms) + payload


def _decode_head(row: bytes) -> tuple[int, int, int]:
    """Return method, length and time of creation. Raise RowDamaged."""
    if len(row) < _HEAD.size:
        raise RowDamaged("its row is too short")
    version, method, length, created = _HEAD.unpack_from(row)
    if version != ROW_VERSION or method not in (_PLAIN, _ZSTD, _CHUNKED) or length > MAX_VALUE_BYTES:
        raise RowDamaged(f"its row claims format {version}.{method} and {length} bytes")
    return method, length, created


def _unpack(row: bytes, method: int, length: int) -> bytes:
    payload = row[_HEAD.size :]
    return kinds.decompress(payload, length) if method == _ZSTD else payload


def _chunk_count(row: bytes, length: int) -> int:
    """Return the number of chunks that a head names. Raise RowDamaged."""
    if len(row) != _HEAD.size + _COUNT.size:
        raise RowDamaged("its head has the wrong length")
    (count,) = _COUNT.unpack_from(row, _HEAD.size)
    if count != -(-length // CHUNK_BYTES):
        raise RowDamaged(f"its head names {count} chunks for {length} bytes")
    return int(count)


def row_created_ms(row: bytes) -> int:
    """Return when the content of a row was first stored, in ms since 1970. Raise RowDamaged."""
    return _decode_head(row)[2]


def rebuild_head(view: RowView, digest: str) -> tuple[bytes, int] | None:
    """Rebuild a large content's lost head from its chunks; return it and its size in bytes, or None."""
    parts = []
    created = 0
    try:
        for _, row in view.scan(kinds.chunks_of(digest)):
            method, length, created = _decode_head(row)
            parts.append(_unpack(row, method, length))
    except RowDamaged:
        return None
    data = b"".join(parts)
    if not parts or digest_of(data) != digest:
        return None
    return _HEAD.pack(ROW_VERSION, _CHUNKED, len(data), created) + _COUNT.pack(len(parts)), len(data)


def holds_content(key: bytes, row: bytes) -> bool:
    """Return True if a single row holds the bytes of the digest in its key. Raise RowDamaged."""
    method, length, _ = _decode_head(row)
    return method != _CHUNKED and digest_of(_unpack(row, method, length)) == kinds.digest_in(key)
