"""The icon in the system's tray: shows messages, and stays while the window is hidden."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from helix_desktop import APP_NAME
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_MESSAGE_MS = 15_000


class Tray(QObject):
    """An icon while there is something to say, or while the window is hidden; nothing without a tray."""

    clicked = Signal()
    """The user wants to see the window, or what the message is about."""
    quit_requested = Signal()

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._icon: QSystemTrayIcon | None = None

    def is_available(self) -> bool:
        """Return whether the system has a tray."""
        return QSystemTrayIcon.isSystemTrayAvailable()

    def show(self, title: str, text: str) -> None:
        """Show a message; the icon stays in the tray as long."""
        if not (self.is_available() and QSystemTrayIcon.supportsMessages()):
            return
        icon = self._visible_icon()
        icon.setToolTip(tr("Helix Desktop: {title}", title=title))
        icon.showMessage(title, text, self._window.windowIcon(), _MESSAGE_MS)

    def hide_window(self) -> None:
        """Hide the window; the icon brings it back."""
        self._visible_icon().setToolTip(APP_NAME)
        self._window.hide()

    def clear_message(self) -> None:
        """Hide the icon, unless it is the only way to the window."""
        if self._icon is not None and self._window.isVisible():
            self._icon.hide()

    def _visible_icon(self) -> QSystemTrayIcon:
        if self._icon is None:
            self._icon = QSystemTrayIcon(self._window.windowIcon(), self)
            self._icon.messageClicked.connect(self.clicked)
            self._icon.activated.connect(self._activated)
            menu = QMenu(self._window)
            menu.addAction(tr("Open Helix Desktop"), self.clicked.emit)
            menu.addAction(tr("Quit"), self.quit_requested.emit)
            self._icon.setContextMenu(menu)
        self._icon.show()
        return self._icon

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason != QSystemTrayIcon.ActivationReason.Context:
            self.clicked.emit()
