"""Menus that are made when they open: the keys beside their entries."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.kit.commands import EntryMenu


def test_the_key_beside_an_entry_does_it_while_the_menu_is_open(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    done: list[str] = []
    for key in (Qt.Key.Key_P, Qt.Key.Key_C, Qt.Key.Key_X):
        menu = EntryMenu(parent)
        menu.add("pin", "Pin", lambda: done.append("pin"), "P")
        menu.add("cache", "Cache now", lambda: done.append("cache"), "C", is_enabled=False)
        menu.popup(parent.mapToGlobal(parent.rect().center()))
        QTest.keyClick(menu, key)
        assert menu.isVisible() is (key != Qt.Key.Key_P)
        menu.close()
    assert done == ["pin"], "one that is off does nothing"
