"""Builds the window and its screens; nothing here knows a workspace yet."""

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
from helix_desktop.ui.cache_browser.view import CacheBrowser
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.frame.rows import Banner
from helix_desktop.ui.inspector.view import Inspector
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import LayoutMemory, MainWindow, Pages
from helix_desktop.ui.style import Appearance, Mode
from helix_desktop.ui.theme import Theme
from helix_desktop.ui.timeline.view import Timeline
from helix_desktop.ui.work import Screens


@dataclass(frozen=True, slots=True)
class Front:
    """The window with everything that belongs to it; `scope` owns what its clicks start."""

    window: MainWindow
    screens: Screens
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
    """Build the window, not yet shown."""
    fonts.load(resources_dir() / "fonts")
    shown: list[MainWindow] = []

    def tell(error: HelixError) -> None:
        banner = Banner(error.what, "error", error.what, error.why, error.fix)
        shown[0].banners.show_banner(banner)

    def fail(error: BaseException) -> None:
        tell(HelixError("Helix Desktop made a mistake.", f"{type(error).__name__}: {error}", "See the log."))

    scope = TaskScope(fail)
    intents = Intents(scope, tell)
    chat, timeline, inspector = ChatPage(), Timeline(), Inspector()
    screens = Screens(chat, CacheBrowser(intents.start), timeline, inspector)
    pages = Pages(chat, screens.cache, timeline, inspector)
    window = MainWindow(pages, LayoutMemory(layout.recall, layout.remember))
    shown.append(window)
    appearance = Appearance(app, mode, text_px)

    def zoom(_: Theme) -> None:
        chat.set_theme(appearance.theme, appearance.text_px / fonts.BASE_PX)

    window.follow(appearance)
    appearance.changed.connect(zoom)
    return Front(window, screens, appearance, scope, intents, layout)
