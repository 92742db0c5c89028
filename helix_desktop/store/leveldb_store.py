"""The store of a workspace on disk: one LevelDB, one writer thread, verified reads, listings."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Self, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from helix_desktop.domain.choices import SortColumn
from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown, StoreError, StoreWriteFailed
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.store import (
    DEFAULT_FILTER,
    CacheEntry,
    Commit,
    Draft,
    EntryFilter,
    EntryPage,
    EntrySort,
    PartialOutput,
    SessionSummary,
    StoreTotals,
    matches_filter,
    sort_position,
    tiebreak_prefix,
)
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store import search_index
from helix_desktop.store.core import keys, store_errors
from helix_desktop.store.core.commit import WriteBatch, check_commit
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.core.store_search import (
    EntryQuery,
    StoreSearch,
    page_from_ordered,
    page_from_unordered,
)
from helix_desktop.store.files import Quarantine
from helix_desktop.store.leveldb.access import BulkAccess, StoreAccess
from helix_desktop.store.leveldb.contents import ContentStore, find_digests, missing_error
from helix_desktop.store.leveldb.database import ReadView, damage_behind
from helix_desktop.store.leveldb.event_log import read_events, read_handovers, stage_commit
from helix_desktop.store.leveldb.rows import ROWS, StoreCounters, read_totals
from helix_desktop.store.opening import LevelDbHealth, OpenFiles, open_files
from helix_desktop.store.redaction import LevelDbRedaction, finish_pending_deletion
from helix_desktop.store.retention import LevelDbRetention
from helix_desktop.store.search_index import SearchIndex, match_expression
from helix_desktop.store.search_indexer import Indexer, SearchThread
from helix_desktop.store.threads import Backpressure, LoopBridge, ReaderThreads, WriteJob, WriterThread
from helix_desktop.system.clock import ClockMs, wall_clock_ms

_AFTER_EVERY_DIGEST = b"\xff" * keys.DIGEST_BYTES  # sorts after every digest
_RUN_ENTRIES = 2_000  # sorted at once: about 2 ms
_SCAN_PAGE_ENTRIES = 2_000  # entries per page when all are listed

_log = logging.getLogger(__name__)


class _Place(Struct, frozen=True, order=True, gc=False):
    """The position of an entry in an order, and its digest.

    The garbage collector, which stops the window, does not look at a million of them as at tuples.
    """

    first: int | str
    second: int | str
    third: int | str
    digest: bytes


def is_stored_order(entry_query: EntryQuery) -> bool:
    """Return True if the rows are in the order of a listing, so that no index is needed."""
    entry_filter = entry_query.entry_filter
    if entry_query.sort.column == "digest":
        return entry_filter == EntryFilter(prefix=entry_filter.prefix)
    return entry_query.sort.column == "created" and entry_filter == DEFAULT_FILTER


def read_page(view: ReadView, entry_query: EntryQuery) -> EntryPage:
    """Return the page of a listing. By age or by digest it is read from an index; other orders scan all.

    Raise RowDamaged.
    """
    sort = entry_query.sort
    if sort.column == "created" and not entry_query.entry_filter.prefix:
        entries = _entries(view, _time_index_span(entry_query), backwards=not sort.descending)
    elif sort.column == "digest":
        entries = _entries(view, _digest_span(entry_query), backwards=sort.descending)
    else:
        return page_from_unordered(entry_query, _entries(view, _record_span(entry_query)))
    listed: list[CacheEntry] = []
    has_default_filter = entry_query.entry_filter == EntryFilter(prefix=entry_query.entry_filter.prefix)
    for entry in entries:
        if not entry.trashed if has_default_filter else matches_filter(entry, entry_query.entry_filter):
            listed.append(entry)
            if len(listed) > entry_query.limit:
                break
    return page_from_ordered(entry_query, listed)


def read_digests(view: ReadView, entry_query: EntryQuery) -> bytes:
    """Return the digests of a complete listing, in order, joined. Raise RowDamaged."""
    if not is_stored_order(entry_query):  # each page would look at every record
        entries = _entries(view, _record_span(entry_query))
        return _sorted_digests(filter(entry_query.includes, entries), entry_query.sort)
    entry_query = replace(entry_query, limit=_SCAN_PAGE_ENTRIES)
    parts: list[bytes] = []
    while True:
        page = read_page(view, entry_query)
        parts.append(b"".join([bytes.fromhex(entry.digest) for entry in page.entries]))
        if not page.cursor:
            return b"".join(parts)
        entry_query = entry_query.continue_after(page.entries[-1])


def _sorted_digests(entries: Iterator[CacheEntry], sort: EntrySort) -> bytes:
    """Return the digests of entries in an order, joined.

    They are sorted in runs that are merged: sorting, or freeing, a million at once keeps the interpreter from
    all other threads for seconds.
    """
    places = (_place(entry, sort.column) for entry in entries)
    runs: list[Iterator[_Place]] = []
    while run := sorted(islice(places, _RUN_ENTRIES), reverse=sort.descending):
        runs.append(iter(run))
    merged = heapq.merge(*runs, reverse=sort.descending)
    parts: list[bytes] = []
    while part := b"".join([place.digest for place in islice(merged, _RUN_ENTRIES)]):
        parts.append(part)
    return b"".join(parts)


def _place(entry: CacheEntry, column: SortColumn) -> _Place:
    first, second, third = (*sort_position(entry, column), 0, 0)[:3]
    return _Place(first, second, third, bytes.fromhex(entry.digest))


def read_tools(view: ReadView) -> list[str]:
    """Return the names of the tools that stored something, sorted. Raise RowDamaged."""
    return sorted({entry.tool for entry in _entries(view, keys.RECORDS)})


def read_sessions(view: ReadView) -> list[SessionSummary]:
    """Return all sessions except those in the trash, last updated first. Raise RowDamaged."""
    summaries = [summary for _, summary in ROWS.summary.scan(view, keys.SUMMARIES)]
    listed = [summary for summary in summaries if not (summary.trashed or summary.is_removed)]
    return sorted(listed, key=lambda summary: (-summary.updated, summary.id))


def _record_span(entry_query: EntryQuery) -> keys.Span:
    prefix = entry_query.entry_filter.prefix
    return keys.records_of(prefix) if prefix else keys.RECORDS


def _time_index_span(entry_query: EntryQuery) -> keys.Span:
    """Return the remaining range of the time index, which is ordered newest first."""
    first, stop = keys.TIME_INDEX
    if entry_query.after is None:
        return first, stop
    created, tie = entry_query.after
    last_key = keys.time_index_from(int(created), tiebreak_prefix(int(tie)))
    return (last_key + _AFTER_EVERY_DIGEST, stop) if entry_query.sort.descending else (first, last_key)


def _digest_span(entry_query: EntryQuery) -> keys.Span:
    first, stop = _record_span(entry_query)
    if entry_query.after is None:
        return first, stop
    last_key = keys.record(str(entry_query.after[0]))
    return (
        (first, min(stop, last_key)) if entry_query.sort.descending else (max(first, last_key + b"\0"), stop)
    )


def _entries(view: ReadView, span: keys.Span, backwards: bool = False) -> Iterator[CacheEntry]:
    for key, row in view.scan(span, backwards):
        entry = _read_entry(view, key, row)
        if entry is not None:
            yield entry


def _read_entry(view: ReadView, key: bytes, row: bytes) -> CacheEntry | None:
    """Return the entry of a record or index row, None for a damaged one: it must not hide the others."""
    digest = keys.digest_in(key)
    try:
        return ROWS.record.decode(key, row).to_entry(digest)
    except RowDamaged as error:
        _log.warning("A record of %s is damaged: %s", digest, error)
    with suppress(RowDamaged):
        record = ROWS.record.get(view, digest)
        return record.to_entry(digest) if record else None
    return None


_text = TextContext("Store")

INDEX_AFTER_S = 0.5  # seconds without a commit or a query, after which texts are indexed

T = TypeVar("T")


class LevelDbStore(StoreSearch):
    """One workspace's durable store, for one event loop. Made by `open`; must be closed."""

    def __init__(
        self,
        files: OpenFiles,
        readers: ReaderThreads,
        loop_bridge: LoopBridge,
        clock: ClockMs,
        index_after_s: float | None,
    ) -> None:
        folder = files.store_files.folder.name
        contents = ContentStore(files.database, Quarantine(files.store_files.quarantine))
        access = StoreAccess(self._run_query, self._write_rows, files.database, contents, clock)
        self._files, self._access = files, access
        self._loop_bridge, self._readers = loop_bridge, readers
        was_repaired = files.report is not None
        indexer = Indexer(files.store_files.search_index, files.database, contents, was_repaired)
        self._index = SearchThread(f"helix-store-index-{folder}", indexer, index_after_s)
        self.retention = LevelDbRetention(access)
        self.redaction = LevelDbRedaction(
            access,
            files.store_files,
            # The index is rebuilt when something is redacted: once it answers, it has done so.
            lambda: asyncio.wrap_future(self._index.submit(lambda _: None)),
        )
        self.health = LevelDbHealth(files, access)
        self.bulk_access = BulkAccess(files.store_files.folder, access, self._run_query_now)
        self._backpressure = Backpressure()
        self._counters = StoreCounters()
        self._closing: Future[None] | None = None
        name = f"helix-store-write-{folder}"
        self._writer = WriterThread(
            name,
            files.database.get,
            _reporting_damage(files, self._write_batch),
            loop_bridge.complete,
            self._finish,
        )

    @classmethod
    async def open(
        cls,
        folder: Path,
        workspace_id: str,
        clock: ClockMs = wall_clock_ms,
        *,
        index_after_s: float | None = INDEX_AFTER_S,
        on_progress: OnProgress = no_progress,
    ) -> Self:
        """Open the store in `folder` of the workspace with this UUID; create it if nothing is there.

        A damaged store is repaired as far as possible: `on_progress` reports the progress, on another thread;
        `health` has the report.
        Texts are indexed after `index_after_s` seconds of quiet; None: only when `indexed` is awaited.
        Raise StoreLocked, StoreUnreadable, DataDirUnavailable; ValueError if `workspace_id` is not a UUID.
        """
        readers = ReaderThreads(f"helix-store-read-{folder.name}")
        opening: Future[OpenFiles] = Future()
        readers.submit(
            lambda: _run_into_future(opening, lambda: _open_files(folder, workspace_id, clock, on_progress))
        )
        try:
            files = await asyncio.wrap_future(opening)
        except BaseException:
            opening.add_done_callback(_close_abandoned)
            readers.close(wait=False)
            raise
        return cls(files, readers, LoopBridge(asyncio.get_running_loop()), clock, index_after_s)

    async def commit(self, commit: Commit) -> None:
        """Store all of it, or nothing, durably; return when it would survive a power cut.

        If canceled, it is stored completely or not at all. Raise StoreWriteFailed, ContentTooLarge,
        StoreClosed; ValueError if the events leave a gap, or something names a content that is not stored.
        """
        self._check_open()
        at_ms = self._access.clock()
        check_commit(commit)
        if commit.is_empty:
            return
        await self._write_rows(
            lambda batch: stage_commit(batch, self._access.contents, commit, at_ms), commit.size
        )
        self.health.damage_notifier.forget_digests(content.digest for content in commit.contents)

    async def events(self, session_id: str) -> list[RecordedEvent]:
        """Return a session's full log, in order. Raise StoreUnreadable if a part of it is damaged."""
        return await self._run_query(lambda view: read_events(view, session_id))

    async def sessions(self) -> list[SessionSummary]:
        """Return all sessions, last updated first."""
        return await self._run_query(read_sessions)

    async def get(self, digest: str) -> bytes:
        """Return the verified bytes of a full digest. Raise DigestUnknown (near matches), ContentDamaged."""
        try:
            return await self._run_query(lambda view: self._access.contents.read(view, digest))
        except ContentDamaged as error:
            self.health.damage_notifier.notify(digest, error)
            raise

    async def read_contents(self, digests: Sequence[str]) -> list[bytes | None]:
        """Return the verified bytes of full digests, in their order; None for each that cannot be read."""
        damaged: list[tuple[str, ContentDamaged]] = []

        def read(view: ReadView, digest: str) -> bytes | None:
            try:
                return self._access.contents.read(view, digest)
            except ContentDamaged as error:
                damaged.append((digest, error))
            except DigestUnknown:
                pass  # removed since it was listed
            return None

        contents = await self._run_query(lambda view: [read(view, digest) for digest in digests])
        for digest, error in damaged:
            self.health.damage_notifier.notify(digest, error)
        return contents

    async def entry(self, digest: str) -> CacheEntry:
        """Return the metadata of a content. Raise DigestUnknown, ContentDamaged."""

        def query(view: ReadView) -> CacheEntry:
            try:
                record = ROWS.record.get(view, digest) if is_digest(digest) else None
            except RowDamaged as error:
                why = _text("Its record can't be read ({detail}).", detail=str(error))
                raise store_errors.content_damaged(digest, why) from error
            if record is None:
                raise missing_error(view, digest)
            return record.to_entry(digest)

        return await self._run_query(query)

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """Return the digests that begin with `prefix` (1 to 64 hex digits), sorted. Raise ValueError."""
        return await self._run_query(lambda view: find_digests(view, prefix, limit))

    async def totals(self) -> StoreTotals:
        """Return counts and sizes of the store."""
        return await self._run_query(read_totals)

    async def save_draft(self, session_id: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Save what was typed and attached but not sent; if both are empty, delete the draft.

        Raise StoreWriteFailed.
        """
        self._check_open()
        keys.session_bytes(session_id)
        draft = Draft(text, tuple(attachments))

        def change(stored: Draft) -> Draft:
            return msgspec.structs.replace(stored, text=draft.text, attachments=draft.attachments)

        await self._write_rows(lambda batch: ROWS.draft.change(batch, session_id, change), draft.size)

    async def save_partial_answer(self, session_id: str, answer: RecordedEvent | None) -> None:
        """Save what came so far of an answer, until it is recorded; None: delete it.

        Raise StoreWriteFailed.
        """
        self._check_open()
        keys.session_bytes(session_id)

        def change(stored: Draft) -> Draft:
            return msgspec.structs.replace(stored, partial_answer=answer)

        await self._write_rows(lambda batch: ROWS.draft.change(batch, session_id, change))

    async def save_partial_outputs(self, session_id: str, outputs: Sequence[PartialOutput]) -> None:
        """Save what running calls printed so far, until their answers are recorded; empty: delete it.

        Raise StoreWriteFailed.
        """
        self._check_open()
        keys.session_bytes(session_id)

        def change(stored: Draft) -> Draft:
            return msgspec.structs.replace(stored, partial_outputs=tuple(outputs))

        size = sum(len(output.text) for output in outputs)
        await self._write_rows(lambda batch: ROWS.draft.change(batch, session_id, change), size)

    async def draft(self, session_id: str) -> Draft:
        """Return the unsent text and attachments, and what came of answers and outputs not recorded yet."""
        keys.session_bytes(session_id)
        draft = await self._run_query(lambda view: ROWS.draft.get(view, session_id))
        return draft if draft is not None else Draft()

    async def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that stored something, sorted."""
        tools = await self._ask_index(lambda index: search_index.read_tools(index.db))
        return tuple(tools if tools is not None else await self._run_query(read_tools))

    async def wait_until_indexed(self) -> None:
        """Wait until the search index is complete; results are the same without."""
        self._check_open()
        await asyncio.wrap_future(self._index.when_indexed())

    async def list_page(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """Return one page of a listing; with normalized terms, without entries that cannot hold them all."""
        match = match_expression(terms)
        if match or not is_stored_order(entry_query):
            page = await self._ask_index(
                lambda index: search_index.read_page(index, entry_query, match), is_part_of_search=bool(match)
            )
            if page is not None:
                return page
        page = await self._run_query(lambda view: read_page(view, entry_query))
        if match and self._index.is_syncing:
            return msgspec.structs.replace(page, unindexed=(await self.totals()).entries)
        return page

    async def list_digests(self, entry_query: EntryQuery) -> bytes:
        """Return all digests of a listing, joined."""
        parts: list[bytes] = []
        remaining: EntryQuery | None = entry_query
        while remaining is not None:
            part = await self._ask_index(partial(search_index.read_digests, remaining))
            if part is None:
                return await self._run_query(lambda view: read_digests(view, entry_query))
            parts.append(part[0])
            remaining = part[1]
        # Of a million entries it takes 30 ms, in which a join leaves the interpreter to other threads.
        return await asyncio.to_thread(b"".join, parts) if len(parts) > 1 else parts[0]

    async def previous_version(self, digest: str) -> CacheEntry | None:
        """Return the newest entry of the same kind, tool and target that was stored before an entry.

        Wait for the index until it answers: a scan looks at every entry, for each entry that is asked for.
        Raise DigestUnknown.
        """
        self._check_open()
        await asyncio.wrap_future(self._index.when_synced())
        return await super().previous_version(digest)

    async def handovers(self, with_checkpoints: bool = False) -> list[tuple[str, RecordedEvent]]:
        """Return every handover, and checkpoint if asked, with its session, in any order."""
        return await self._run_query(lambda view: read_handovers(view, with_checkpoints))

    async def close(self) -> None:
        """Write what is queued, wait for readers, close the files, end the threads. Idempotent."""
        if self._closing is None:
            self._backpressure.close()
            self.bulk_access.close()
            self._closing = self._writer.close()
        await asyncio.shield(asyncio.wrap_future(self._closing))
        self._writer.join()

    def _check_open(self) -> None:
        if self._closing is not None:
            raise store_errors.store_closed()

    async def _write_rows(self, stage: Callable[[WriteBatch], None], size: int = 0) -> None:
        await self._backpressure.acquire(size)
        try:
            future: asyncio.Future[None] = self._loop_bridge.create_future()
            self._writer.submit(WriteJob(_reporting_damage(self._files, stage), size, future))
            await future
        finally:
            self._backpressure.release(size)

    async def _run_query(self, query: Callable[[ReadView], T]) -> T:
        self._check_open()
        return await self._readers.submit_async(self._loop_bridge, lambda: self._run_query_now(query))

    async def _ask_index(
        self, query: Callable[[SearchIndex], T], *, is_part_of_search: bool = False
    ) -> T | None:
        """Return the index's answer; None if the store has to be scanned. Raise StoreClosed."""
        self._check_open()  # a closed index would never answer
        return await asyncio.wrap_future(self._index.submit(query, is_part_of_search=is_part_of_search))

    def _run_query_now(self, query: Callable[[ReadView], T]) -> T:
        try:
            return self._files.database.read(query)
        except RowDamaged as error:
            raise self._files.mark_suspect(error) from error

    def _write_batch(self, batch: WriteBatch) -> None:
        try:
            self._counters.stage(batch)
            self._files.database.write(batch)
        except StoreWriteFailed as error:
            self._counters.reset()
            if (damage := damage_behind(error)) is not None:  # no room on the disk would help
                raise self._files.mark_suspect(damage) from error
            raise
        except BaseException:
            self._counters.reset()
            raise
        self._index.add_changes(batch)

    def _finish(self) -> None:
        # On the writer's thread: reads that were submitted before the close are answered first.
        self._readers.close()
        self._index.close()
        self._files.close()


def _open_files(folder: Path, workspace_id: str, clock: ClockMs, on_progress: OnProgress) -> OpenFiles:
    files = open_files(folder, workspace_id, clock, on_progress=on_progress)
    finish_pending_deletion(files.database, files.store_files)
    return files


def _reporting_damage(files: OpenFiles, stage: Callable[[WriteBatch], None]) -> Callable[[WriteBatch], None]:
    """Return `stage` with open files ensured, and a damaged row raised as an error for users."""

    def run(batch: WriteBatch) -> None:
        files.database.ensure_open()
        try:
            stage(batch)
        except RowDamaged as error:
            raise files.mark_suspect(error) from error

    return run


def _run_into_future(opening: Future[OpenFiles], open_store_files: Callable[[], OpenFiles]) -> None:
    if not opening.set_running_or_notify_cancel():
        return
    try:
        opening.set_result(open_store_files())
    except Exception as error:  # noqa: BLE001 - delivered to the caller who opens the store
        opening.set_exception(error)


def _close_abandoned(opening: Future[OpenFiles]) -> None:
    """Close what was opened for a caller who no longer waits."""
    if not opening.cancelled() and opening.exception() is None:
        with suppress(StoreError):
            opening.result().close()
