"""Formulas in answers: drawn soon after their sources, which are what is copied, found and read aloud."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from helix_desktop.ui.chat.actions import CopyCode, ScrollText
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.row_texts import text_of_row
from helix_desktop.ui.chat.rows.row_types import AssistantRow
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.style.theme import DARK
from tests.support.window.chat_geometry import row_key, row_widget
from tests.support.window.looks import ShowLook

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


@pytest.mark.parametrize(
    ("needle", "shown"),
    [
        ("takes", "takes"),
        ("log", _IMAGE),
        ("LE X", _IMAGE),
        ("here", "here"),
        ("s O(n \\log n) h", "s \ufffc h"),
    ],
)
def test_the_source_is_found_where_its_formula_stands(
    qtbot: QtBot, view: ChatView, needle: str, shown: str
) -> None:
    _show(qtbot, view, WORDS, drawn=2)
    (text,) = _texts(view)
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


def test_a_formula_wider_than_the_column_scrolls(qtbot: QtBot, view: ChatView) -> None:
    _show(qtbot, view, "$$" + " + ".join(f"x_{{{number}}}" for number in range(40)) + "$$", drawn=1)
    bar = view.chat_viewport.item(0).hit_area_for(ScrollText)
    assert bar is not None
    (formula,) = _texts(view)
    row = row_widget(view, "a")
    row.focus_area(bar.name)
    QTest.keyClick(row, Qt.Key.Key_Right)
    assert 0 < formula.offset < formula.max_offset


def test_formulas_are_drawn_while_the_answer_arrives_and_in_another_theme(
    qtbot: QtBot, view: ChatView, show_look: ShowLook
) -> None:
    model, key = view.chat_viewport.model, row_key("a")
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
