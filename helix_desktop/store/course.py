"""How far a long work on a store is that has several parts."""

from __future__ import annotations

from helix_desktop.context.archive import Progress

_STEPS = 1_000  # of one part


class Course:
    """Tells how far a work is whose parts take about the same time; each is told only as it goes on."""

    def __init__(self, told: Progress, parts: int) -> None:
        self._told, self._whole = told, parts * _STEPS
        self._far = 0

    def reach(self, part: int, done: int, size: int) -> None:
        """So much of so much is done in a part, counted from 0."""
        far = part * _STEPS + min(_STEPS, done * _STEPS // max(1, size))
        if far > self._far:
            self._far = far
            self._told(far, self._whole)
