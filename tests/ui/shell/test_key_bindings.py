"""Keys of commands: none is that of two that meet, reserved ones are nobody's, changes apply at once."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from helix_desktop.ui.kit.commands import WindowCommands
from helix_desktop.ui.window.command_list import shortcuts
from helix_desktop.ui.window.key_bindings import (
    DEFAULT_KEYS,
    PAGES,
    portable_key,
    resolve_keys,
    why_reserved,
)
from helix_desktop.ui.window.main_window import MainWindow
from tests.support.intents import performed

pytestmark = pytest.mark.usefixtures("qapp")  # Qt asks the platform which keys edit text

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
    assert lines["Cache: Verify"] == "X"
    assert "Cache: Pin or unpin" not in lines
