"""The one open LevelDB: scans, its lock, and folders with non-English names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import Commit, Content
from helix_desktop.store import retention
from helix_desktop.store.database import ReadWriteLock
from helix_desktop.store.kinds import RowView, Span
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.files import ansi_path
from tests.support.store.builders import START_MS, WORKSPACE


class CountedView:
    """A view that counts how many ranges are read."""

    def __init__(self, view: RowView) -> None:
        self._view = view
        self.scans = 0

    def scan(self, span: Span, backwards: bool = False) -> Iterator[tuple[bytes, bytes]]:
        self.scans += 1
        return iter(self._view.scan(span, backwards))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)


async def test_moving_one_to_the_trash_and_listing_it_look_into_no_logs_for_the_others(
    tmp_path: Path,
) -> None:
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, lambda: START_MS)
    contents = [Content(digest_of(data := b"%d" % n), data, "t", "f", "", 1) for n in range(50)]
    await store.commit(Commit("s", contents=contents))
    one = contents[7].digest
    store_contents = cast(Any, None)  # no index entry's content would be read

    def scans_of(read: Callable[[RowView], list[str]]) -> Callable[[RowView], tuple[int, list[str]]]:
        def counted(view: RowView) -> tuple[int, list[str]]:
            spy = CountedView(view)
            read_of_it = read(cast(RowView, spy))
            return spy.scans, read_of_it

        return counted

    digests = [one, digest_of(b"never stored")]
    found = await store._run_query(
        scans_of(lambda view: retention.read_collectable(view, store_contents, digests, 0, START_MS))
    )
    assert found[1] == [one]
    assert found[0] <= 3
    await store.retention.collect([one], grace_ms=0)
    for read in (
        lambda view: [entry.digest for entry in retention.read_trash(view)],
        lambda view: retention.read_purgeable(view, store_contents, START_MS + 1),
    ):
        scans, trashed = await store._run_query(scans_of(read))
        assert trashed == [one]
        assert scans <= 3, "a look into the logs for the one, and for none of the others"
    await store.close()


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


@pytest.mark.parametrize("name", ["Jürgen Ω", "名前", "a b"])
async def test_a_store_can_be_created_and_reopened_in_any_folder(tmp_path: Path, name: str) -> None:
    """On Windows LevelDB takes names in the code page, which for a plain Python is not UTF-8."""
    data = b"tide"
    for _ in range(2):
        store = await LevelDbStore.open(tmp_path / name / "store", WORKSPACE)
        await store.commit(Commit("s", contents=[Content(digest_of(data), data)]))
        assert await store.get(digest_of(data)) == data
        await store.close()
    assert (tmp_path / name / "store" / "db" / "CURRENT").is_file()


def test_a_plain_name_is_passed_on_unchanged(tmp_path: Path) -> None:
    assert ansi_path(tmp_path / "db") == str(tmp_path / "db")
