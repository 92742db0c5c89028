"""Keys among panes and of commands; what stands still for those who want that."""

from __future__ import annotations

import logging
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.focus import mark_pane_stop
from helix_desktop.ui.design.layout import column
from helix_desktop.ui.design.style.theme import reduce_motion
from helix_desktop.ui.kit.commands import WindowCommands, add_shortcut
from helix_desktop.ui.kit.intents import Zoom
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.settings.view import SettingsView
from helix_desktop.ui.window.command_list import PLACE_WORDS, command_text, shortcuts
from helix_desktop.ui.window.key_bindings import (
    DEFAULT_KEYS,
    PAGES,
    focus_pane,
    portable_key,
    resolve_keys,
    why_reserved,
)
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.picker import Picker
from helix_desktop.ui.window.sidebar.session_list import SessionItem
from helix_desktop.ui.window.status_lines import JobRow
from helix_desktop.ui.window.workspace_badges import WorkspaceRow
from tests.support.intents import performed
from tests.support.window.buttons import find_button
from tests.support.window.keyboard_focus import focused_widget

pytestmark = pytest.mark.usefixtures("qapp")


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
        page = QScrollArea()
        content = QWidget()
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
        [SessionItem("s", "Title", "", int(now.timestamp() * 1_000), None, False)], now
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
    page = QWidget(window)
    field = QLineEdit()
    button = QPushButton()
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


_KEY = st.sampled_from(
    [
        "Ctrl+K",
        "Ctrl+J",
        "F9",
        "Ctrl+O",
        "ctrl+shift+j",
        "A",
        "Esc",
        "Ctrl+K, Ctrl+J",
        "Ctrl+Nonsense",
        "",
        "é",
    ]
)

_STORED = st.dictionaries(
    st.sampled_from([*list(WindowCommands.commands)[:6], "cache_pin", "cache_trash", "session_pin", "gone"]),
    st.one_of(st.lists(_KEY, max_size=3), _KEY, st.integers()),
    max_size=6,
)


@given(_STORED)
def test_no_key_is_that_of_two_commands_that_meet(stored: dict[str, object]) -> None:
    """Whatever the file has: the user's keys go before defaults, reserved and invalid ones are ignored."""
    keys = resolve_keys(stored)
    of_window = [key for command in WindowCommands.commands for key in keys[command]]
    for page in PAGES:
        together = [*of_window, *(key for command in page.commands for key in keys[command])]
        assert len(together) == len(set(together))
    assert not any(why_reserved(key, command) for command, own in keys.items() for key in own)
    assert keys.keys() == DEFAULT_KEYS.keys()


def test_defaults_are_portable_and_free() -> None:
    defaults = {key for keys in DEFAULT_KEYS.values() for key in keys}
    assert {portable_key(key) for key in defaults} == defaults
    assert resolve_keys({}) == DEFAULT_KEYS
    hints = {spec.fixed_key for spec in WindowCommands.commands.values()} - {"", "Esc Esc"}
    everywhere = (
        *(hints - {"Ctrl+Shift+Enter"}),
        "Up",
        "Tab",
        "Esc",
        "Return",
        "Alt+F",
        "Ctrl+A",
        "F7",
        "Ctrl+Space",
    )
    for key in (*everywhere, *hints, "A", "Shift+A", "Space", "Del", "Ctrl+Return"):
        assert why_reserved(portable_key(key), "find"), key
    for key in everywhere:
        assert why_reserved(portable_key(key), "cache_pin"), key
    for key in ("A", "Shift+A", "Space", "Del", "Ctrl+Return", "F9", "Ctrl+J"):
        assert not why_reserved(portable_key(key), "cache_pin"), key


def test_what_is_not_understood_is_logged_and_stays(
    window: MainWindow, caplog: pytest.LogCaptureFixture
) -> None:
    stored = {"gone": ["F9"], "find": ["Esc"], "settings": 3, "quit": "Ctrl+Alt+Q"}
    with caplog.at_level(logging.WARNING):
        window.key_bindings.use(stored)
    assert len(caplog.records) == 3
    assert window.key_bindings.keys("find") == WindowCommands.find.keys
    assert window.key_bindings.keys("quit") == ("Ctrl+Alt+Q",)
    window.key_bindings.change("quit", WindowCommands.quit.keys)
    assert window.key_bindings.stored == {"gone": ["F9"], "find": ["Esc"], "settings": 3}
    window.key_bindings.reset_all()
    assert window.key_bindings.stored == {"gone": ["F9"]}


