"""The icon in the tray, the only way to a window that is hidden."""

from __future__ import annotations

from PySide6.QtWidgets import QSystemTrayIcon
from pytestqt.qtbot import QtBot

from helix_desktop.ui.window.notifications import Tray
from tests.support.window.bare_window import make_window


def test_a_hidden_window_comes_back_when_the_tray_is_gone(qtbot: QtBot) -> None:
    """An approval waited unseen, and nothing led to it."""
    assert not QSystemTrayIcon.isSystemTrayAvailable(), "as after the end of the panel"
    window = make_window({})
    qtbot.addWidget(window)
    window.show()
    tray = Tray(window)
    tray.hide_window()
    tray._watch_timer.timeout.emit()
    assert not window.isVisible(), "a panel that restarts is waited for"
    tray._watch_timer.timeout.emit()
    assert window.isVisible()
    assert not tray._watch_timer.isActive()
