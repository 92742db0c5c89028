"""The data directory is moved from the settings: confirmed, then done between two runs of the window."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QProgressBar, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.app.data_move_window import MoveDataWindow, move_with_window
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.design.style.theme import reduce_motion
from helix_desktop.ui.settings.view import SettingsPage
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def wait_for_widget(rig: WindowRig, kind: type[QWidget]) -> QWidget:
    """The dialog over the window, once it is on screen."""
    window = rig.window
    await until(lambda: any(widget.isVisible() for widget in window.findChildren(kind)), "a dialog")
    return next(widget for widget in window.findChildren(kind) if widget.isVisible())


async def ask_for(rig: WindowRig, target: Path, page: SettingsPage) -> None:
    """Press Move on a page, and choose a folder."""
    await rig.wiring.settings.show(page)
    press(getattr(rig.settings, page), "move_data")
    dialog = await wait_for_widget(rig, QFileDialog)
    assert isinstance(dialog, QFileDialog)
    dialog.setDirectory(str(target))
    dialog.accept()
    await until(lambda: not dialog.isVisible(), "the dialog gone")


def words(rig: WindowRig, page: SettingsPage) -> str:
    labels = getattr(rig.settings, page).findChildren(QLabel)
    return "\n".join(label.text() for label in labels if not label.isHidden())


def refused(rig: WindowRig, page: SettingsPage) -> bool:
    """Return True if a page says that a folder is in use."""
    return "isn't empty" in words(rig, page)


async def test_it_moves_after_confirmation_and_the_sessions_are_there(
    qapp: QApplication, tmp_path: Path
) -> None:
    target, full = tmp_path / "new", tmp_path / "full"
    target.mkdir()
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    agreed: list[tuple[str, bool]] = []
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.run_turn("Hello")
        rig.wiring.quit_controller.move_confirmed.connect(lambda *args: agreed.append(args))
        pages: tuple[SettingsPage, ...] = ("about", "data")
        for page in pages:
            await ask_for(rig, full, page)
            await until(partial(refused, rig, page), "the refusal")
            assert str(tmp_path / "data") in words(rig, page)
            await ask_for(rig, target, page)
            press(await wait_for_widget(rig, QuestionDialog), "cancel")
            assert not refused(rig, page)
        await ask_for(rig, target, "data")
        press(await wait_for_widget(rig, QuestionDialog), "remove")
        await until(lambda: agreed, "the user's word")
    assert agreed == [(str(target), True)]

    appearance = Appearance(qapp)
    assert await move_with_window(DataDir(tmp_path / "data"), target, True, appearance) == target
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["moved.json"]
    moved = DataDir.locate(tmp_path / "data", {})
    assert moved.root == target
    (tmp_path / "data").rename(tmp_path / "former")
    target.rename(tmp_path / "data")
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        assert [event.text for event in rig.events(UserSpoke)] == ["Hello"]


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
    bar = window.findChild(QProgressBar)
    assert isinstance(bar, QProgressBar)
    assert bar.maximum() > bar.value() == 0
