"""What may be removed from a store and when: references, pins, clean-up, and the trash.

From the trash, entries and sessions are restored, or deleted permanently with what only they need. Of a
session that branches begin with, the part of the log that they need stays, and with it the subagents that
were started there; it goes with the last of these branches.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from helix_desktop.domain.errors import ContentDamaged
from helix_desktop.domain.events.conversation import SubagentStarted
from helix_desktop.domain.retention import (
    GRACE_MS,
    MAX_TIME_MS,
    CleanupPlan,
    CleanupResult,
    ContentReference,
    EntryTotals,
    PermanentDeletion,
    RetentionRule,
    TrashContents,
    is_collectable,
    plan_cleanup,
    purgeable_entries,
    unindexed_entries,
)
from helix_desktop.domain.store import CacheEntry, EntryRecord, SessionSummary, StoreTotals
from helix_desktop.store import kinds, store_errors
from helix_desktop.store.commits import (
    StoreAccess,
    count_down_references,
    is_referenced,
    read_draft_digests,
    read_references,
    read_session_digests,
    shared_end,
)
from helix_desktop.store.contents import MAX_SINGLE_ROW_BYTES, ContentStore, find_digests
from helix_desktop.store.kinds import ROWS, RowDamaged, RowDatabase, RowUnknown, RowView
from helix_desktop.store.threads import WriteBatch

_log = logging.getLogger(__name__)


def read_collectable(
    view: RowView, contents: ContentStore, digests: Iterable[str], grace_ms: int, at_ms: int
) -> list[str]:
    """Return which of these contents may go to the trash: nothing that stays names them. Raise RowDamaged.

    Only they and the index entries are looked at, which lead to contents that no log names.
    """
    selected = set(digests)
    selected_keys = {kinds.record_key(digest) for digest in selected}
    candidates = _entries(
        view, may_be_chosen=lambda key, row: key in selected_keys or kinds.may_be_index(row)
    )
    plan = plan_cleanup(candidates, index_reader(view, contents), RetentionRule(grace_ms=grace_ms), at_ms)
    return sorted(entry.digest for entry in plan.to_trash if entry.digest in selected)


def read_purgeable(view: RowView, contents: ContentStore, before_ms: int) -> list[str]:
    """Return the contents that may be deleted permanently. Raise RowDamaged."""
    candidates = _entries(
        view,
        lambda record: bool(record.trashed) or record.kind == "index",
        lambda _, row: kinds.may_be_trashed(row) or kinds.may_be_index(row),
    )
    entries = purgeable_entries(candidates, index_reader(view, contents), before_ms)
    return [entry.digest for entry in entries]


def index_reader(view: RowView, contents: ContentStore) -> Callable[[str], bytes | None]:
    """Return a function that reads an index entry; None for a damaged one."""

    def read(digest: str) -> bytes | None:
        try:
            return contents.read(view, digest)
        except ContentDamaged as error:
            _log.warning("A damaged index entry leads nowhere for the clean-up: %s", error)
            return None

    return read


def read_trash(view: RowView) -> list[CacheEntry]:
    """Return the contents in the trash, last trashed first. Raise RowDamaged."""
    trashed = _entries(view, lambda record: bool(record.trashed), lambda _, row: kinds.may_be_trashed(row))
    return sorted(trashed, key=lambda entry: (-entry.trashed, entry.digest))


def newest_created(view: RowView) -> int:
    """Return when the newest content was stored, in ms since 1970; 0 if there is none. Raise RowDamaged."""
    return next((kinds.created_ms_in(key) for key, _ in view.scan(kinds.TIME_INDEX)), 0)


def _entries(
    view: RowView,
    is_chosen: Callable[[EntryRecord], bool] = lambda record: True,
    may_be_chosen: Callable[[bytes, bytes], bool] = lambda key, row: True,
) -> Iterator[CacheEntry]:
    """Yield the entries that are chosen; `may_be_chosen` says of key and row which need not be decoded."""
    in_drafts = read_draft_digests(view)
    for key, row in view.scan(kinds.RECORDS):
        if not may_be_chosen(key, row):
            continue
        digest = kinds.digest_in(key)
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
    database: RowDatabase,
    digests: Iterable[str],
    grace_ms: int,
    at_ms: int,
    trashed_ms: int,
) -> CleanupResult:
    """Move to the trash, dated `trashed_ms`, what is still collectable at `at_ms`; the rest stays."""
    trashed: list[str] = []
    freed_bytes = 0
    in_drafts = _draft_digests(batch, database)
    for digest, record in _readable_records(batch, digests):
        collectable = is_collectable(record, at_ms, grace_ms) and digest not in in_drafts
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
    batch: WriteBatch, database: RowDatabase, digests: Sequence[str], before_ms: int
) -> CleanupResult:
    """Delete what was trashed before `before_ms` and is still in the trash; what a log names stays."""
    purged: list[str] = []
    freed_bytes = 0
    in_drafts = _draft_digests(batch, database)
    for digest, record in _readable_records(batch, digests):
        purgeable = 0 < record.trashed < before_ms and not record.references and digest not in in_drafts
        if purgeable and not _is_referenced(database, digest):
            remove_content(batch, database, digest, record)
            purged.append(digest)
            freed_bytes += record.stored_size
    return CleanupResult(tuple(purged), stored_size=freed_bytes)


def remove_content(batch: WriteBatch, database: RowDatabase, digest: str, record: EntryRecord) -> None:
    """Delete every row of a content except its references."""
    chunks: list[bytes] = []
    if record.size > MAX_SINGLE_ROW_BYTES:
        chunks = database.read(lambda view: [key for key, _ in view.scan(kinds.chunks_of(digest))])
    for key in (
        kinds.content_key(digest),
        *chunks,
        kinds.record_key(digest),
        kinds.time_index_key(record.created, digest),
    ):
        batch.delete(key)
    batch.totals += StoreTotals(-1, -record.size, -record.stored_size, 0)


def _readable_records(batch: WriteBatch, digests: Iterable[str]) -> Iterator[tuple[str, EntryRecord]]:
    for digest in digests:
        try:
            record = ROWS.record.get(batch, digest)
        except RowDamaged as error:
            _log.warning("The record of %s is damaged (%s): it stays as it is.", digest, error)
            continue
        if record is not None:
            yield digest, record


def _is_referenced(database: RowDatabase, digest: str) -> bool:
    try:
        return database.read(lambda view: is_referenced(view, digest))
    except RowDamaged:
        return True  # fail closed: a content whose references are unreadable counts as referenced


def read_trashed(view: RowView) -> list[SessionSummary]:
    """Return the sessions in the trash, last trashed first. Raise RowDamaged."""
    summaries = [summary for _, summary in ROWS.summary.scan(view, kinds.SUMMARIES)]
    return sorted(
        (summary for summary in summaries if summary.trashed and not summary.is_removed),
        key=lambda summary: (-summary.trashed, summary.id),
    )


def stage_trashed(batch: WriteBatch, database: RowDatabase, session_id: str, trashed_ms: int) -> list[str]:
    """Set since when (0: not) a session and its subagents' are in the trash; return the ids that changed.

    The subagents of a session that branches begin with stay where they are: branches may show them.
    """
    changed: list[str] = []
    own = ROWS.summary.get(batch, session_id)
    subagents = _subagents(batch, database, session_id)
    if trashed_ms and shared_end(batch, database, session_id):
        subagents = []
    for summary in [*([own] if own is not None else []), *subagents]:
        if bool(summary.trashed) != bool(trashed_ms) and not summary.is_removed:
            ROWS.summary.put(batch, msgspec.structs.replace(summary, trashed=trashed_ms), summary.id)
            changed.append(summary.id)
    return changed


def _subagents(batch: WriteBatch, database: RowDatabase, session_id: str) -> list[SessionSummary]:
    stored = database.read(lambda view: list(ROWS.summary.scan(view, kinds.SUMMARIES)))
    current = (ROWS.summary.get(batch, summary.id) for _, summary in stored if summary.parent == session_id)
    return [summary for summary in current if summary is not None]


def stage_session_removal(batch: WriteBatch, database: RowDatabase, session_id: str, before_ms: int) -> bool:
    """Delete a session that was trashed before `before_ms`, at once; return False if it was restored."""
    summary = ROWS.summary.get(batch, session_id)
    if summary is None or summary.is_removed or batch.has_change(kinds.last_event_key(session_id)):
        return False
    if not 0 < summary.trashed < before_ms:
        return False
    _remove(batch, database, summary)
    return True


def _remove(batch: WriteBatch, database: RowDatabase, summary: SessionSummary) -> None:
    """Delete what no branch needs of a session, and what was left of its parent for its sake."""
    session_id = summary.id
    end = shared_end(batch, database, summary.id)
    later_keys, subagents = database.read(lambda view: _rows_after(view, session_id, end))
    reference_counts: Counter[str] = Counter()
    for key in later_keys:
        batch.delete(key)
        if key[:1] == b"R":
            seq, digest = kinds.seq_and_digest(key)
            batch.delete(kinds.reference_key(digest, session_id, seq))
            reference_counts[digest] += 1
    for digest, count in reference_counts.items():
        count_down_references(batch, digest, count)
    batch.delete(kinds.draft_key(session_id))
    if not summary.is_removed:
        batch.totals += StoreTotals(0, 0, 0, -1)
    if end:
        ROWS.last_seq.put(batch, end, session_id)
        stub = SessionSummary(session_id, "", 0, 0, events=end, trashed=summary.trashed, is_removed=True)
        ROWS.summary.put(batch, stub, session_id)
    else:
        _remove_rest(batch, database, session_id)
    for subagent in _subagents(batch, database, session_id):
        # Those of a session that goes at once have their own place in the trash.
        if subagent.id in subagents or (summary.is_removed and not end):
            _remove(batch, database, subagent)


def _remove_rest(batch: WriteBatch, database: RowDatabase, session_id: str) -> None:
    point = ROWS.branch.get(batch, session_id)
    for key in (
        kinds.summary_key(session_id),
        kinds.last_event_key(session_id),
        kinds.branch_key(session_id),
    ):
        batch.delete(key)
    parent = ROWS.summary.get(batch, point.parent) if point is not None else None
    if parent is not None and parent.is_removed:
        _remove(batch, database, parent)


def _rows_after(view: RowView, session_id: str, end: int) -> tuple[list[bytes], set[str]]:
    """Return the keys of what a session has behind event `end`, and the subagents that were started there."""
    events = kinds.events_after(session_id, end)
    others = [kinds.rows_of(session_id, kind) for kind in (b"h", b"k", b"R")]
    found = [key for key, _ in view.scan(events)]
    found += [key for span in others for key, _ in view.scan(span) if _seq_of(key) > end]
    if not end:
        return found, set()
    later = (recorded.event for _, recorded in ROWS.event.scan(view, events))
    return found, {event.session for event in later if isinstance(event, SubagentStarted)}


def _seq_of(key: bytes) -> int:
    return kinds.seq_and_digest(key)[0] if key[:1] == b"R" else kinds.seq_in(key)


_BACK_REFERENCES = (b"R", b"S")


def stage_permanent_deletion(
    batch: WriteBatch, access: StoreAccess, digests: Sequence[str], sessions: Sequence[str]
) -> PermanentDeletion:
    """Delete what of these contents and sessions is in the trash, and what only these sessions name.

    What was stored again since then stays: what names it may be on its way.
    """
    database = access.database
    before = dict(batch.rows)
    removed, with_branches = _stage_sessions(batch, database, sessions)
    rows = [key for key, row in batch.rows.items() if row is None and key not in before]
    freed = sum(len(database.get(key) or b"") for key in rows)
    referenced = _referenced(database, rows)
    free, staying = _split_candidates(batch, database, referenced, digests)
    indexes = _staying_indexes(batch, database, {entry.digest for entry in free})
    deletable = database.read(
        lambda view: unindexed_entries(free, indexes, index_reader(view, access.contents))
    )
    for entry in deletable:
        record = ROWS.record.get(batch, entry.digest)
        if record is not None:
            remove_content(batch, database, entry.digest, record)
            freed += record.stored_size
    gone = {entry.digest for entry in deletable}
    for entry in free:
        if entry.digest not in gone:
            staying = staying.plus(entry)
    return PermanentDeletion(tuple(sorted(gone)), tuple(removed), freed, staying, with_branches)


def _stage_sessions(
    batch: WriteBatch, database: RowDatabase, sessions: Sequence[str]
) -> tuple[list[str], int]:
    """Delete sessions in the trash with their subagents there; return them, and how many have branches."""
    trashed = database.read(read_trashed)
    selected = set(sessions)
    family = [summary.id for summary in trashed if summary.id in selected or summary.parent in selected]
    for session_id in family:
        stage_session_removal(batch, database, session_id, MAX_TIME_MS)
    left = {session_id: ROWS.summary.get(batch, session_id) for session_id in family}
    removed = [session_id for session_id, summary in left.items() if summary is None or summary.is_removed]
    return removed, sum(bool(shared_end(batch, database, session_id)) for session_id in removed)


def _referenced(database: RowDatabase, rows: Iterable[bytes]) -> dict[str, int]:
    """Return what the removed rows name, and when the last of these sessions went to the trash, in ms."""
    referenced: dict[str, int] = {}
    trashed: dict[str, int] = {}
    for session_id, digest in _names_in(database, rows):
        if session_id not in trashed:
            trashed[session_id] = _trashed_ms(database, session_id)
        referenced[digest] = max(referenced.get(digest, 0), trashed[session_id])
    return referenced


def _trashed_ms(database: RowDatabase, session_id: str) -> int:
    """Return when a session went to the trash; of a subagent that a branch kept out of it, its session."""
    summary = ROWS.summary.get(database, session_id)
    if summary is not None and summary.parent and not summary.trashed:
        return _trashed_ms(database, summary.parent)
    return summary.trashed if summary is not None else 0


def _names_in(database: RowDatabase, rows: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    """Yield the session and the digest of each content that the removed rows of logs and drafts name."""
    for key in rows:
        if _BACK_REFERENCES[0] <= key < _BACK_REFERENCES[1]:
            yield kinds.session_and_seq(key[: -kinds.DIGEST_BYTES])[0], kinds.digest_in(key)
        elif kinds.DRAFTS[0] <= key < kinds.DRAFTS[1]:
            session_id = kinds.session_of(key, kinds.DRAFTS)
            with suppress(RowDamaged):
                draft = ROWS.draft.get(database, session_id)
                yield from ((session_id, digest) for digest in (draft.digests if draft is not None else ()))


def _split_candidates(
    batch: WriteBatch, database: RowDatabase, referenced: dict[str, int], digests: Sequence[str]
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


def _is_named(batch: WriteBatch, database: RowDatabase, digest: str) -> bool:
    """Return True if a log names a content after the batch, whatever its record says."""
    span = kinds.references_of(digest)
    stored = database.read(lambda view: [key for key, _ in view.scan(span)])
    return any(batch.get(key) is not None for key in {*stored, *batch.changes(*span)})


def _draft_digests(batch: WriteBatch, database: RowDatabase) -> frozenset[str]:
    """Return the contents that drafts name. Raise RowUnknown: another version's draft may name any."""
    rows = database.read(lambda view: dict(view.scan(kinds.DRAFTS))) | batch.changes(*kinds.DRAFTS)
    digests: frozenset[str] = frozenset()
    for key, row in rows.items():
        try:
            digests |= ROWS.draft.decode(key, row).digests if row is not None else frozenset()
        except RowUnknown:
            raise
        except RowDamaged:
            continue  # a damaged draft names none
    return digests


