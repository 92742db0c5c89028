"""Where the keyboard goes, and that it is seen there."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from helix_desktop.ui.design.focus import refocus
from helix_desktop.ui.design.layout.scrolling import VerticalScrollArea


def test_the_keyboard_goes_back_only_to_what_is_still_there(qtbot: QtBot) -> None:
    """What Qt has deleted meanwhile is no error: a tour or a panel has to end."""
    window, field = QWidget(), QLineEdit()
    field.setParent(window)
    qtbot.addWidget(window)
    assert not refocus(field)
    window.show()
    assert refocus(field)
    delete(field)
    assert not refocus(field)
    assert not refocus(None)


def test_a_page_scrolls_to_where_the_keyboard_comes_from_outside(qtbot: QtBot) -> None:
    """Qt scrolls for a move inside the page only: behind a page's end, Tab went to a field out of sight."""
    window, page, outside, field = QWidget(), QWidget(), QLineEdit(), QLineEdit()
    scrolled = QVBoxLayout(page)
    scrolled.addSpacing(2_000)
    scrolled.addWidget(field)
    column = QVBoxLayout(window)
    column.addWidget(outside)
    column.addWidget(VerticalScrollArea(page))
    qtbot.addWidget(window)
    window.resize(200, 300)
    window.show()
    window.activateWindow()
    outside.setFocus()
    assert field.visibleRegion().isEmpty()
    field.setFocus(Qt.FocusReason.TabFocusReason)
    assert not field.visibleRegion().isEmpty()
