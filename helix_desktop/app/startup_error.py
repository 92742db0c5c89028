"""Report why the window cannot start: on the terminal, and in a dialog for users who have none."""

from __future__ import annotations

import asyncio
import sys

from PySide6.QtWidgets import QApplication

from helix_desktop.app.qt_loop import QtLoop
from helix_desktop.app.window_frame import set_application_identity
from helix_desktop.app.window_state import WindowStateFile
from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.design.dialogs import show_error_dialog
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.words.translation import error_text


def show_startup_error(
    app: QApplication, error: HelixError, window_state: WindowStateFile, exit_code: int
) -> int:
    """Show an error in the theme of the last run, wait until it is closed, and return `exit_code`."""
    sys.stderr.write(f"helix-desktop: {' '.join(error_text(error).split())}\n")
    if app.platformName() not in {"offscreen", "minimal"}:
        set_application_identity(app)
        fonts.load(resources_dir() / "fonts")
        appearance = Appearance(app, *window_state.appearance())
        appearance.apply_stylesheet()
        with asyncio.Runner(loop_factory=lambda: QtLoop(app)) as runner:
            runner.run(show_error_dialog(error, appearance))
    return exit_code
