"""The read-write lock: readers share, a writer waits for them and keeps new ones out."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from helix_desktop.store.leveldb.database import ReadWriteLock


def test_readers_share_and_the_writer_waits_for_them() -> None:
    gate = ReadWriteLock()
    both_entered = threading.Barrier(3, timeout=60)
    leave = threading.Event()
    order: list[str] = []

    def use() -> None:
        with gate.shared:
            both_entered.wait()
            leave.wait(60)
            order.append("used")

    def replace() -> None:
        with gate.exclusive:
            order.append("replaced")

    with ThreadPoolExecutor() as pool:
        users = [pool.submit(use), pool.submit(use)]
        both_entered.wait()
        replacing = pool.submit(replace)
        leave.set()
        for thread in (*users, replacing):
            thread.result(60)
    assert order == ["used", "used", "replaced"]


def test_nobody_reads_during_a_replacement() -> None:
    gate = ReadWriteLock()
    shared_pair = [0, 0]

    def use() -> None:
        for _ in range(300):
            with gate.shared:
                assert shared_pair[0] == shared_pair[1]

    def replace() -> None:
        for number in range(300):
            with gate.exclusive:
                shared_pair[0] = number
                shared_pair[1] = number

    with ThreadPoolExecutor() as pool:
        for future in [pool.submit(work) for work in (use, use, replace, replace, use)]:
            future.result(60)
    assert shared_pair == [299, 299]


def test_an_exception_inside_releases_the_lock() -> None:
    gate = ReadWriteLock()
    for mode in (gate.shared, gate.exclusive):
        with pytest.raises(KeyError), mode:
            raise KeyError
    with gate.exclusive:
        pass
