"""Contents: bytes under their SHA-256, stored once, verified whenever they are read.

A content row is version, method, length and time of creation, then the bytes. Above 1 MB it is the head of
chunks, which are written before it: a crash in between leaves chunks that nothing names.
"""

from __future__ import annotations

import struct

import msgspec

from helix_desktop.domain.digest import digest_of, is_digest
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.store.entries import Content
from helix_desktop.store.core import keys, store_errors
from helix_desktop.store.core.commit import check_digest
from helix_desktop.store.core.row_codec import MAX_CONTENT_BYTES, ROW_VERSION, Codec, RowDamaged
from helix_desktop.store.core.tombstone import read_tombstone
from helix_desktop.store.core.write_batch import RowGetter, WriteBatch
from helix_desktop.store.files.quarantine import Quarantine
from helix_desktop.store.leveldb.compression import ContentEncoding, EncodedPart
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.store.leveldb.entry_record import (
    EntryRecord,
    new_record,
    read_record,
    touch_record,
    write_record,
)

MAX_SINGLE_ROW_BYTES = 1024 * 1024  # largest content kept in one row, in bytes
CHUNK_BYTES = 512 * 1024  # bytes of content per chunk above that
_PLAIN, _ZSTD, _CHUNKED = range(3)
_HEAD = struct.Struct(">BBQQ")
_COUNT = struct.Struct(">I")


