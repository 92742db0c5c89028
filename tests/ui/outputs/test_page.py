"""The Outputs page in use, over a source in memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import ceil

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QEvent, QItemSelectionModel, QModelIndex, QPoint, QRect, Qt
from PySide6.QtGui import (
    QAction,
    QFontMetricsF,
    QGuiApplication,
    QHelpEvent,
    QImage,
    QInputMethodEvent,
    QTextCursor,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip
from pytestqt.qtbot import QtBot

from helix_desktop.domain.errors import StoreClosed
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.buttons import TabButton
from helix_desktop.ui.design.focus import FocusRing, tab_stops
from helix_desktop.ui.design.style.fonts import ui_font
from helix_desktop.ui.kit.intents import OpenFolder, Recall, ShowPage
from helix_desktop.ui.outputs.entry_actions import SaveEntry, VerifyEntries
from helix_desktop.ui.outputs.filter_bar import state_option
from helix_desktop.ui.outputs.page import OutputsPage
from helix_desktop.ui.outputs.rows import (
    COLUMN_INDEX,
    COLUMNS,
    CacheFilter,
    CacheRow,
    PreviewState,
    fitting_columns,
)
from helix_desktop.ui.outputs.table import MAX_CACHED_ROWS, PAD, PAGE_ROWS
from tests.support.galleries.panes_samples import CODE, NOW_MS, SampleCache, cache_row
from tests.support.intents import intents_of, performed
from tests.support.window.outputs_page import open_outputs_page, sample_cache, wait_until

_TIP = Qt.ItemDataRole.ToolTipRole
pytestmark = pytest.mark.qt_loop


async def test_rows_are_loaded_when_they_become_visible(qtbot: QtBot, scope: TaskScope) -> None:
    """Only pages in sight are fetched, and a jump fetches the page it lands on."""
    source = sample_cache(3_000)
    pane = await open_outputs_page(qtbot, scope, source)
    await wait_until(lambda: pane.model.entry(0) is not None)
    assert len(source.fetch_sizes) <= 2
    pane.table.scrollToBottom()
    await wait_until(lambda: pane.model.entry(2_999) is not None)
    assert all(size <= PAGE_ROWS for size in source.fetch_sizes)
    assert len(source.fetch_sizes) <= 6


async def test_without_an_output_or_a_workspace_it_says_so(qtbot: QtBot, scope: TaskScope) -> None:
    """That nothing was cached would be wrong without one: another folder may have much."""
    source = sample_cache(0)
    pane = await open_outputs_page(qtbot, scope, source)
    await wait_until(pane.empty.isVisible)
    assert pane.empty.sentence.text().startswith("No outputs yet.")
    with performed(pane) as intents:
        pane.empty.button.click()
    source.all_rows.append(cache_row(1))
    pane.refresh()
    await wait_until(pane.table.isVisible)
    pane.set_source(None)
    assert pane.empty.isVisible()
    assert pane.empty.sentence.text() == "No workspace is open. Open a folder to see its outputs."
    with performed(pane) as others:
        pane.empty.button.click()
    assert [*intents, *others] == [ShowPage("chat"), OpenFolder()]


async def test_a_tooltip_repeats_no_cell_that_is_shown_in_full(qtbot: QtBot, scope: TaskScope) -> None:
    pane = await open_outputs_page(qtbot, scope, sample_cache(3))
    await wait_until(lambda: pane.model.entry(0) is not None)
    table = pane.table
    column = [column.key for column in COLUMNS].index("target")

    def tip() -> str:
        place = table.visualRect(pane.model.index(0, column)).center()
        event = QHelpEvent(QHelpEvent.Type.ToolTip, place, table.viewport().mapToGlobal(place))
        QCoreApplication.sendEvent(table.viewport(), event)
        return QToolTip.text()

    table.setColumnWidth(column, 40)
    assert tip() == pane.model.index(0, column).data(_TIP)
    QToolTip.hideText()
    await wait_until(lambda: not QToolTip.text())  # it keeps its text until it is deleted
    table.setColumnWidth(column, 600)
    assert not tip()


async def test_the_name_comes_before_the_words_of_its_mark(qtbot: QtBot, scope: TaskScope) -> None:
    """Where a name would be cut short, an icon says that the file has changed; the tooltip has the words."""
    source = sample_cache(0)
    named = replace(cache_row(7), tool="read_file", target="sunrise.py")
    source.all_rows[:] = named, replace(named, digest=cache_row(8).digest, changed_since=5)
    pane = await open_outputs_page(qtbot, scope, source)
    await wait_until(lambda: None not in (pane.model.entry(0), pane.model.entry(1)))
    marked = 0 if pane.model.digest_at(0) == source.all_rows[1].digest else 1
    table = pane.table
    column = COLUMN_INDEX["target"]
    name = ceil(QFontMetricsF(ui_font(12, is_code=True)).horizontalAdvance(named.target))
    table.setColumnWidth(column, name + 2 * PAD + 20)

    def painted(row: int, left: int, width: int) -> QImage:
        cell = table.visualRect(pane.model.index(row, column)).adjusted(0, 2, 0, -2)
        return table.viewport().grab(QRect(cell.x() + left, cell.y(), width, cell.height())).toImage()

    table.clearSelection()
    assert painted(marked, 0, PAD + name) == painted(1 - marked, 0, PAD + name)
    assert painted(marked, PAD + name, 20) != painted(1 - marked, PAD + name, 20)
    cell = pane.model.index(marked, column)
    assert cell.data(Qt.ItemDataRole.AccessibleTextRole).endswith(" · Edited since")
    assert "The file has changed since." in cell.data(_TIP)


async def test_the_name_of_a_file_is_cut_at_its_folders(qtbot: QtBot, scope: TaskScope) -> None:
    source = sample_cache(0)
    first = replace(cache_row(7), tool="read_file", target="first/folder/of/many/sunrise_report.py")
    other = replace(first, digest=cache_row(8).digest, target=first.target.replace("first", "other"))
    source.all_rows[:] = first, other
    pane = await open_outputs_page(qtbot, scope, source)
    await wait_until(lambda: None not in (pane.model.entry(0), pane.model.entry(1)))
    table = pane.table
    column = COLUMN_INDEX["target"]
    table.clearSelection()

    def painted(row: int) -> QImage:
        cell = table.visualRect(pane.model.index(row, column)).adjusted(0, 2, 0, -2)
        return table.viewport().grab(cell).toImage()

    table.setColumnWidth(column, 500)
    assert painted(0) != painted(1)
    table.setColumnWidth(column, 200)
    assert painted(0) == painted(1), "what is left is the name"


async def test_recall_keeps_its_verb_when_room_is_short(qtbot: QtBot, scope: TaskScope) -> None:
    """Its tokens alone, or an arrow alone, did not say what the main button does."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(8))
    pane.show_preview(PreviewState(cache_row(7), CODE))
    texts = []
    for width in range(900, 400, -10):
        pane.preview.resize(width, 300)
        texts.append(pane.preview.recall_button.text())
    assert all(text.startswith("Recall") for text in texts)
    pane.show_preview(PreviewState(replace(cache_row(7), state="in_window"), CODE))
    assert pane.preview.recall_button.text().startswith("Recall"), "the same act, also of what is in context"
    pane.show_preview(PreviewState(cache_row(7), CODE))
    assert texts == sorted(texts, key=len, reverse=True)


