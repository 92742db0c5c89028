"""The writer: groups what waits, acknowledges after the write, survives refusals of jobs and disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import pytest

from helix_desktop.store.core.commit import WriteBatch
from helix_desktop.store.threads import MAX_GROUP_BYTES, MAX_GROUP_ITEMS, WriteJob, WriterThread


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
