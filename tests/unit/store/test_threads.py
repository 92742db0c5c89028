"""The threads that read and write, and pending writes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

import pytest

from helix_desktop.domain.errors import StoreClosed
from helix_desktop.store.core.commit import WriteBatch
from helix_desktop.store.threads import (
    MAX_GROUP_BYTES,
    MAX_GROUP_ITEMS,
    Backpressure,
    LoopBridge,
    ReaderThreads,
    WriteJob,
    WriterThread,
)

MB = 1024 * 1024


class WaitingCallers:
    """Coroutines that hold a place until released; `inside` lists who got in."""

    def __init__(self) -> None:
        self.backlog = Backpressure()
        self.inside: list[int] = []
        self.go = [asyncio.Event() for _ in range(400)]

    async def hold(self, number: int, size: int) -> None:
        async with self.backlog.slot(size):
            self.inside.append(number)
            await self.go[number].wait()


async def settled() -> None:
    """Run everything that can go on: no clock and no thread is involved."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_bytes_are_bounded_and_a_single_write_always_fits() -> None:
    callers = WaitingCallers()
    async with asyncio.TaskGroup() as group:
        for number, size in enumerate([100 * MB, 1, 60 * MB, 10 * MB]):
            group.create_task(callers.hold(number, size))
        await settled()
        assert callers.inside == [0]
        callers.go[0].set()
        await settled()
        assert callers.inside == [0, 1, 2]
        callers.go[2].set()
        await settled()
        assert callers.inside == [0, 1, 2, 3]
        callers.go[1].set()
        callers.go[3].set()


async def test_the_number_of_writes_is_bounded_and_order_is_kept() -> None:
    callers = WaitingCallers()
    async with asyncio.TaskGroup() as group:
        for number in range(300):
            group.create_task(callers.hold(number, 1))
        await settled()
        assert callers.inside == list(range(256))
        for number in range(300):
            callers.go[number].set()
    assert callers.inside == list(range(300))


async def test_waiters_get_an_error_when_the_store_closes() -> None:
    callers = WaitingCallers()
    async with asyncio.TaskGroup() as group:
        group.create_task(callers.hold(0, 100 * MB))
        await settled()

        async def late() -> None:
            with pytest.raises(StoreClosed):
                await callers.hold(1, 1)

        group.create_task(late())
        group.create_task(late())
        await settled()
        callers.backlog.close()
        await settled()
        callers.go[0].set()
    assert callers.inside == [0]


async def test_a_canceled_waiter_takes_no_space() -> None:
    callers = WaitingCallers()
    async with asyncio.TaskGroup() as group:
        group.create_task(callers.hold(0, 64 * MB))
        waiting = group.create_task(callers.hold(1, MB))
        await settled()
        waiting.cancel()
        group.create_task(callers.hold(2, MB))
        await settled()
        assert callers.inside == [0]
        callers.go[0].set()
        await settled()
        assert callers.inside == [0, 2]
        callers.go[2].set()


async def test_answers_and_errors_reach_their_caller() -> None:
    delivery, readers = LoopBridge(asyncio.get_running_loop()), ReaderThreads("test-read")
    own_thread = threading.get_ident()
    assert await readers.submit_async(delivery, threading.get_ident) != own_thread

    def refuse() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await readers.submit_async(delivery, refuse)
    assert await asyncio.gather(
        *(readers.submit_async(delivery, partial(int, n)) for n in range(50))
    ) == list(range(50))
    readers.close()


async def test_a_read_canceled_before_it_starts_is_not_answered() -> None:
    delivery, readers = LoopBridge(asyncio.get_running_loop()), ReaderThreads("test-read")
    may_continue = threading.Event()
    answered: list[int] = []
    blocking = [readers.submit_async(delivery, lambda: may_continue.wait(30)) for _ in range(2)]
    canceled = readers.submit_async(delivery, lambda: answered.append(1))
    canceled.cancel()
    may_continue.set()
    await asyncio.gather(*blocking)
    readers.close()
    assert answered == []


async def test_reads_submitted_before_the_end_are_answered() -> None:
    delivery, readers = LoopBridge(asyncio.get_running_loop()), ReaderThreads("test-read")
    reads = [readers.submit_async(delivery, partial(int, n)) for n in range(20)]
    await asyncio.to_thread(readers.close)
    assert await asyncio.gather(*reads) == list(range(20))


async def test_a_canceled_caller_does_not_block_the_others_results() -> None:
    delivery = LoopBridge(asyncio.get_running_loop())
    canceled, waits, fails = delivery.create_future(), delivery.create_future(), delivery.create_future()
    canceled.cancel()
    delivery.deliver([(canceled, 1, None), (waits, 2, None), (fails, None, ValueError("no"))])
    assert await waits == 2
    with pytest.raises(ValueError, match="no"):
        await fails


def test_a_closed_loop_gets_no_result() -> None:
    loop = asyncio.new_event_loop()
    delivery = LoopBridge(loop)
    future = delivery.create_future()
    loop.close()
    delivery.deliver([(future, 1, None)])
    assert not future.done()


