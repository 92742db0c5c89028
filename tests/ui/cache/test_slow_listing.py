"""The cache browser while the list of its entries takes long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio
from pytestqt.qtbot import QtBot

from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.cache.rows import DIGEST_BYTES, CacheFilter, CacheRow
from helix_desktop.ui.cache.view import CacheBrowser
from tests.support.galleries.panes_samples import NOW_MS, SampleCache, cache_row
from tests.support.window.cache_browser import wait_until

pytestmark = pytest.mark.qt_loop


@pytest_asyncio.fixture
async def scope() -> AsyncIterator[TaskScope]:
    """The owner of a test's tasks."""
    new_scope = TaskScope()
    yield new_scope
    await new_scope.close()


class SlowListing(SampleCache):
    """A cache with its first rows at hand, whose list is complete only after a while."""

    def __init__(self, rows: Sequence[CacheRow]) -> None:
        super().__init__(rows)
        self.go_on = asyncio.Event()

    async def first_ids(self, cache_filter: CacheFilter) -> bytes:
        """Twenty of them."""
        return (await super().ids(cache_filter))[: 20 * DIGEST_BYTES]

    async def ids(self, cache_filter: CacheFilter) -> bytes:
        """All of them."""
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
    assert pane.filter_bar.counter.text.startswith("400 entries")
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
    assert pane.filter_bar.counter.text.startswith("301 entries")
