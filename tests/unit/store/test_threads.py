"""The threads that read and write, and pending writes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from helix_desktop.store.threads import (
    MAX_GROUP_ITEMS,
    Backpressure,
    LoopBridge,
    ReaderThreads,
    WriteBatch,
    WriterThread,
)

MB = 1024 * 1024
T = TypeVar("T")


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


async def test_a_read_canceled_before_it_starts_is_not_answered() -> None:
    delivery = LoopBridge(asyncio.get_running_loop())
    readers = ReaderThreads("test-read")
    may_continue = threading.Event()
    answered: list[int] = []
    blocking = [readers.submit_async(delivery, lambda: may_continue.wait(30)) for _ in range(2)]
    canceled = readers.submit_async(delivery, lambda: answered.append(1))
    canceled.cancel()
    may_continue.set()
    await asyncio.gather(*blocking)
    readers.close()
    assert answered == []


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

    def begin(self) -> None:
        """Take every write."""


def explain(error: Exception) -> Exception:
    return RuntimeError(f"explained: {error}")


def writer_on(disk: Disk) -> WriterThread:
    bridge = LoopBridge(asyncio.get_running_loop())
    return WriterThread("test-writer", bridge, disk.rows.get, disk.begin, disk.write, explain, disk.finish)


def start(writing: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    return asyncio.get_running_loop().create_task(writing)


def put(writer: WriterThread, key: bytes, size: int = 1) -> asyncio.Task[bytes]:
    def stage(batch: WriteBatch) -> bytes:
        batch.put(key, key)
        return key

    return start(writer.write(stage, size))


async def blocked_writer(disk: Disk, writer: WriterThread) -> asyncio.Task[bytes]:
    """Keep the writer inside a write, so that what follows must wait."""
    first = put(writer, b"first")
    await asyncio.to_thread(disk.entered.wait, 30)
    return first


async def end(writer: WriterThread) -> None:
    await asyncio.wrap_future(writer.close())
    writer.join()


async def test_waiting_writes_are_grouped_up_to_64() -> None:
    disk = Disk()
    writer = writer_on(disk)
    first = await blocked_writer(disk, writer)
    waiting = [put(writer, b"%d" % number) for number in range(150)]
    await settled()
    assert not first.done()
    disk.may_continue.set()
    assert await asyncio.gather(*waiting) == [b"%d" % number for number in range(150)]
    written = [1, MAX_GROUP_ITEMS, MAX_GROUP_ITEMS, 150 - 2 * MAX_GROUP_ITEMS]
    assert [rows - 1 for rows in disk.writes] == written  # the number of the write is a row of each
    await end(writer)


async def test_a_refused_write_fails_all_its_jobs_and_the_next_succeeds() -> None:
    disk = Disk()
    disk.full = True
    writer = writer_on(disk)
    jobs = [await blocked_writer(disk, writer), put(writer, b"a"), put(writer, b"b")]
    await settled()
    disk.may_continue.set()
    for job in jobs:
        with pytest.raises(RuntimeError, match="explained: full"):
            await job
    disk.full = False
    await put(writer, b"later")
    await end(writer)
    assert set(disk.rows) == {b"later", b"!sequence"}


async def test_closing_writes_what_waits_first() -> None:
    disk = Disk()
    writer = writer_on(disk)
    await blocked_writer(disk, writer)
    waiting = [put(writer, b"%d" % number) for number in range(100)]
    await settled()
    ending = writer.close()
    assert not disk.finished
    disk.may_continue.set()
    await asyncio.wrap_future(ending)
    assert disk.finished
    await asyncio.gather(*waiting)
    assert len(disk.rows) == 102


def test_a_batch_over_another_sees_it_and_leaves_it_unchanged() -> None:
    below = WriteBatch({b"a": b"1", b"b": b"1"}.get)
    below.put(b"a", b"2")
    below.delete(b"b")
    over = below.nested()
    over.put(b"c", b"3")
    over.unreferenced_rows[b"early"] = b"4"
    assert [over.get(key) for key in (b"a", b"b", b"c", b"d")] == [b"2", None, b"3", None]
    assert over.has_change(b"b")
    assert not below.has_change(b"c")
    below.absorb(over)
    assert below.rows == {b"a": b"2", b"b": None, b"c": b"3"}
    assert below.unreferenced_rows == {b"early": b"4"}
