"""Collect garbage on the main thread only.

Python collects cycles on whatever thread happens to allocate. A Qt object that dies on a worker thread leaves
its timers behind ("Timers cannot be stopped from another thread"); the next event for them ends the process.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

_INTERVAL_MS = 1_000


class MainThreadCollector(QObject):
    """Replaces the automatic collector while the window lives; collects when enough was allocated."""

    def __init__(self, parent: QObject) -> None:
        """Freeze all existing objects: they are assumed to stay."""
        super().__init__(parent)
        gc.disable()
        gc.freeze()
        timer = QTimer(self, interval=_INTERVAL_MS)
        timer.timeout.connect(collect_due_generation)
        timer.start()


def collect_due_generation() -> None:
    """Collect the oldest generation over its threshold, as Python itself does."""
    counts = zip(gc.get_count(), gc.get_threshold(), strict=True)
    due = [generation for generation, (count, limit) in enumerate(counts) if count > limit]
    if due:
        gc.collect(due[-1])
