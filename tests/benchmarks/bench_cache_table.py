"""The cache table over a million entries: first paint, scrolling, jumping, memory."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import time
from collections.abc import Callable, Sequence

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from helix_desktop.app.qt_loop import QtLoop
from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.store import StoreTotals
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.style import fonts, stylesheet
from helix_desktop.ui.design.style.theme import LIGHT
from helix_desktop.ui.outputs.page import OutputsPage
from helix_desktop.ui.outputs.rows import CacheFilter, CacheRow, CacheSearchResults
from helix_desktop.ui.outputs.source import OutputSource

ENTRIES = 1_000_000
_NOW = 1_795_000_000_000


class MillionRows(OutputSource):
    """A source that makes its rows from their digests."""

    def __init__(self, count: int) -> None:
        self.digests = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(count))

    async def ids(self, cache_filter: CacheFilter) -> bytes:
        return self.digests

    async def first_ids(self, cache_filter: CacheFilter) -> bytes:
        return b""

    async def search(self, cache_filter: CacheFilter, cursor: str = "") -> CacheSearchResults:
        return CacheSearchResults(self.digests)

    async def tools(self) -> Sequence[str]:
        return ["read_file"]

    async def sessions(self) -> Sequence[tuple[str, str]]:
        return []

    async def rows(self, digests: Sequence[str]) -> Sequence[CacheRow]:
        return [
            CacheRow(_NOW - int(digest[:7], 16), _NOW, int(digest[:5], 16), 0, int(digest[:4], 16),
                     "read_file", f"src/{digest[:9]}.py", "import os", "output", 1, 2,
                     digest=digest, state="cached", saved=900)
            for digest in digests
        ]  # fmt: skip

    async def totals(self) -> StoreTotals:
        return StoreTotals(len(self.digests) // 32, 10**10, 2 * 10**9, 0)


def main() -> list[tuple[str, float, str]]:
    app = QApplication.instance() or QApplication([])  # noqa: TID251 - another benchmark may have made it
    assert isinstance(app, QApplication)
    fonts.load(resources_dir() / "fonts")
    stylesheet.apply(app, LIGHT)
    with asyncio.Runner(loop_factory=lambda: QtLoop(app)) as runner:
        return runner.run(_measure(app))


async def _measure(app: QApplication) -> list[tuple[str, float, str]]:
    scope = TaskScope()
    source = MillionRows(ENTRIES)
    result = []
    pane = OutputsPage(scope.start, lambda: _NOW)
    pane.resize(1_100, 900)
    pane.show()
    await _turns(5)
    gc.collect()
    before = _resident_mb()
    begun = time.process_time()
    pane.set_source(source)
    while pane.model.rowCount() != ENTRIES or pane.model.entry(0) is None:  # noqa: ASYNC110 - no event to await
        await asyncio.sleep(0)
    pane.table.viewport().repaint()
    result.append(("cache table, 1,000,000 rows: first paint with content, CPU", _since(begun), "ms"))
    bar = pane.table.verticalScrollBar()

    def scroll_on(_: int) -> None:
        bar.setValue(bar.value() + 60)

    def jump(step: int) -> None:
        bar.setValue(int(step * 0.618034 % 1 * bar.maximum()))

    for name, move in (("smooth scroll", scroll_on), ("jump", jump)):
        frames = await _frames(pane, move)
        result.append((f"cache table, {name}: CPU per frame p50", frames[len(frames) // 2], "ms"))
        result.append((f"cache table, {name}: CPU per frame p99", frames[int(len(frames) * 0.99)], "ms"))
    result.append(("cache table, 1,000,000 rows: memory added", _resident_mb() - before, "MB"))
    pane.close()
    pane.deleteLater()
    await scope.close()
    return result


async def _frames(pane: OutputsPage, move: Callable[[int], None]) -> list[float]:
    frames = []
    for step in range(300):
        begun = time.process_time()
        move(step)
        QCoreApplication.sendPostedEvents(pane, QEvent.Type.UpdateRequest.value)
        frames.append(_since(begun))
        await _turns(3)
    return sorted(frames)


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def _since(begun: float) -> float:
    return (time.process_time() - begun) * 1_000


def _resident_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
