"""Pages without a session, a start that fails, a data folder that moves, and the tray of a hidden window."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest
from filelock import FileLock
from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QFrame,
    QLabel,
    QMessageBox,
    QProgressBar,
    QSystemTrayIcon,
)
from pytestqt.qtbot import QtBot

from helix_desktop.app.data_move_window import MoveDataWindow, move_with_window
from helix_desktop.app.plain_startup_error import show_plain_startup_error
from helix_desktop.config.paths import DataDir
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.design.style.theme import reduce_motion
from helix_desktop.ui.kit.intents import (
    AddProvider,
    LocateWorkspace,
    NewSession,
    OpenFolder,
    OpenSample,
    RemoveWorkspace,
    ShowWorkspace,
)
from helix_desktop.ui.settings.about_page import DataFolder, MoveData
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.notifications import Tray
from helix_desktop.ui.window.workspace_badges import WorkspaceRow
from tests.support.default_settings import NothingOnScreen
from tests.support.galleries.settings_gallery import DETECTED_SERVERS
from tests.support.intents import performed
from tests.support.window.bare_window import make_window
from tests.support.window.buttons import find_button, find_child, press
from tests.support.window.window_rig import until

D = TypeVar("D", bound=QDialog)

pytestmark = pytest.mark.qt_loop


async def test_the_data_moves_where_the_user_says_and_to_no_folder_with_files(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path, scope: TaskScope
) -> None:
    target, full, data = tmp_path / "new", tmp_path / "full", DataDir(tmp_path / "data")
    data.ensure()
    target.mkdir()
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    page = DataFolder(NothingOnScreen(data.root, scope))
    qtbot.addWidget(page)
    page.show()
    with performed(page) as intents:
        await _ask_for(page, full)
        await until(lambda: "isn't empty" in _words(page), "the refusal")
        assert str(data.root) in _words(page)
        for answer in ("cancel", "remove"):
            await _ask_for(page, target)
            assert "isn't empty" not in _words(page)
            press(await _dialog(page, QuestionDialog), answer)
            assert intents == [] or answer == "remove"
        await until(lambda: intents, "the user's word")
    assert intents == [MoveData(str(target), removes_old=True)]
    (data.root / "settings.toml").write_text('theme = "dark"\n')
    assert await move_with_window(data, target, True, Appearance(qapp)) == target
    assert [path.name for path in data.root.iterdir()] == ["moved.json"]
    assert DataDir.locate(data.root, {}).settings_file.read_text() == 'theme = "dark"\n'


async def _ask_for(page: DataFolder, target: Path) -> None:
    """Press Move, and choose a folder."""
    press(page, "move_data")
    dialog = await _dialog(page, QFileDialog)
    dialog.setDirectory(str(target))
    dialog.accept()
    await until(lambda: not dialog.isVisible(), "the dialog gone")


async def _dialog(page: DataFolder, kind: type[D]) -> D:
    def shown() -> list[D]:
        return [dialog for dialog in page.findChildren(kind) if dialog.isVisible()]

    await until(shown, f"the {kind.__name__}")
    return shown()[0]


def _words(page: DataFolder) -> str:
    return "\n".join(label.text() for label in page.findChildren(QLabel) if not label.isHidden())


async def test_a_canceled_move_changes_nothing(qapp: QApplication, tmp_path: Path) -> None:
    data = DataDir(tmp_path / "old")
    data.ensure()
    data.settings_file.write_text('theme = "dark"\n')

    in_use = FileLock(f"{data.workspaces_dir}.lock")
    in_use.acquire()  # the move waits for it, so that it cannot end before the click

    def cancel() -> None:
        window = next(
            window for window in QApplication.topLevelWidgets() if isinstance(window, MoveDataWindow)
        )
        find_button(window, "cancel_move").click()
        in_use.release()

    QTimer.singleShot(0, cancel)
    assert await move_with_window(data, tmp_path / "new", True, Appearance(qapp)) == data.root
    assert DataDir.locate(data.root, {}) == data
    assert data.settings_file.read_text() == 'theme = "dark"\n'


def test_nothing_moves_before_the_first_file_with_reduced_motion(qtbot: QtBot, tmp_path: Path) -> None:
    """The bar stands at its beginning then, instead of running to and fro."""
    reduce_motion("on")
    try:
        window = MoveDataWindow(tmp_path)
    finally:
        reduce_motion("off")
    qtbot.addWidget(window)
    bar = find_child(window, QProgressBar)
    assert bar.maximum() > bar.value() == 0


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
    welcome, servers = window.places.welcome.get(), DETECTED_SERVERS

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
