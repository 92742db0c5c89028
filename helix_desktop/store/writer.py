"""The one thread that writes: takes what is queued, writes it as one synced batch, then acknowledges."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar

import msgspec

from helix_desktop.store.batch import Batch, Get

GROUP_ITEMS = 64
GROUP_BYTES = 4 * 1024 * 1024


class Place(Protocol):
    """Where a caller waits: a future of asyncio, or of concurrent.futures."""

    def cancelled(self) -> bool:
        """Whether the caller has given up."""
        ...


P = TypeVar("P", bound=Place)


class Job(msgspec.Struct, Generic[P], frozen=True):
    """One caller's write: `stage` fills a batch, or raises and leaves nothing; `size` is about its bytes.

    The writer tells `place` once the rows are durable. Cancelled before it is taken, the job is dropped as a
    whole.
    """

    stage: Callable[[Batch], None]
    size: int
    place: P


Tell = Callable[[Sequence[tuple[P, Exception | None]]], None]
"""Tells the callers of a group, on the writer's thread, that their rows are durable, or why they are not."""


class Writer(Generic[P]):
    """Runs jobs in the order they were given, up to 64 or about 4 MB of them in one write."""

    def __init__(
        self,
        name: str,
        stored: Get,
        write: Callable[[Batch], None],
        tell: Tell[P],
        finish: Callable[[], None],
    ) -> None:
        """`write` makes a batch durable; `finish` runs last, on the same thread, when all is written."""
        self._stored = stored
        self._write = write
        self._tell = tell
        self._finish = finish
        self._queue: queue.SimpleQueue[Job[P] | None] = queue.SimpleQueue()
        self._ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def give(self, job: Job[P]) -> None:
        """Queue a job; never blocks. None may be given after `end`."""
        self._queue.put(job)

    def end(self) -> Future[None]:
        """Write what is queued, finish, and end the thread; done when all that has happened. Call it once."""
        self._queue.put(None)
        return self._ended

    def join(self) -> None:
        """Wait for the thread, which is about to return once `end`'s future is done."""
        self._thread.join()

    def _run(self) -> None:
        going_on = True
        while going_on:
            group, going_on = self._take()
            self._commit(group)
        try:
            self._finish()
        except Exception as error:  # noqa: BLE001 - the thread's last act: whoever closes gets the error
            self._ended.set_exception(error)
        else:
            self._ended.set_result(None)

    def _take(self) -> tuple[list[Job[P]], bool]:
        """Wait for a job, then take what else is queued; False when there will be no more."""
        group: list[Job[P]] = []
        size = 0
        while len(group) < GROUP_ITEMS and size < GROUP_BYTES:
            try:
                job = self._queue.get(block=not group)
            except queue.Empty:
                break
            if job is None:
                return group, False
            group.append(job)
            size += job.size
        return group, True

    def _commit(self, group: list[Job[P]]) -> None:
        batch = Batch(self._stored)
        alone = len(group) == 1
        told: list[tuple[P, Exception | None]] = [
            (job.place, self._stage(job, batch, alone)) for job in group if not job.place.cancelled()
        ]
        try:
            if batch.rows and not (alone and told[0][1]):
                self._write(batch)
        except Exception as failed:  # noqa: BLE001 - whatever it is, every caller must hear of it, and the thread go on
            told = [(place, error or failed) for place, error in told]
        if told:
            self._tell(told)

    def _stage(self, job: Job[P], batch: Batch, alone: bool) -> Exception | None:
        """Stage one job by itself, so that its refusal leaves the rest of the group as it is."""
        own = batch if alone else batch.over()
        try:
            job.stage(own)
        except Exception as error:  # noqa: BLE001 - handed to the caller whose job it is
            return error
        if not alone:
            batch.absorb(own)
        return None
