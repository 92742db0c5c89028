"""Counts whole seconds down, until something that was announced happens."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

_TICK_MS = 200  # often enough that each second is seen to change in time


class Countdown(QObject):
    """Tells how many seconds are left: at once, and whenever that changes. `now` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._until = 0.0
        self._last_seconds = -1
        self._on_tick: Callable[[int], None] = lambda _: None
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self.tick)

    @property
    def is_running(self) -> bool:
        """Return True if there is something left to tell."""
        return self._timer.isActive()

    def start(self, wait_s: float, on_tick: Callable[[int], None]) -> None:
        """Count down from so many seconds; a former countdown ends."""
        self._until, self._last_seconds, self._on_tick = self._clock() + wait_s, -1, on_tick
        self._timer.start()
        self.tick()

    def tick(self) -> None:
        """Report the time left, unless it was reported already."""
        left = max(0, math.ceil(self._until - self._clock()))
        if left == 0:
            self.stop()
        if left != self._last_seconds:
            self._last_seconds = left
            self._on_tick(left)

    def stop(self) -> None:
        """Tell nothing more."""
        self._timer.stop()
