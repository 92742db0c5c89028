"""Contents: bytes under their SHA-256, stored once, verified whenever they are read.

A content row is version, method, length and time of creation, then the bytes. Above 1 MB it is the head of
chunks, which are written before it: a crash in between leaves chunks that nothing names.
"""

from __future__ import annotations

import struct

import msgspec

from helix_desktop.context.content import Content
from helix_desktop.context.digest import digest_of, is_digest
from helix_desktop.context.errors import DigestUnknown
from helix_desktop.store import keys, refusals
from helix_desktop.store.batch import Batch, Get
from helix_desktop.store.codec import CONTENT_CAP, VERSION, Codec, RowDamaged
from helix_desktop.store.commit import check_match
from helix_desktop.store.handle import Handle, View
from helix_desktop.store.packing import Packed, Packing
from helix_desktop.store.quarantine import Quarantine
from helix_desktop.store.record import Record, read_record, record_of, touch_record, write_record
from helix_desktop.store.tombstone import read_tombstone

WHOLE = 1024 * 1024  # largest content kept in one row, in bytes
CHUNK = 512 * 1024  # bytes of content per chunk above that
_PLAIN, _ZSTD, _CHUNKED = range(3)
_HEAD = struct.Struct(">BBQQ")
_COUNT = struct.Struct(">I")


class Contents:
    """Stages contents for writing and reads them back, verified."""

    def __init__(self, handle: Handle, codec: Codec, quarantine: Quarantine) -> None:
        self._handle = handle
        self._codec = codec
        self.quarantine = quarantine

    def packing(self, content: Content) -> Packing:
        """The slow work on a content, which another thread may begin before it is staged."""
        return Packing(content, self._codec, WHOLE if len(content.data) <= WHOLE else CHUNK)

    def stage(self, batch: Batch, content: Content, at: int, session: str = "") -> None:
        """Put a content's rows into the batch, unless it is stored already and sound. Raises ValueError."""
        self.stage_packed(batch, self.packing(content), at, session)

    def stage_packed(self, batch: Batch, packing: Packing, at: int, session: str = "") -> None:
        """The same for a content whose packing another thread may have begun. Raises ValueError."""
        content = packing.content
        digest = content.digest
        try:
            old, known = read_record(batch.get, self._codec, digest), True
        except RowDamaged:
            old, known = None, False
        buried = read_tombstone(batch.get, self._codec, digest) if old is None else None
        if buried is not None and not buried.lifted:
            check_match(content, packing.digest())
        elif old is not None and self._sound(batch, digest):
            check_match(content, packing.digest())
            touch_record(batch, self._codec, digest, old, at)
        elif old is not None:
            self._heal(batch, packing, old)
        elif known and buried is None:
            fresh = record_of(content, self._put(batch, packing, at), at, session)
            write_record(batch, self._codec, digest, fresh)
            batch.count(1, fresh.size, fresh.stored_size)
        else:
            self._restore(batch, packing, self._created(digest, at), session, known)

    def _heal(self, batch: Batch, packing: Packing, old: Record) -> None:
        """Stage a content again whose record is whole and whose bytes are not."""
        stored_size = self._put(batch, packing, old.created)
        healed = msgspec.structs.replace(old, stored_size=stored_size, trashed=0)
        write_record(batch, self._codec, packing.content.digest, healed)
        batch.count(stored_size=stored_size - old.stored_size)
        # Not before it is written: a reader meanwhile finds the damage, and would keep it aside once more.
        batch.after(lambda: self.quarantine.release(packing.content.digest))

    def _restore(self, batch: Batch, packing: Packing, created: int, session: str, known: bool) -> None:
        """Stage a content that may be named already: it was forgotten, or (not `known`) lost its record."""
        digest = packing.content.digest
        fresh = record_of(packing.content, self._put(batch, packing, created), created, session)
        write_record(batch, self._codec, digest, self._counted(digest, fresh))
        batch.delete(keys.forgotten(digest))
        if known:
            batch.count(1, fresh.size, fresh.stored_size)
        batch.after(lambda: self.quarantine.release(digest))

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
            raise refusals.damaged(digest, why, self.quarantine.keep(digest, self._raw_rows(view, digest)))
        if _there(view.get, keys.record(digest)):
            raise refusals.damaged(digest, "its bytes are missing")
        raise self._unknown(view, digest)

    def _unknown(self, view: View, digest: str) -> Exception:
        return missing(view, self._codec, digest)

    def _put(self, batch: Batch, packing: Packing, created: int) -> int:
        """Stage the bytes; the stored size. Raises ValueError when they have another digest."""
        rows = [_row(piece, created) for piece in packing.take()]
        length, digest = len(packing.content.data), packing.content.digest
        check_match(packing.content, packing.digest())
        if length > WHOLE:
            for number, row in enumerate(rows):
                batch.put_early(keys.chunk(digest, number), row)
            rows.append(_HEAD.pack(VERSION, _CHUNKED, length, created) + _COUNT.pack(len(rows)))
        batch.put(keys.content(digest), rows[-1])
        return sum(map(len, rows))

    def _load(self, get: Get, digest: str) -> bytes | None:
        """The bytes, not yet verified; None when there is no row. Raises RowDamaged."""
        row = get(keys.content(digest))
        if row is None:
            return None
        method, length, _ = _head(row)
        if method != _CHUNKED:
            if length > WHOLE:
                raise RowDamaged(f"its row claims {length} bytes")
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

    def content_of(self, row: bytes) -> bytes:
        """The bytes in a content or chunk row that may be damaged, unverified. Raises RowDamaged."""
        method, length, _ = _head(row)
        return b"" if method == _CHUNKED else self._unpack(row, method, length)

    def _unpack(self, row: bytes, method: int, length: int) -> bytes:
        payload = row[_HEAD.size :]
        return self._codec.decompress(payload, length) if method == _ZSTD else payload

    def _sound(self, batch: Batch, digest: str) -> bool:
        """Whether the stored bytes are there and their blocks' checksums match; cheaper than reading them."""
        key = keys.content(digest)
        if batch.pending(key):
            return True
        if self.quarantine.holds(digest):
            return False
        try:
            row = self._handle.get_checked(key)
            if row is None:
                return False
            method, length, _ = _head(row)
            return method != _CHUNKED or self._chunks_sound(digest, _count(row, length))
        except RowDamaged:
            return False

    def _chunks_sound(self, digest: str, count: int) -> bool:
        chunks = (keys.chunk(digest, number) for number in range(count))
        return all(_there(self._handle.get_checked, chunk) for chunk in chunks)

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


def missing(view: View, codec: Codec, digest: str) -> DigestUnknown:
    """Why a content is not there: nobody stored it, or it was forgotten. Raises RowDamaged."""
    buried = read_tombstone(view.get, codec, digest) if is_digest(digest) else None
    if buried is not None:
        return refusals.forgotten(digest, buried.at, buried.successor)
    return refusals.unknown(digest, lambda prefix, limit: find(view, prefix, limit))


def find(view: View, prefix: str, limit: int) -> list[str]:
    """The digests that begin with `prefix`, in order, at most `limit`. Raises ValueError, RowDamaged."""
    found: list[str] = []
    for key, _ in view.scan(keys.records_of(prefix)):
        if len(found) >= limit:
            break
        found.append(keys.digest_in(key))
    return found


def _row(piece: Packed, created: int) -> bytes:
    method = _ZSTD if piece.compressed else _PLAIN
    return _HEAD.pack(VERSION, method, piece.length, created) + piece.payload


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
