"""The pages that stand where no session can be shown."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.shell.main_window import MainWindow


def press(qtbot: QtBot, root: QWidget, text: str) -> None:
    """Click the button with a text."""
    button = next(found for found in root.findChildren(QPushButton) if found.text() == text)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("Start the sample", "sample_requested"),
        ("Open folder…", "folder_requested"),
        ("Add provider…", "provider_requested"),
    ],
)
def test_there_are_three_ways_to_begin(qtbot: QtBot, window: MainWindow, text: str, signal: str) -> None:
    with qtbot.waitSignal(getattr(window.welcome, signal)):
        press(qtbot, window.welcome, text)


def test_the_welcome_page_opens_folders_by_the_window_s_own_command(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.commands.open_folder.triggered):
        press(qtbot, window.welcome, "Open folder…")


def test_cards_stack_where_it_is_narrow(qtbot: QtBot, window: MainWindow) -> None:
    def lefts() -> set[int]:
        cards = [frame for frame in window.welcome.findChildren(QFrame) if frame.property("role") == "card"]
        return {card.x() for card in cards}

    assert len(lefts()) == 3
    window.resize(620, 700)
    qtbot.waitUntil(lambda: len(lefts()) == 1)


def test_an_empty_workspace_begins_a_session(qtbot: QtBot, window: MainWindow) -> None:
    window.no_session.show_workspace("helix", 0)
    window.show_center_page("empty")
    assert "No session in helix yet." in [words.text() for words in window.no_session.findChildren(QLabel)]

    with qtbot.waitSignal(window.commands.new_session.triggered):
        press(qtbot, window.no_session, "New session")


def test_a_missing_folder_can_be_located_read_or_removed(qtbot: QtBot, window: MainWindow) -> None:
    window.missing_folder.show_workspace("Invoices", "/documents/invoices")
    window.show_center_page("missing")

    for text, signal in (
        ("Locate…", window.missing_folder.locate_requested),
        ("Open read-only", window.missing_folder.read_only_requested),
        ("Remove from list", window.missing_folder.remove_requested),
    ):
        with qtbot.waitSignal(signal):
            press(qtbot, window.missing_folder, text)
