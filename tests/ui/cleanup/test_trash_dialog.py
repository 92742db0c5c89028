"""The trash by keyboard."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.domain.retention import TrashContents
from helix_desktop.domain.store import SessionSummary
from helix_desktop.ui.workspace_dialogs.cleanup_dialogs import TrashDialog


def test_enter_restores_the_first_item_at_once(qtbot: QtBot) -> None:
    """The list has the keyboard and its first item is selected; nothing else is pressed with it."""
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = TrashDialog(parent, "app")
    restored: list[list[str]] = []
    deleted: list[list[str]] = []
    dialog.restore_requested.connect(lambda _, sessions: restored.append(sessions))
    dialog.delete_requested.connect(lambda _, sessions: deleted.append(sessions))
    with qtbot.waitActive(dialog):
        dialog.show()
    dialog.show_trash(TrashContents((), (SessionSummary("a", "one", 1, 1), SessionSummary("b", "two", 1, 1))))
    assert dialog.entry_list.hasFocus()
    QTest.keyClick(dialog.entry_list, Qt.Key.Key_Return)
    QTest.keyClick(dialog.entry_list, Qt.Key.Key_Down)
    QTest.keyClick(dialog.entry_list, Qt.Key.Key_Return)
    assert (restored, deleted) == ([["a"], ["b"]], [])
    assert dialog.isVisible()
    dialog.close()
