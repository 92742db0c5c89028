"""The one open LevelDB: scans and its lock."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import CacheEntry, Commit, Content, EntryFilter, EntrySort
from helix_desktop.store import retention, row_store
from helix_desktop.store.database import ReadWriteLock
from helix_desktop.store.kinds import RowView, Span
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.store_search import build_query
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


@pytest.mark.parametrize("is_descending", [False, True])
async def test_a_list_by_size_reads_every_record_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_descending: bool
) -> None:
    """That is the way while the search index is behind: page by page a million took an hour.

    It is sorted in runs, because sorting a million at once held up the window for seconds.
    """
    monkeypatch.setattr(row_store, "_RUN_ENTRIES", 10)
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, lambda: START_MS)
    datas = [(b"%02d" % n).ljust(2 + n % 7) for n in range(97)]  # of seven sizes
    contents = [Content(digest_of(data), data, "t", "f", "", 1) for data in datas]
    await store.commit(Commit("s", contents=contents))
    by_size = build_query("", 10, EntrySort("size", is_descending), EntryFilter())

    def listed(view: RowView) -> tuple[int, bytes, list[str]]:
        counted: Any = CountedView(view)
        digests = row_store.read_digests(counted, by_size)
        scans, paged, query = counted.scans, list[str](), by_size
        while True:
            page = row_store.read_page(view, query)
            paged += [entry.digest for entry in page.entries]
            if not page.cursor:
                return scans, digests, paged
            query = query.continue_after(page.entries[-1])

    scans, digests, paged = await store._run_query(listed)
    assert digests.hex() == "".join(paged)
    assert len(paged) == 97
    assert scans == 1
    await store.close()


def test_the_garbage_collector_has_nothing_to_look_at_in_a_sorted_list() -> None:
    """It stops the window for all that was allocated since it ran last: 40 ms for a list of a million."""
    digests = [digest_of(b"%d" % n) for n in range(3_000)]
    counts = list[int]()

    def entries() -> Iterator[CacheEntry]:
        yield from (CacheEntry(1, 1, 1, 1, 1, "t", "f", "", "output", digest=digest) for digest in digests)
        counts.append(gc.get_count()[0])

    was_enabled = gc.isenabled()
    gc.disable()
    gc.collect()
    row_store._sorted_digests(entries(), EntrySort("size"))
    if was_enabled:
        gc.enable()
    assert counts[0] < 300


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
