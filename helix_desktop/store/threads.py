"""The threads that read and write, how they meet the event loop, and a bound on pending writes."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from helix_desktop.store.core import store_errors
from helix_desktop.store.core.commit import RowGetter, WriteBatch

_MAX_ITEMS = 256
_MAX_BYTES = 64 * 1024 * 1024


class Backpressure:
    """A bound of 256 writes or 64 MB, whichever comes first; one always fits. Callers queue in order."""

    def __init__(self) -> None:
        self._queue_lock = asyncio.Lock()
        self._space_freed = asyncio.Event()
        self._items = 0
        self._bytes = 0
        self._waiting = 0
        self._is_closed = False

    def slot(self, size: int) -> AbstractAsyncContextManager[None]:
        """Return a context that reserves space for `size` bytes. Raise StoreClosed if the store closes."""
        return _Slot(self, size)

    async def acquire(self, size: int) -> None:
        """Reserve space, waiting for it. Raise StoreClosed."""
        if self._waiting or self._is_full(size):
            await self._wait(size)
        if self._is_closed:
            raise store_errors.store_closed()
        self._items += 1
        self._bytes += size

    def release(self, size: int) -> None:
        self._items -= 1
        self._bytes -= size
        self._space_freed.set()

    def close(self) -> None:
        """Refuse all later callers."""
        self._is_closed = True
        self._space_freed.set()

    async def _wait(self, size: int) -> None:
        self._waiting += 1
        try:
            async with self._queue_lock:
                while not self._is_closed and self._is_full(size):
                    self._space_freed.clear()
                    await self._space_freed.wait()
        finally:
            self._waiting -= 1

    def _is_full(self, size: int) -> bool:
        return bool(self._items) and (self._items >= _MAX_ITEMS or self._bytes + size > _MAX_BYTES)


class _Slot(AbstractAsyncContextManager[None]):
    # A class and not a generator: this guards every single write.
    def __init__(self, backpressure: Backpressure, size: int) -> None:
        self._backpressure, self._size = backpressure, size

    async def __aenter__(self) -> None:
        await self._backpressure.acquire(self._size)

    async def __aexit__(self, *_: object) -> None:
        self._backpressure.release(self._size)


Outcome = tuple["asyncio.Future[Any]", object, Exception | None]
"""The waiting future, its result, and the error, if any."""


class LoopBridge:
    """Delivery to one event loop. A future that was canceled meanwhile gets nothing."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future for a caller to await; call on the loop's thread."""
        return self._loop.create_future()

    def deliver(self, outcomes: Sequence[Outcome]) -> None:
        """Deliver outcomes, from any thread."""
        # A closed loop has no waiting callers left.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_resolve_futures, outcomes)

    def complete(self, completions: Sequence[tuple[asyncio.Future[None], Exception | None]]) -> None:
        """Complete futures, from any thread, or set their errors."""
        self.deliver([(future, None, error) for future, error in completions])


def _resolve_futures(outcomes: Sequence[Outcome]) -> None:
    for future, result, error in outcomes:
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


_THREADS = 2

T = TypeVar("T")


class ReaderThreads:
    """Two threads that run tasks in order, until `close`.

    A pool of the standard library takes a third longer for the round trip.
    """

    def __init__(self, name: str) -> None:
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True)
            for number in range(_THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, task: Callable[[], None]) -> None:
        """Queue a task that raises nothing; never blocks. Not allowed after `close`."""
        self._queue.put(task)

    def submit_async(self, loop_bridge: LoopBridge, task: Callable[[], T]) -> asyncio.Future[T]:
        """Queue a task whose result is awaited. Canceled before its turn, it does not run."""
        future: asyncio.Future[T] = loop_bridge.create_future()

        def run() -> None:
            if future.cancelled():
                return
            try:
                loop_bridge.deliver([(future, task(), None)])
            except Exception as error:  # noqa: BLE001 - delivered to the caller of the task
                loop_bridge.deliver([(future, None, error)])

        self.submit(run)
        return future

    def close(self, wait: bool = True) -> None:
        """Run what is queued, then end the threads; wait for that if `wait`."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _run(self) -> None:
        while (task := self._queue.get()) is not None:
            task()
            del task  # what it references must not live until the next one comes


MAX_GROUP_ITEMS = 64
MAX_GROUP_BYTES = 4 * 1024 * 1024


class Waiter(Protocol):
    """The future a caller waits on, of asyncio or of concurrent.futures."""

    def cancelled(self) -> bool: ...


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
