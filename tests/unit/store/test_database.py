"""The one open LevelDB: scans and its lock."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import Commit, Content
from helix_desktop.store import retention
from helix_desktop.store.database import ReadWriteLock
from helix_desktop.store.kinds import RowView, Span
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import START_MS, WORKSPACE


class CountedView:
    """A view that counts how many ranges are read."""

    def __init__(self, view: RowView) -> None:
        self._view, self.scans = view, 0

    def scan(self, span: Span, backwards: bool = False) -> Iterator[tuple[bytes, bytes]]:
        self.scans += 1
        return iter(self._view.scan(span, backwards))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)


async def test_moving_one_to_the_trash_looks_into_no_logs_for_the_others(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, lambda: START_MS)
    contents = [Content(digest_of(data := b"%d" % n), data, "t", "f", "", 1) for n in range(50)]
    await store.commit(Commit("s", contents=contents))

    def choose(view: RowView) -> tuple[int, list[str]]:
        counted: Any = CountedView(view)
        chosen = retention.read_collectable(
            counted, store_contents, [contents[7].digest, digest_of(b"never stored")], 0, START_MS
        )
        return counted.scans, chosen

    store_contents: Any = None  # there is no index entry whose content would be read
    scans, chosen = await store._run_query(choose)
    assert chosen == [contents[7].digest]
    assert scans <= 3
    await store.close()


async def test_what_is_not_in_the_trash_is_not_looked_for_in_logs(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, lambda: START_MS)
    contents = [Content(digest_of(data := b"%d" % n), data, "t", "f", "", 1) for n in range(50)]
    await store.commit(Commit("s", contents=contents))
    await store.retention.collect([contents[7].digest], grace_ms=0)

    def scans_of_both(view: RowView) -> tuple[int, list[str], list[str]]:
        counted: Any = CountedView(view)
        trashed = [entry.digest for entry in retention.read_trash(counted)]
        purgeable = retention.read_purgeable(counted, store_contents, START_MS + 1)
        return counted.scans, trashed, purgeable

    store_contents: Any = None  # there is no index entry whose content would be read
    scans, trashed, purgeable = await store._run_query(scans_of_both)
    assert trashed == purgeable == [contents[7].digest]
    assert scans <= 6, "a look into the logs for the one, and for none of the others"
    await store.close()


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
