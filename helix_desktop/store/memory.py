"""The store in memory: the same rows as on disk in a sorted dict, nothing durable. For tests and replay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, TypeVar

import msgspec

from helix_desktop.domain.errors import HelixError, StoreWriteFailed
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.store import CacheEntry, EntryPage
from helix_desktop.domain.store_reports import IntegrityReport, RepairReport
from helix_desktop.store import store_errors
from helix_desktop.store.files import Quarantine
from helix_desktop.store.kinds import RECORDS, ROWS, RowView, Span, ValueRow, digest_in
from helix_desktop.store.redaction import RowRedaction
from helix_desktop.store.repair.integrity_check import IntegrityChecker
from helix_desktop.store.retention import RowRetention
from helix_desktop.store.row_store import RowStore
from helix_desktop.store.rows.access import StoreAccess
from helix_desktop.store.rows.contents import ContentStore
from helix_desktop.store.store_search import EntryQuery, page_of
from helix_desktop.store.writer import StoreCounters, WriteBatch
from helix_desktop.system.clock import ClockMs, wall_clock_ms

T = TypeVar("T")


class MemoryBatch(WriteBatch):
    """A batch whose rows hold values as they are: nothing is encoded."""

    is_compressed: ClassVar[bool] = False

    def put_value(self, value: object, *row_keys: bytes) -> None:
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


def _entries(view: RowView) -> list[CacheEntry]:
    return [record.to_entry(digest_in(key)) for key, record in ROWS.record.scan(view, RECORDS)]


class MemoryStore(RowStore):
    """One workspace's store while the process lives: no thread, no file, no search index."""

    def __init__(self, clock: ClockMs = wall_clock_ms) -> None:
        self._rows, self._counters = MemoryRows(), StoreCounters()
        self._is_closed = False
        contents = ContentStore(self._rows, _NoQuarantine())
        access = StoreAccess(self._run_query, self._write_rows, self._rows, contents, clock)
        super().__init__(access)
        self.retention = RowRetention(access)
        self.redaction = RowRedaction(access)
        self.health = MemoryHealth(access)

    async def tools(self) -> tuple[str, ...]:
        return tuple(sorted({entry.tool for entry in await self._run_query(_entries)}))

    async def list_page(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """Return one page of a listing; `terms` are left to the caller's text search."""
        return page_of(entry_query, await self._run_query(_entries))

    async def list_digests(self, entry_query: EntryQuery) -> bytes:
        entries = await self._run_query(_entries)
        every = page_of(msgspec.structs.replace(entry_query, limit=len(entries) + 1), entries)
        return b"".join(bytes.fromhex(entry.digest) for entry in every.entries)

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
