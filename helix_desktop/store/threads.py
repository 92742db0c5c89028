"""The threads that read and write: durable batches, their counters, and a bound on what waits."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from typing import Any, ClassVar, TypeVar

import msgspec

from helix_desktop.domain.store import NO_TOTALS, StoreTotals
from helix_desktop.store import store_errors
from helix_desktop.store.kinds import ROWS, RowBatch, RowGetter, read_sequence, read_totals

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


class WriteBatch(RowBatch):
    """Puts and deletes that become visible at once; reads through the batch already see them.

    `unreferenced_rows` (chunks) have no meaning until a row of the batch names them: they may be written
    before it, in parts. `totals` is the change of the store's totals, which is written with the rows;
    `durable_callbacks` are called once they are durable; never, if they cannot be written.
    """

    is_compressed: ClassVar[bool] = True  # the bytes of contents, where that makes them smaller

    def __init__(self, get_stored: RowGetter, parent: WriteBatch | None = None) -> None:
        """Layer a batch over the stored rows, or over a batch that is not yet written either."""
        self._get_stored = get_stored
        self._parent = parent
        self._get_below = get_stored if parent is None else parent.get
        self.rows: dict[bytes, bytes | None] = {}
        self.unreferenced_rows: dict[bytes, bytes] = {}
        self.totals = NO_TOTALS
        self.durable_callbacks: list[Callable[[], None]] = []

    def nested(self) -> WriteBatch:
        """Return a batch layered over this one, to be discarded or absorbed."""
        return type(self)(self._get_stored, self)

    def get(self, key: bytes) -> bytes | None:
        return self.rows[key] if key in self.rows else self._get_below(key)

    def has_change(self, key: bytes) -> bool:
        """Return True if the batch, or one below it, writes this row."""
        return key in self.rows or (self._parent is not None and self._parent.has_change(key))

    def changes(self, first: bytes, stop: bytes) -> dict[bytes, bytes | None]:
        """Return the rows from `first` to before `stop` that the batch, or one below, writes or removes."""
        below = self._parent.changes(first, stop) if self._parent is not None else {}
        return below | {key: row for key, row in self.rows.items() if first <= key < stop}

    def put(self, key: bytes, row: bytes = b"") -> None:
        self.rows[key] = row

    def delete(self, key: bytes) -> None:
        self.rows[key] = None

    def absorb(self, other: WriteBatch) -> None:
        """Take over the rows of a batch that was layered over this one."""
        for key in other.unreferenced_rows:
            # Deleted earlier within the same write: the deletion would come after the row was written.
            self.rows.pop(key, None)
        self.rows.update(other.rows)
        self.unreferenced_rows.update(other.unreferenced_rows)
        self.totals += other.totals
        self.durable_callbacks += other.durable_callbacks


class StoreCounters:
    """Put the counters into each batch that is written. Only the writer's thread uses this."""

    def __init__(self) -> None:
        # As they were last written; None: not yet read. Only this writer changes them.
        self._sequence: int | None = None
        self._totals: StoreTotals | None = None

    def stage(self, batch: WriteBatch) -> None:
        """Count this write, and add its changes to the totals. Raise RowDamaged.

        If a log file is lost later, the number of writes goes back, which shows the loss.
        """
        self._sequence = (read_sequence(batch) if self._sequence is None else self._sequence) + 1
        ROWS.sequence.put(batch, self._sequence)
        if batch.totals != NO_TOTALS:
            self._totals = (self._totals or read_totals(batch)) + batch.totals
            ROWS.totals.put(batch, self._totals)

    def reset(self) -> None:
        """Read the counters again next time: what was last staged was not written."""
        self._sequence = self._totals = None


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

    @asynccontextmanager
    async def slot(self, size: int) -> AsyncIterator[None]:
        """Reserve space for `size` bytes. Raise StoreClosed if the store closes."""
        await self.acquire(size)
        try:
            yield
        finally:
            self.release(size)

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


MAX_GROUP_ITEMS = 64
MAX_GROUP_BYTES = 4 * 1024 * 1024


