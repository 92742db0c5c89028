"""The keyboard on its way back to where it was."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from helix_desktop.ui.design.focus import refocus


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
