"""Dialogs that keep the room their words need, and to their screen."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.sized_dialog import SizedDialog


def test_a_dialog_opens_no_larger_than_its_screen(qtbot: QtBot) -> None:
    """Else its buttons would be out of reach."""
    parent = QWidget()
    qtbot.addWidget(parent)
    screen = parent.screen().availableSize()
    dialog = SizedDialog(parent, (400, screen.height() + 200), (300, 200))
    with qtbot.waitExposed(dialog):
        dialog.show()
    assert dialog.height() <= screen.height()
    assert dialog.width() == 400
    dialog.close()


def test_it_shrinks_from_its_own_height_and_grows_from_any(qtbot: QtBot) -> None:
    """A height that the user chose stays as long as everything fits; the middle, if the screen allows."""
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = SizedDialog(parent, (300, 400), (200, 100))
    with qtbot.waitExposed(dialog):
        dialog.show()
    dialog.move(100, 100)
    dialog.fit_height(200)
    assert (dialog.y(), dialog.height()) == (200, 200)
    dialog.resize(300, 300)
    dialog.fit_height(200)
    assert (dialog.y(), dialog.height()) == (200, 300)
    dialog.fit_height(500)
    assert (dialog.y(), dialog.height()) == (100, 500)
    dialog.fit_height(200)
    assert dialog.height() == 200
    available = dialog.screen().availableGeometry()
    dialog.move(100, available.bottom() - 199)
    dialog.fit_height(500)
    assert (dialog.height(), dialog.geometry().bottom()) == (500, available.bottom())
    dialog.close()


def test_one_that_grows_with_what_is_in_it_stays_on_the_screen(qtbot: QtBot) -> None:
    """A list was opened: the buttons below it left the screen."""
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog, part = SizedDialog(parent, (300, 200), (200, 100)), QWidget()
    dialog.setLayout(column(part))
    with qtbot.waitExposed(dialog):
        dialog.show()
    available = dialog.screen().availableGeometry()
    dialog.move(100, available.bottom() - 249)
    part.setMinimumHeight(400)
    qtbot.waitUntil(lambda: dialog.height() >= 400)
    assert available.contains(dialog.geometry())
    dialog.close()


@pytest.mark.parametrize("by_keyboard", [True, False])
def test_a_dialog_opened_with_the_keyboard_shows_at_once_where_it_is(qtbot: QtBot, by_keyboard: bool) -> None:
    """Lists ask their window for that."""
    parent = QWidget()
    qtbot.addWidget(parent)
    first, second = QLineEdit(parent), QLineEdit(parent)
    with qtbot.waitActive(parent):
        parent.show()
    first.setFocus()
    QTest.keyClick(first, Qt.Key.Key_Tab)
    assert second.hasFocus()
    if not by_keyboard:
        QTest.mouseClick(first, Qt.MouseButton.LeftButton)
    dialog = SizedDialog(parent, (400, 300), (300, 200))
    with qtbot.waitExposed(dialog):
        dialog.show()
    assert dialog.testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange) is by_keyboard
    dialog.close()


def test_a_dialog_opens_at_the_same_place_again(qtbot: QtBot) -> None:
    """In the middle of its window: where Qt puts it is lower by the title bar, from the second time on."""
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.setGeometry(100, 100, 500, 400)
    dialog = SizedDialog(parent, (400, 300), (300, 200))
    places = []
    for _ in range(2):
        with qtbot.waitExposed(dialog):
            dialog.show()
        places.append(dialog.geometry())
        dialog.move(dialog.pos() + QPoint(0, 20))
        dialog.close()
    assert [place.center() for place in places] == [parent.geometry().center()] * 2
