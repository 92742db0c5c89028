"""The record of a content: everything about it but its bytes, kept by digest and again by time."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from helix_desktop.context.content import Content, ContentKind, Entry
from helix_desktop.context.keeping import comes_alive
from helix_desktop.store import keys
from helix_desktop.store.batch import Batch, Get, Puts
from helix_desktop.store.codec import Codec, RowDamaged, Shape, sealed

_log = logging.getLogger(__name__)


class Record(msgspec.Struct, array_like=True, frozen=True):
    """What is stored of an Entry. Fields are only added, last and with a default: old rows still load."""

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

    def entry(self, digest: str) -> Entry:
        """The record as it crosses the port."""
        return Entry(
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


RECORD = Shape(Record)


def record_of(content: Content, stored_size: int, at: int, session: str) -> Record:
    """The record of a content stored for the first time, by `session` at `at` milliseconds since 1970."""
    return Record(
        at,
        at,
        len(content.data),
        stored_size,
        content.tokens,
        content.tool,
        content.target,
        content.first_line,
        content.kind,
        session=session,
    )


def read_record(get: Get, codec: Codec, digest: str) -> Record | None:
    """The record of a digest, None when there is none. Raises RowDamaged."""
    key = keys.record(digest)
    row = get(key)
    return None if row is None else codec.unseal(key, row, RECORD)


def write_record(batch: Puts, codec: Codec, digest: str, record: Record) -> None:
    """Write a record under its digest and into the index by time."""
    body = codec.body(record)
    for key in (keys.record(digest), keys.newest(record.created, digest)):
        batch.put(key, sealed(key, body))


def change_record(batch: Batch, codec: Codec, digest: str, change: Callable[[Record], Record]) -> None:
    """Rewrite the record of a stored content. A damaged one stays: its counts can be rebuilt from rows."""
    try:
        record = read_record(batch.get, codec, digest)
    except RowDamaged as error:
        _log.warning("The record of %s is damaged (%s) and was not updated.", digest, error)
        return
    if record is not None:
        write_record(batch, codec, digest, change(record))


def touch_record(batch: Batch, codec: Codec, digest: str, record: Record, at: int) -> None:
    """Take a content that is stored again out of the trash, and let its time of grace begin anew."""
    if comes_alive(record.references, record.trashed, record.last_used, at):
        write_record(batch, codec, digest, msgspec.structs.replace(record, trashed=0, last_used=at))
