"""Build the window's frame, which the first paint shows. Nothing here needs an event loop."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from helix_desktop import APP_NAME, __version__
from helix_desktop.app.window_state import WindowStateFile
from helix_desktop.config.paths import resources_dir
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.shell.main_window import LayoutStore, MainWindow
from helix_desktop.words.english import English
from helix_desktop.words.translation import current_language


@dataclass(frozen=True, slots=True)
class WindowFrame:
    """The window without its screens, its appearance, and the file that stores its sizes."""

    window: MainWindow
    appearance: Appearance
    window_state: WindowStateFile


def set_application_identity(app: QApplication) -> None:
    """Set the application's name, icon and language, and install accessibility for our widgets."""
    app.setApplicationName(APP_NAME)
    app.setApplicationVersion(__version__)
    app.setDesktopFileName("org.helixdesktop.HelixDesktop")
    app.setWindowIcon(QIcon(str(resources_dir() / "icons" / "helix.svg")))
    app.setQuitOnLastWindowClosed(False)
    accessibility.install()
    language = current_language()
    if not isinstance(language, English):
        from helix_desktop.app.qt_language import QtLanguage, translate_qt

        assert isinstance(language, QtLanguage)  # the only other one
        translate_qt(app, language)


def build_frame(app: QApplication, window_state: WindowStateFile) -> WindowFrame:
    """Build the frame with the appearance of the last run, not shown yet."""
    fonts.load(resources_dir() / "fonts")
    appearance = Appearance(app, *window_state.appearance())
    window = MainWindow(LayoutStore(window_state.get, window_state.put))
    window.bind_appearance(appearance)
    return WindowFrame(window, appearance, window_state)