class ContentStore:
    """Stages contents for writing and reads them back, verified."""

    def __init__(self, database: Database, codec: Codec, quarantine: Quarantine) -> None:
        self._database = database
        self._codec = codec
        self.quarantine = quarantine

    def encoding(self, content: Content) -> ContentEncoding:
        """The slow work on a content, which another thread may begin before it is staged."""
        return ContentEncoding(
            content,
            self._codec,
            MAX_SINGLE_ROW_BYTES if len(content.data) <= MAX_SINGLE_ROW_BYTES else CHUNK_BYTES,
        )

    def stage(self, batch: WriteBatch, content: Content, at_ms: int, session: str = "") -> None:
        """Put a content's rows into the batch, unless it is stored already and sound. Raises ValueError."""
        self.stage_encoded(batch, self.encoding(content), at_ms, session)

    def stage_encoded(
        self, batch: WriteBatch, encoding: ContentEncoding, at_ms: int, session: str = ""
    ) -> None:
        """The same for a content whose packing another thread may have begun. Raises ValueError."""
        content = encoding.content
        digest = content.digest
        try:
            old, known = read_record(batch.get, self._codec, digest), True
        except RowDamaged:
            old, known = None, False
        buried = read_tombstone(batch.get, self._codec, digest) if old is None else None
        if buried is not None and not buried.lifted:
            check_digest(content, encoding.digest())
        elif old is not None and self._is_intact(batch, digest):
            check_digest(content, encoding.digest())
            touch_record(batch, self._codec, digest, old, at_ms)
        elif old is not None:
            self._restore_bytes(batch, encoding, old)
        elif known and buried is None:
            fresh = new_record(content, self._stage_bytes(batch, encoding, at_ms), at_ms, session)
            write_record(batch, self._codec, digest, fresh)
            batch.add_totals(1, fresh.size, fresh.stored_size)
        else:
            self._stage_known(batch, encoding, self._created_ms(digest, at_ms), session, known)

    def _restore_bytes(self, batch: WriteBatch, encoding: ContentEncoding, record: EntryRecord) -> None:
        """Stage a content again whose record is whole and whose bytes are not."""
        stored_size = self._stage_bytes(batch, encoding, record.created)
        healed = msgspec.structs.replace(record, stored_size=stored_size, trashed=0)
        write_record(batch, self._codec, encoding.content.digest, healed)
        batch.add_totals(stored_size=stored_size - record.stored_size)
        # Not before it is written: a reader meanwhile finds the damage, and would keep it aside once more.
        batch.on_durable(lambda: self.quarantine.mark_healed(encoding.content.digest))

    def _stage_known(
        self,
        batch: WriteBatch,
        encoding: ContentEncoding,
        created_ms: int,
        session: str,
        record_readable: bool,
    ) -> None:
        """Stage a content that may be named already: it was forgotten, or (not `known`) lost its record."""
        digest = encoding.content.digest
        fresh = new_record(
            encoding.content, self._stage_bytes(batch, encoding, created_ms), created_ms, session
        )
        write_record(batch, self._codec, digest, self._with_reference_count(digest, fresh))
        batch.delete(keys.tombstone(digest))
        if record_readable:
            batch.add_totals(1, fresh.size, fresh.stored_size)
        batch.on_durable(lambda: self.quarantine.mark_healed(digest))

    def read(self, view: ReadView, digest: str) -> bytes:
        """The bytes of a digest. Raises DigestUnknown, ContentDamaged; never returns other bytes."""
        if not is_digest(digest):
            raise self._missing_error(view, digest)
        why = "its bytes do not have its SHA-256"
        for get in (view.get, view.get_verified):
            try:
                data = self._load_unverified(get, digest)
            except RowDamaged as error:
                why = str(error)
                continue
            if data is None:
                break
            if digest_of(data) == digest:
                return data
        else:
            raise store_errors.content_damaged(
                digest, why, self.quarantine.save(digest, self._raw_rows(view, digest))
            )
        if _has_row(view.get, keys.record(digest)):
            raise store_errors.content_damaged(digest, "its bytes are missing")
        raise self._missing_error(view, digest)

    def _missing_error(self, view: ReadView, digest: str) -> Exception:
        return missing_error(view, self._codec, digest)

    def _stage_bytes(self, batch: WriteBatch, encoding: ContentEncoding, created_ms: int) -> int:
        """Stage the bytes; the stored size. Raises ValueError when they have another digest."""
        rows = [_encode_row(piece, created_ms) for piece in encoding.consume_parts()]
        length, digest = len(encoding.content.data), encoding.content.digest
        check_digest(encoding.content, encoding.digest())
        if length > MAX_SINGLE_ROW_BYTES:
            for number, row in enumerate(rows):
                batch.put_unreferenced(keys.chunk(digest, number), row)
            rows.append(_HEAD.pack(ROW_VERSION, _CHUNKED, length, created_ms) + _COUNT.pack(len(rows)))
        batch.put(keys.content(digest), rows[-1])
        return sum(map(len, rows))

    def _load_unverified(self, get: RowGetter, digest: str) -> bytes | None:
        """The bytes, not yet verified; None when there is no row. Raises RowDamaged."""
        row = get(keys.content(digest))
        if row is None:
            return None
        method, length, _ = _decode_head(row)
        if method != _CHUNKED:
            if length > MAX_SINGLE_ROW_BYTES:
                raise RowDamaged(f"its row claims {length} bytes")
            return self._unpack(row, method, length)
        data = b"".join(self._read_chunk(get, digest, number) for number in range(_chunk_count(row, length)))
        if len(data) != length:
            raise RowDamaged(f"its chunks have {len(data)} bytes, not {length}")
        return data

    def _read_chunk(self, get: RowGetter, digest: str, number: int) -> bytes:
        row = get(keys.chunk(digest, number))
        if row is None:
            raise RowDamaged(f"its chunk {number} is missing")
        method, length, _ = _decode_head(row)
        if length > CHUNK_BYTES:
            raise RowDamaged(f"its chunk {number} claims {length} bytes")
        return self._unpack(row, method, length)

    def content_of(self, row: bytes) -> bytes:
        """The bytes in a content or chunk row that may be damaged, unverified. Raises RowDamaged."""
        method, length, _ = _decode_head(row)
        return b"" if method == _CHUNKED else self._unpack(row, method, length)

    def _unpack(self, row: bytes, method: int, length: int) -> bytes:
        payload = row[_HEAD.size :]
        return self._codec.decompress(payload, length) if method == _ZSTD else payload

    def _is_intact(self, batch: WriteBatch, digest: str) -> bool:
        """Whether the stored bytes are there and their blocks' checksums match; cheaper than reading them."""
        key = keys.content(digest)
        if batch.has_change(key):
            return True
        if self.quarantine.holds(digest):
            return False
        try:
            row = self._database.get_verified(key)
            if row is None:
                return False
            method, length, _ = _decode_head(row)
            return method != _CHUNKED or self._are_chunks_intact(digest, _chunk_count(row, length))
        except RowDamaged:
            return False

    def _are_chunks_intact(self, digest: str, count: int) -> bool:
        chunks = (keys.chunk(digest, number) for number in range(count))
        return all(_has_row(self._database.get_verified, chunk) for chunk in chunks)

    def _created_ms(self, digest: str, at_ms: int) -> int:
        """When a content without a readable record was first stored, so that its index row is found again."""
        try:
            row = self._database.get_verified(keys.content(digest))
            return at_ms if row is None else _decode_head(row)[2]
        except RowDamaged:
            return at_ms

    def _with_reference_count(self, digest: str, record: EntryRecord) -> EntryRecord:
        """A rebuilt record with the references that the rows show."""
        count = self._database.read(lambda view: view.count(keys.references_of(digest)))
        return msgspec.structs.replace(record, references=count)

    def _raw_rows(self, view: ReadView, digest: str) -> list[bytes]:
        """What can still be read of a damaged content."""
        rows = []
        try:
            head = view.get(keys.content(digest))
            rows.append(head or b"")
            rows.extend(row for _, row in view.scan((keys.chunk(digest, 0), keys.chunk(digest, 2**32 - 1))))
        except RowDamaged:
            rows = rows or [b""]
        return rows