def _staying_indexes(batch: WriteBatch, database: RowDatabase, free: set[str]) -> list[str]:
    """Return the index entries beside `free`; without `free` none is looked for."""
    if not free:
        return []

    def may_lead(view: RowView) -> Iterable[tuple[bytes, bytes | None]]:
        return [(key, row) for key, row in view.scan(kinds.RECORDS) if kinds.may_be_index(row)]

    rows = dict(database.read(may_lead)) | batch.changes(*kinds.RECORDS)
    indexes: list[str] = []
    for key, row in rows.items():
        try:
            record = ROWS.record.decode(key, row) if row is not None else None
        except RowDamaged:
            continue
        if record is not None and record.kind == "index" and kinds.digest_in(key) not in free:
            indexes.append(kinds.digest_in(key))
    return indexes


CONTENTS_PER_BATCH = 200  # contents per batch


class RowRetention:
    """References, pins, clean-up and trash of one workspace; lives as long as its store."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access

    async def references(self, digest: str) -> list[ContentReference]:
        kinds.digest_bytes(digest)
        return await self._access.run_query(lambda view: read_references(view, digest))

    async def session_digests(self, session_id: str) -> list[str]:
        kinds.session_bytes(session_id)
        return await self._access.run_query(lambda view: read_session_digests(view, session_id))

    async def pin(self, digest: str, pinned: bool) -> None:

        def stage(batch: WriteBatch) -> None:
            record = ROWS.record.get(batch, digest)
            if record is None:
                raise store_errors.digest_unknown(
                    digest, lambda *near: self._access.database.read(lambda view: find_digests(view, *near))
                )
            changed = msgspec.structs.replace(record, pinned=pinned, trashed=0 if pinned else record.trashed)
            if changed != record:
                ROWS.record.put(batch, changed, digest)

        kinds.digest_bytes(digest)
        await self._access.write(stage)

    async def plan(self, rule: RetentionRule) -> CleanupPlan:
        at_ms = self._access.clock()

        def read(view: RowView) -> CleanupPlan:
            return plan_cleanup(_entries(view), index_reader(view, self._access.contents), rule, at_ms)

        return await self._access.run_query(read)

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> CleanupResult:
        at_ms = self._access.clock()
        trashed_ms = await self._trash_time_ms()
        contents = self._access.contents
        collected = await self._access.run_query(
            lambda view: read_collectable(view, contents, digests, grace_ms, at_ms)
        )

        def stage(part: Sequence[str], batch: WriteBatch) -> CleanupResult:
            return stage_trash(batch, self._access.database, part, grace_ms, at_ms, trashed_ms)

        return await self._in_batches(stage, collected)

    async def trash(self) -> TrashContents:
        return await self._access.run_query(
            lambda view: TrashContents(tuple(read_trash(view)), tuple(read_trashed(view)))
        )

    async def restore(self, digests: Sequence[str]) -> CleanupResult:
        at_ms = await self._trash_time_ms()
        return await self._in_batches(lambda part, batch: stage_restore(batch, part, at_ms), digests)

    async def trash_session(self, session_id: str) -> tuple[str, ...]:
        return await self._set_trashed(session_id, await self._trash_time_ms())

    async def restore_session(self, session_id: str) -> tuple[str, ...]:
        return await self._set_trashed(session_id, 0)

    async def empty_trash(self, before_ms: int = 0) -> CleanupResult:
        limit = before_ms or MAX_TIME_MS
        sessions = await self._access.run_query(read_trashed)
        removed = [summary.id for summary in sessions if await self._remove_session(summary.id, limit)]
        contents = self._access.contents
        purgeable = await self._access.run_query(lambda view: read_purgeable(view, contents, limit))

        def stage(part: Sequence[str], batch: WriteBatch) -> CleanupResult:
            return stage_purge(batch, self._access.database, part, limit)

        result = await self._in_batches(stage, purgeable)
        await self._access.run_query(lambda _: self._clear_quarantine(result.digests))
        return msgspec.structs.replace(result, sessions=tuple(removed))

    async def delete_permanently(
        self, digests: Sequence[str], sessions: Sequence[str], dry_run: bool = False
    ) -> PermanentDeletion:
        done = await self._access.write(
            lambda batch: stage_permanent_deletion(
                batch.nested() if dry_run else batch, self._access, digests, sessions
            )
        )
        if not dry_run:
            await self._access.run_query(lambda _: self._clear_quarantine(done.digests))
        return done

    async def _trash_time_ms(self) -> int:
        """Return the time, but not before the newest content: a clock set back must not age the trash."""
        return max(self._access.clock(), await self._access.run_query(newest_created))

    async def _set_trashed(self, session_id: str, trashed_ms: int) -> tuple[str, ...]:
        kinds.session_bytes(session_id)
        return tuple(
            await self._access.write(
                lambda batch: stage_trashed(batch, self._access.database, session_id, trashed_ms)
            )
        )

    async def _remove_session(self, session_id: str, before_ms: int) -> bool:
        return await self._access.write(
            lambda batch: stage_session_removal(batch, self._access.database, session_id, before_ms)
        )

    async def _in_batches(
        self, stage: Callable[[Sequence[str], WriteBatch], CleanupResult], digests: Sequence[str]
    ) -> CleanupResult:
        parts = [
            await self._access.write(partial(stage, digests[index : index + CONTENTS_PER_BATCH]))
            for index in range(0, len(digests), CONTENTS_PER_BATCH)
        ]
        return CleanupResult(
            tuple(digest for result in parts for digest in result.digests),
            stored_size=sum(result.stored_size for result in parts),
        )

    def _clear_quarantine(self, digests: Sequence[str]) -> None:
        for digest in digests:
            self._access.contents.quarantine.remove(digest)
