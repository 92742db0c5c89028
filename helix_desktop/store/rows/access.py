"""What the parts of an open store share: rows, contents, threads and clock; and what long jobs need of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from helix_desktop.store import store_errors
from helix_desktop.store.kinds import RowDatabase, RowView
from helix_desktop.store.rows.contents import ContentStore
from helix_desktop.store.writer import WriteBatch
from helix_desktop.system.clock import ClockMs

T = TypeVar("T")


class RunQuery(Protocol):
    """Run a query on the stored rows, on a reader's thread."""

    def __call__(self, query: Callable[[RowView], T], /) -> Awaitable[T]: ...


class WriteRows(Protocol):
    """Have rows staged and written durably, on the writer's thread."""

    def __call__(self, stage: Callable[[WriteBatch], T], size: int = 0, /) -> Awaitable[T]:
        """Return what `stage` does once they are durable; `size` is their approximate size in bytes."""
        ...


class StoreAccess(msgspec.Struct, frozen=True):
    run_query: RunQuery
    write: WriteRows
    database: RowDatabase
    contents: ContentStore
    clock: ClockMs


class StoreSnapshot(msgspec.Struct, frozen=True):
    """A snapshot and its readers; a task that works on it must end soon once `stop_event` is set."""

    view: RowView
    contents: ContentStore
    stop_event: threading.Event


class BulkAccess:
    def __init__(
        self, folder: Path, access: StoreAccess, run_query: Callable[[Callable[[RowView], Any]], Any]
    ) -> None:
        """`run_query` runs a reader on a snapshot, on the calling thread."""
        self.folder = folder
        self._access, self._run_query = access, run_query
        self._running: set[threading.Event] = set()
        self._is_closed = False

    async def read_snapshot(self, task: Callable[[StoreSnapshot], T]) -> T:
        """Return the result of `task` on a snapshot of the store, on a thread of its own, however long.

        The snapshot's `stop_event` is set if the store closes or the caller is canceled. Raise StoreClosed.
        """
        if self._is_closed:
            raise store_errors.store_closed()
        stop_event = threading.Event()
        self._running.add(stop_event)

        def read(view: RowView) -> T:
            return task(StoreSnapshot(view, self._access.contents, stop_event))

        try:
            result: T = await asyncio.to_thread(self._run_query, read)
        finally:
            stop_event.set()
            self._running.discard(stop_event)
        return result

    async def write(self, stage: Callable[[WriteBatch, ContentStore], T], size: int) -> T:
        """Write durably what `stage` puts into a batch, about `size` bytes: all of it, or nothing.

        Return what `stage` returns. Raise StoreClosed, StoreWriteFailed, and what `stage` raises.
        """
        return await self._access.write(lambda batch: stage(batch, self._access.contents), size)

    def close(self) -> None:
        self._is_closed = True
        for stop_event in self._running:
            stop_event.set()
