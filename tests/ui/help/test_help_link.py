"""Links that explain a concept where the user meets it first."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.cards import HelpLink
from helix_desktop.ui.design.layout import column
from helix_desktop.ui.window.main_window import MainWindow
from tests.support.window.bare_window import make_window


def _dialog_with_links(window: MainWindow) -> tuple[QDialog, HelpLink, HelpLink]:
    dialog, cached, compacted = QDialog(window), HelpLink("cached"), HelpLink("compacted")
    dialog.setLayout(column(cached, compacted))
    dialog.show()
    return dialog, cached, compacted


def test_a_link_opens_the_guide_at_its_topic_once(window: MainWindow) -> None:
    """Also from a dialog of the window; afterwards it makes room, and the other links stay."""
    dialog, cached, compacted = _dialog_with_links(window)
    QTest.mouseClick(cached.link, Qt.MouseButton.LeftButton)
    guide = window.help_windows.guide
    assert guide is not None
    assert guide.isVisible()
    assert guide.topic == "cached"
    assert (cached.isHidden(), compacted.isHidden()) == (True, False)
    dialog.close()


def test_a_followed_link_stays_away_in_the_next_run(
    window: MainWindow, layout_states: dict[str, bytes], qtbot: QtBot
) -> None:
    """What the user has opened is remembered with the window's layout."""
    _, cached, _ = _dialog_with_links(window)
    cached.link.click()
    later = make_window(layout_states)
    qtbot.addWidget(later)
    _, cached, compacted = _dialog_with_links(later)
    later.help_windows.hide_followed_links()
    assert (cached.isHidden(), compacted.isHidden()) == (True, False)
    later.allow_close()


def test_help_opens_the_guide_and_its_shortcuts(window: MainWindow) -> None:
    """Both are commands of the window; every shortcut of a command is listed."""
    window.commands.guide.trigger()
    guide = window.help_windows.guide
    assert guide is not None
    assert guide.topic == "start"
    window.commands.keys.trigger()
    assert guide.topic == "keys"
    assert window.help_windows.guide is guide
