"""Builds the window's frame: what the first paint shows. Nothing here knows a workspace yet."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from helix_desktop import __version__
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.app.layout import LayoutFile
from helix_desktop.config.paths import resources_dir
from helix_desktop.context.errors import HelixError
from helix_desktop.ui import fonts
from helix_desktop.ui.frame.rows import Banner
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import LayoutMemory, MainWindow
from helix_desktop.ui.style import Appearance, Mode


@dataclass(frozen=True, slots=True)
class Front:
    """The window with what belongs to it; `scope` owns what its clicks start."""

    window: MainWindow
    appearance: Appearance
    scope: TaskScope
    intents: Intents
    layout: LayoutFile


def name_application(app: QApplication) -> None:
    """Say to the system who we are."""
    app.setApplicationName("Helix Desktop")
    app.setApplicationVersion(__version__)
    app.setDesktopFileName("helix-desktop")
    app.setWindowIcon(QIcon(str(resources_dir() / "icons" / "helix.svg")))
    app.setQuitOnLastWindowClosed(False)


def build_front(app: QApplication, layout: LayoutFile, mode: Mode, text_px: int) -> Front:
    """Build the frame, not yet shown; screens come with `app.screens`."""
    fonts.load(resources_dir() / "fonts")
    appearance = Appearance(app, mode, text_px)
    window = MainWindow(LayoutMemory(layout.recall, layout.remember))
    window.follow(appearance)

    def tell(error: HelixError) -> None:
        window.banners.show_banner(Banner(error.what, "error", error.what, error.why, error.fix))

    def fail(error: BaseException) -> None:
        tell(HelixError("Helix Desktop made a mistake.", f"{type(error).__name__}: {error}", "See the log."))

    scope = TaskScope(fail)
    return Front(window, appearance, scope, Intents(scope, tell), layout)
