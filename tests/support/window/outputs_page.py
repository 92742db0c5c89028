"""An Outputs page on samples, as its tests look at it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pytestqt.qtbot import QtBot

from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.outputs.page import OutputsPage
from tests.support.galleries.panes_samples import NOW_MS, SampleCache, cache_row


async def wait_until(condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
    """Run the loop until a condition is true."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - widgets set no asyncio.Event
            await asyncio.sleep(0.001)


async def open_outputs_page(qtbot: QtBot, scope: TaskScope, source: SampleCache) -> OutputsPage:
    pane = OutputsPage(scope.start, lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.resize(900, 800)
    pane.show()
    pane.set_source(source)
    row_count = len(source.all_rows)
    await wait_until(lambda: pane.model.rowCount() == row_count)
    return pane


def sample_cache(count: int) -> SampleCache:
    """A source of some entries."""
    return SampleCache([cache_row(number) for number in range(count)])