def test_changed_keys_apply_at_once(qtbot: QtBot, window: MainWindow) -> None:
    """The key works, and menu, tooltips and the guide have it; the command that had it has none."""
    commands = window.commands
    window.help_windows.show_topic("keys")
    guide = window.help_windows.guide
    assert guide is not None
    window.key_bindings.change("new_session", ("Ctrl+K",))
    window.activateWindow()
    with performed(window), qtbot.waitSignal(commands.new_session.triggered):
        QTest.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert commands.switch_workspace.shortcuts() == []
    tips = {button.toolTip() for button in window.sidebar.findChildren(QToolButton)}
    assert "New session (Ctrl+K)" in tips
    lines = dict(shortcuts(window.key_bindings))
    assert lines["New session"] == "Ctrl+K"
    assert "Go to" not in lines
    listed = guide.browser.toPlainText().splitlines()
    assert listed[listed.index("New session") + 1] == "Ctrl+K"
    window.key_bindings.change("cut", ("Ctrl+Alt+X",))
    assert commands.cut.text() == "Cut"
    assert dict(shortcuts(window.key_bindings))["Cut"] == "Ctrl+Alt+X, Ctrl+X"


def test_two_pages_can_have_one_key_and_the_window_takes_it_from_both(window: MainWindow) -> None:
    bindings = window.key_bindings
    bindings.change("cache_pin", ("X",))
    bindings.change("session_pin", ("X",))
    assert (bindings.keys("cache_pin"), bindings.keys("session_pin")) == (("X",), ("X",))
    bindings.change("cache_verify", ("X",))
    assert bindings.keys("cache_pin") == ()
    assert bindings.keys("session_pin") == ("X",)
    bindings.change("cache_pin", ("Ctrl+J",))
    bindings.change("session_pin", ("Ctrl+J",))
    assert set(bindings.owners("find", ("Ctrl+J",))) == {"cache_pin", "session_pin"}
    bindings.change("find", ("Ctrl+J",))
    assert bindings.keys("cache_pin") == bindings.keys("session_pin") == ()
    lines = dict(shortcuts(bindings))
    assert lines["Outputs: Verify"] == "X"
    assert "Outputs: Pin or unpin" not in lines


_CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def opened(window: MainWindow) -> Picker:
    QTest.keyClick(window, Qt.Key.Key_P, _CTRL_SHIFT)
    picker = window.picker
    assert picker.isVisible()
    assert picker.search.text() == ">"
    assert QApplication.focusWidget() is picker.search
    return picker


def words(picker: Picker) -> list[str]:
    return [line.words for line in picker.list_view.rows if not line.is_heading]


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


def test_commands_are_found_by_words_of_users_their_menu_and_topics_of_the_guide(window: MainWindow) -> None:
    """The one that is on says so; a topic opens its page."""
    window.commands.theme_dark.setChecked(True)
    panel = opened(window)
    for typed, expected in (
        ("preferences", "Settings…"),
        ("font zoom", "Larger text"),
        ("handover", "Compacted"),
        ("help manual", "Guide"),
        ("report bug", "About Helix Desktop"),
        ("dark mode", "Dark theme"),
        ("short description", "Cached"),
    ):
        panel.search.setText(f">{typed}")
        assert words(panel)[0] == expected, typed
        if typed == "dark mode":
            assert panel.list_view.rows[1].accessible_text.startswith("Dark theme, checked, View")
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert window.help_windows.guide is not None
    assert window.help_windows.guide.isVisible()
    QTest.keyClicks(opened(window).search, "file")
    assert "Import…" in words(panel)
    assert "Larger text" not in words(panel)


def test_other_words_are_those_of_commands_that_exist(window: MainWindow) -> None:
    opened(window)
    pages = {f"settings:{page}" for page in SettingsView.page_titles()}
    names = pages | {action.objectName() for action in window.findChildren(QAction)}
    assert names >= PLACE_WORDS.keys()


def test_only_enabled_commands_are_offered(window: MainWindow) -> None:
    window.show_center_page("welcome")
    panel = opened(window)
    assert "Open folder…" in words(panel)
    assert "Compact conversation…" not in words(panel)
    assert "Commands…" not in words(panel)
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
        QTest.keyClick(window.picker, Qt.Key.Key_Escape)
        assert window.testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange) == is_by_keyboard


def test_marks_for_the_keyboard_are_not_shown(window: MainWindow) -> None:
    """Where letters cannot be marked, as in Chinese, a menu names a key in brackets."""
    assert command_text(QAction("&Save as…\tCtrl+S", window)) == "Save as…"
    assert command_text(QAction("文件(&F)", window)) == "文件"
