"""Sorting, filtering and searching on the Outputs page, also while its listing takes long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from helix_desktop.domain.errors import StoreClosed, StoreError
from helix_desktop.domain.store import StoreTotals
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.outputs.entry_actions import PinEntries
from helix_desktop.ui.outputs.filter_bar import SIZE_OPTIONS, CacheFilterBar, state_option, tool_option
from helix_desktop.ui.outputs.page import OutputsPage
from helix_desktop.ui.outputs.rows import (
    COLUMN_INDEX,
    COLUMNS,
    DIGEST_BYTES,
    CacheFilter,
    CacheRow,
    CacheSearchResults,
    PreviewState,
)
from tests.support.galleries.panes_samples import CODE, NOW_MS, SampleCache, WaitingCache, cache_row
from tests.support.intents import performed
from tests.support.window.outputs_page import open_outputs_page, sample_cache, wait_until

pytestmark = pytest.mark.qt_loop


def titles(pane: OutputsPage) -> list[str]:
    return [
        str(pane.model.headerData(at, Qt.Orientation.Horizontal, Qt.ItemDataRole.DisplayRole))
        for at in range(pane.model.columnCount())
    ]


async def test_a_click_on_a_header_sorts_and_a_second_one_reverses(qtbot: QtBot, scope: TaskScope) -> None:
    """Numbers start with the largest, texts with the first; the arrow indicates the direction."""
    source = sample_cache(40)
    pane = await open_outputs_page(qtbot, scope, source)
    head = pane.table.horizontalHeader()
    pane.table.select_row(5)
    sizes = sorted((row.size for row in source.all_rows), reverse=True)

    def first_size() -> int:
        row = pane.model.entry(0)
        return row.size if row else 0

    at = [column.key for column in COLUMNS].index("size")
    spot = QPoint(head.sectionViewportPosition(at) + 20, head.height() // 2)
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, spot)
    await wait_until(lambda: first_size() == sizes[0])
    assert "Size ↓" in titles(pane)
    assert "Last used" in titles(pane)
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, spot)
    await wait_until(lambda: first_size() == sizes[-1])
    assert "Size ↑" in titles(pane)
    row = pane.model.entry(0)
    assert row is not None
    assert pane.table.current_digest() == row.digest, "whoever sorts wants to see what is first"
    pane.table.sort_requested.emit("target")
    await wait_until(lambda: "Target ↑" in titles(pane))


async def test_filters_appear_as_chips_and_a_click_removes_them(qtbot: QtBot, scope: TaskScope) -> None:
    """One of a kind at a time; each can be let go alone, and all with Clear."""
    source = sample_cache(60)
    pane = await open_outputs_page(qtbot, scope, source)
    bar = pane.filter_bar
    assert not bar.chips.isVisible()
    bar.toggle(tool_option("read_file"))
    files = sum(row.tool == "read_file" for row in source.all_rows)
    await wait_until(lambda: pane.model.rowCount() == files)
    bar.toggle(tool_option("run_command"))
    bar.toggle(SIZE_OPTIONS[0])
    large = [row for row in source.all_rows if row.tool == "run_command" and row.size >= 10_240]
    await wait_until(lambda: pane.model.rowCount() == len(large))
    assert bar.chips.texts == ["Tool: Ran", "10 KB or more"]
    assert tool_option("fold").label == "Tool: List of compacted outputs"  # as the table's column writes it
    assert bar.chips.isVisible()
    bar.chips._chips[0].click()
    await wait_until(lambda: bar.chips.texts == ["10 KB or more"])
    bar.clear()
    await wait_until(lambda: pane.model.rowCount() == 60)
    assert not bar.chips.isVisible()


async def test_the_filter_menu_offers_the_stored_tools(qtbot: QtBot, scope: TaskScope) -> None:
    """Tools and sessions of the cache, sizes, ages and use; active filters are checked."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(60))
    pane.filter_bar.toggle(tool_option("read_file"))
    await wait_until(lambda: 0 < pane.model.rowCount() < 60)
    await wait_until(lambda: pane.model.entry(0) is not None)
    menu = pane.filter_bar.filter_menu()
    assert [action.text() for action in menu.actions() if action.text()] == [
        "State", "Tool", "Session", "Size", "Age", "Pinned", "Never recalled", "Used by no session",
        "Texts that the agent wrote", "Lists of compacted outputs",
    ]  # fmt: skip
    parts = [action.menu() for action in menu.actions()[1:5]]
    texts = [[action.text() for action in part.actions()] for part in parts if isinstance(part, QMenu)]
    assert "Read" in texts[0]
    assert texts[1] == ["Flush the stream", "Colors of the margin"]
    assert isinstance(parts[0], QMenu)
    assert [action.text() for action in parts[0].actions() if action.isChecked()] == ["Read"]
    menu.deleteLater()


