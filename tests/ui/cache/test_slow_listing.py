"""The cache browser while counts, list or names of its entries take long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from helix_desktop.domain.errors import StoreClosed
from helix_desktop.domain.store import StoreTotals
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.cache.rows import COLUMN_INDEX, DIGEST_BYTES, CacheFilter, CacheRow
from helix_desktop.ui.cache.view import CacheBrowser
from tests.support.galleries.panes_samples import NOW_MS, SampleCache, WaitingCache, cache_row
from tests.support.window.cache_browser import wait_until

pytestmark = pytest.mark.qt_loop


class SlowListing(SampleCache):
    """A cache with its first rows at hand, whose list is complete only after a while."""

    def __init__(self, rows: Sequence[CacheRow]) -> None:
        super().__init__(rows)
        self.go_on = asyncio.Event()

    async def first_ids(self, cache_filter: CacheFilter) -> bytes:
        return (await super().ids(cache_filter))[: 20 * DIGEST_BYTES]

    async def ids(self, cache_filter: CacheFilter) -> bytes:
        await self.go_on.wait()
        return await super().ids(cache_filter)


async def test_the_first_rows_do_not_wait_for_the_whole_list(qtbot: QtBot, scope: TaskScope) -> None:
    """What is selected meanwhile stays selected."""
    source = SlowListing([cache_row(number) for number in range(400)])
    pane = CacheBrowser(scope.start, lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.resize(900, 800)
    pane.show()
    pane.set_source(source)
    await wait_until(lambda: pane.model.rowCount() == 20 and pane.model.entry(0) is not None)
    assert pane.table.current_digest() == source.all_rows[0].digest
    assert pane.filter_bar.counter.text.startswith("400 outputs")
    pane.table.select_row(7)
    source.go_on.set()
    await wait_until(lambda: pane.model.rowCount() == 400)
    assert pane.table.current_digest() == source.all_rows[7].digest


async def test_another_cache_does_not_wait_for_the_list_of_the_former_one(
    qtbot: QtBot, scope: TaskScope
) -> None:
    """When that is complete at last, it changes nothing."""
    former, source = (SlowListing([cache_row(number) for number in range(count)]) for count in (400, 300))
    pane = CacheBrowser(scope.start, lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.set_source(former)
    await wait_until(lambda: pane.model.rowCount() == 20)
    pane.set_source(source)
    source.go_on.set()
    await wait_until(lambda: pane.model.rowCount() == 300)
    former.go_on.set()
    source.all_rows.append(cache_row(300))
    pane.refresh()
    await wait_until(lambda: pane.model.rowCount() == 301)
    assert pane.filter_bar.counter.text.startswith("301 outputs")


async def test_a_store_that_has_not_answered_is_not_called_empty(qtbot: QtBot, scope: TaskScope) -> None:
    """It loads; if it fails there is the error, but no claim that nothing is there."""
    pane = CacheBrowser(scope.start, lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.show()
    pane.set_source(WaitingCache([cache_row(0)], answers=0))
    assert pane.empty.isHidden()
    assert pane.filter_bar.counter.text == "Loading…"
    assert not pane.loading.isVisible(), "a quick answer leaves no flash"
    await wait_until(pane.loading.isVisible)
    assert pane.filter_bar.counter.text == "", "said once"
    failing = CacheBrowser(scope.start, lambda: NOW_MS)
    qtbot.addWidget(failing)
    failing.show()
    store = WaitingCache([cache_row(0)], answers=0)
    store.error = StoreClosed(verbatim("The workspace is closed."))
    failing.set_source(store)
    await wait_until(lambda: failing.filter_bar.counter.text == "Not loaded")
    assert failing.empty.isHidden()


async def test_rows_wait_for_no_filter_and_no_cache_is_called_empty_before_it_is_counted(
    qtbot: QtBot, scope: TaskScope
) -> None:
    """While the search index is behind, the names of tools take a look at every entry: seconds, of many."""
    counted, listed, named = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class SlowCache(SampleCache):
        """A cache that is slow to count, and slower to name its tools."""

        async def totals(self) -> StoreTotals:
            await counted.wait()
            return await super().totals()

        async def ids(self, cache_filter: CacheFilter) -> bytes:
            await listed.wait()
            return await super().ids(cache_filter)

        async def tools(self) -> Sequence[str]:
            await named.wait()
            return await super().tools()

    pane = CacheBrowser(scope.start)
    qtbot.addWidget(pane)
    pane.show()
    pane.set_source(SlowCache([cache_row(number) for number in range(20)]))
    await asyncio.sleep(0)
    assert not pane.empty.isVisible()
    counted.set()
    await wait_until(lambda: pane.filter_bar.counter.text.startswith("20 outputs"))
    listed.set()
    await wait_until(lambda: pane.model.rowCount() == 20)
    assert not pane.filter_bar.filter_menu().isEmpty()
    listed.clear()
    pane.table.sort_requested.emit("size")
    await wait_until(lambda: pane.filter_bar.counter.text == "Sorting 20 entries…")
    pane.filter_bar.field.setText("none of them")
    await wait_until(lambda: pane.filter_bar.counter.text == "Searching 20 entries…")
    pane.filter_bar.field.clear()
    listed.set()
    await wait_until(lambda: pane.filter_bar.counter.text.startswith("20 outputs"))
    size = str(pane.model.headerData(COLUMN_INDEX["size"], Qt.Orientation.Horizontal))
    assert "↓" in size, "the names of tools are still to come"
    named.set()
