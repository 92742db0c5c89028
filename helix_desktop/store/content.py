"""Contents: bytes under their SHA-256, stored once, verified whenever they are read.

A content row is version, method, length and time of creation, then the bytes. Above 1 MB it is the head of
chunks, which are written before it: a crash in between leaves chunks that nothing names.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import msgspec

from helix_desktop.context.content import Content
from helix_desktop.context.digest import digest_of, is_digest
from helix_desktop.store import keys, refusals
from helix_desktop.store.batch import Batch, Get
from helix_desktop.store.codec import CONTENT_CAP, VERSION, Codec, RowDamaged
from helix_desktop.store.commit import check_bytes
from helix_desktop.store.handle import Handle, View
from helix_desktop.store.quarantine import Quarantine
from helix_desktop.store.record import Record, read_record, record_of, write_record

WHOLE = 1024 * 1024  # largest content kept in one row, in bytes
CHUNK = 512 * 1024  # bytes of content per chunk above that
_PLAIN, _ZSTD, _CHUNKED = range(3)
_HEAD = struct.Struct(">BBQQ")
_COUNT = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Growth:
    """What a content added to the store: entries, and bytes before and after compression."""

    entries: int = 0
    size: int = 0
    stored_size: int = 0


class Contents:
    """Stages contents for writing and reads them back, verified."""

    def __init__(self, handle: Handle, codec: Codec, quarantine: Quarantine) -> None:
        self._handle = handle
        self._codec = codec
        self._quarantine = quarantine

    def stage(self, batch: Batch, content: Content, at: int) -> Growth:
        """Put a content's rows into the batch, unless it is stored already and sound. Raises ValueError."""
        check_bytes(content)
        digest = content.digest
        try:
            old, known = read_record(batch.get, self._codec, digest), True
        except RowDamaged:
            old, known = None, False
        if old is not None and self._sound(batch, digest):
            return Growth()
        created = at if old is None else old.created
        if not known:
            created = self._created(digest, at)
        stored_size = self._put(batch, content, created)
        if old is not None:
            write_record(batch, self._codec, digest, msgspec.structs.replace(old, stored_size=stored_size))
            growth = Growth(stored_size=stored_size - old.stored_size)
        else:
            fresh = record_of(content, stored_size, created)
            write_record(batch, self._codec, digest, fresh if known else self._counted(digest, fresh))
            growth = Growth(1, fresh.size, stored_size) if known else Growth()
        if not (known and old is None) and self._quarantine.holds(digest):
            self._quarantine.release(digest)
        return growth

    def read(self, view: View, digest: str) -> bytes:
        """The bytes of a digest. Raises DigestUnknown, ContentDamaged; never returns other bytes."""
        if not is_digest(digest):
            raise self._unknown(view, digest)
        why = "its bytes do not have its SHA-256"
        for get in (view.get, view.get_checked):
            try:
                data = self._load(get, digest)
            except RowDamaged as error:
                why = str(error)
                continue
            if data is None:
                break
            if digest_of(data) == digest:
                return data
        else:
            raise refusals.damaged(digest, why, self._quarantine.keep(digest, self._raw_rows(view, digest)))
        if _there(view.get, keys.record(digest)):
            raise refusals.damaged(digest, "its bytes are missing")
        raise self._unknown(view, digest)

    def _unknown(self, view: View, digest: str) -> Exception:
        return refusals.unknown(digest, lambda prefix, limit: find(view, prefix, limit))

    def _put(self, batch: Batch, content: Content, created: int) -> int:
        """Stage the bytes; the stored size."""
        data, digest = content.data, content.digest
        if len(data) <= WHOLE:
            row = self._row(data, created)
            batch.put(keys.content(digest), row)
            return len(row)
        stored = 0
        count = -(-len(data) // CHUNK)
        for number in range(count):
            row = self._row(data[number * CHUNK : (number + 1) * CHUNK], created)
            batch.put_early(keys.chunk(digest, number), row)
            stored += len(row)
        head = _HEAD.pack(VERSION, _CHUNKED, len(data), created) + _COUNT.pack(count)
        batch.put(keys.content(digest), head)
        return stored + len(head)

    def _row(self, data: bytes, created: int) -> bytes:
        packed = self._codec.compress(data)
        method, payload = (_PLAIN, data) if packed is None else (_ZSTD, packed)
        return _HEAD.pack(VERSION, method, len(data), created) + payload

    def _load(self, get: Get, digest: str) -> bytes | None:
        """The bytes, not yet verified; None when there is no row. Raises RowDamaged."""
        row = get(keys.content(digest))
        if row is None:
            return None
        method, length, _ = _head(row)
        if method != _CHUNKED:
            return self._unpack(row, method, length)
        data = b"".join(self._chunk(get, digest, number) for number in range(_count(row, length)))
        if len(data) != length:
            raise RowDamaged(f"its chunks have {len(data)} bytes, not {length}")
        return data

    def _chunk(self, get: Get, digest: str, number: int) -> bytes:
        row = get(keys.chunk(digest, number))
        if row is None:
            raise RowDamaged(f"its chunk {number} is missing")
        method, length, _ = _head(row)
        if length > CHUNK:
            raise RowDamaged(f"its chunk {number} claims {length} bytes")
        return self._unpack(row, method, length)

    def _unpack(self, row: bytes, method: int, length: int) -> bytes:
        payload = row[_HEAD.size :]
        return self._codec.decompress(payload, length) if method == _ZSTD else payload

    def _sound(self, batch: Batch, digest: str) -> bool:
        """Whether the stored bytes are there and their blocks' checksums match; cheaper than reading them."""
        key = keys.content(digest)
        if batch.pending(key):
            return True
        if self._quarantine.holds(digest):
            return False
        try:
            row = self._handle.get_checked(key)
            if row is None:
                return False
            method, length, _ = _head(row)
            count = _count(row, length) if method == _CHUNKED else 0
            chunks = (keys.chunk(digest, number) for number in range(count))
            return all(_there(self._handle.get_checked, chunk) for chunk in chunks)
        except RowDamaged:
            return False

    def _created(self, digest: str, at: int) -> int:
        """When a content without a readable record was first stored, so that its index row is found again."""
        try:
            row = self._handle.get_checked(keys.content(digest))
            return at if row is None else _head(row)[2]
        except RowDamaged:
            return at

    def _counted(self, digest: str, record: Record) -> Record:
        """A rebuilt record with the references that the rows show."""
        count = self._handle.read(lambda view: view.count(keys.references_of(digest)))
        return msgspec.structs.replace(record, references=count)

    def _raw_rows(self, view: View, digest: str) -> list[bytes]:
        """What can still be read of a damaged content."""
        rows = []
        try:
            head = view.get(keys.content(digest))
            rows.append(head or b"")
            rows.extend(row for _, row in view.scan((keys.chunk(digest, 0), keys.chunk(digest, 2**32 - 1))))
        except RowDamaged:
            rows = rows or [b""]
        return rows


def find(view: View, prefix: str, limit: int) -> list[str]:
    """The digests that begin with `prefix`, in order, at most `limit`. Raises ValueError, RowDamaged."""
    found: list[str] = []
    for key, _ in view.scan(keys.records_of(prefix)):
        if len(found) >= limit:
            break
        found.append(keys.digest_in(key))
    return found


def _head(row: bytes) -> tuple[int, int, int]:
    """Method, length and time of creation. Raises RowDamaged."""
    if len(row) < _HEAD.size:
        raise RowDamaged("its row is too short")
    version, method, length, created = _HEAD.unpack_from(row)
    if version != VERSION or method not in (_PLAIN, _ZSTD, _CHUNKED) or length > CONTENT_CAP:
        raise RowDamaged(f"its row claims format {version}.{method} and {length} bytes")
    return method, length, created


def _count(row: bytes, length: int) -> int:
    """How many chunks a head names. Raises RowDamaged."""
    if len(row) != _HEAD.size + _COUNT.size:
        raise RowDamaged("its head has the wrong length")
    (count,) = _COUNT.unpack_from(row, _HEAD.size)
    if count != -(-length // CHUNK):
        raise RowDamaged(f"its head names {count} chunks for {length} bytes")
    return int(count)


def _there(get: Get, key: bytes) -> bool:
    return get(key) is not None


def created_in(row: bytes) -> int:
    """When the content of a row was first stored, in milliseconds since 1970. Raises RowDamaged."""
    return _head(row)[2]


def head_of_chunks(view: View, codec: Codec, digest: str) -> tuple[bytes, int] | None:
    """A large content's lost head, made again from its chunks, and its size in bytes; None without them."""
    parts, created = [], 0
    try:
        for _, row in view.scan(keys.chunks_of(digest)):
            method, length, created = _head(row)
            payload = row[_HEAD.size :]
            parts.append(codec.decompress(payload, length) if method == _ZSTD else payload)
    except RowDamaged:
        return None
    data = b"".join(parts)
    if not parts or digest_of(data) != digest:
        return None
    return _HEAD.pack(VERSION, _CHUNKED, len(data), created) + _COUNT.pack(len(parts)), len(data)


def is_whole(codec: Codec, key: bytes, row: bytes) -> bool:
    """Whether a content's row holds, alone, the bytes of the digest in its key. Raises RowDamaged."""
    method, length, _ = _head(row)
    payload = row[_HEAD.size :]
    data = codec.decompress(payload, length) if method == _ZSTD else payload
    return method != _CHUNKED and digest_of(data) == keys.digest_in(key)
