"""How far a long work on a store is that has several parts."""

from __future__ import annotations

from helix_desktop.domain.store.archive_report import Progress

_STEPS_PER_STAGE = 1_000  # of one part


class StagedProgress:
    """Tells how far a work is whose parts take about the same time; each is told only as it goes on."""

    def __init__(self, on_progress: Progress, stage_count: int) -> None:
        self._on_progress, self._total_steps = on_progress, stage_count * _STEPS_PER_STAGE
        self._reported = 0

    def report(self, stage: int, done: int, size: int) -> None:
        """So much of so much is done in a part, counted from 0."""
        far = stage * _STEPS_PER_STAGE + min(_STEPS_PER_STAGE, done * _STEPS_PER_STAGE // max(1, size))
        if far > self._reported:
            self._reported = far
            self._on_progress(far, self._total_steps)
