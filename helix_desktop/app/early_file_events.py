"""Keep the files that macOS asks to open while the first frame is painted."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication


class EarlyFileOpenEvents(QObject):
    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._targets: list[str] = []
        app.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.FileOpen or not isinstance(event, QFileOpenEvent):
            return False
        self._targets.append(event_target(event))
        return True

    def drain(self) -> list[str]:
        """Return the files and links in order, and stop listening."""
        self._app.removeEventFilter(self)
        targets, self._targets = self._targets, []
        return targets


def event_target(event: QFileOpenEvent) -> str:
    return event.file() or event.url().toString()
