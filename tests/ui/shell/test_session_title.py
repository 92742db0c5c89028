"""The session's title in the top bar: renamed by the mouse and by keys."""

from __future__ import annotations

from datetime import datetime

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTextEdit

from helix_desktop.ui.kit.intents import RenameSession
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.sidebar.session_list import SessionItem
from helix_desktop.ui.window.top_bar import TopBarState
from tests.support.intents import performed
from tests.support.window.keyboard_focus import focused_widget

HEADER = TopBarState("s1", "Streaming cache for handovers", "opus", demo=False, messages=412)


@pytest.fixture(autouse=True)
def _session(window: MainWindow) -> None:
    window.sidebar.show_sessions(
        [SessionItem("s1", "One", "opus · 2 messages", 0, 0.5, True)], datetime.now()
    )
    window.top_bar.show_session(HEADER)
    window.show_center_page("work")


def test_a_double_click_renames_the_session(window: MainWindow) -> None:
    title = window.top_bar.title
    QTest.mouseDClick(title, Qt.MouseButton.LeftButton)
    field = focused_widget()

    QTest.keyClicks(field, "New name")
    with performed(window) as intents:
        QTest.keyClick(field, Qt.Key.Key_Return)
    assert intents == [RenameSession("New name", "s1")]
    assert title.title() == "New name"


def test_f2_renames_the_row_in_focus_else_the_open_session(window: MainWindow) -> None:
    sessions = window.sidebar.session_list
    sessions.focus_first()
    QTest.keyClick(sessions, Qt.Key.Key_F2)
    focused = focused_widget()
    assert sessions.isAncestorOf(focused)
    field = window.findChildren(QTextEdit)[0]
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_F2)
    focused = focused_widget()
    assert window.top_bar.title.isAncestorOf(focused)


def test_esc_leaves_a_rename_without_a_change(window: MainWindow) -> None:
    message = window.findChildren(QTextEdit)[0]
    message.setFocus()
    window.top_bar.title.edit()
    field = focused_widget()
    QTest.keyClicks(field, "Other")

    with performed(window) as intents:
        QTest.keyClick(field, Qt.Key.Key_Escape)
    assert not intents
    assert QApplication.focusWidget() is message
    assert window.top_bar.title.title() == HEADER.title
