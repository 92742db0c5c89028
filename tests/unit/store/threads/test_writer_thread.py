"""The writer: groups what waits, acknowledges after the write, survives refusals of jobs and disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import pytest

from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.threads.writer_thread import MAX_GROUP_BYTES, MAX_GROUP_ITEMS, WriteJob, WriterThread


class Disk:
    """Takes batches once it is let go; refuses while `full`."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes | None] = {}
        self.writes: list[int] = []
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.full = False
        self.finished = False

    def write(self, batch: WriteBatch) -> None:
        self.entered.set()
        self.go_on.wait(30)
        if self.full:
            raise OSError("full")
        self.writes.append(len(batch.rows))
        self.rows.update(batch.rows)

    def finish(self) -> None:
        self.finished = True


def tell(told: Sequence[tuple[Future[None], Exception | None]]) -> None:
    for place, error in told:
        if error is None:
            place.set_result(None)
        else:
            place.set_exception(error)


def writer_on(disk: Disk) -> WriterThread[Future[None]]:
    return WriterThread("test-writer", disk.rows.get, disk.write, tell, disk.finish)


def put(writer: WriterThread[Future[None]], key: bytes, size: int = 1) -> Future[None]:
    return given(writer, lambda batch: batch.put(key, key), size)


def given(
    writer: WriterThread[Future[None]], stage: Callable[[WriteBatch], None], size: int = 1
) -> Future[None]:
    place: Future[None] = Future()
    writer.submit(WriteJob(stage, size, place))
    return place


def refuse(_: WriteBatch) -> None:
    raise ValueError("no")


def held_up(disk: Disk, writer: WriterThread[Future[None]]) -> Future[None]:
    """Keeps the writer inside a write, so that what follows must wait."""
    first = put(writer, b"first")
    disk.entered.wait(30)
    return first


def ended(writer: WriterThread[Future[None]]) -> None:
    writer.close().result(30)
    writer.join()


def test_what_waits_is_written_in_groups_of_at_most_64() -> None:
    disk = Disk()
    writer = writer_on(disk)
    first = held_up(disk, writer)
    waiting = [put(writer, b"%d" % number) for number in range(150)]
    assert not first.done()
    disk.go_on.set()
    for one in waiting:
        one.result(30)
    assert disk.writes == [1, MAX_GROUP_ITEMS, MAX_GROUP_ITEMS, 150 - 2 * MAX_GROUP_ITEMS]
    ended(writer)


def test_a_group_ends_at_4_mb() -> None:
    disk = Disk()
    writer = writer_on(disk)
    held_up(disk, writer)
    for number in range(8):
        put(writer, b"%d" % number, MAX_GROUP_BYTES // 2)
    disk.go_on.set()
    ended(writer)
    assert disk.writes == [1, 2, 2, 2, 2]


def test_a_job_that_refuses_leaves_its_group_as_it_is() -> None:
    disk = Disk()
    writer = writer_on(disk)
    held_up(disk, writer)
    before, bad = put(writer, b"before"), given(writer, refuse)
    after = put(writer, b"after")
    disk.go_on.set()
    before.result(30)
    after.result(30)
    with pytest.raises(ValueError, match="no"):
        bad.result(30)
    ended(writer)
    assert set(disk.rows) == {b"first", b"before", b"after"}


def test_a_refused_write_is_heard_by_everybody_in_it_and_the_next_goes_through() -> None:
    disk = Disk()
    disk.full = True
    writer = writer_on(disk)
    jobs = [held_up(disk, writer), put(writer, b"a"), put(writer, b"b")]
    disk.go_on.set()
    for one in jobs:
        with pytest.raises(OSError, match="full"):
            one.result(30)
    disk.full = False
    put(writer, b"later").result(30)
    ended(writer)
    assert set(disk.rows) == {b"later"}


def test_a_job_cancelled_while_it_waits_is_dropped_as_a_whole() -> None:
    disk = Disk()
    writer = writer_on(disk)
    first = held_up(disk, writer)
    waiting = put(writer, b"cancelled")
    assert waiting.cancel()
    disk.go_on.set()
    first.result(30)
    ended(writer)
    assert set(disk.rows) == {b"first"}
    assert disk.finished


def test_the_end_writes_what_waits_first() -> None:
    disk = Disk()
    writer = writer_on(disk)
    held_up(disk, writer)
    waiting = [put(writer, b"%d" % number) for number in range(100)]
    ending = writer.close()
    assert not disk.finished
    disk.go_on.set()
    ending.result(30)
    assert disk.finished
    assert all(one.done() for one in waiting)
    assert len(disk.rows) == 101


def test_a_batch_over_another_sees_it_and_leaves_it_alone() -> None:
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
