"""Moves the data directory between two runs of the window, with a small window of its own."""

from __future__ import annotations

import argparse
import asyncio
import os
import threading
from pathlib import Path

from PySide6.QtCore import QProcess, Qt, QTimer
from PySide6.QtWidgets import QDialog, QProgressBar

from helix_desktop import APP_NAME
from helix_desktop.app.data_move import move_data_dir
from helix_desktop.app.qt_loop import QtLoop
from helix_desktop.app.window_frame import set_application_identity
from helix_desktop.app.window_state import WINDOW_STATE_FILE, WindowStateFile
from helix_desktop.config.paths import DataDir, resources_dir
from helix_desktop.config.settings_file import SettingsFile
from helix_desktop.domain.errors import HelixError
from helix_desktop.services.app_command import app_command
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import show_error_dialog
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import column, row
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.stylesheet import Appearance, new_application
from helix_desktop.ui.design.style.theme import is_motion_reduced, reduce_motion
from helix_desktop.words.translation import Translator

tr = Translator("Start")

_LOCK_TIMEOUT_S = 30.0  # for the window that asked for it to write what is queued, and to end
_REFRESH_MS = 100
_WIDTH_PX = 420
_BAR_STEPS = 1000


class MoveCanceled(Exception):
    """The user canceled the move."""


class MoveDataWindow(QDialog):
    """Shows the progress of the move; closing it cancels the move."""

    def __init__(self, target: Path) -> None:
        super().__init__()
        self.setWindowTitle(APP_NAME)
        self.setFixedWidth(_WIDTH_PX)
        self._progress = (0, 0)
        self._canceled = threading.Event()
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setRange(0, _BAR_STEPS if is_motion_reduced() else 0)  # 0..0 moves, as nothing is known
        self._bar.setValue(0)
        self._bar.setAccessibleName(tr("Moving data"))
        self._cancel = PushButton(tr("Cancel"), name="cancel_move")
        self._cancel.clicked.connect(self.reject)
        self.rejected.connect(self._canceled.set)
        explanation = label(
            tr("To {folder}. Files are copied and verified, then the window opens.", folder=str(target)),
            "muted",
            wrap=True,
        )
        self.setLayout(
            column(
                label(tr("Moving Helix Desktop data"), "title", wrap=True),
                explanation,
                self._bar,
                row(None, self._cancel),
                margins=(20, 18, 20, 16),
                gap=10,
            )
        )
        refresh_timer = QTimer(self)
        refresh_timer.timeout.connect(self._show_progress)
        refresh_timer.start(_REFRESH_MS)

    def update_progress(self, done: int, size: int) -> None:
        """Set the progress, from any thread. Raises MoveCanceled once the user has canceled."""
        self._progress = done, size
        if self._canceled.is_set():
            raise MoveCanceled

    def _show_progress(self) -> None:
        done, size = self._progress
        if size:
            self._bar.setRange(0, _BAR_STEPS)
            self._bar.setValue(round(done / size * _BAR_STEPS))


def move_in_window(args: argparse.Namespace) -> int:
    """Move the data, then open the window again on the folder that is in use then."""
    app = new_application()
    set_application_identity(app)
    data = DataDir.locate(getattr(args, "data_dir", None), os.environ)
    fonts.load(resources_dir() / "fonts")
    appearance = Appearance(app, *WindowStateFile(data.root / WINDOW_STATE_FILE).appearance())
    appearance.apply_stylesheet()
    reduce_motion(SettingsFile(data.settings_file).load()[0].reduce_motion)
    with asyncio.Runner(loop_factory=lambda: QtLoop(app)) as runner:
        runner.run(move_with_window(data, args.folder, args.remove_old, appearance))
    relaunch("--data-dir", str(data.chosen_folder))  # so that the next move knows where it began
    return 0


async def move_with_window(data_dir: DataDir, target: Path, remove_old: bool, appearance: Appearance) -> Path:
    """Move the data with a progress window; return the folder that is used from now on."""
    window = MoveDataWindow(target)
    window.setWindowModality(Qt.WindowModality.ApplicationModal)
    window.show()
    try:
        move = await asyncio.to_thread(
            move_data_dir, data_dir, target, window.update_progress, _LOCK_TIMEOUT_S
        )
        if remove_old:
            await asyncio.to_thread(move.remove_old)
        return move.target
    except MoveCanceled:
        return data_dir.root
    except HelixError as error:
        await show_error_dialog(error, appearance)
        return data_dir.root
    finally:
        window.hide()
        window.deleteLater()


def relaunch(*args: str) -> bool:
    """Start Helix Desktop again, detached, with these arguments; return True if that worked."""
    program, *arguments = app_command(*args)
    started = QProcess.startDetached(program, arguments)
    return bool(started[0] if isinstance(started, tuple) else started)
