"""Keys of commands: no key is that of two, reserved keys are nobody's, changes apply everywhere at once."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QToolButton
from pytestqt.qtbot import QtBot

from helix_desktop.ui.shell.actions import SPECS
from helix_desktop.ui.shell.key_bindings import portable_key, resolve_keys, why_reserved
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.shell.shortcuts import shortcuts

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
    st.sampled_from([*list(SPECS)[:6], "gone"]),
    st.one_of(st.lists(_KEY, max_size=3), _KEY, st.integers()),
    max_size=6,
)


@given(_STORED)
def test_no_key_is_that_of_two_commands(stored: dict[str, object]) -> None:
    """Whatever the file has: the user's keys go before defaults, reserved and invalid ones are ignored."""
    keys = resolve_keys(stored)
    every = [key for own in keys.values() for key in own]
    assert len(every) == len(set(every))
    assert not any(map(why_reserved, every))
    assert keys.keys() == SPECS.keys()


def test_defaults_are_portable_and_free() -> None:
    defaults = {key for spec in SPECS.values() for key in spec.keys}
    assert {portable_key(key) for key in defaults} == defaults
    assert resolve_keys({}) == {command: spec.keys for command, spec in SPECS.items()}
    hints = {spec.display_shortcut for spec in SPECS.values()} - {"", "Esc Esc"}
    for key in (*hints, "A", "Shift+A", "Up", "Tab", "Esc", "Return", "Alt+F", "Ctrl+A", "Ctrl+S"):
        assert why_reserved(portable_key(key)), key


def test_what_is_not_understood_is_logged_and_stays(
    window: MainWindow, caplog: pytest.LogCaptureFixture
) -> None:
    stored = {"gone": ["F9"], "find": ["Esc"], "settings": 3, "quit": "Ctrl+Alt+Q"}
    with caplog.at_level(logging.WARNING):
        window.key_bindings.use(stored)
    assert len(caplog.records) == 3
    assert window.key_bindings.keys("find") == SPECS["find"].keys
    assert window.key_bindings.keys("quit") == ("Ctrl+Alt+Q",)
    window.key_bindings.change("quit", SPECS["quit"].keys)
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
    with qtbot.waitSignal(commands.new_session.triggered):
        QTest.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert commands.switch_workspace.shortcuts() == []
    tips = {button.toolTip() for button in window.sidebar.findChildren(QToolButton)}
    assert "New session (Ctrl+K)" in tips
    lines = dict(shortcuts(commands))
    assert lines["New session"] == "Ctrl+K"
    assert "Go to" not in lines
    assert "Ctrl+N" not in {label.text() for label in guide.findChildren(QLabel) if label.isVisible()}
    window.key_bindings.change("cut", ("Ctrl+Alt+X",))
    assert commands.cut.text() == "Cut"
    assert dict(shortcuts(commands))["Cut"] == "Ctrl+Alt+X, Ctrl+X"
