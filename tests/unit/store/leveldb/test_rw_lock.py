"""The gate: users share, the one who replaces waits for them and keeps new ones out."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from helix_desktop.store.leveldb.rw_lock import ReadWriteLock


def test_users_share_and_the_exclusive_one_waits_for_them() -> None:
    gate = ReadWriteLock()
    both_in = threading.Barrier(3, timeout=10)
    leave = threading.Event()
    order: list[str] = []

    def use() -> None:
        with gate.shared:
            both_in.wait()
            leave.wait(10)
            order.append("used")

    def replace() -> None:
        with gate.exclusive:
            order.append("replaced")

    with ThreadPoolExecutor() as pool:
        users = [pool.submit(use), pool.submit(use)]
        both_in.wait()
        replacing = pool.submit(replace)
        leave.set()
        for one in (*users, replacing):
            one.result(10)
    assert order == ["used", "used", "replaced"]


def test_nobody_uses_what_is_being_replaced() -> None:
    gate = ReadWriteLock()
    thing = [0, 0]

    def use() -> None:
        for _ in range(300):
            with gate.shared:
                assert thing[0] == thing[1]

    def replace() -> None:
        for number in range(300):
            with gate.exclusive:
                thing[0] = number
                thing[1] = number

    with ThreadPoolExecutor() as pool:
        for one in [pool.submit(work) for work in (use, use, replace, replace, use)]:
            one.result(60)
    assert thing == [299, 299]


def test_an_exception_inside_lets_go() -> None:
    gate = ReadWriteLock()
    for side in (gate.shared, gate.exclusive):
        with pytest.raises(KeyError), side:
            raise KeyError
    with gate.exclusive:
        pass
