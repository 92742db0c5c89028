"""Dialogs that keep the room their words need, and to their screen."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

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
