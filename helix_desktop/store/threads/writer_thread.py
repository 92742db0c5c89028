"""The one thread that writes: takes queued jobs, writes them as one synced batch, then acknowledges."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar

import msgspec

from helix_desktop.store.core.write_batch import RowGetter, WriteBatch

MAX_GROUP_ITEMS = 64
MAX_GROUP_BYTES = 4 * 1024 * 1024


class Waiter(Protocol):
    """The future a caller waits on, of asyncio or of concurrent.futures."""

    def cancelled(self) -> bool:
        """Return True if the caller has given up."""
        ...


P = TypeVar("P", bound=Waiter)


class WriteJob(msgspec.Struct, Generic[P], frozen=True):
    """One caller's write: `stage` fills a batch, or raises and leaves nothing; `size` in bytes, approximate.

    The writer completes `waiter` once the rows are durable. Canceled before it is taken, the job is dropped
    completely.
    """

    stage: Callable[[WriteBatch], None]
    size: int
    waiter: P


OnDone = Callable[[Sequence[tuple[P, Exception | None]]], None]
"""Tell the callers of a group, on the writer's thread, that their rows are durable, or the errors."""


class WriterThread(Generic[P]):
    """Run jobs in the order of submission, up to 64 or about 4 MB of them in one write."""

    def __init__(
        self,
        name: str,
        get_stored: RowGetter,
        write: Callable[[WriteBatch], None],
        on_done: OnDone[P],
        on_closed: Callable[[], None],
    ) -> None:
        """`write` makes a batch durable; `on_closed` runs last, on the same thread, when all is written."""
        self._get_stored = get_stored
        self._write = write
        self._on_done = on_done
        self._on_closed = on_closed
        self._queue: queue.SimpleQueue[WriteJob[P] | None] = queue.SimpleQueue()
        self._closed: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: WriteJob[P]) -> None:
        """Queue a job; never blocks. Not allowed after `close`."""
        self._queue.put(job)

    def close(self) -> Future[None]:
        """Write what is queued and end the thread; the returned future is done after that. Call it once."""
        self._queue.put(None)
        return self._closed

    def join(self) -> None:
        """Wait for the thread, which returns soon after the future of `close` is done."""
        self._thread.join()

    def _run(self) -> None:
        is_running = True
        while is_running:
            group, is_running = self._take_group()
            self._commit(group)
        try:
            self._on_closed()
        except Exception as error:  # noqa: BLE001 - the thread's last act: the closing caller gets the error
            self._closed.set_exception(error)
        else:
            self._closed.set_result(None)

    def _take_group(self) -> tuple[list[WriteJob[P]], bool]:
        """Wait for a job, then take what else is queued; return False if there will be no more."""
        group: list[WriteJob[P]] = []
        size = 0
        while len(group) < MAX_GROUP_ITEMS and size < MAX_GROUP_BYTES:
            try:
                job = self._queue.get(block=not group)
            except queue.Empty:
                break
            if job is None:
                return group, False
            group.append(job)
            size += job.size
        return group, True

    def _commit(self, group: list[WriteJob[P]]) -> None:
        batch = WriteBatch(self._get_stored)
        is_alone = len(group) == 1
        outcomes: list[tuple[P, Exception | None]] = [
            (job.waiter, self._stage(job, batch, is_alone)) for job in group if not job.waiter.cancelled()
        ]
        try:
            if batch.rows and not (is_alone and outcomes[0][1]):
                self._write(batch)
        except Exception as failed:  # noqa: BLE001 - whatever it is, every caller must hear of it, and the thread go on
            outcomes = [(waiter, error or failed) for waiter, error in outcomes]
        if outcomes:
            self._on_done(outcomes)

    def _stage(self, job: WriteJob[P], batch: WriteBatch, is_alone: bool) -> Exception | None:
        """Stage one job by itself, so that its error leaves the rest of the group as it is."""
        own_batch = batch if is_alone else batch.nested()
        try:
            job.stage(own_batch)
        except Exception as error:  # noqa: BLE001 - delivered to the caller of the job
            return error
        if not is_alone:
            batch.absorb(own_batch)
        return None
