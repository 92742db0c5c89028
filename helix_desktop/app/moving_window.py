"""Moves the data directory between two runs of the window, with a small window of its own."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
from pathlib import Path

import qasync
from PySide6.QtCore import QProcess, Qt, QTimer
from PySide6.QtWidgets import QApplication, QDialog, QProgressBar

from helix_desktop.app.itself import itself
from helix_desktop.app.layout import LAYOUT_FILE, LayoutFile
from helix_desktop.app.moving import carry
from helix_desktop.app.window import name_application
from helix_desktop.config.paths import DataDir, resources_dir
from helix_desktop.context.errors import HelixError
from helix_desktop.ui import fonts
from helix_desktop.ui.dialogs import show_notice
from helix_desktop.ui.style import Appearance
from helix_desktop.ui.widgets import PushButton, column, label, row

_FORMER_S = 30.0  # for the window that asked for it to write what is queued, and to end
_LOOK_MS = 100
_WIDTH_PX = 420
_PARTS = 1000


class Cancelled(Exception):
    """The person has stopped the move."""


class MovingWindow(QDialog):
    """Says what is being done and how far it is; closing it cancels the move."""

    def __init__(self, target: Path) -> None:
        super().__init__()
        self.setWindowTitle("Helix Desktop")
        self.setFixedWidth(_WIDTH_PX)
        self._far = (0, 0)
        self._stop = threading.Event()
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 0)
        self._bar.setAccessibleName("Moving the data")
        self._cancel = PushButton("Cancel")
        self._cancel.clicked.connect(self.reject)
        self.rejected.connect(self._stop.set)
        words = label(f"To {target}: copied, read again, then the window opens.", "muted", wrap=True)
        self.setLayout(
            column(
                label("Moving the data of Helix Desktop", "title", wrap=True),
                words,
                self._bar,
                row(None, self._cancel),
                margins=(20, 18, 20, 16),
                gap=10,
            )
        )
        look = QTimer(self)
        look.timeout.connect(self._show)
        look.start(_LOOK_MS)

    def take(self, done: int, size: int) -> None:
        """Hear how far it is, on any thread. Raises Cancelled once the person has stopped it."""
        self._far = done, size
        if self._stop.is_set():
            raise Cancelled

    def _show(self) -> None:
        done, size = self._far
        if size:
            self._bar.setRange(0, _PARTS)
            self._bar.setValue(round(done / size * _PARTS))


def move_in_window(given: argparse.Namespace) -> int:
    """Move the data, then open the window again, on whatever place is used then."""
    app = QApplication(sys.argv[:1])
    name_application(app)
    data = DataDir.locate(getattr(given, "data_dir", None), os.environ)
    fonts.load(resources_dir() / "fonts")
    look = Appearance(app, *LayoutFile(data.root / LAYOUT_FILE).look())
    look.dress()
    with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(app)) as runner:
        root = runner.run(move_shown(data, given.folder, given.remove_old, look))
    open_again("--data-dir", str(root))
    return 0


async def move_shown(data: DataDir, target: Path, remove_old: bool, look: Appearance) -> Path:
    """Move with a window that shows it; the folder that is used from now on."""
    window = MovingWindow(target)
    window.setWindowModality(Qt.WindowModality.ApplicationModal)
    window.show()
    try:
        move = await asyncio.to_thread(carry, data, target, window.take, _FORMER_S)
        if remove_old:
            await asyncio.to_thread(move.remove_old)
        return move.target
    except Cancelled:
        return data.root
    except HelixError as error:
        await show_notice(error, look)
        return data.root
    finally:
        window.hide()
        window.deleteLater()


def open_again(*words: str) -> bool:
    """Start Helix Desktop anew with these words, on its own; whether that worked."""
    program, *arguments = itself(*words)
    started = QProcess.startDetached(program, arguments)
    return bool(started[0] if isinstance(started, tuple) else started)