class Disk:
    """Takes batches once released; refuses while `full`."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes | None] = {}
        self.writes: list[int] = []
        self.entered = threading.Event()
        self.may_continue = threading.Event()
        self.full = False
        self.finished = False

    def write(self, batch: WriteBatch) -> None:
        self.entered.set()
        self.may_continue.wait(30)
        if self.full:
            raise OSError("full")
        self.writes.append(len(batch.rows))
        self.rows.update(batch.rows)

    def finish(self) -> None:
        self.finished = True


def report_results(results: Sequence[tuple[Future[None], Exception | None]]) -> None:
    for future, error in results:
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


def writer_on(disk: Disk) -> WriterThread[Future[None]]:
    return WriterThread("test-writer", disk.rows.get, disk.write, report_results, disk.finish)


def put(writer: WriterThread[Future[None]], key: bytes, size: int = 1) -> Future[None]:
    return submit(writer, lambda batch: batch.put(key, key), size)


def submit(
    writer: WriterThread[Future[None]], stage: Callable[[WriteBatch], None], size: int = 1
) -> Future[None]:
    future: Future[None] = Future()
    writer.submit(WriteJob(stage, size, future))
    return future


def refuse(_: WriteBatch) -> None:
    raise ValueError("no")


def blocked_writer(disk: Disk, writer: WriterThread[Future[None]]) -> Future[None]:
    """Keep the writer inside a write, so that what follows must wait."""
    first = put(writer, b"first")
    disk.entered.wait(30)
    return first


def ended(writer: WriterThread[Future[None]]) -> None:
    writer.close().result(30)
    writer.join()


def test_waiting_writes_are_grouped_up_to_64() -> None:
    disk = Disk()
    writer = writer_on(disk)
    first = blocked_writer(disk, writer)
    waiting = [put(writer, b"%d" % number) for number in range(150)]
    assert not first.done()
    disk.may_continue.set()
    for future in waiting:
        future.result(30)
    assert disk.writes == [1, MAX_GROUP_ITEMS, MAX_GROUP_ITEMS, 150 - 2 * MAX_GROUP_ITEMS]
    ended(writer)


def test_a_group_ends_at_4_mb() -> None:
    disk = Disk()
    writer = writer_on(disk)
    blocked_writer(disk, writer)
    for number in range(8):
        put(writer, b"%d" % number, MAX_GROUP_BYTES // 2)
    disk.may_continue.set()
    ended(writer)
    assert disk.writes == [1, 2, 2, 2, 2]


def test_a_refused_job_leaves_its_group_unchanged() -> None:
    disk = Disk()
    writer = writer_on(disk)
    blocked_writer(disk, writer)
    before, bad = put(writer, b"before"), submit(writer, refuse)
    after = put(writer, b"after")
    disk.may_continue.set()
    before.result(30)
    after.result(30)
    with pytest.raises(ValueError, match="no"):
        bad.result(30)
    ended(writer)
    assert set(disk.rows) == {b"first", b"before", b"after"}


def test_a_refused_write_fails_all_its_jobs_and_the_next_succeeds() -> None:
    disk = Disk()
    disk.full = True
    writer = writer_on(disk)
    jobs = [blocked_writer(disk, writer), put(writer, b"a"), put(writer, b"b")]
    disk.may_continue.set()
    for job in jobs:
        with pytest.raises(OSError, match="full"):
            job.result(30)
    disk.full = False
    put(writer, b"later").result(30)
    ended(writer)
    assert set(disk.rows) == {b"later"}


def test_a_canceled_waiting_job_is_dropped_entirely() -> None:
    disk = Disk()
    writer = writer_on(disk)
    first = blocked_writer(disk, writer)
    waiting = put(writer, b"canceled")
    assert waiting.cancel()
    disk.may_continue.set()
    first.result(30)
    ended(writer)
    assert set(disk.rows) == {b"first"}
    assert disk.finished


def test_closing_writes_what_waits_first() -> None:
    disk = Disk()
    writer = writer_on(disk)
    blocked_writer(disk, writer)
    waiting = [put(writer, b"%d" % number) for number in range(100)]
    ending = writer.close()
    assert not disk.finished
    disk.may_continue.set()
    ending.result(30)
    assert disk.finished
    assert all(future.done() for future in waiting)
    assert len(disk.rows) == 101


def test_a_batch_over_another_sees_it_and_leaves_it_unchanged() -> None:
    below = WriteBatch({b"a": b"1", b"b": b"1"}.get)
    below.put(b"a", b"2")
    below.delete(b"b")
    over = below.nested()
    over.put(b"c", b"3")
    over.put_unreferenced(b"early", b"4")
    assert [over.get(key) for key in (b"a", b"b", b"c", b"d")] == [b"2", None, b"3", None]
    assert over.has_change(b"b")
    assert not below.has_change(b"c")
    below.absorb(over)
    assert below.rows == {b"a": b"2", b"b": None, b"c": b"3"}
    assert below.unreferenced_rows == {b"early": b"4"}
