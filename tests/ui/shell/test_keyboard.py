"""The keyboard among the panes of the window, and what stands still for those who want that."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QProgressBar, QPushButton, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.focus import mark_pane_stop
from helix_desktop.ui.design.layout import column
from helix_desktop.ui.design.style.theme import reduce_motion
from helix_desktop.ui.kit.commands import add_shortcut
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.window.key_bindings import focus_pane
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.sidebar.rail import WorkspaceRow
from helix_desktop.ui.window.sidebar.session_list import SessionItem
from helix_desktop.ui.window.status_lines import JobRow
from tests.support.window.buttons import find_button
from tests.support.window.keyboard_focus import focused_widget


def test_next_pane_wraps_around(qtbot: QtBot, window: MainWindow) -> None:
    window.show_center_page("work")
    panes = {"rail": window.rail, "sidebar": window.sidebar, "center": window._center}
    visited: list[str] = []
    for _ in range(4):
        window.commands.next_pane.trigger()
        focused = focused_widget()
        visited += [name for name, pane in panes.items() if pane.isAncestorOf(focused)]

    assert set(visited) == {"rail", "sidebar", "center"}
    assert visited[0] == visited[3]


class CountedButton(QPushButton):
    """Counts how often anybody looks whether it is in sight."""

    looks = 0

    def isVisible(self) -> bool:
        CountedButton.looks += 1
        return super().isVisible()


def test_the_way_to_the_next_pane_leads_past_what_is_in_a_page(qtbot: QtBot) -> None:
    """A timeline has thousands of buttons; only the page itself is a stop."""
    panes: list[QWidget] = []
    window = QWidget()
    qtbot.addWidget(window)
    for _ in range(2):
        page, content = QScrollArea(), QWidget()
        page.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        mark_pane_stop(page)
        content.setLayout(column(CountedButton("Undo")))
        page.setWidget(content)
        pane = QWidget()
        pane.setLayout(column(page))
        panes.append(pane)
    window.setLayout(column(*panes))
    with qtbot.waitExposed(window):
        window.show()
    CountedButton.looks = 0

    visited: set[QWidget | None] = set()
    for _ in panes:
        focus_pane(panes, 1)
        visited.add(window.focusWidget())

    assert visited == set(window.findChildren(QScrollArea))
    assert CountedButton.looks == 0


def test_panes_are_left_and_entered_at_their_lists(qtbot: QtBot, window: MainWindow) -> None:
    """A list gets a current line, or there would be no ring; Shift+F6 goes the same way back."""
    window.show_center_page("work")
    now = datetime.now()
    window.sidebar.show_sessions(
        [SessionItem("s", "Title", "", int(now.timestamp() * 1_000), None, False, False)], now
    )
    window.show_workspaces((WorkspaceRow("w", "Weather", "/weather", active=True),))
    qtbot.waitUntil(window.rail.button("w").isVisible)
    stops: list[QWidget] = []
    for key in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier):
        for _ in range(3):
            QTest.keyClick(window, Qt.Key.Key_F6, key)
            focused = focused_widget()
            stops.append(focused)
    sessions = window.sidebar.session_list
    assert {window.rail.button("w"), sessions} < set(stops)
    assert sessions.currentIndex().flags() & Qt.ItemFlag.ItemIsSelectable
    assert [stops[1], stops[0]] == stops[3:5]


def test_the_edit_menu_does_what_the_keys_do_where_the_keyboard_is(qtbot: QtBot, window: MainWindow) -> None:
    """An action of a page around the focus has them, unless what has the focus takes them itself."""
    page, field, button = QWidget(window), QLineEdit(), QPushButton()
    page.setLayout(column(field, button))
    undone: list[str] = []
    add_shortcut(page, "Ctrl+Z", lambda: undone.append("page"), Qt.ShortcutContext.WidgetWithChildrenShortcut)
    add_shortcut(page, "Ctrl+C", lambda: undone.append("copy"), Qt.ShortcutContext.WidgetShortcut)
    page.show()
    for is_taken, widget in ((True, field), (False, button)):
        widget.setFocus()
        qtbot.waitUntil(widget.hasFocus)
        if is_taken:
            QTest.keyClicks(field, "typed")
        window.commands.undo.trigger()
        window.commands.copy.trigger()
        assert (field.text(), undone) == ("", [] if is_taken else ["page"])


def test_nothing_moves_when_motion_is_reduced(window: MainWindow) -> None:
    """A bar without an end would run for ever, and the text cursor blink."""
    window.show_center_page("work")
    usual_ms = QGuiApplication.styleHints().cursorFlashTime()
    try:
        for moves in (False, True):
            reduce_motion("off" if moves else "on")
            window.jobs.show_jobs([JobRow("j", "Working"), JobRow("k", "Copying", 0.5)])
            bars = {bar.accessibleName(): bar.isVisible() for bar in window.jobs.findChildren(QProgressBar)}
            assert bars == {"Working": moves, "Copying": True}
            assert QGuiApplication.styleHints().cursorFlashTime() == (usual_ms if moves else 0)
    finally:
        reduce_motion("off")


def test_the_keyboard_returns_from_a_notice_that_goes(window: MainWindow) -> None:
    window.show_center_page("work")
    field = QLineEdit(window)
    field.show()
    field.setFocus()
    for way in ("removed", "elsewhere"):
        window.notices.notify(Notice("b", "Undone.", answers=(Answer("Undo", lambda: None, "undo"),)))
        find_button(window.notices, "undo").setFocus(Qt.FocusReason.MouseFocusReason)
        assert not field.hasFocus()
        if way == "removed":
            window.notices.end("b")
        else:
            window.notices.set_context("other", "session")
            window.notices.end("b")
        assert field.hasFocus(), way
