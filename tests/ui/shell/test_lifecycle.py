"""Pages without a session, a start that fails, a data folder that moves, and the tray of a hidden window."""

from __future__ import annotations

from typing import TypeVar

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFrame,
    QLabel,
    QMessageBox,
    QSystemTrayIcon,
)
from pytestqt.qtbot import QtBot

from helix_desktop.app.plain_startup_error import show_plain_startup_error
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.kit.intents import (
    AddProvider,
    LocateWorkspace,
    NewSession,
    OpenFolder,
    OpenSample,
    RemoveWorkspace,
    ShowWorkspace,
)
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.notifications import Tray
from helix_desktop.ui.window.workspace_badges import WorkspaceRow
from tests.support.galleries.settings_gallery import DETECTED_SERVERS
from tests.support.intents import performed
from tests.support.window.bare_window import make_window
from tests.support.window.buttons import press

D = TypeVar("D", bound=QDialog)

pytestmark = pytest.mark.qt_loop


def test_the_first_frame_names_the_workspace_of_the_last_run(qtbot: QtBot) -> None:
    saved: dict[str, bytes] = {}
    before = make_window(saved)
    qtbot.addWidget(before)
    before.show_workspaces([WorkspaceRow("w1", "helix", "/src/helix", active=True)])

    later = make_window(saved)
    qtbot.addWidget(later)
    later.announce(later.last_workspace())
    assert later.opening_page.text() == "Opening helix…"
    before.show_workspaces([])
    assert later.last_workspace() == ""


def test_one_button_stands_out(qtbot: QtBot, window: MainWindow) -> None:
    """Beside servers that can be added, the sample's stood out too."""
    welcome = window.places.welcome.get()
    servers = DETECTED_SERVERS

    def shows(name: str) -> bool:
        buttons = (part for part in welcome.findChildren(PushButton) if part.property("kind") == "primary")
        return {part.objectName() for part in buttons if part.isVisible()} == {name}

    assert shows("suggestion:play")
    welcome.found_servers.show_servers(servers, ())
    qtbot.waitUntil(lambda: shows("add"))
    welcome.found_servers.show_servers(servers, [server.base_url for server in servers])
    qtbot.waitUntil(lambda: shows("suggestion:play"))
    welcome.found_servers.show_servers(servers, ())
    welcome.found_servers.show_message("Added.")
    welcome.show_model("qwen3")
    qtbot.waitUntil(lambda: shows("suggestion:folder-open"))


def test_cards_stack_in_a_narrow_window(qtbot: QtBot, window: MainWindow) -> None:
    def card_lefts() -> set[int]:
        cards = [
            frame
            for frame in window.places.welcome.get().findChildren(QFrame)
            if frame.property("role") == "card"
        ]
        return {card.x() for card in cards}

    assert len(card_lefts()) == 3
    window.resize(620, 700)
    qtbot.waitUntil(lambda: len(card_lefts()) == 1)


def test_pages_without_a_session_offer_what_to_do(window: MainWindow) -> None:
    places = window.places
    places.empty.get().show_workspace("helix")
    assert "No sessions in helix yet" in [words.text() for words in places.empty.get().findChildren(QLabel)]
    for place, button, intent in (
        (places.welcome, "suggestion:play", OpenSample()),
        (places.welcome, "suggestion:plug", AddProvider()),
        (places.welcome, "suggestion:folder-open", OpenFolder()),
        (places.empty, "new_session", NewSession()),
    ):
        with performed(window) as intents:
            press(place.get(), button)
        assert intents == [intent]


def test_a_missing_folder_can_be_located_read_or_removed(window: MainWindow) -> None:
    window.places.missing.get().show_workspace("w1", "Invoices", "/documents/invoices")
    window.show_center_page("missing")

    with performed(window) as intents:
        for name in ("locate", "open_read_only", "remove_from_list"):
            press(window.places.missing.get(), name)
    assert intents == [LocateWorkspace("w1"), ShowWorkspace("w1", read_only=True), RemoveWorkspace("w1")]


def test_a_failed_start_is_shown_and_its_text_can_be_copied(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")  # read to know of a display: Qt runs already
    monkeypatch.setenv("DISPLAY", ":0")
    box_texts: list[str] = []

    def answer(name: str) -> None:
        box = qapp.activeModalWidget()
        assert isinstance(box, QMessageBox)
        box_texts.append(f"{box.text()}|{box.informativeText()}")
        press(box, name)

    def copy() -> None:
        QTimer.singleShot(0, lambda: answer("close"))
        answer("copy")

    QTimer.singleShot(0, copy)
    show_plain_startup_error("It failed.", "No library.", "Install it.")
    assert box_texts == ["It failed.|No library.\n\nInstall it."] * 2, "Copy leaves it open"
    assert QGuiApplication.clipboard().text() == "It failed.\nNo library.\nInstall it."


def test_nothing_is_shown_without_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    show_plain_startup_error("It failed.", "", "")  # it would wait to be closed


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
