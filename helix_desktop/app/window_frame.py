"""Build the window's frame, which the first paint shows. Nothing here needs an event loop."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from helix_desktop import APP_NAME, __version__
from helix_desktop.app.window_state import WindowStateFile, layout_name
from helix_desktop.config.paths import resources_dir
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.sized_dialog import fitted_rect, free_rect
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.window.main_window import LayoutStore, MainWindow
from helix_desktop.ui.window.panes import LAYOUT_NAMES
from helix_desktop.words.english import English
from helix_desktop.words.translation import current_language

_CASCADE_PX = 32  # so far each new window stands below and beside the one before


class WindowFrame(NamedTuple):
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


def build_next_window(first: WindowFrame, number: int) -> WindowFrame:
    """Build another window in the appearance of the first, not shown yet.

    Its sizes are stored with its number, and begin as those of the first, each a little below the one before.
    """
    state = first.window_state

    def own_name(name: str) -> str:
        return layout_name(name, number) if name in LAYOUT_NAMES else name

    window = MainWindow(
        LayoutStore(
            lambda name: state.get(own_name(name)) or state.get(name),
            lambda name, value: state.put(own_name(name), value),
        )
    )
    if not state.get(own_name("geometry")):
        corner = first.window.geometry().topLeft() + QPoint(_CASCADE_PX, _CASCADE_PX) * (number - 1)
        window.setGeometry(fitted_rect(QRect(corner, window.size()), free_rect(first.window)))
    window.bind_appearance(first.appearance)
    return WindowFrame(window, first.appearance, state)
