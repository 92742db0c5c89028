"""The page of keys: recorded, refused, taken from another command, reset and found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.key_names import native_key
from helix_desktop.ui.kit.commands import WindowCommands
from helix_desktop.ui.window.keyboard_page import KeyboardPage
from helix_desktop.ui.window.main_window import MainWindow
from tests.support.default_settings import default_settings
from tests.support.window.buttons import find_button, press

_CTRL, _PLAIN = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.NoModifier
Record = Callable[..., str]


@pytest.fixture
def page(qtbot: QtBot, window: MainWindow) -> KeyboardPage:
    page = KeyboardPage(window.key_bindings, default_settings())
    qtbot.addWidget(page)
    page.show()
    return page


@pytest.fixture
def record(page: KeyboardPage) -> Record:
    """Press keys for a command; return why it can't have them."""

    def press_keys(command: str, key: Qt.Key, modifiers: Qt.KeyboardModifier = _CTRL) -> str:
        button = find_button(page, f"keys:{command}")
        button.click()
        QTest.keyClick(button, key, modifiers)
        assert not button.isChecked()
        return "" if page.notice.isHidden() else page.notice.text.text()

    return press_keys


def test_keys_are_recorded_refused_replaced_and_reset(page: KeyboardPage, record: Record) -> None:
    bindings = page.bindings
    assert record("trash", Qt.Key.Key_J) == ""
    assert record("trash", Qt.Key.Key_Escape, _PLAIN) == ""
    assert record("trash", Qt.Key.Key_C) == "Ctrl+C edits text in text fields."
    assert bindings.keys("trash") == ("Ctrl+J",)
    assert record("trash", Qt.Key.Key_K) == "Ctrl+K is used by Go to…"
    press(page, "cancel_keys")
    record("trash", Qt.Key.Key_K)
    QTest.keyClick(find_button(page, "replace_keys"), Qt.Key.Key_Escape)
    assert page.notice.isHidden()
    assert page.isVisible(), "Esc answers the question, and closes no settings"
    assert bindings.keys("trash") == ("Ctrl+J",)
    record("trash", Qt.Key.Key_K)
    press(page, "replace_keys")
    assert (bindings.keys("trash"), bindings.keys("switch_workspace")) == (("Ctrl+K",), ())
    record("find", Qt.Key.Key_Backspace, _PLAIN)
    stored = {"trash": ["Ctrl+K"], "switch_workspace": [], "find": []}
    assert bindings.stored == stored
    assert page._settings.get("shortcuts") == stored, "they are saved"
    press(page, "reset_all_keys")
    assert bindings.keys("find") == WindowCommands.find.keys
    press(page, "undo_keys")
    assert bindings.stored == stored


def test_commands_are_found_by_their_keys(page: KeyboardPage) -> None:
    for typed, expected in (("ctrl+k", ["switch_workspace"]), ("nothing of that name", [])):
        page.filter.setText(typed)
        buttons = {command: find_button(page, f"keys:{command}") for command in WindowCommands.commands}
        assert [command for command, button in buttons.items() if button.isVisible()] == expected


def test_keys_of_lists_are_changed_and_shown_there(
    window: MainWindow, page: KeyboardPage, record: Record
) -> None:
    assert record("cache_pin", Qt.Key.Key_V, _PLAIN) == "V is used by Outputs: Verify"
    press(page, "replace_keys")
    assert page.bindings.keys("cache_verify") == ()
    assert record("cache_verify", Qt.Key.Key_Down, _PLAIN) == "Down moves in lists."
    press(page, "cancel_keys")
    assert record("cache_verify", Qt.Key.Key_Delete, _PLAIN) == "Del is used by Outputs: Move to trash"
    press(page, "cancel_keys")
    assert record("session_archive", Qt.Key.Key_Y, _PLAIN) == ""
    assert window.sidebar.session_list.keys.shown_key("session_archive") == "Y"
    assert record("session_archive", Qt.Key.Key_J) == ""
    assert window.sidebar.session_list.keys.shown_key("session_archive") == native_key("Ctrl+J")
    press(page, "reset_all_keys")
    assert window.sidebar.session_list.keys.shown_key("session_archive") != "Y"