class _WriteJob(msgspec.Struct, frozen=True):
    """One caller's write. Canceled before it is taken, it is dropped completely."""

    stage: Callable[[WriteBatch], Any]
    size: int
    done: asyncio.Future[Any]


class WriterThread:
    """Runs writes in the order of their submission, up to 64 or about 4 MB of them at once."""

    def __init__(
        self,
        name: str,
        loop_bridge: LoopBridge,
        get_stored: RowGetter,
        begin: Callable[[], None],
        write: Callable[[WriteBatch], None],
        explain: Callable[[Exception], Exception],
        on_closed: Callable[[], None],
    ) -> None:
        """`begin` runs before a group is staged, `write` makes it durable; `on_closed` runs last of all.

        All run on this thread. Callers get the error that `explain` returns.
        """
        self._loop_bridge = loop_bridge
        self._get_stored = get_stored
        self._begin = begin
        self._write = write
        self._explain = explain
        self._on_closed = on_closed
        self._backpressure = Backpressure()
        self._counters = StoreCounters()
        self._queue: queue.SimpleQueue[_WriteJob | None] = queue.SimpleQueue()
        self._closed: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def write(self, stage: Callable[[WriteBatch], T], size: int = 0, /) -> T:
        """Return what `stage` returns once the rows that it puts are durable; `size` in bytes, approximate.

        If it raises, nothing is written. Raise StoreClosed.
        """
        await self._backpressure.acquire(size)
        try:
            done: asyncio.Future[T] = self._loop_bridge.create_future()
            self._queue.put(_WriteJob(stage, size, done))
            return await done
        finally:
            self._backpressure.release(size)

    def close(self) -> Future[None]:
        """Write what is queued and end the thread; the returned future is done after that. Call it once."""
        self._backpressure.close()
        self._queue.put(None)
        return self._closed

    def join(self) -> None:
        """Wait for the thread, which returns soon after the future of `close` is done."""
        self._thread.join()

    def _run(self) -> None:
        is_running = True
        while is_running:
            group, is_running = self._take_group()
            if group:
                self._commit(group)
        try:
            self._on_closed()
        except Exception as error:  # noqa: BLE001 - the thread's last act: the closing caller gets the error
            self._closed.set_exception(error)
        else:
            self._closed.set_result(None)

    def _take_group(self) -> tuple[list[_WriteJob], bool]:
        """Wait for a job, then take what else is queued; return False if there will be no more."""
        group: list[_WriteJob] = []
        size = 0
        while len(group) < MAX_GROUP_ITEMS and size < MAX_GROUP_BYTES:
            try:
                job = self._queue.get(block=not group)
            except queue.Empty:
                break
            if job is None:
                return group, False
            if not job.done.cancelled():
                group.append(job)
                size += job.size
        return group, True

    def _commit(self, group: list[_WriteJob]) -> None:
        batch = WriteBatch(self._get_stored)
        outcomes: list[Outcome] = [(job.done, None, None) for job in group]
        try:
            self._begin()
            outcomes = [self._stage(job, batch, is_alone=len(group) == 1) for job in group]
            if batch.rows:
                self._counters.stage(batch)
                self._write(batch)
        except Exception as error:  # noqa: BLE001 - whatever it is, every caller must hear of it, and the thread go on
            self._counters.reset()
            failed = self._explain(error)
            outcomes = [(done, result, refused or failed) for done, result, refused in outcomes]
        self._loop_bridge.deliver(outcomes)

    def _stage(self, job: _WriteJob, batch: WriteBatch, *, is_alone: bool) -> Outcome:
        """Stage one job by itself, so that its error leaves the rest of the group as it is."""
        own_batch = batch if is_alone else batch.nested()
        try:
            result = job.stage(own_batch)
        except Exception as error:  # noqa: BLE001 - delivered to the caller of the job
            batch.rows = {} if is_alone else batch.rows
            return job.done, None, self._explain(error)
        if not is_alone:
            batch.absorb(own_batch)
        return job.done, result, None