async def test_memory_stays_bounded(qtbot: QtBot, scope: TaskScope) -> None:
    """Old pages are dropped, and fetched again when seen again."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(MAX_CACHED_ROWS + 4 * PAGE_ROWS))
    for row in range(0, pane.model.rowCount(), PAGE_ROWS):
        pane.model.entry(row)
        await wait_until(partial(pane.model.is_loaded, row))
    assert sum(map(pane.model.is_loaded, range(pane.model.rowCount()))) <= MAX_CACHED_ROWS
    await wait_until(lambda: pane.model.entry(0) is not None)


async def test_selecting_all_of_many_rows_looks_at_none_of_them(
    qtbot: QtBot, scope: TaskScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a million the header alone took minutes to paint."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(3_000))
    calls = 0
    count_rows = pane.model.rowCount

    def counted(*parent: QModelIndex) -> int:
        nonlocal calls
        calls += 1
        return count_rows(*parent)

    monkeypatch.setattr(pane.model, "rowCount", counted)
    pane.table.selectAll()
    pane.table.horizontalHeader().grab()
    assert pane.table.selected_count() == 3_000
    assert 0 < calls < 3_000


async def test_the_keyboard_selects_the_row_it_comes_to(qtbot: QtBot, scope: TaskScope) -> None:
    """A row with the focus that is not selected looked chosen, and no key did anything with it."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(3))
    await wait_until(lambda: pane.model.rowCount() == 3)
    pane.activateWindow()
    pane.filter_bar.field.setFocus()
    await wait_until(pane.filter_bar.field.hasFocus)
    digests = pane.model.digests(range(3))
    for ids in (digests[:1], digests):
        pane.model.set_ids(bytes.fromhex("".join(ids)))
    pane.table.setFocus(Qt.FocusReason.TabFocusReason)
    await wait_until(pane.table.hasFocus)
    assert pane.table.selected_digests() == (pane.model.digest_at(0),)


