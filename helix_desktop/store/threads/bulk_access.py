"""What long work needs of an open store: a moment of it to read from, and room in its next writes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from helix_desktop.store.core import store_errors
from helix_desktop.store.core.row_codec import Codec
from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.contents import ContentStore
from helix_desktop.store.leveldb.database import ReadView

T = TypeVar("T")

StageRows = Callable[[WriteBatch, Codec, ContentStore], None]
"""Puts rows into a batch, or raises and leaves nothing."""


@dataclass(frozen=True, slots=True)
class StoreSnapshot:
    """A snapshot and what reads it; whoever works on it ends soon once `stop` is set."""

    view: ReadView
    codec: Codec
    contents: ContentStore
    stop_event: threading.Event


class BulkAccess:
    """One open store's side for exports and imports."""

    def __init__(
        self,
        folder: Path,
        codec: Codec,
        contents: ContentStore,
        run_query: Callable[[Callable[[ReadView], Any]], Any],
        put: Callable[[Callable[[WriteBatch], None], int], Awaitable[None]],
    ) -> None:
        """`answer` runs a reader on a snapshot, on the calling thread; `put` queues a write."""
        self.folder = folder
        self._codec, self._contents, self._run_query, self._put = codec, contents, run_query, put
        self._running: set[threading.Event] = set()
        self._is_closed = False

    async def read_snapshot(self, task: Callable[[StoreSnapshot], T]) -> T:
        """Return what `work`, on a thread of its own, makes of the store as it is now, however long it takes.

        It is told to stop when the store closes or the caller is cancelled. Raise StoreClosed.
        """
        if self._is_closed:
            raise store_errors.store_closed()
        stop = threading.Event()
        self._running.add(stop)

        def read(view: ReadView) -> T:
            return task(StoreSnapshot(view, self._codec, self._contents, stop))

        try:
            result: T = await asyncio.to_thread(self._run_query, read)
        finally:
            stop.set()
            self._running.discard(stop)
        return result

    async def write(self, stage: StageRows, size: int) -> None:
        """Write durably what `stage` puts into a batch, of about `size` bytes: all of it, or nothing.

        Raise StoreClosed, StoreWriteFailed, and what `stage` raises.
        """
        await self._put(lambda batch: stage(batch, self._codec, self._contents), size)

    def close(self) -> None:
        """The store closes: what runs here ends."""
        self._is_closed = True
        for stop in self._running:
            stop.set()
