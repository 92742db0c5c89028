"""All commands behind one key: found by words, run with Enter, where the focus was before."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from helix_desktop.ui.kit.intents import Zoom
from helix_desktop.ui.settings.view import SettingsView
from helix_desktop.ui.window.command_list import PLACE_WORDS, CommandPalette, command_text
from helix_desktop.ui.window.main_window import MainWindow
from tests.support.intents import performed

_CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def opened(window: MainWindow) -> CommandPalette:
    QTest.keyClick(window, Qt.Key.Key_P, _CTRL_SHIFT)
    panel = window.help_windows.command_palette
    assert panel is not None
    assert panel.isVisible()
    assert QApplication.focusWidget() is panel.search
    return panel


def words(panel: CommandPalette) -> list[str]:
    return [line.words for line in panel.list_view.rows]


def test_the_panel_opens_as_high_as_whole_lines(window: MainWindow) -> None:
    view = opened(window).list_view
    ends = [
        view.visualRect(view.model().index(place, 0)).bottom() for place in range(view.model().rowCount())
    ]
    high = view.viewport().height()
    assert high < ends[-1]  # else there is nothing to cut
    assert high - 1 in ends


def test_a_command_is_found_by_its_words_and_run(qtbot: QtBot, window: MainWindow) -> None:
    panel = opened(window)
    QTest.keyClicks(panel.search, "text large")
    assert words(panel) == ["Larger text"]
    with performed(window) as intents:
        QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert intents == [Zoom(1)]
    assert not panel.isVisible()
    assert words(opened(window))[0] == "Larger text"


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("preferences", "Settings…"),
        ("dark mode", "Dark theme"),
        ("font zoom", "Larger text"),
        ("handover", "Compacted"),
    ],
)
def test_a_command_is_found_by_what_users_call_it(window: MainWindow, typed: str, first: str) -> None:
    panel = opened(window)
    QTest.keyClicks(panel.search, typed)
    assert words(panel)[0] == first


def test_a_word_of_the_menu_and_another_one_find_a_command(window: MainWindow) -> None:
    panel = opened(window)
    QTest.keyClicks(panel.search, "help manual")
    assert words(panel) == ["Guide"]


def test_a_topic_of_the_guide_is_a_command(window: MainWindow) -> None:
    panel = opened(window)
    QTest.keyClicks(panel.search, "marker")
    assert words(panel) == ["Cached"]
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert window.help_windows.guide is not None
    assert window.help_windows.guide.isVisible()


def test_other_words_are_those_of_commands_that_exist(window: MainWindow) -> None:
    opened(window)
    pages = {f"settings:{page}" for page in SettingsView.page_titles()}
    names = pages | {action.objectName() for action in window.findChildren(QAction)}
    assert names >= PLACE_WORDS.keys()


def test_a_menus_name_finds_its_commands(window: MainWindow) -> None:
    panel = opened(window)
    QTest.keyClicks(panel.search, "file")
    assert "Import…" in words(panel)
    assert "Larger text" not in words(panel)


def test_only_enabled_commands_are_offered(window: MainWindow) -> None:
    window.show_center_page("welcome")
    panel = opened(window)
    assert "Open folder…" in words(panel)
    assert "Compact conversation…" not in words(panel)
    assert "Command palette…" not in words(panel)
    QTest.keyClicks(panel.search, "compact conv")
    assert words(panel) == []
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert panel.isVisible()


def test_the_focus_returns_to_its_previous_place(qtbot: QtBot, window: MainWindow) -> None:
    field = QLineEdit(window)
    field.show()
    field.setFocus()
    panel = opened(window)
    QTest.keyClick(panel.search, Qt.Key.Key_Escape)
    assert not panel.isVisible()
    assert QApplication.focusWidget() is field
    panel = opened(window)
    QTest.keyClicks(panel.search, "normal text size")
    with performed(window) as intents:
        QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert intents == [Zoom(0)]
    assert QApplication.focusWidget() is field


def test_the_window_remembers_whether_the_keyboard_was_in_use(window: MainWindow) -> None:
    """A dialog that a command opens shows it then where the keyboard is."""
    for is_by_keyboard in (True, False):
        window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange, is_by_keyboard)
        window.commands.all_commands.trigger()  # as from a menu: its keys are use of the keyboard
        panel = window.help_windows.command_palette
        assert panel is not None
        QTest.keyClick(panel, Qt.Key.Key_Escape)
        assert window.testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange) == is_by_keyboard


def test_marks_for_the_keyboard_are_not_shown(window: MainWindow) -> None:
    """Where letters cannot be marked, as in Chinese, a menu names a key in brackets."""
    assert command_text(QAction("&Save as…\tCtrl+S", window)) == "Save as…"
    assert command_text(QAction("文件(&F)", window)) == "文件"


def test_checked_commands_are_marked(window: MainWindow) -> None:
    window.commands.theme_dark.setChecked(True)
    panel = opened(window)
    QTest.keyClicks(panel.search, "dark theme")
    text = panel.list_view.rows[0].spoken
    assert text.startswith("Dark theme, checked, View")
