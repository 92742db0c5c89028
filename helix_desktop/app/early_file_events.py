"""The files and links that macOS asks to open, also before anybody can open them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication


class FileOpenEvents(QObject):
    """Takes these events; costs microseconds per event of any widget."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._targets: list[str] = []
        self._on_target: Callable[[str], None] = self._targets.append
        app.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.FileOpen or not isinstance(event, QFileOpenEvent):
            return False
        self._on_target(event.file() or event.url().toString())
        return True

    def pass_to(self, on_target: Callable[[str], None]) -> list[str]:
        """Pass on the files and links from now on; return those before, in order."""
        self._on_target = on_target
        return self._targets
