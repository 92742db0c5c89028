"""Looking for what is in the trash reads records only: that is done at each opening, of large stores too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import Content
from helix_desktop.store.core.keys import Span
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.retention import garbage_collection
from tests.support.store.builders import START_MS, WORKSPACE


class CountedView:
    """A view that counts how many ranges are read."""

    def __init__(self, view: ReadView) -> None:
        self._view, self.scans = view, 0

    def scan(self, span: Span, backwards: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Count, then read."""
        self.scans += 1
        return iter(self._view.scan(span, backwards))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)


async def test_what_is_not_in_the_trash_is_not_looked_for_in_logs(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, lambda: START_MS)
    contents = [Content(digest_of(data := b"%d" % n), data, "t", "f", "", 1) for n in range(50)]
    await store.commit(Commit("s", contents=contents))
    await store.retention.collect([contents[7].digest], grace_ms=0)

    def scans_of_both(view: ReadView) -> tuple[int, list[str], list[str]]:
        counted: Any = CountedView(view)
        trashed = [entry.digest for entry in garbage_collection.read_trash(counted)]
        purgeable = garbage_collection.read_purgeable(counted, store_contents, START_MS + 1)
        return counted.scans, trashed, purgeable

    store_contents: Any = None  # there is no index entry whose content would be read
    scans, trashed, purgeable = await store._run_query(scans_of_both)
    assert trashed == purgeable == [contents[7].digest]
    assert scans <= 6, "a look into the logs for the one, and for none of the others"
    await store.close()
