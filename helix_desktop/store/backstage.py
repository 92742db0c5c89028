"""What long work needs of an open store: a moment of it to read from, and room in its next writes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from helix_desktop.store import refusals
from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import Codec
from helix_desktop.store.content import Contents
from helix_desktop.store.handle import View

T = TypeVar("T")

Stage = Callable[[Batch, Codec, Contents], None]
"""Puts rows into a batch, or raises and leaves nothing."""


@dataclass(frozen=True, slots=True)
class Survey:
    """A snapshot and what reads it; whoever works on it ends soon once `stop` is set."""

    view: View
    codec: Codec
    contents: Contents
    stop: threading.Event


class Backstage:
    """One open store's side for exports and imports."""

    def __init__(
        self,
        folder: Path,
        codec: Codec,
        contents: Contents,
        answer: Callable[[Callable[[View], Any]], Any],
        put: Callable[[Callable[[Batch], None], int], Awaitable[None]],
    ) -> None:
        """`answer` runs a reader on a snapshot, on the calling thread; `put` queues a write."""
        self.folder = folder
        self._codec, self._contents, self._answer, self._put = codec, contents, answer, put
        self._running: set[threading.Event] = set()
        self._shut = False

    async def survey(self, work: Callable[[Survey], T]) -> T:
        """What `work`, on a thread of its own, makes of the store as it is now, however long it takes.

        It is told to stop when the store closes or the caller is cancelled. Raises StoreClosed.
        """
        if self._shut:
            raise refusals.closed()
        stop = threading.Event()
        self._running.add(stop)

        def read(view: View) -> T:
            return work(Survey(view, self._codec, self._contents, stop))

        try:
            result: T = await asyncio.to_thread(self._answer, read)
        finally:
            stop.set()
            self._running.discard(stop)
        return result

    async def stage(self, stage: Stage, size: int) -> None:
        """Write durably what `stage` puts into a batch, of about `size` bytes: all of it, or nothing.

        Raises StoreClosed, StoreWriteFailed, and what `stage` raises.
        """
        await self._put(lambda batch: stage(batch, self._codec, self._contents), size)

    def shut(self) -> None:
        """The store closes: what runs here ends."""
        self._shut = True
        for stop in self._running:
            stop.set()