def test_the_filter_menu_sorts_tools_by_name_and_offers_a_rare_state_once_an_entry_has_it(
    qtbot: QtBot,
) -> None:
    bar = CacheFilterBar()
    qtbot.addWidget(bar)

    def states() -> list[str]:
        menu = bar.filter_menu().actions()[0].menu()
        assert isinstance(menu, QMenu)
        return [action.text() for action in menu.actions()]

    usual = ["In context", "Cached", "Compacted", "Left out"]
    bar.set_available(["run_command", "handover", "read_file"], [("a", "Only one")])
    assert states() == usual
    tools = bar.filter_menu().actions()[1].menu()
    assert isinstance(tools, QMenu)
    assert [action.text() for action in tools.actions()] == ["List of compacted outputs", "Ran", "Read"]
    bar.set_available([], [("a", "One"), ("b", "Another")])
    bar.has_damaged = True
    assert states() == [*usual, "Not in session", "Damaged"]
    bar.toggle(state_option("in_trash"))
    assert states()[-1] == "In trash", "what filters now can be switched off"


def hit_of(pane: OutputsPage) -> str:
    """The line that was found in the first row."""
    row = pane.model.entry(0)
    return row.hit if row else ""


async def test_a_search_displays_its_lines_and_grows(qtbot: QtBot, scope: TaskScope) -> None:
    """Hits arrive in parts without moving the selection; the matching line appears in its row."""
    source = sample_cache(300)
    source.search_page_size = 7
    pane = await open_outputs_page(qtbot, scope, source)
    QTest.keyClicks(pane.filter_bar.field, "stream")
    hits = [row for row in source.all_rows if "stream" in f"{row.target} {row.first_line}".lower()]
    await wait_until(lambda: pane.model.rowCount() == len(hits))
    assert len(hits) > 3 * source.search_page_size
    await wait_until(lambda: hit_of(pane) == f"12: {hits[0].first_line}")
    line = [column.key for column in COLUMNS].index("line")
    assert not pane.table.isColumnHidden(line)
    assert "Matching line" in titles(pane)
    pane.filter_bar.clear()
    await wait_until(lambda: "Content" in titles(pane))


class PausedCache(SampleCache):
    """A cache whose search waits before its second part."""

    def __init__(self, rows: Sequence[CacheRow]) -> None:
        super().__init__(rows)
        self.search_page_size = 7
        self.parts = 0
        self.counts = 0
        self.go_on = asyncio.Event()
        self.error: StoreError | None = None  # of every part but the first

    async def totals(self) -> StoreTotals:
        """Return counts and sizes, with which each refresh begins."""
        self.counts += 1
        return await super().totals()

    async def search(self, cache_filter: CacheFilter, cursor: str = "") -> CacheSearchResults:
        self.parts += 1
        if cursor:
            await self.go_on.wait()
            if self.error is not None:
                raise self.error
        return await super().search(cache_filter, cursor)


async def test_a_search_while_the_index_is_behind_reports_it_and_can_be_canceled(
    qtbot: QtBot, scope: TaskScope
) -> None:
    """The hits so far are listed meanwhile and stay after Cancel, until other words are searched for."""
    source = PausedCache([cache_row(number) for number in range(300)])
    source.unindexed = 260
    pane = await open_outputs_page(qtbot, scope, source)
    bar = pane.filter_bar
    QTest.keyClicks(bar.field, "stream")
    await wait_until(bar.search_row.isVisible)
    assert bar.search_row.text.text == "Indexing… 40 of 300 entries; results so far"
    assert (bar.search_row.bar.value(), bar.search_row.bar.maximum()) == (40, 300)
    assert pane.model.rowCount() == 7
    assert bar.counter.text == "Searching… 7 matches so far"
    (cancel,) = bar.search_row.findChildren(PushButton)
    QTest.mouseClick(cancel, Qt.MouseButton.LeftButton)
    assert not bar.search_row.isVisible()
    assert pane.focusWidget() is bar.field
    assert bar.counter.text == "Search canceled. 7 matches so far"
    source.go_on.set()
    await wait_until(lambda: pane.model.rowCount() == 14)
    parts = source.parts
    counts = source.counts
    pane.refresh()
    pane.refresh()  # it begins when the first one is over
    await wait_until(lambda: source.counts == counts + 2)
    assert source.parts == parts, "what was canceled does not begin again by itself"
    assert bar.counter.text == "Search canceled. 14 matches so far"
    bar.field.clear()
    await wait_until(lambda: pane.model.rowCount() == 300)
    QTest.keyClicks(bar.field, "stream")
    hits = [row for row in source.all_rows if "stream" in f"{row.target} {row.first_line}".lower()]
    await wait_until(lambda: pane.model.rowCount() == len(hits))
    await wait_until(lambda: not bar.search_row.isVisible())


