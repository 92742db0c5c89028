"""The Outputs page in its states, and how timeline and panel are shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtWidgets import QWidget

from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.outputs.filter_bar import SIZE_OPTIONS, tool_option
from helix_desktop.ui.outputs.page import OutputsPage
from helix_desktop.ui.outputs.rows import PreviewState
from helix_desktop.ui.panel.panel_state import PanelState
from helix_desktop.ui.panel.view import ContextPanel
from helix_desktop.ui.timeline.page import Timeline, TimelineState
from tests.support.galleries.panes_samples import CODE, NOW_MS, SampleCache, WaitingCache, cache_row

Shot = Callable[[TaskScope], Coroutine[Any, Any, QWidget]]


async def settle(rounds: int = 40) -> None:
    """Let the loop deliver pending events."""
    for _ in range(rounds):
        await asyncio.sleep(0.002)


async def _browser(scope: TaskScope, entries: int, row: int = 2) -> OutputsPage:
    pane = OutputsPage(scope.start, lambda: NOW_MS)
    pane.set_source(SampleCache([cache_row(number) for number in range(entries)]))
    pane.resize(804, 846)
    pane.show()
    await settle()
    if entries:
        pane.table.select_row(row)
    return pane


async def cache(scope: TaskScope) -> QWidget:
    """A selected, verified file."""
    pane = await _browser(scope, 312, 8)
    row = cache_row(8)
    pane.show_preview(PreviewState(row, CODE))
    pane.set_verified(row.digest, True, "verified 14:31")
    pane.table.setFocus()
    return pane


async def cache_wide(scope: TaskScope) -> QWidget:
    """All columns, a long content with find open, and a verification under way."""
    pane = await _browser(scope, 5_000, 2)
    pane.resize(1440, 900)
    text = b"".join(b"line %d: StreamFlush was seen at src/helix/stream.py\n" % n for n in range(3_512))
    pane.show_preview(PreviewState(cache_row(2), b"x" * 9_000 + b"\n" + text))
    pane.filter_bar.progress_row.show_progress("Verifying 1,204 of 5,000 entries", 1_204, 5_000)
    pane.preview.content.open_find()
    pane.preview.content.find_bar.field.setText("streamflush")
    await settle(120)
    pane.preview.content.find_bar.step(3)
    return pane


async def cache_damaged(scope: TaskScope) -> QWidget:
    """A damaged entry in a small window."""
    pane = await _browser(scope, 60, 23)
    pane.resize(520, 620)
    await settle()
    state = PreviewState(
        cache_row(23), None, "This output is damaged on disk. Run the tool again to repair it."
    )
    pane.show_preview(state)
    pane.table.select_row(23)
    return pane


async def cache_binary(scope: TaskScope) -> QWidget:
    pane = await _browser(scope, 12, 1)
    pane.show_preview(PreviewState(cache_row(1), bytes(range(256)) * 4))
    return pane


async def cache_json(scope: TaskScope) -> QWidget:
    """JSON as indented text, in a small window."""
    pane = await _browser(scope, 12, 2)
    pane.resize(520, 620)
    data = b'{"name": "helix", "flags": [true, null, 1.50], "scripts": {"build": "vite build"}, "empty": {}}'
    pane.show_preview(PreviewState(cache_row(2), data))
    pane.preview.content.choose("indented")
    await settle()
    return pane


async def cache_no_match(scope: TaskScope) -> QWidget:
    """A filter that nothing passes."""
    pane = await _browser(scope, 40)
    pane.filter_bar.field.setText("zebra")
    await settle(150)
    return pane


async def cache_search(scope: TaskScope) -> QWidget:
    """A search with its lines, and active filters."""
    pane = await _browser(scope, 312, 0)
    source = SampleCache([cache_row(number) for number in range(312)])
    pane.set_source(source)
    pane.filter_bar.toggle(tool_option("read_file"))
    pane.filter_bar.toggle(SIZE_OPTIONS[0])
    pane.filter_bar.field.setText("stream")
    await settle(200)
    pane.table.select_row(1)
    row = pane.model.entry(1)
    if row is not None:
        pane.show_preview(PreviewState(row, CODE))
    pane.table.setFocus()
    await settle(100)
    return pane


async def cache_loading(scope: TaskScope) -> QWidget:
    """A store that has not answered yet."""
    pane = OutputsPage(scope.start, lambda: NOW_MS)
    pane.set_source(WaitingCache([cache_row(number) for number in range(312)], answers=0))
    pane.resize(804, 846)
    pane.show()
    await settle()
    return pane


async def cache_searching(scope: TaskScope) -> QWidget:
    """A search with its first matches, which goes on."""
    pane = await _browser(scope, 312, 0)
    source = WaitingCache([cache_row(number) for number in range(312)], answers=2)
    source.search_page_size = 5
    pane.set_source(source)
    pane.filter_bar.field.setText("stream")
    await settle(200)
    return pane


async def cache_failed(scope: TaskScope) -> QWidget:
    """A store that can't be read; what was listed stays."""
    pane = await _browser(scope, 12, 2)
    pane.show_preview(PreviewState(cache_row(2), CODE))
    source = WaitingCache([cache_row(number) for number in range(12)], answers=0)
    source.error = StoreError(
        verbatim("The stored data can't be read."),
        verbatim("Nothing was lost: every output is on the disk."),
        verbatim("Close other programs that use the data folder, then retry."),
    )
    pane.set_source(source)
    await settle()
    return pane


def unfold(pane: Timeline) -> None:
    """Open a note and facts."""
    for key, parts in ((497, ("note",)), (498, ("details", "quotes", "ledger"))):
        for part in parts:
            pane.cards.toggle(key, part)


def make_panel(state: PanelState | None, width: int, height: int) -> ContextPanel:
    pane = ContextPanel()
    pane.set_state(state)
    pane.resize(width, height)
    pane.show()
    return pane


def make_timeline(state: TimelineState, width: int, height: int) -> Timeline:
    pane = Timeline(lambda: NOW_MS)
    pane.set_state(state)
    pane.resize(width, height)
    pane.show()
    return pane


SHOTS: tuple[Shot, ...] = (
    cache,
    cache_wide,
    cache_damaged,
    cache_binary,
    cache_json,
    cache_no_match,
    cache_search,
    cache_loading,
    cache_searching,
    cache_failed,
)
