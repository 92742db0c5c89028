"""Formulas, tables and lists of answers: drawn, scrolled sideways, copied and found as they are written."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QTextDocument, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from helix_desktop.ui.chat.actions import CopyCode, ScrollText
from helix_desktop.ui.chat.markdown.document_writer import ColumnNeed, DocumentWriter, column_widths
from helix_desktop.ui.chat.markdown.parser import MarkdownParser, Paragraph, Prose, Span
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.row_texts import text_of_row
from helix_desktop.ui.chat.rows.row_types import AssistantRow
from helix_desktop.ui.chat.style import BODY, ChatStyle
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.style.theme import DARK, LIGHT
from tests.support.window.chat_geometry import hit_area_point, row_key, row_widget
from tests.support.window.looks import ShowLook
from tests.support.window.painted_text import dark_columns, painted

WORDS = "Sorting takes $O(n \\log n)$ here, and $x_1 \\le x_2$."
ALONE = "So:\n\n$$\n\\frac{a}{b}\n= \\sqrt{c}\n$$\n\nEnd."
_IMAGE = "\ufffc"


def _texts(view: ChatView) -> list[TextLayout]:
    return list(view.chat_viewport.item(0).texts)


def _image_count(view: ChatView) -> int:
    return sum(text.document.toPlainText().count(_IMAGE) for text in _texts(view))


def _show(qtbot: QtBot, view: ChatView, text: str, *, drawn: int) -> None:
    """Show an answer, and wait until so many formulas are drawn and none is waited for."""
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), text)])
    qtbot.waitUntil(lambda: _image_count(view) == drawn and not _is_waiting(view), timeout=30_000)


def _is_waiting(view: ChatView) -> bool:
    return any(text.awaited_formulas for text in _texts(view))


def test_the_source_is_shown_first_and_stays_what_is_read(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), WORDS)])
    before = view.chat_viewport.item(0).accessible_text()
    assert _image_count(view) == 0
    assert "O(n \\log n)" in before
    qtbot.waitUntil(lambda: _image_count(view) == 2, timeout=30_000)
    assert view.chat_viewport.item(0).accessible_text() == before


def test_a_formula_is_selected_as_one_and_copied_as_its_source(qtbot: QtBot, view: ChatView) -> None:
    _show(qtbot, view, WORDS, drawn=2)
    view.select_all()
    assert view.selected_text() == "Sorting takes O(n \\log n) here, and x_1 \\le x_2."
    (text,) = _texts(view)
    at = text.document.toPlainText().index(_IMAGE)
    assert text.text(at, at + 1) == "O(n \\log n)"
    assert text.text(at - 6, at) == "takes "
    assert text.text(at + 1, at + 6) == " here"
    _show(qtbot, view, "1. One $x^1$ is\n\n   and $y^2$, `$z$`.\n   > $w$", drawn=3)
    assert "\n".join(part.text() for part in _texts(view)) == "1. One x^1 is\nand y^2, $z$.\nw"


def test_the_source_is_found_where_its_formula_stands(qtbot: QtBot, view: ChatView) -> None:
    _show(qtbot, view, WORDS, drawn=2)
    (text,) = _texts(view)
    for needle, shown in (
        ("takes", "takes"),
        ("log", _IMAGE),
        ("LE X", _IMAGE),
        ("here", "here"),
        ("s O(n \\log n) h", "s \ufffc h"),
    ):
        ((start, end),) = text.find_all(needle)
        assert text.document.toPlainText()[start:end] == shown
        assert needle.lower() in text.text(start, end).lower()


def test_a_formula_of_its_own_keeps_its_lines_and_has_a_menu(qtbot: QtBot, view: ChatView) -> None:
    _show(qtbot, view, ALONE, drawn=1)
    formula = _texts(view)[1]
    assert formula.text() == "\\frac{a}{b}\n= \\sqrt{c}"
    line = formula.line_rect(0)
    center = row_widget(view, "a").pos() + line.center().toPoint()
    reason = QContextMenuEvent.Reason.Mouse
    view.contextMenuEvent(QContextMenuEvent(reason, center, view.viewport().mapToGlobal(center)))
    menu = next(menu for menu in view.findChildren(QMenu) if menu.isVisible())
    action = next(action for action in menu.actions() if action.objectName() == "copy-formula")
    action.trigger()
    menu.close()
    assert QGuiApplication.clipboard().text() == "\\frac{a}{b}\n= \\sqrt{c}"


def test_what_cannot_be_drawn_stays_code_that_can_be_copied(qtbot: QtBot, view: ChatView) -> None:
    source = "\\begin{tikzcd}\nA & B\n\\end{tikzcd}"
    _show(qtbot, view, f"See $\\unknown{{x}}$ and\n\n$$\n{source}\n$$\n\nbut $x$.", drawn=1)
    item = view.chat_viewport.item(0)
    area = item.hit_area_for(CopyCode)
    assert area is not None
    assert isinstance(area.action, CopyCode)
    assert item.copy_text(area.action.text_number) == source
    assert _texts(view)[0].text() == "See \\unknown{x} and"


def test_formulas_are_drawn_while_the_answer_arrives_and_in_another_theme(
    qtbot: QtBot, view: ChatView, show_look: ShowLook
) -> None:
    model = view.chat_viewport.model
    key = row_key("a")
    model.reset([AssistantRow(key, "First $x^2$", streaming=True)])
    qtbot.waitUntil(lambda: _image_count(view) == 1, timeout=30_000)
    model.stream(key, ", then $y_1$ and")
    qtbot.waitUntil(lambda: _image_count(view) == 2, timeout=30_000)
    model.stream(key, " more.")
    model.replace(key, AssistantRow(key, "First $x^2$, then $y_1$ and more."))
    assert text_of_row(model.row(0)) == "First $x^2$, then $y_1$ and more."
    light = _first_image(view)
    show_look(DARK)
    qtbot.waitUntil(lambda: _image_count(view) == 2, timeout=30_000)
    assert _first_image(view) != light, "drawn in the color of the words"


def test_a_table_from_right_to_left_keeps_formulas_in_their_cells(qtbot: QtBot, view: ChatView) -> None:
    _show(qtbot, view, "| אבג | $x_1$ | אבג |\n|---|---|---|\n| $y_2$ | אבג | $z_3$ |", drawn=3)
    (table,) = _texts(view)
    assert table.is_mirrored
    assert table.text() == "אבג\tx_1\tאבג\ny_2\tאבג\tz_3"


def _first_image(view: ChatView) -> bytes:
    document = _texts(view)[0].document
    resource = document.resource(QTextDocument.ResourceType.ImageResource.value, "image:0")
    return bytes(resource.constBits())


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
    area = view.viewport()
    left = Qt.MouseButton.LeftButton
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


@pytest.mark.usefixtures("qapp")
def test_numbers_from_a_hundred_on_have_room() -> None:
    style = ChatStyle(LIGHT)
    markers = ("9.", "99.", "100.", "111.", "777.", "1000.")
    items = (Paragraph((Span("An item"),), indent=1, marker=marker) for marker in markers)
    document = DocumentWriter(style).write_prose(Prose(tuple(items))).document
    lefts = [document.findBlockByNumber(number).blockFormat().leftMargin() for number in range(len(markers))]
    assert (lefts[0], lefts[2]) == (lefts[1], lefts[3])
    for left, marker in zip(lefts, markers, strict=True):
        assert left >= style.width(marker, style.font(BODY))


@pytest.mark.usefixtures("qapp")
def test_a_paragraph_stands_below_the_first_one_of_its_item() -> None:
    (chunk,) = MarkdownParser().parse("100. An item\n\n     goes on\n     - nested\n\n     and on")
    (block,) = chunk.blocks
    assert isinstance(block, Prose)
    document = DocumentWriter(ChatStyle(LIGHT)).write_prose(block).document
    first, second, nested, last = (
        document.findBlockByNumber(number).blockFormat().leftMargin() for number in range(4)
    )
    assert first == second == last < nested


@pytest.mark.usefixtures("qapp")
def test_the_bar_of_a_quote_is_left_of_the_numbers_in_it() -> None:
    (chunk,) = MarkdownParser().parse("> before\n>\n> 1. An item\n> 2. Another")
    (block,) = chunk.blocks
    assert isinstance(block, Prose)
    assert {paragraph.quotes for paragraph in block.paragraphs} == {(0,)}
    text = DocumentWriter(ChatStyle(LIGHT)).write_prose(block)
    text.layout(400)
    image = painted(text)
    bar = [row for row in range(int(text.height)) if image.pixelColor(1, row).lightness() < 250]
    assert bar == list(range(bar[0], bar[-1] + 1)), "one bar for all of the quote"
    assert bar[-1] - bar[0] > text.height - 8
    empty = [column for column in range(3, 15) if column not in dark_columns(image, 30, round(text.height))]
    assert len(empty) > 5, "between the bar and the numbers"


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("words", ["- `first`\n- second", "- `first` שני\n- שני"])
def test_the_bullets_of_a_list_stand_below_each_other_also_before_code(words: str) -> None:
    blocks = [block for chunk in MarkdownParser().parse(words) for block in chunk.blocks]
    items = tuple(item for block in blocks if isinstance(block, Prose) for item in block.paragraphs)
    text = DocumentWriter(ChatStyle(LIGHT)).write_prose(Prose(items))
    text.layout(400)
    image = painted(text)
    is_from_right = "שני" in words
    second = round(text.document.documentLayout().blockBoundingRect(text.document.lastBlock()).top())
    edges = []
    for top, bottom in ((0, second), (second, image.height())):
        columns = dark_columns(image, top, bottom)
        edges.append(max(columns) if is_from_right else min(columns))
    assert edges[0] == edges[1]
