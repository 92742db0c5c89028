"""A table that is wider than the column scrolls sideways, by each way that a user may try."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QWheelEvent
from PySide6.QtTest import QTest

from helix_desktop.ui.chat.actions import ScrollText
from helix_desktop.ui.chat.markdown.document_writer import ColumnNeed, column_widths
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.row_types import AssistantRow
from helix_desktop.ui.chat.viewport.view import ChatView
from tests.support.window.chat_geometry import hit_area_point, row_key, row_widget

COLUMNS = 14
TABLE = "\n".join(
    "|" + "|".join(f" {word}{at} " for at in range(COLUMNS)) + "|" if word else "|" + "---|" * COLUMNS
    for word in ("heading", "", "value", "figure")
)


def shown_table(view: ChatView) -> TextLayout:
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), TABLE)])
    (text,) = view.chat_viewport.item(0).texts
    return text


def cell_point(view: ChatView, table: TextLayout, words: str) -> QPoint:
    """Return the position of the first letters of a cell, in the viewport."""
    line = table.line_rect(table.find_all(words)[0][0])
    row = row_widget(view, "a")
    return row.pos() + QPoint(6, 0) + QPointF(line.x() + 12, line.center().y()).toPoint()


@pytest.mark.parametrize(
    ("room", "widths"),
    [
        (400.0, [50.0, 300.0]),  # all fit in one line
        (200.0, [50.0, 150.0]),  # the long text wraps, the short one doesn't
        (100.0, [50.0, 280.0]),  # not even the words fit: wider than the room
    ],
)
def test_columns_keep_their_words_whole(room: float, widths: list[float]) -> None:
    needs = [ColumnNeed(40.0, 50.0), ColumnNeed(90.0, 300.0)]
    assert column_widths(needs, room, word_limit=220.0, wide_cell=280.0) == widths


def test_no_word_of_a_wide_table_is_broken(view: ChatView) -> None:
    table = shown_table(view)
    block = table.document.begin().next()
    while block.isValid():
        assert block.layout().lineCount() <= 1, block.text()
        block = block.next()
    assert table.rect.right() <= view.chat_viewport.item(0).width < table.content_width


def test_the_bar_of_a_table_is_dragged_and_has_the_arrow_keys(view: ChatView) -> None:
    table = shown_table(view)
    area, left = view.viewport(), Qt.MouseButton.LeftButton
    bar = view.chat_viewport.item(0).hit_area_for(ScrollText)
    assert bar is not None
    middle = hit_area_point(view, "a", bar.name)
    QTest.mousePress(area, left, pos=middle)
    QTest.mouseMove(area, middle + QPoint(900, 200))
    QTest.mouseRelease(area, left, pos=middle + QPoint(900, 200))
    assert table.offset == table.max_offset > 0
    row = row_widget(view, "a")
    row.focus_area(bar.name)
    QTest.keyClick(row, Qt.Key.Key_Left)
    assert 0 < table.offset < table.max_offset
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Return):  # to the end, and round to the beginning
        QTest.keyClick(row, key)
    assert table.offset == 0


@pytest.mark.parametrize(
    ("turn", "modifiers"),
    [
        (QPoint(-240, 0), Qt.KeyboardModifier.NoModifier),
        (QPoint(0, -240), Qt.KeyboardModifier.ShiftModifier),
    ],
)
def test_the_wheel_scrolls_a_table_sideways(
    view: ChatView, turn: QPoint, modifiers: Qt.KeyboardModifier
) -> None:
    table = shown_table(view)
    at = QPointF(cell_point(view, table, "value1"))
    event = QWheelEvent(
        at,
        view.viewport().mapToGlobal(at),
        QPoint(),
        turn,
        Qt.MouseButton.NoButton,
        modifiers,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QGuiApplication.sendEvent(view.viewport(), event)
    assert table.offset > 0


def test_what_is_found_scrolls_into_sight_and_is_selected_where_it_is_seen(view: ChatView) -> None:
    table = shown_table(view)
    view.find_text("figure13")
    assert table.offset == pytest.approx(table.max_offset, abs=12)
    at = cell_point(view, table, "figure13")
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert view.selected_text() == "figure13"


def test_a_short_cell_with_code_is_not_broken(view: ChatView) -> None:
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), "| A | B |\n|---|---|\n| `x^2` | 100 |")])
    (table,) = view.chat_viewport.item(0).texts
    block = table.document.findBlock(table.find_all("x^2")[0][0])
    assert block.layout().lineCount() == 1
    assert table.content_width == table.width