@pytest.mark.parametrize("width", [560, 860, 1_000, 1_600])
async def test_the_bar_stays_as_it_is_while_entries_are_selected(
    qtbot: QtBot, scope: TaskScope, width: int
) -> None:
    pane = await open_outputs_page(qtbot, scope, sample_cache(60))
    pane.resize(width, 700)
    bar = pane.filter_bar

    def places() -> list[QRect]:
        for _ in range(2):  # the layout of what has changed, and of what is around it
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        return [part.geometry() for part in (bar.field, bar.filters, bar.session, bar.counter, bar.more)]

    pane.table.select_row(0)
    before = places()
    for rows in (2, 12, 60):
        flag = QItemSelectionModel.SelectionFlag
        for row in range(rows):
            pane.table.selectionModel().select(pane.model.index(row, 0), flag.Select | flag.Rows)
        assert bar.counter.text.startswith(f"{rows} selected")
        assert places() == before
    pane.table.select_row(0)
    assert places() == before


async def test_a_filter_without_matches_offers_to_clear_it(qtbot: QtBot, scope: TaskScope) -> None:
    """The message quotes the words, the button clears them."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(5))
    QTest.keyClicks(pane.filter_bar.field, "zebra")
    await wait_until(pane.no_match.isVisible)
    assert "zebra" in pane.no_match.sentence.text()
    field = pane.filter_bar.field
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_Return)
    pane.no_match.button.click()
    await wait_until(lambda: pane.model.rowCount() == 5)
    assert pane.table.isVisible()
    assert not pane.table.hasFocus(), "what is typed next is no key of the table"


async def test_the_keys_of_a_composition_are_not_those_of_the_search(qtbot: QtBot, scope: TaskScope) -> None:
    pane = await open_outputs_page(qtbot, scope, sample_cache(5))
    field = pane.filter_bar.field
    field.setFocus()
    QTest.keyClicks(field, "e")
    QCoreApplication.sendEvent(field, QInputMethodEvent("hao", []))
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert field.hasFocus()
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert (field.composition, field.text()) == ("", "e")


async def test_state_session_and_order(qtbot: QtBot, scope: TaskScope) -> None:
    """The menu's state, the session's switch and the header narrow and turn the list."""
    source = sample_cache(40)
    pane = await open_outputs_page(qtbot, scope, source)
    pane.filter_bar.toggle(state_option("cached"))
    markers = sum(row.state == "cached" for row in source.all_rows)
    await wait_until(lambda: pane.model.rowCount() == markers)
    pane.filter_bar.toggle(state_option("cached"))
    pane.filter_bar.session.click()
    await wait_until(lambda: pane.model.rowCount() == 20)
    pane.filter_bar.session.click()
    await wait_until(lambda: pane.model.rowCount() == 40)
    pane.table.sort_requested.emit("used")
    await wait_until(lambda: pane.model.digest_at(0) == cache_row(39).digest)
    assert "↑" in str(pane.model.headerData(COLUMN_INDEX["used"], Qt.Orientation.Horizontal))
    tips = [str(pane.model.headerData(at, Qt.Orientation.Horizontal, _TIP)) for at in range(len(COLUMNS))]
    assert len({tip.partition("\nClick to sort by ")[0] for tip in tips}) == len(COLUMNS), "each has its own"


async def test_new_entries_move_neither_selection_nor_view(qtbot: QtBot, scope: TaskScope) -> None:
    """Entries that arrive on top do not scroll the visible rows."""
    source = sample_cache(500)
    pane = await open_outputs_page(qtbot, scope, source)
    pane.table.select_row(200)
    row = pane.table.rowAt(10)
    top = pane.model.digest_at(row)
    digest = pane.table.current_digest()
    source.all_rows[:0] = [cache_row(1_000), cache_row(1_001)]
    pane.refresh()
    await wait_until(lambda: pane.model.rowCount() == 502)
    assert pane.table.current_digest() == digest
    assert pane.model.digest_at(pane.table.rowAt(10)) == top


async def test_what_was_used_again_goes_to_the_top_and_moves_neither_selection_nor_view(
    qtbot: QtBot, scope: TaskScope
) -> None:
    """Wherever it was: below what is shown, or the first row of that."""
    source = sample_cache(500)
    pane = await open_outputs_page(qtbot, scope, source)
    for used in (400, 198):
        pane.table.select_row(200)
        pane.table.select_also([pane.model.digest_at(220)])
        bar = pane.table.verticalScrollBar()
        bar.setValue(198 * pane.table.verticalHeader().defaultSectionSize())
        second = pane.model.digest_at(199)
        chosen = pane.table.selected_digests()
        source.all_rows.insert(0, source.all_rows.pop(used))

        def is_on_top(digest: str = source.all_rows[0].digest) -> bool:
            return pane.model.digest_at(0) == digest

        pane.refresh()
        await wait_until(is_on_top)
        assert (pane.table.selected_digests(), len(chosen)) == (chosen, 2)
        assert second in [pane.model.digest_at(pane.table.rowAt(0) + at) for at in (0, 1)]


async def test_a_list_that_is_scrolled_beyond_its_end_is_refreshed(qtbot: QtBot, scope: TaskScope) -> None:
    """Out of sight, its bar is where it was when there were more rows."""
    source = sample_cache(500)
    pane = await open_outputs_page(qtbot, scope, source)
    pane.table.verticalScrollBar().setValue(6_000)
    pane.hide()
    for count in (2, 1):
        del source.all_rows[count:]
        pane.refresh()
        await wait_until(lambda: pane.model.rowCount() == len(source.all_rows))
    pane.show()
    assert pane.table.rowAt(0) == 0


async def test_a_refresh_displays_the_changes(qtbot: QtBot, scope: TaskScope) -> None:
    """The same entry in another state is fetched again; the preview has the same tokens as the table."""
    source = sample_cache(3)
    pane = await open_outputs_page(qtbot, scope, source)
    await wait_until(lambda: pane.model.entry(0) is not None)
    row = source.all_rows[0]
    pane.table.select_row(0)
    pane.show_preview(PreviewState(row, CODE))
    changed = replace(row, state="handed_over", tokens=777, saved=9, recalls=9, references=9)
    source.all_rows[0] = changed
    pane.refresh()
    await wait_until(lambda: pane.model.entry(0) == changed)
    await wait_until(lambda: "777 tokens" in pane.preview.recall_button.accessibleName())


async def test_selecting_a_filtered_entry_clears_the_filter(qtbot: QtBot, scope: TaskScope) -> None:
    pane = await open_outputs_page(qtbot, scope, sample_cache(50))
    QTest.keyClicks(pane.filter_bar.field, "docs")
    await wait_until(lambda: pane.model.rowCount() < 50)
    pane.select(cache_row(4).digest)
    await wait_until(lambda: pane.table.current_digest() == cache_row(4).digest)
    assert pane.filter_bar.field.text() == ""


async def test_recall_complete_and_by_lines(qtbot: QtBot, scope: TaskScope) -> None:
    """The button states the cost; Ctrl+Enter recalls everything or the selected lines."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(10))
    pane.table.select_row(0)
    row = cache_row(0)
    pane.show_preview(PreviewState(row, CODE))
    assert "≈ 225 tokens" in pane.preview.recall_button.text()
    with performed(pane) as intents:
        QTest.keyClick(pane.table, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert intents == [Recall(row.digest)]
    text = pane.preview.content.text
    cursor = QTextCursor(text.document().findBlockByNumber(1))
    cursor.movePosition(QTextCursor.MoveOperation.NextBlock, QTextCursor.MoveMode.KeepAnchor, 3)
    text.setTextCursor(cursor)
    assert "Recall lines 2–4" in pane.preview.recall_button.text()
    assert intents_of(pane, pane.preview.recall_button.click) == [Recall(row.digest, 2, 4)]


async def test_lines_of_indented_json_are_no_lines_of_the_output(qtbot: QtBot, scope: TaskScope) -> None:
    pane = await open_outputs_page(qtbot, scope, sample_cache(10))
    pane.table.select_row(0)
    pane.show_preview(PreviewState(cache_row(0), b'[{"a": 1}, {"a": 2}]'))
    content = pane.preview.content
    content.choose("indented")
    cursor = QTextCursor(content.text.document().findBlockByNumber(2))
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
    content.text.setTextCursor(cursor)
    assert content.text.selected_lines() == (3, 3)
    assert intents_of(pane, pane.preview.recall_button.click) == [Recall(cache_row(0).digest)]
    content.choose("text")
    content.text.selectAll()
    assert intents_of(pane, pane.preview.recall_button.click) == [Recall(cache_row(0).digest, 1, 1)]


async def test_keys_verify_copy_and_save(qtbot: QtBot, scope: TaskScope) -> None:
    """V, Ctrl+C, Ctrl+Shift+C and Ctrl+S do the same as their buttons."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(10))
    pane.table.select_row(3)
    row = cache_row(3)
    pane.show_preview(PreviewState(row, b"exact bytes"))
    pane.table.setFocus()
    with performed(pane) as verify:
        QTest.keyClick(pane.table, Qt.Key.Key_V)
    assert verify == [VerifyEntries((row.digest,))]
    QTest.keyClick(pane.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == row.digest
    pane.preview.content.copy_content()
    assert QGuiApplication.clipboard().text() == "exact bytes"
    with performed(pane) as save:
        QTest.keyClick(pane.table, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert save == [SaveEntry(row.digest)]
    pane.keys.use({"cache_verify": (), "cache_save": ("V",), "cache_recall": ("Shift+Return",)})
    with performed(pane) as moved:
        QTest.keyClick(pane.table, Qt.Key.Key_V)
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            QTest.keyClick(pane.table, key, Qt.KeyboardModifier.ShiftModifier)
    assert moved == [SaveEntry(row.digest), Recall(row.digest), Recall(row.digest)]
    assert pane.preview.recall_button.toolTip().endswith("(Shift+Enter)")


async def test_damage_appears_in_table_and_preview(qtbot: QtBot, scope: TaskScope) -> None:
    """A failed check turns the row's state, and recall stays off without bytes."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(10))
    pane.table.select_row(1)
    pane.show_preview(PreviewState(cache_row(5), b"late"))
    assert pane.preview.digest == "", "the selection had moved on"
    pane.table.select_row(2)
    digest = cache_row(2).digest
    pane.show_preview(PreviewState(cache_row(2), None, "The stored bytes no longer have this hash."))
    await wait_until(lambda: pane.model.entry(2) is not None)
    pane.set_verified(digest, False, "damaged")
    entry = pane.model.entry(2)
    assert entry is not None
    assert entry.state == "damaged"
    assert pane.preview.verified.text == "damaged"
    assert not pane.preview.recall_button.isEnabled()


class BrokenCache(SampleCache):
    async def ids(self, cache_filter: CacheFilter) -> bytes:
        raise StoreClosed(
            verbatim("The cache cannot be read."),
            verbatim("The workspace was closed."),
            verbatim("Open it again."),
        )

    async def rows(self, digests: Sequence[str]) -> Sequence[CacheRow]:
        raise StoreClosed(verbatim("The cache cannot be read."))


async def test_a_failing_source_is_reported_in_place(qtbot: QtBot, scope: TaskScope) -> None:
    """What, why and what to do appear above the table; the window keeps working."""
    pane = OutputsPage(scope.start, lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.show()
    pane.set_source(BrokenCache([cache_row(1)]))
    await wait_until(pane._notice.isVisible)
    assert "Open it again." in pane._error.text()


async def test_find_moves_from_hit_to_hit(qtbot: QtBot, scope: TaskScope) -> None:
    """Ctrl+F searches all pages, Enter goes to the next hit, Shift+Enter back, Esc closes."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(10))
    pane.table.select_row(0)
    data = b"".join(b"row %d%s\n" % (n, b" needle" if n % 400 == 7 else b"") for n in range(1_200))
    pane.show_preview(PreviewState(cache_row(0), data))
    content = pane.preview.content
    QTest.keyClick(pane.table, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert content.find_bar.isVisible()
    QTest.keyClicks(content.find_bar.field, "NEEDLE")
    await wait_until(lambda: content.find_bar.count.text == "1 of 3")
    QTest.keyClick(content.find_bar.field, Qt.Key.Key_Return)
    assert content.text.page_index == 1
    QTest.keyClick(content.find_bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert content.text.page_index == 0
    QTest.keyClick(content.find_bar.field, Qt.Key.Key_Escape)
    assert not content.find_bar.isVisible()


async def test_digests_are_shown_by_twelve_digits_and_copied_whole(qtbot: QtBot, scope: TaskScope) -> None:
    """In a window of 1440 x 900, beside the panel, in the code font; the tip has all 64 digits too."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(3))
    table = pane.table
    pane.resize(824, 700)
    await wait_until(lambda: pane.model.entry(0) is not None)
    at = COLUMN_INDEX["digest"]
    assert not table.isColumnHidden(at)
    index = table.model().index(0, at)
    digest = cache_row(0).digest
    assert (len(digest), index.data()) == (64, digest[:12])
    assert index.data(Qt.ItemDataRole.ToolTipRole) == digest
    room = table.columnWidth(at) - 2 * PAD
    assert QFontMetricsF(ui_font(12, is_code=True)).horizontalAdvance(digest[:12]) <= room
    table.select_row(0)
    table.setFocus()
    QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == digest


def test_columns_are_hidden_by_rank() -> None:
    """Columns are shown as they fit, state and target always; the widths fill the space."""
    assert fitting_columns(4_000).keys() == {column.key for column in COLUMNS}
    assert fitting_columns(100).keys() == {"state", "target"}
    beside_the_panel = 806  # pixels, in the window as it opens
    assert "line" in fitting_columns(beside_the_panel), "what is in it says more than its digest"
    assert "digest" in fitting_columns(beside_the_panel)
    assert {"used", "tokens"} <= fitting_columns(675).keys(), (
        "in the smallest window the digest is in the preview"
    )
    for pane_width in range(500, 1_600, 37):
        scale = 1 + pane_width % 7 / 13
        columns = fitting_columns(pane_width, scale)
        widths = [*columns.values()]
        assert sum(widths) <= pane_width
        assert sum(widths) > pane_width - len(widths)


async def test_a_dragged_width_stays_until_columns_fit_the_window_again(
    qtbot: QtBot, scope: TaskScope
) -> None:
    """The next sort gave the column its former width."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(3))
    table = pane.table
    at = COLUMN_INDEX["tool"]
    head = table.horizontalHeader()
    before = table.columnWidth(at)
    edge = QPoint(head.sectionViewportPosition(at) + before - 1, head.height() // 2)
    QTest.mousePress(head.viewport(), Qt.MouseButton.LeftButton, pos=edge)
    QTest.mouseMove(head.viewport(), edge + QPoint(40, 0))
    QTest.mouseRelease(head.viewport(), Qt.MouseButton.LeftButton, pos=edge + QPoint(40, 0))
    assert table.columnWidth(at) == before + 40
    table.columns.fit()
    assert table.columnWidth(at) == before + 40
    assert sum(table.columnWidth(column) for column in range(len(COLUMNS))) <= table.viewport().width()
    menu = table.columns.menu(table)
    fit = menu.findChild(QAction, "fit")
    assert isinstance(fit, QAction)
    assert not fit.isChecked()
    fit.trigger()
    assert table.columnWidth(at) == before


async def test_tab_goes_from_the_views_to_the_content_and_shows_where_it_is(
    qtbot: QtBot, scope: TaskScope
) -> None:
    """The views came after the content, which had a caret and no ring."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(3))
    pane.activateWindow()
    pane.show_preview(PreviewState(cache_row(0), CODE))
    content = pane.preview.content
    stops = list(tab_stops(content))
    first_view = next(button for button in content.switch.findChildren(TabButton) if button.isVisible())
    assert [stops.index(part) for part in (first_view, content.text)] == [0, len(stops) - 1]
    assert content.copy_button in stops
    content.text.setFocus(Qt.FocusReason.TabFocusReason)
    assert any(ring.isVisible() for ring in content.text.findChildren(FocusRing))
