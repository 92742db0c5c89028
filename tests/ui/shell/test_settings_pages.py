"""The names of the settings' pages: which one is highlighted."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.settings.dialog import SettingsDialog


def test_never_two_pages_are_highlighted(qtbot: QtBot) -> None:
    """The keyboard's ring goes with the page: by mouse, by arrow keys, and when it is opened at a page."""
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = SettingsDialog(parent)
    names = ("providers", "roles", "data", "about")
    buttons = {name: dialog.findChild(QPushButton, f"page:{name}") for name in names}
    with qtbot.waitActive(dialog):
        dialog.show()
        dialog.activateWindow()
    QTest.keyClick(dialog, Qt.Key.Key_Tab)

    def highlighted() -> set[str]:
        return {
            name for name, one in buttons.items() if one is not None and (one.hasFocus() or one.isChecked())
        }

    assert highlighted() == {"providers"}
    data = buttons["data"]
    assert data is not None
    QTest.mouseClick(data, Qt.MouseButton.LeftButton)
    assert (dialog.page(), highlighted()) == ("data", {"data"})
    QTest.keyClick(data, Qt.Key.Key_Down)
    assert (dialog.page(), highlighted()) == ("about", {"about"})
    dialog.show_page("roles")
    assert highlighted() == {"roles"}
