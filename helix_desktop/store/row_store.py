"""What both stores do with their rows: commits, reads, drafts, listings that scan the rows."""

from __future__ import annotations

import heapq
import logging
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from helix_desktop.domain.choices import SortColumn
from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.passages import PassagePage, PassageQuery
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
from helix_desktop.store import kinds, store_errors
from helix_desktop.store.kinds import ROWS, RowDamaged, RowView, Span
from helix_desktop.store.passage_index import scan_passages
from helix_desktop.store.rows.access import StoreAccess
from helix_desktop.store.rows.contents import find_digests, missing_error
from helix_desktop.store.rows.event_log import read_events, read_handovers, stage_commit
from helix_desktop.store.store_search import EntryQuery, StoreSearch, page_from_ordered, page_from_unordered

_text = TextContext("Store")

_AFTER_EVERY_DIGEST = b"\xff" * kinds.DIGEST_BYTES  # sorts after every digest
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


def read_page(view: RowView, entry_query: EntryQuery) -> EntryPage:
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


def read_digests(view: RowView, entry_query: EntryQuery) -> bytes:
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


def read_tools(view: RowView) -> list[str]:
    """Return the names of the tools that stored something, sorted. Raise RowDamaged."""
    return sorted({entry.tool for entry in _entries(view, kinds.RECORDS)})


def read_sessions(view: RowView) -> list[SessionSummary]:
    """Return all sessions except those in the trash, last updated first. Raise RowDamaged."""
    summaries = [summary for _, summary in ROWS.summary.scan(view, kinds.SUMMARIES)]
    listed = [summary for summary in summaries if not (summary.trashed or summary.is_removed)]
    return sorted(listed, key=lambda summary: (-summary.updated, summary.id))


def _record_span(entry_query: EntryQuery) -> Span:
    prefix = entry_query.entry_filter.prefix
    return kinds.records_of(prefix) if prefix else kinds.RECORDS


def _time_index_span(entry_query: EntryQuery) -> Span:
    """Return the remaining range of the time index, which is ordered newest first."""
    first, stop = kinds.TIME_INDEX
    if entry_query.after is None:
        return first, stop
    created, tie = entry_query.after
    last_key = kinds.time_index_from(int(created), tiebreak_prefix(int(tie)))
    return (last_key + _AFTER_EVERY_DIGEST, stop) if entry_query.sort.descending else (first, last_key)


def _digest_span(entry_query: EntryQuery) -> Span:
    first, stop = _record_span(entry_query)
    if entry_query.after is None:
        return first, stop
    last_key = kinds.record_key(str(entry_query.after[0]))
    return (
        (first, min(stop, last_key)) if entry_query.sort.descending else (max(first, last_key + b"\0"), stop)
    )


def _entries(view: RowView, span: Span, backwards: bool = False) -> Iterator[CacheEntry]:
    for key, row in view.scan(span, backwards):
        entry = _read_entry(view, key, row)
        if entry is not None:
            yield entry


def _read_entry(view: RowView, key: bytes, row: bytes) -> CacheEntry | None:
    """Return the entry of a record or index row, None for a damaged one: it must not hide the others."""
    digest = kinds.digest_in(key)
    try:
        return ROWS.record.decode(key, row).to_entry(digest)
    except RowDamaged as error:
        _log.warning("A record of %s is damaged: %s", digest, error)
    with suppress(RowDamaged):
        record = ROWS.record.get(view, digest)
        return record.to_entry(digest) if record else None
    return None


class RowStore(StoreSearch):
    """One workspace's store as its rows answer it; how queries and writes are run is up to `access`."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access

    @abstractmethod
    def _check_open(self) -> None:
        """Raise StoreClosed if the store is closed."""

    async def commit(self, commit: Commit) -> None:
        self._check_open()
        if commit.is_empty:
            return
        at_ms = self._access.clock()
        await self._access.write(
            lambda batch: stage_commit(batch, self._access.contents, commit, at_ms), commit.size
        )

    async def events(self, session_id: str) -> list[RecordedEvent]:
        return await self._access.run_query(lambda view: read_events(view, session_id))

    async def sessions(self) -> list[SessionSummary]:
        return await self._access.run_query(read_sessions)

    async def get(self, digest: str) -> bytes:
        return await self._access.run_query(lambda view: self._access.contents.read(view, digest))

    async def entry(self, digest: str) -> CacheEntry:
        """Return the metadata of a content. Raise DigestUnknown, ContentDamaged."""

        def query(view: RowView) -> CacheEntry:
            try:
                record = ROWS.record.get(view, digest) if is_digest(digest) else None
            except RowDamaged as error:
                why = _text("Its record can't be read ({detail}).", detail=str(error))
                raise store_errors.content_damaged(digest, why) from error
            if record is None:
                raise missing_error(view, digest)
            return record.to_entry(digest)

        return await self._access.run_query(query)

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        return await self._access.run_query(lambda view: find_digests(view, prefix, limit))

    async def totals(self) -> StoreTotals:
        return await self._access.run_query(kinds.read_totals)

    async def save_draft(self, session_id: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Save what was typed and attached but not sent; if both are empty, delete the draft.

        Raise StoreWriteFailed.
        """
        draft = Draft(text, tuple(attachments))
        await self._change_draft(session_id, draft.size, text=text, attachments=draft.attachments)

    async def save_partial_answer(self, session_id: str, answer: RecordedEvent | None) -> None:
        """Save what came so far of an answer, until it is recorded; None: delete it.

        Raise StoreWriteFailed.
        """
        await self._change_draft(session_id, partial_answer=answer)

    async def save_partial_outputs(self, session_id: str, outputs: Sequence[PartialOutput]) -> None:
        """Save what running calls printed so far, until their answers are recorded; empty: delete it.

        Raise StoreWriteFailed.
        """
        size = sum(len(output.text) for output in outputs)
        await self._change_draft(session_id, size, partial_outputs=tuple(outputs))

    async def _change_draft(self, session_id: str, size: int = 0, **fields: object) -> None:
        self._check_open()
        kinds.session_bytes(session_id)
        await self._access.write(
            lambda batch: ROWS.draft.change(batch, session_id, lambda stored: replace(stored, **fields)), size
        )

    async def draft(self, session_id: str) -> Draft:
        kinds.session_bytes(session_id)
        draft = await self._access.run_query(lambda view: ROWS.draft.get(view, session_id))
        return draft if draft is not None else Draft()

    async def tools(self) -> tuple[str, ...]:
        return tuple(await self._access.run_query(read_tools))

    async def list_page(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """Return one page of a listing; `terms` are left to the caller's text search."""
        return await self._access.run_query(lambda view: read_page(view, entry_query))

    async def list_digests(self, entry_query: EntryQuery) -> bytes:
        """Return all digests of a listing, joined."""
        return await self._access.run_query(lambda view: read_digests(view, entry_query))

    async def handovers(self, with_checkpoints: bool = False) -> list[tuple[str, RecordedEvent]]:
        """Return every handover, and checkpoint if asked, with its session, in any order."""
        return await self._access.run_query(lambda view: read_handovers(view, with_checkpoints))

    async def find_passages(self, query: PassageQuery) -> PassagePage:
        return await self._access.run_query(lambda view: scan_passages(view, query))
