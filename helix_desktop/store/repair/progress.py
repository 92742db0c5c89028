"""Progress of a multi-stage job on a store."""

from __future__ import annotations

from helix_desktop.domain.progress import OnProgress

_STEPS_PER_STAGE = 1_000  # of one stage


class StagedProgress:
    """Report combined progress of a job whose stages take about the same time; only when it increases."""

    def __init__(self, on_progress: OnProgress, stage_count: int) -> None:
        self._on_progress, self._total_steps = on_progress, stage_count * _STEPS_PER_STAGE
        self._reported = 0

    def report(self, stage: int, done: int, size: int) -> None:
        """Report `done` of `size` in a stage, counted from 0."""
        done_steps = stage * _STEPS_PER_STAGE + min(_STEPS_PER_STAGE, done * _STEPS_PER_STAGE // max(1, size))
        if done_steps > self._reported:
            self._reported = done_steps
            self._on_progress(done_steps, self._total_steps)