def missing_error(view: ReadView, codec: Codec, digest: str) -> DigestUnknown:
    """Why a content is not there: nobody stored it, or it was forgotten. Raises RowDamaged."""
    buried = read_tombstone(view.get, codec, digest) if is_digest(digest) else None
    if buried is not None:
        return store_errors.content_redacted(digest, buried.at, buried.successor)
    return store_errors.digest_unknown(digest, lambda prefix, limit: find_digests(view, prefix, limit))


def find_digests(view: ReadView, prefix: str, limit: int) -> list[str]:
    """The digests that begin with `prefix`, in order, at most `limit`. Raises ValueError, RowDamaged."""
    found: list[str] = []
    for key, _ in view.scan(keys.records_of(prefix)):
        if len(found) >= limit:
            break
        found.append(keys.digest_in(key))
    return found


def _encode_row(part: EncodedPart, created_ms: int) -> bytes:
    method = _ZSTD if part.is_compressed else _PLAIN
    return _HEAD.pack(ROW_VERSION, method, part.length, created_ms) + part.payload


def _decode_head(row: bytes) -> tuple[int, int, int]:
    """Method, length and time of creation. Raises RowDamaged."""
    if len(row) < _HEAD.size:
        raise RowDamaged("its row is too short")
    version, method, length, created = _HEAD.unpack_from(row)
    if version != ROW_VERSION or method not in (_PLAIN, _ZSTD, _CHUNKED) or length > MAX_CONTENT_BYTES:
        raise RowDamaged(f"its row claims format {version}.{method} and {length} bytes")
    return method, length, created


def _chunk_count(row: bytes, length: int) -> int:
    """How many chunks a head names. Raises RowDamaged."""
    if len(row) != _HEAD.size + _COUNT.size:
        raise RowDamaged("its head has the wrong length")
    (count,) = _COUNT.unpack_from(row, _HEAD.size)
    if count != -(-length // CHUNK_BYTES):
        raise RowDamaged(f"its head names {count} chunks for {length} bytes")
    return int(count)


def _has_row(get: RowGetter, key: bytes) -> bool:
    return get(key) is not None


def created_ms_in(row: bytes) -> int:
    """When the content of a row was first stored, in milliseconds since 1970. Raises RowDamaged."""
    return _decode_head(row)[2]


def rebuild_head(view: ReadView, codec: Codec, digest: str) -> tuple[bytes, int] | None:
    """A large content's lost head, made again from its chunks, and its size in bytes; None without them."""
    parts, created = [], 0
    try:
        for _, row in view.scan(keys.chunks_of(digest)):
            method, length, created = _decode_head(row)
            payload = row[_HEAD.size :]
            parts.append(codec.decompress(payload, length) if method == _ZSTD else payload)
    except RowDamaged:
        return None
    data = b"".join(parts)
    if not parts or digest_of(data) != digest:
        return None
    return _HEAD.pack(ROW_VERSION, _CHUNKED, len(data), created) + _COUNT.pack(len(parts)), len(data)


def holds_content(codec: Codec, key: bytes, row: bytes) -> bool:
    """Whether a content's row holds, alone, the bytes of the digest in its key. Raises RowDamaged."""
    method, length, _ = _decode_head(row)
    payload = row[_HEAD.size :]
    data = codec.decompress(payload, length) if method == _ZSTD else payload
    return method != _CHUNKED and digest_of(data) == keys.digest_in(key)
