"""No part of the window stands on the screen alone: shown before it has a place, it is a window itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.top_bar import PAGES
from tests.support.window.window_rig import open_window

pytestmark = pytest.mark.qt_loop

OWN_WINDOWS = (Qt.WindowType.Dialog, Qt.WindowType.Popup, Qt.WindowType.ToolTip, Qt.WindowType.Tool)


class StrayWindows(QObject):
    """Names each part of a window that is shown as a window."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """See what is shown."""
        if (
            event.type() == QEvent.Type.Show
            and isinstance(watched, QWidget)
            and watched.isWindow()
            and watched.windowType() not in OWN_WINDOWS
            and not isinstance(watched, MainWindow)
        ):
            self.names.append(f"{type(watched).__name__} {watched.objectName()}")
        return False


async def test_only_windows_are_windows(qapp: QApplication, tmp_path: Path) -> None:
    """From the start to all pages of a session, a notice and the settings."""
    stray = StrayWindows()
    qapp.installEventFilter(stray)
    try:
        async with open_window(qapp, tmp_path) as rig:
            await rig.open_folder("project", {"a.txt": "words"})
            await rig.run_turn("Hello")
            for page, _, _ in PAGES:
                rig.window.show_page(page)
            rig.window.notices.notify(Notice("words", "Something happened"))
            await rig.wiring.settings.show("policy")
            rig.window.leave_settings()
    finally:
        qapp.removeEventFilter(stray)
    assert not stray.names
