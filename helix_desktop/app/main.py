"""Starts the window: the frame is painted first, everything else comes after."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtWidgets import QApplication

from helix_desktop.app.early_openings import EarlyOpenings
from helix_desktop.app.exit_codes import FAILED, LOCKED, USAGE
from helix_desktop.app.layout import LAYOUT_FILE, LayoutFile
from helix_desktop.app.targets import wish
from helix_desktop.app.window import Frame, build_frame, name_application
from helix_desktop.config.paths import DataDir
from helix_desktop.context.errors import DataDirUnusable, HelixError, InputUnusable, WindowSilent
from helix_desktop.ui.on_screen import fit_screen

_FRAME_MS = 200
TRACE_FILE = "window.open"  # there while a window has the data directory, and after one was killed


def show_window(given: argparse.Namespace) -> int:
    """Run the window until it is closed; a second start shows the first window instead."""
    try:
        wanted = wish(given)
    except InputUnusable as error:
        if not _by_double_click():
            raise
        return _refuse(QApplication(sys.argv[:1]), error, _data_dir(given), USAGE)
    gc.disable()  # what a start makes stays, so looking for garbage is waste; app.garbage takes over later
    app = QApplication(sys.argv[:1])
    name_application(app)
    # Only macOS names files by events; elsewhere they stand on the command line.
    early = EarlyOpenings(app) if sys.platform == "darwin" else None
    data = _data_dir(given)
    try:
        data.ensure()
    except DataDirUnusable as error:
        return _refuse(app, error, data, FAILED)
    if sys.platform == "win32":
        os.chdir(
            Path.home()
        )  # a double click starts us in the file's folder, where programs are sought first
    trace = data.root / TRACE_FILE
    if trace.exists():
        from helix_desktop.app.single_instance import SingleInstance

        try:
            if SingleInstance(data.root).tell(wanted):
                return 0
        except WindowSilent as error:
            return _refuse(app, error, data, LOCKED)
    frame = build_frame(app, LayoutFile(data.root / LAYOUT_FILE))
    fit_screen(frame.window)  # it may be larger: its first size, or one kept from another screen
    _paint(frame)
    from helix_desktop.app.running import run

    return run(app, frame, data, trace, wanted, early)


def _data_dir(given: argparse.Namespace) -> DataDir:
    return DataDir.locate(getattr(given, "data_dir", None), os.environ)


def _refuse(app: QApplication, error: HelixError, data: DataDir, code: int) -> int:
    from helix_desktop.app.refusal import refuse

    return refuse(app, error, LayoutFile(data.root / LAYOUT_FILE), code)


def _by_double_click() -> bool:
    """Whether a person may have started this without a terminal to read on, and has a display."""
    if sys.stderr.isatty() or os.environ.get("QT_QPA_PLATFORM") in {"offscreen", "minimal"}:
        return False
    return sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _paint(frame: Frame) -> None:
    """Show the window and return after its first frame, or after a moment if the system shows it later."""
    loop = QEventLoop()  # its own: quitting the application asks windows to close, and ours refuses
    patience = QTimer(singleShot=True, interval=_FRAME_MS)
    patience.timeout.connect(loop.quit)
    frame.window.first_frame.connect(loop.quit, Qt.ConnectionType.QueuedConnection)
    patience.start()
    frame.window.show()
    loop.exec()
    patience.stop()
    frame.window.first_frame.disconnect()
