"""Says why the window cannot start: on the terminal, and in a small window for those who have none."""

from __future__ import annotations

import asyncio
import sys

import qasync
from PySide6.QtWidgets import QApplication

from helix_desktop.app.layout import LayoutFile
from helix_desktop.app.window import name_application
from helix_desktop.config.paths import resources_dir
from helix_desktop.context.errors import HelixError
from helix_desktop.ui import fonts
from helix_desktop.ui.dialogs import show_notice
from helix_desktop.ui.style import Appearance


def refuse(app: QApplication, error: HelixError, layout: LayoutFile, code: int) -> int:
    """Show an error in the look that is kept in `layout`, and wait until it is read; the exit code."""
    sys.stderr.write(f"helix-desktop: {' '.join(str(error).split())}\n")
    if app.platformName() not in {"offscreen", "minimal"}:
        name_application(app)
        fonts.load(resources_dir() / "fonts")
        appearance = Appearance(app, *layout.look())
        appearance.dress()
        with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(app)) as runner:
            runner.run(show_notice(error, appearance))
    return code
