"""The store in memory: the same rows as on disk in a sorted dict, nothing durable. For tests and replay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import ClassVar, TypeVar

import msgspec

from helix_desktop.domain.digest import HEX_DIGITS
from helix_desktop.domain.errors import HelixError, StoreWriteFailed
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.store import CacheEntry, EntryPage
from helix_desktop.domain.store_reports import IntegrityReport, RepairReport
from helix_desktop.store import store_errors
from helix_desktop.store.commits import StoreAccess
from helix_desktop.store.contents import ContentStore
from helix_desktop.store.files import Quarantine
from helix_desktop.store.kinds import (
    RECORDS,
    ROWS,
    TIME_INDEX,
    RowView,
    Span,
    ValueRow,
    digest_in,
    encode_payload,
    time_index_key,
)
from helix_desktop.store.redaction import RowRedaction
from helix_desktop.store.repair.integrity_check import IntegrityChecker
from helix_desktop.store.retention import RowRetention
from helix_desktop.store.row_store import RowStore
from helix_desktop.store.store_search import EntryQuery, page_from_ordered, page_of
from helix_desktop.store.threads import StoreCounters, WriteBatch
from helix_desktop.system.clock import ClockMs, wall_clock_ms

T = TypeVar("T")


class MemoryBatch(WriteBatch):
    """A batch whose rows hold values as they are: nothing is encoded."""

    is_compressed: ClassVar[bool] = False

    def put_value(self, value: object, *row_keys: bytes, max_bytes: int | None = None) -> None:
        if max_bytes is not None:
            with suppress(ValueError):  # text that is not Unicode stays as it is
                encode_payload(value, max_bytes)
        row = ValueRow(value)
        for key in row_keys:
            self.rows[key] = row


class MemoryRows:
    """Rows in a dict, and their keys, which are sorted when a range of them is read; a view of itself.

    Queries and writes run at once, one after the other: no query sees half a write.
    """

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}
        self._keys: list[bytes] = []  # of all rows but the added ones, in order
        self._added: list[bytes] = []

    def read(self, query: Callable[[RowView], T], /) -> T:
        return query(self)

    def get(self, key: bytes) -> bytes | None:
        return self._rows.get(key)

    get_verified = get

    def scan(
        self, span: Span, reverse: bool = False, verify_checksums: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        found = self._sorted_keys()
        places = range(bisect_left(found, span[0]), bisect_left(found, span[1]))
        return ((found[at], self._rows[found[at]]) for at in (reversed(places) if reverse else places))

    def count(self, span: Span) -> int:
        found = self._sorted_keys()
        return bisect_left(found, span[1]) - bisect_left(found, span[0])

    def write(self, batch: WriteBatch) -> None:
        for key, row in (*batch.unreferenced_rows.items(), *batch.rows.items()):
            if row is not None:
                if key not in self._rows:
                    self._added.append(key)
                self._rows[key] = row
            elif self._rows.pop(key, None) is not None:
                found = self._sorted_keys()
                del found[bisect_left(found, key)]
        for callback in batch.durable_callbacks:
            callback()

    def _sorted_keys(self) -> list[bytes]:
        if self._added:
            self._keys += self._added
            self._keys.sort()
            self._added.clear()
        return self._keys


class _NoQuarantine(Quarantine):
    """No folder for damaged rows: bytes in memory cannot be damaged."""

    def __init__(self) -> None:
        pass

    def holds(self, digest: str) -> bool:
        return False

    def save(self, digest: str, rows: Iterable[bytes]) -> str:
        return ""

    def mark_healed(self, digest: str) -> None:
        pass

    def remove(self, digest: str) -> None:
        pass


class MemoryHealth:
    report: RepairReport | None = None

    def __init__(self, access: StoreAccess) -> None:
        self._access = access

    async def acknowledge(self) -> None:
        """Do nothing but raise StoreClosed: there is no report to acknowledge."""
        await self._access.run_query(lambda _: None)

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Return an unsubscribe function; the listener is never called."""
        return lambda: None

    async def missing_files(self) -> StoreWriteFailed | None:
        """Return None: there are no files."""
        return None

    async def check(self, on_progress: OnProgress | None = None) -> IntegrityReport:
        checker = IntegrityChecker(self._access.contents)
        while await self._access.run_query(checker.check_next_slice):
            pass
        count = checker.result.contents
        if on_progress is not None:
            on_progress(count, count)
        return checker.result


def _entries(view: RowView, span: Span = RECORDS, reverse: bool = False) -> Iterator[CacheEntry]:
    for key, row in view.scan(span, reverse):
        yield ROWS.record.decode(key, row).to_entry(digest_in(key))


def _page(view: RowView, entry_query: EntryQuery) -> EntryPage:
    is_descending = entry_query.sort.descending
    after = entry_query.after
    if entry_query.sort.column != "created":
        return page_of(entry_query, _entries(view))
    first, stop = TIME_INDEX  # newest first
    if after is not None and is_descending:
        first = time_index_key(int(after[0]), "0" * HEX_DIGITS)
    elif after is not None:
        stop = time_index_key(int(after[0]), "f" * HEX_DIGITS) + b"\0"
    found = filter(entry_query.includes, _entries(view, (first, stop), not is_descending))
    return page_from_ordered(entry_query, list(islice(found, entry_query.limit + 1)))


class MemoryStore(RowStore):
    """One workspace's store while the process lives: no thread, no file, no search index."""

    def __init__(self, clock: ClockMs = wall_clock_ms) -> None:
        self._rows = MemoryRows()
        self._counters = StoreCounters()
        self._is_closed = False
        contents = ContentStore(self._rows, _NoQuarantine())
        access = StoreAccess(self._run_query, self._write_rows, self._rows, contents, clock)
        super().__init__(access)
        self.retention = RowRetention(access)
        self.redaction = RowRedaction(access)
        self.health = MemoryHealth(access)

    async def tools(self) -> tuple[str, ...]:
        tools = await self._run_query(lambda view: {entry.tool for entry in _entries(view)})
        return tuple(sorted(tools))

    async def list_stored_page(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """Return one page of a listing; `terms` are left to the caller's text search."""
        return await self._run_query(lambda view: _page(view, entry_query))

    async def list_stored_digests(self, entry_query: EntryQuery) -> bytes:
        count = (await self.totals()).entries
        page = await self.list_stored_page(msgspec.structs.replace(entry_query, limit=count + 1))
        return b"".join(bytes.fromhex(entry.digest) for entry in page.entries)

    async def wait_until_indexed(self) -> None:
        """Return at once: nothing is indexed here, every search scans everything."""
        self._check_open()

    async def close(self) -> None:
        """Close the store: later calls raise StoreClosed. Idempotent."""
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise store_errors.store_closed()

    async def _run_query(self, query: Callable[[RowView], T], /) -> T:
        self._check_open()
        return self._rows.read(query)

    async def _write_rows(self, stage: Callable[[WriteBatch], T], size: int = 0, /) -> T:
        self._check_open()
        batch = MemoryBatch(self._rows.get)
        result = stage(batch)
        self._counters.stage(batch)
        self._rows.write(batch)
        return result
