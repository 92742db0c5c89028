"""The data folder moves: what is asked before, and the window that shows the move."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest
from filelock import FileLock
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QLabel,
    QProgressBar,
)
from pytestqt.qtbot import QtBot

from helix_desktop.app.data_move_window import MoveDataWindow, move_with_window
from helix_desktop.config.paths import DataDir
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.design.style.theme import reduce_motion
from helix_desktop.ui.settings.about_page import DataFolder, MoveData
from tests.support.default_settings import NothingOnScreen
from tests.support.intents import performed
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