async def test_another_cache_has_nothing_of_the_search_in_the_former_one(
    qtbot: QtBot, scope: TaskScope
) -> None:
    """No indexing: that would be of another workspace."""
    source = PausedCache([cache_row(number) for number in range(300)])
    source.unindexed = 260
    pane = await open_outputs_page(qtbot, scope, source)
    QTest.keyClicks(pane.filter_bar.field, "stream")
    await wait_until(pane.filter_bar.search_row.isVisible)
    pane.set_source(WaitingCache([cache_row(0)], answers=0))
    assert not pane.filter_bar.search_row.isVisible()
    assert pane.filter_bar.counter.text == "Loading…"


async def test_a_search_that_fails_is_over_and_claims_no_result(qtbot: QtBot, scope: TaskScope) -> None:
    source = PausedCache([cache_row(number) for number in range(300)])
    pane = await open_outputs_page(qtbot, scope, source)
    source.search_page_size = 0
    source.error = StoreError(verbatim("The stored data can't be read."))
    QTest.keyClicks(pane.filter_bar.field, "stream")
    await wait_until(lambda: pane.filter_bar.counter.text == "Searching… 0 matches so far")
    source.go_on.set()
    assert not pane.filter_bar.search_row.isVisible(), "its index is complete"
    await wait_until(lambda: "Searching" not in pane.filter_bar.counter.text)
    assert not pane.no_match.isVisible()


async def test_a_hit_opens_at_the_matching_words(qtbot: QtBot, scope: TaskScope) -> None:
    """Its words are highlighted, the table keeps the keyboard; if only the name matches, nothing is."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(60))
    QTest.keyClicks(pane.filter_bar.field, "py stream")
    await wait_until(lambda: 0 < pane.model.rowCount() < 60)
    await wait_until(lambda: bool(hit_of(pane)))
    pane.table.select_row(0)
    row = pane.model.entry(0)
    assert row is not None
    pane.table.setFocus()
    pane.show_preview(PreviewState(replace(row, is_hit_inside=True), b"stream a\nmore\nstream b\n"))
    find = pane.preview.content.find_bar
    await wait_until(lambda: find.count.text == "1 of 2")
    assert pane.table.hasFocus()
    pane.show_preview(PreviewState(replace(row, hit="matches name"), b"stream a\n"))
    assert not find.isVisible()


async def test_p_pins_and_unpins(qtbot: QtBot, scope: TaskScope) -> None:
    """The key requests the opposite state; the preview displays the current one."""
    source = sample_cache(9)
    pane = await open_outputs_page(qtbot, scope, source)
    await wait_until(lambda: pane.model.entry(2) is not None)
    pane.table.select_row(2)
    pane.table.setFocus()
    with performed(pane) as intents:
        QTest.keyClick(pane.table, Qt.Key.Key_P)
    assert intents == [PinEntries((cache_row(2).digest,), is_pinned=True)]
    source.all_rows[2] = replace(source.all_rows[2], pinned=True)
    pane.refresh()
    await wait_until(lambda: bool((row := pane.model.entry(2)) and row.pinned))
    with performed(pane) as intents:
        QTest.keyClick(pane.table, Qt.Key.Key_P)
    assert intents == [PinEntries((cache_row(2).digest,), is_pinned=False)]
    pane.show_preview(PreviewState(source.all_rows[2], CODE))
    assert pane.preview.content.meta.text.endswith("· pinned")


async def test_the_menu_of_a_row_filters_for_similar_rows(qtbot: QtBot, scope: TaskScope) -> None:
    """By its tool and by its path; a click on the chip clears the filter."""
    source = sample_cache(60)
    pane = await open_outputs_page(qtbot, scope, source)
    await wait_until(lambda: pane.model.entry(0) is not None)
    pane.table.select_row(0)
    pane.table.menu_requested.emit(QPoint(1, 1))
    (menu,) = (menu for menu in pane.findChildren(QMenu) if menu.isVisible())
    (only,) = (action for action in menu.actions() if action.objectName() == "cache-only-tool")
    assert only.text() == "Show only Read"
    only.trigger()
    menu.close()
    same = sum(row.tool == source.all_rows[0].tool for row in source.all_rows)
    await wait_until(lambda: pane.model.rowCount() == same)


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
    pane = OutputsPage(scope.start, lambda: NOW_MS)
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


async def test_a_store_that_has_not_answered_is_not_called_empty(qtbot: QtBot, scope: TaskScope) -> None:
    """It loads; if it fails there is the error, but no claim that nothing is there."""
    pane = OutputsPage(scope.start, lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.show()
    pane.set_source(WaitingCache([cache_row(0)], answers=0))
    assert pane.empty.isHidden()
    assert pane.filter_bar.counter.text == "Loading…"
    assert not pane.loading.isVisible(), "a quick answer leaves no flash"
    await wait_until(pane.loading.isVisible)
    assert pane.filter_bar.counter.text == "", "said once"
    failing = OutputsPage(scope.start, lambda: NOW_MS)
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
    counted = asyncio.Event()
    listed = asyncio.Event()
    named = asyncio.Event()

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

    pane = OutputsPage(scope.start)
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
