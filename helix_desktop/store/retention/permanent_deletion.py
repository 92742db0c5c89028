"""Deletes selected items of the trash permanently, with what only they need, all of it at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.store.retention import (
    MAX_TIME_MS,
    EntryTotals,
    PermanentDeletion,
    unindexed_entries,
)
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.access import StoreAccess
from helix_desktop.store.leveldb.branches import shared_end
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.store.leveldb.record_bytes import may_be_index
from helix_desktop.store.leveldb.rows import ROWS
from helix_desktop.store.retention import garbage_collection, session_trash

_BACK_REFERENCES = (b"R", b"S")


def stage_permanent_deletion(
    batch: WriteBatch, access: StoreAccess, digests: Sequence[str], sessions: Sequence[str]
) -> PermanentDeletion:
    """Delete what of these contents and sessions is in the trash, and what only these sessions name.

    What was stored again since then stays: what names it may be on its way.
    """
    database, before = access.database, dict(batch.rows)
    removed, with_branches = _stage_sessions(batch, database, sessions)
    rows = [key for key, row in batch.rows.items() if row is None and key not in before]
    freed = sum(len(database.get(key) or b"") for key in rows)
    referenced = _referenced(database, rows)
    free, staying = _split_candidates(batch, database, referenced, digests)
    indexes = _staying_indexes(batch, database, {entry.digest for entry in free})
    deletable = database.read(
        lambda view: unindexed_entries(free, indexes, garbage_collection.index_reader(view, access.contents))
    )
    for entry in deletable:
        record = ROWS.record.get(batch, entry.digest)
        if record is not None:
            garbage_collection.remove_content(batch, database, entry.digest, record)
            freed += record.stored_size
    gone = {entry.digest for entry in deletable}
    for entry in free:
        if entry.digest not in gone:
            staying = staying.plus(entry)
    return PermanentDeletion(tuple(sorted(gone)), tuple(removed), freed, staying, with_branches)


def _stage_sessions(batch: WriteBatch, database: Database, sessions: Sequence[str]) -> tuple[list[str], int]:
    """Delete sessions in the trash with their subagents there; return them, and how many have branches."""
    trashed = database.read(session_trash.read_trashed)
    selected = set(sessions)
    family = [summary.id for summary in trashed if summary.id in selected or summary.parent in selected]
    for session_id in family:
        session_trash.stage_session_removal(batch, database, session_id, MAX_TIME_MS)
    left = {session_id: ROWS.summary.get(batch, session_id) for session_id in family}
    removed = [session_id for session_id, summary in left.items() if summary is None or summary.is_removed]
    return removed, sum(bool(shared_end(batch, database, session_id)) for session_id in removed)


def _referenced(database: Database, rows: Iterable[bytes]) -> dict[str, int]:
    """Return what the removed rows name, and when the last of these sessions went to the trash, in ms."""
    referenced: dict[str, int] = {}
    trashed: dict[str, int] = {}
    for session_id, digest in _names_in(database, rows):
        if session_id not in trashed:
            trashed[session_id] = _trashed_ms(database, session_id)
        referenced[digest] = max(referenced.get(digest, 0), trashed[session_id])
    return referenced


def _trashed_ms(database: Database, session_id: str) -> int:
    """Return when a session went to the trash; of a subagent that a branch kept out of it, its session."""
    summary = ROWS.summary.get(database, session_id)
    if summary is not None and summary.parent and not summary.trashed:
        return _trashed_ms(database, summary.parent)
    return summary.trashed if summary is not None else 0


def _names_in(database: Database, rows: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    """Yield the session and the digest of each content that the removed rows of logs and drafts name."""
    for key in rows:
        if _BACK_REFERENCES[0] <= key < _BACK_REFERENCES[1]:
            yield keys.session_and_seq(key[: -keys.DIGEST_BYTES])[0], keys.digest_in(key)
        elif keys.DRAFTS[0] <= key < keys.DRAFTS[1]:
            session_id = keys.session_of(key, keys.DRAFTS)
            with suppress(RowDamaged):
                draft = ROWS.draft.get(database, session_id)
                yield from ((session_id, digest) for digest in (draft.digests if draft is not None else ()))


def _split_candidates(
    batch: WriteBatch, database: Database, referenced: dict[str, int], digests: Sequence[str]
) -> tuple[list[CacheEntry], EntryTotals]:
    """Return which contents nothing needs once the batch is written, and the totals of the others."""
    in_drafts = _draft_digests(batch, database)
    free: list[CacheEntry] = []
    staying = EntryTotals()
    for digest in sorted({*referenced, *digests}):
        try:
            record = ROWS.record.get(batch, digest)
        except RowDamaged:
            continue  # it stays as it is, for the repair
        if record is None or not (digest in referenced or record.trashed):
            continue
        entry = record.to_entry(digest)
        is_used = not entry.trashed and entry.last_used > referenced[digest]
        is_needed = is_used or entry.references or entry.pinned or digest in in_drafts
        if is_needed or _is_named(batch, database, digest):
            staying = staying.plus(entry)
        else:
            free.append(entry)
    return free, staying


def _is_named(batch: WriteBatch, database: Database, digest: str) -> bool:
    """Return True if a log names a content after the batch, whatever its record says."""
    span = keys.references_of(digest)
    stored = database.read(lambda view: [key for key, _ in view.scan(span)])
    return any(batch.get(key) is not None for key in {*stored, *batch.changes(*span)})


def _draft_digests(batch: WriteBatch, database: Database) -> frozenset[str]:
    rows = database.read(lambda view: dict(view.scan(keys.DRAFTS))) | batch.changes(*keys.DRAFTS)
    digests: frozenset[str] = frozenset()
    for key, row in rows.items():
        try:
            digests |= ROWS.draft.decode(key, row).digests if row is not None else frozenset()
        except RowDamaged:
            continue  # a damaged draft names none
    return digests


def _staying_indexes(batch: WriteBatch, database: Database, free: set[str]) -> list[str]:
    """Return the index entries beside `free`; without `free` none is looked for."""
    if not free:
        return []

    def may_lead(view: ReadView) -> Iterable[tuple[bytes, bytes | None]]:
        return [(key, row) for key, row in view.scan(keys.RECORDS) if may_be_index(row)]

    rows = dict(database.read(may_lead)) | batch.changes(*keys.RECORDS)
    indexes: list[str] = []
    for key, row in rows.items():
        try:
            record = ROWS.record.decode(key, row) if row is not None else None
        except RowDamaged:
            continue
        if record is not None and record.kind == "index" and keys.digest_in(key) not in free:
            indexes.append(keys.digest_in(key))
    return indexes
