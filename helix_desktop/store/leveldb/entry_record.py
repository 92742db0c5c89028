"""The record of a content: its metadata, stored by digest and again by time."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from helix_desktop.domain.store.entries import CacheEntry, Content, ContentKind
from helix_desktop.domain.store.retention import must_revive
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import Codec, RowDamaged, RowType, with_checksum
from helix_desktop.store.core.write_batch import RowGetter, RowSink, WriteBatch

_log = logging.getLogger(__name__)


class EntryRecord(msgspec.Struct, array_like=True, frozen=True):
    """The stored form of a CacheEntry. Fields are only added, last and with a default: old rows load."""

    created: int
    last_used: int
    size: int
    stored_size: int
    tokens: int
    tool: str
    target: str
    first_line: str
    kind: ContentKind
    recalls: int = 0
    references: int = 0
    session: str = ""
    pinned: bool = False
    trashed: int = 0

    def to_entry(self, digest: str) -> CacheEntry:
        """Return the record as a CacheEntry, the form outside of the store."""
        return CacheEntry(
            digest,
            self.size,
            self.stored_size,
            self.tokens,
            self.tool,
            self.target,
            self.first_line,
            self.kind,
            self.created,
            self.last_used,
            self.recalls,
            self.references,
            self.session,
            self.pinned,
            self.trashed,
        )


RECORD_TYPE = RowType(EntryRecord)


def new_record(content: Content, stored_size: int, at_ms: int, session: str) -> EntryRecord:
    """Return the record of a content first stored by `session` at `at_ms` (ms since 1970)."""
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
        session=session,
    )


def read_record(get: RowGetter, codec: Codec, digest: str) -> EntryRecord | None:
    """Return the record of a digest, None if there is none. Raise RowDamaged."""
    key = keys.record(digest)
    row = get(key)
    return None if row is None else codec.decode(key, row, RECORD_TYPE)


def write_record(batch: RowSink, codec: Codec, digest: str, record: EntryRecord) -> None:
    """Write a record under its digest and into the time index."""
    body = codec.encode_body(record)
    for key in (keys.record(digest), keys.time_index(record.created, digest)):
        batch.put(key, with_checksum(key, body))


def change_record(
    batch: WriteBatch, codec: Codec, digest: str, change: Callable[[EntryRecord], EntryRecord]
) -> None:
    """Rewrite the record of a stored content. A damaged one stays: its counts can be rebuilt from rows."""
    try:
        record = read_record(batch.get, codec, digest)
    except RowDamaged as error:
        _log.warning("The record of %s is damaged (%s) and was not updated.", digest, error)
        return
    if record is not None:
        write_record(batch, codec, digest, change(record))


def touch_record(batch: WriteBatch, codec: Codec, digest: str, record: EntryRecord, at_ms: int) -> None:
    """Take a content that is stored again out of the trash, and restart its grace period."""
    if must_revive(record.references, record.trashed, record.last_used, at_ms):
        write_record(batch, codec, digest, msgspec.structs.replace(record, trashed=0, last_used=at_ms))
