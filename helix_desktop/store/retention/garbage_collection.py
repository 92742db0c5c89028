"""Cleaning up: what may go is moved to the trash, comes back from it, or is removed from it for good."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from helix_desktop.domain.errors import ContentDamaged
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.store.retention import (
    CleanupPlan,
    CleanupResult,
    RetentionRule,
    is_collectable,
    plan_cleanup,
    purgeable_entries,
)
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import Codec, RowDamaged
from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.contents import MAX_SINGLE_ROW_BYTES, ContentStore
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.store.leveldb.draft_rows import read_draft_digests
from helix_desktop.store.leveldb.entry_record import RECORD_TYPE, EntryRecord, read_record, write_record
from helix_desktop.store.leveldb.references import is_referenced

_log = logging.getLogger(__name__)


def read_plan(
    view: ReadView, codec: Codec, contents: ContentStore, rule: RetentionRule, at_ms: int
) -> CleanupPlan:
    """What a clean-up at `at` would do. Raises RowDamaged."""
    return plan_cleanup(_entries(view, codec), _index_reader(view, contents), rule, at_ms)


def read_purgeable(view: ReadView, codec: Codec, contents: ContentStore, before_ms: int) -> list[str]:
    """The contents that may be removed for good. Raises RowDamaged."""
    found = purgeable_entries(_entries(view, codec), _index_reader(view, contents), before_ms)
    return [one.digest for one in found]


def _index_reader(view: ReadView, contents: ContentStore) -> Callable[[str], bytes | None]:
    def read(digest: str) -> bytes | None:
        try:
            return contents.read(view, digest)
        except ContentDamaged as error:
            _log.warning("A damaged index entry leads nowhere for the clean-up: %s", error)
            return None

    return read


def read_trash(view: ReadView, codec: Codec) -> list[CacheEntry]:
    """The contents in the trash, the last that went there first. Raises RowDamaged."""
    found = [one for one in _entries(view, codec) if one.trashed]
    return sorted(found, key=lambda one: (-one.trashed, one.digest))


def newest_created(view: ReadView) -> int:
    """When the newest content was stored, in milliseconds since 1970; 0 without any. Raises RowDamaged."""
    return next((keys.created_ms_in(key) for key, _ in view.scan(keys.TIME_INDEX)), 0)


def _entries(view: ReadView, codec: Codec) -> Iterator[CacheEntry]:
    in_drafts = read_draft_digests(view, codec)
    for key, row in view.scan(keys.RECORDS):
        digest = keys.digest_in(key)
        try:
            record = codec.decode(key, row, RECORD_TYPE)
        except RowDamaged:
            continue  # of which nothing is known stays
        if not record.references and (digest in in_drafts or is_referenced(view, digest)):
            record = msgspec.structs.replace(record, references=1)
        yield record.to_entry(digest)


def stage_trash(
    batch: WriteBatch,
    database: Database,
    codec: Codec,
    digests: Iterable[str],
    grace_ms: int,
    at_ms: int,
    trashed_ms: int,
) -> CleanupResult:
    """Move to the trash, as of `stamp`, what still may go at `at`; the rest stays."""
    gone: list[str] = []
    freed = 0
    in_drafts = database.read(lambda view: read_draft_digests(view, codec))
    for digest, record in _readable_records(batch, codec, digests):
        free = is_collectable(record.to_entry(digest), at_ms, grace_ms) and digest not in in_drafts
        if free and not _is_referenced(database, digest):
            write_record(batch, codec, digest, msgspec.structs.replace(record, trashed=trashed_ms))
            gone.append(digest)
            freed += record.stored_size
    return CleanupResult(tuple(gone), stored_size=freed)


def stage_restore(batch: WriteBatch, codec: Codec, digests: Iterable[str], at_ms: int) -> CleanupResult:
    """Bring back from the trash; the time of grace begins anew."""
    back: list[str] = []
    size = 0
    for digest, record in _readable_records(batch, codec, digests):
        if record.trashed:
            alive = msgspec.structs.replace(record, trashed=0, last_used=at_ms)
            write_record(batch, codec, digest, alive)
            back.append(digest)
            size += record.stored_size
    return CleanupResult(tuple(back), stored_size=size)


def stage_purge(
    batch: WriteBatch, database: Database, codec: Codec, digests: Sequence[str], before_ms: int
) -> CleanupResult:
    """Remove for good what went to the trash before `before` and is still there; what a log names stays."""
    gone: list[str] = []
    freed = 0
    in_drafts = database.read(lambda view: read_draft_digests(view, codec))
    for digest, record in _readable_records(batch, codec, digests):
        free = 0 < record.trashed < before_ms and not record.references and digest not in in_drafts
        if free and not _is_referenced(database, digest):
            remove_content(batch, database, codec, digest, record)
            gone.append(digest)
            freed += record.stored_size
    return CleanupResult(tuple(gone), stored_size=freed)


def remove_content(
    batch: WriteBatch, database: Database, codec: Codec, digest: str, record: EntryRecord
) -> None:
    """Delete every row of a content but those that say who names it."""
    chunks: list[bytes] = []
    if record.size > MAX_SINGLE_ROW_BYTES:
        chunks = database.read(lambda view: [key for key, _ in view.scan(keys.chunks_of(digest))])
    for key in (
        keys.content(digest),
        *chunks,
        keys.record(digest),
        keys.time_index(record.created, digest),
    ):
        batch.delete(key)
    batch.add_totals(entries=-1, size=-record.size, stored_size=-record.stored_size)


def _readable_records(
    batch: WriteBatch, codec: Codec, digests: Iterable[str]
) -> Iterator[tuple[str, EntryRecord]]:
    for digest in digests:
        try:
            record = read_record(batch.get, codec, digest)
        except RowDamaged as error:
            _log.warning("The record of %s is damaged (%s): it stays as it is.", digest, error)
            continue
        if record is not None:
            yield digest, record


def _is_referenced(database: Database, digest: str) -> bool:
    try:
        return database.read(lambda view: is_referenced(view, digest))
    except RowDamaged:
        return True  # what cannot be known is taken for named
