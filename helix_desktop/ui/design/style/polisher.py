"""Set another style sheet of the application, and style every widget again, each once.

Left to itself, Qt styles each widget once more for every widget above it: ten times on average, which took
0.6 s of CPU for the window.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

_SLICE_S = 0.004


def change_style_sheet(app: QApplication, sheet: str) -> None:
    """Set a style sheet, and style all widgets at once: layouts measure hidden ones too."""
    for widget in _replace(app, sheet):
        _polish(widget)
        app.sendEvent(widget, QEvent(QEvent.Type.StyleChange))


class Polisher(QObject):
    """Changes colors: at once on screen, then of hidden widgets, in slices that leave the window usable."""

    def __init__(self, app: QApplication, parent: QObject) -> None:
        super().__init__(parent)
        self._app = app
        self._hidden: list[QWidget] = []
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._polish_slice)

    def change_colors(self, sheet: str) -> None:
        """Set a style sheet that differs from the one before in nothing but colors."""
        self._hidden = []
        for widget in _replace(self._app, sheet):
            if widget.isVisible():
                _polish(widget)
            else:
                self._hidden.append(widget)
        self._timer.start()

    def _polish_slice(self) -> None:
        # What was shown meanwhile comes first.
        waiting = iter(sorted(filter(isValid, self._hidden), key=lambda widget: not widget.isVisible()))
        end = time.perf_counter() + _SLICE_S  # only now: to look at ten thousand widgets takes longer
        for widget in waiting:
            _polish(widget)
            if time.perf_counter() > end:
                break
        self._hidden = list(waiting)
        if not self._hidden:
            self._timer.stop()


def _replace(app: QApplication, sheet: str) -> Iterator[QWidget]:
    """Set the sheet and yield the widgets to style, each after those that it lies in."""
    if not app.styleSheet():
        app.setStyleSheet(sheet)  # the first one: Qt styles each widget once
        return
    app.style().unpolish(app)  # all forget their rules; Qt would style those that have any
    app.setStyleSheet(sheet)
    for top in app.topLevelWidgets():
        if top.parent() is None:
            yield top
            yield from top.findChildren(QWidget)


def _polish(widget: QWidget) -> None:
    widget.style().polish(widget)
