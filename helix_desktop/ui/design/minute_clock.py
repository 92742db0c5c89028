"""Says when texts such as "2 min ago" are to be updated."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget

from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.words.times import AGE_STEP_MS


class MinuteClock(QObject):
    """Ticks when a widget is shown and, while it is, whenever an age can change: everywhere at once."""

    ticked = Signal()

    def __init__(self, widget: QWidget, clock: ClockMs = wall_clock_ms) -> None:
        super().__init__(widget)
        self._clock = clock
        self._timer = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._tick()
        elif event.type() == QEvent.Type.Hide:
            self._timer.stop()
        return False

    @property
    def wait_ms(self) -> int:
        return AGE_STEP_MS - self._clock() % AGE_STEP_MS

    def _tick(self) -> None:
        self.ticked.emit()
        self._timer.start(self.wait_ms)
