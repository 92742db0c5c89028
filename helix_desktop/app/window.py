"""Builds the window's frame: what the first paint shows. Nothing here waits for an event loop."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from helix_desktop import __version__
from helix_desktop.app.layout import LayoutFile
from helix_desktop.config.paths import resources_dir
from helix_desktop.ui import accessibility, fonts
from helix_desktop.ui.main_window import LayoutMemory, MainWindow
from helix_desktop.ui.style import Appearance


@dataclass(frozen=True, slots=True)
class Frame:
    """The window without its screens, how it looks, and where its sizes are kept."""

    window: MainWindow
    appearance: Appearance
    layout: LayoutFile


def name_application(app: QApplication) -> None:
    """Say to the system who we are, and to assistive technology what our widgets are."""
    app.setApplicationName("Helix Desktop")
    app.setApplicationVersion(__version__)
    app.setDesktopFileName("org.helixdesktop.HelixDesktop")
    app.setWindowIcon(QIcon(str(resources_dir() / "icons" / "helix.svg")))
    app.setQuitOnLastWindowClosed(False)
    accessibility.install()


def build_frame(app: QApplication, layout: LayoutFile) -> Frame:
    """Build the frame with the look of the last run, not yet shown."""
    fonts.load(resources_dir() / "fonts")
    appearance = Appearance(app, *layout.look())
    window = MainWindow(LayoutMemory(layout.recall, layout.remember))
    window.follow(appearance)
    return Frame(window, appearance, layout)
