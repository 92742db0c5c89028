"""Clean-up: collectable entries are moved to the trash, restored from it, or deleted from it permanently."""

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
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.contents import MAX_SINGLE_ROW_BYTES, ContentStore
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.store.leveldb.entry_record import EntryRecord
from helix_desktop.store.leveldb.event_log import is_referenced, read_draft_digests
from helix_desktop.store.leveldb.record_bytes import may_be_index, may_be_trashed
from helix_desktop.store.leveldb.rows import ROWS

_log = logging.getLogger(__name__)


def read_plan(view: ReadView, contents: ContentStore, rule: RetentionRule, at_ms: int) -> CleanupPlan:
    """Return what a clean-up at `at_ms` would do. Raise RowDamaged."""
    return plan_cleanup(_entries(view), index_reader(view, contents), rule, at_ms)


def read_collectable(
    view: ReadView, contents: ContentStore, digests: Iterable[str], grace_ms: int, at_ms: int
) -> list[str]:
    """Return which of these contents may go to the trash: nothing that stays names them. Raise RowDamaged.

    Only they and the index entries are looked at, which lead to contents that no log names.
    """
    selected = set(digests)
    selected_keys = {keys.record(digest) for digest in selected}
    candidates = _entries(view, may_be_chosen=lambda key, row: key in selected_keys or may_be_index(row))
    plan = plan_cleanup(candidates, index_reader(view, contents), RetentionRule(grace_ms=grace_ms), at_ms)
    return sorted(entry.digest for entry in plan.to_trash if entry.digest in selected)


def read_purgeable(view: ReadView, contents: ContentStore, before_ms: int) -> list[str]:
    """Return the contents that may be deleted permanently. Raise RowDamaged."""
    candidates = _entries(
        view,
        lambda record: bool(record.trashed) or record.kind == "index",
        lambda _, row: may_be_trashed(row) or may_be_index(row),
    )
    entries = purgeable_entries(candidates, index_reader(view, contents), before_ms)
    return [entry.digest for entry in entries]


def index_reader(view: ReadView, contents: ContentStore) -> Callable[[str], bytes | None]:
    """Return a function that reads an index entry; None for a damaged one."""

    def read(digest: str) -> bytes | None:
        try:
            return contents.read(view, digest)
        except ContentDamaged as error:
            _log.warning("A damaged index entry leads nowhere for the clean-up: %s", error)
            return None

    return read


def read_trash(view: ReadView) -> list[CacheEntry]:
    """Return the contents in the trash, last trashed first. Raise RowDamaged."""
    trashed = _entries(view, lambda record: bool(record.trashed), lambda _, row: may_be_trashed(row))
    return sorted(trashed, key=lambda entry: (-entry.trashed, entry.digest))


def newest_created(view: ReadView) -> int:
    """Return when the newest content was stored, in ms since 1970; 0 if there is none. Raise RowDamaged."""
    return next((keys.created_ms_in(key) for key, _ in view.scan(keys.TIME_INDEX)), 0)


def _entries(
    view: ReadView,
    is_chosen: Callable[[EntryRecord], bool] = lambda record: True,
    may_be_chosen: Callable[[bytes, bytes], bool] = lambda key, row: True,
) -> Iterator[CacheEntry]:
    """Yield the entries that are chosen; `may_be_chosen` says of key and row which need not be decoded."""
    in_drafts = read_draft_digests(view)
    for key, row in view.scan(keys.RECORDS):
        if not may_be_chosen(key, row):
            continue
        digest = keys.digest_in(key)
        try:
            record = ROWS.record.decode(key, row)
        except RowDamaged:
            continue  # an entry whose record is unreadable stays
        if not is_chosen(record):
            continue  # before its references are looked for, which takes longer than all else
        if not record.references and (digest in in_drafts or is_referenced(view, digest)):
            record = msgspec.structs.replace(record, references=1)
        yield record.to_entry(digest)


def stage_trash(
    batch: WriteBatch,
    database: Database,
    digests: Iterable[str],
    grace_ms: int,
    at_ms: int,
    trashed_ms: int,
) -> CleanupResult:
    """Move to the trash, dated `trashed_ms`, what is still collectable at `at_ms`; the rest stays."""
    trashed: list[str] = []
    freed_bytes = 0
    in_drafts = database.read(read_draft_digests)
    for digest, record in _readable_records(batch, digests):
        collectable = is_collectable(record.to_entry(digest), at_ms, grace_ms) and digest not in in_drafts
        if collectable and not _is_referenced(database, digest):
            ROWS.record.put(batch, msgspec.structs.replace(record, trashed=trashed_ms), digest)
            trashed.append(digest)
            freed_bytes += record.stored_size
    return CleanupResult(tuple(trashed), stored_size=freed_bytes)


def stage_restore(batch: WriteBatch, digests: Iterable[str], at_ms: int) -> CleanupResult:
    """Restore from the trash; the grace period restarts."""
    restored: list[str] = []
    size = 0
    for digest, record in _readable_records(batch, digests):
        if record.trashed:
            revived = msgspec.structs.replace(record, trashed=0, last_used=at_ms)
            ROWS.record.put(batch, revived, digest)
            restored.append(digest)
            size += record.stored_size
    return CleanupResult(tuple(restored), stored_size=size)


def stage_purge(
    batch: WriteBatch, database: Database, digests: Sequence[str], before_ms: int
) -> CleanupResult:
    """Delete what was trashed before `before_ms` and is still in the trash; what a log names stays."""
    purged: list[str] = []
    freed_bytes = 0
    in_drafts = database.read(read_draft_digests)
    for digest, record in _readable_records(batch, digests):
        purgeable = 0 < record.trashed < before_ms and not record.references and digest not in in_drafts
        if purgeable and not _is_referenced(database, digest):
            remove_content(batch, database, digest, record)
            purged.append(digest)
            freed_bytes += record.stored_size
    return CleanupResult(tuple(purged), stored_size=freed_bytes)


def remove_content(batch: WriteBatch, database: Database, digest: str, record: EntryRecord) -> None:
    """Delete every row of a content except its references."""
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


def _readable_records(batch: WriteBatch, digests: Iterable[str]) -> Iterator[tuple[str, EntryRecord]]:
    for digest in digests:
        try:
            record = ROWS.record.get(batch, digest)
        except RowDamaged as error:
            _log.warning("The record of %s is damaged (%s): it stays as it is.", digest, error)
            continue
        if record is not None:
            yield digest, record


def _is_referenced(database: Database, digest: str) -> bool:
    try:
        return database.read(lambda view: is_referenced(view, digest))
    except RowDamaged:
        return True  # fail closed: a content whose references are unreadable counts as referenced
