"""The key that finds within a pane."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget


class FindShortcut(QObject):
    """Gives Ctrl+F to a pane while the keyboard is in it, before a shortcut of the window takes it."""

    def __init__(self, pane: QWidget, callback: Callable[[], object]) -> None:
        """Call `callback` each time; the pane owns this object."""
        super().__init__(pane)
        self._callback = callback
        pane.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or not event.matches(QKeySequence.StandardKey.Find):
            return False
        if event.type() is QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        if event.type() is QEvent.Type.KeyPress:
            self._callback()
            return True
        return False
