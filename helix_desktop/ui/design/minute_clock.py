"""Says when texts such as "2 min ago" are to be updated."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

_TICK_MS = 10_000  # what is drawn again meanwhile, as below the pointer, is not far ahead


class MinuteClock(QObject):
    """Ticks when a widget is shown, and while it is."""

    ticked = Signal()

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._timer = QTimer(self, interval=_TICK_MS)
        self._timer.timeout.connect(self.ticked)
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Run while the widget is visible."""
        if event.type() == QEvent.Type.Show:
            self.ticked.emit()
            self._timer.start()
        elif event.type() == QEvent.Type.Hide:
            self._timer.stop()
        return False
