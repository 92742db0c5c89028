"""Runs long work as jobs of the window: with progress, and, where it may be given up, with Cancel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.domain.listeners import OnProgress
from helix_desktop.ui.design.shell_data import JobRow
from helix_desktop.ui.shell.jobs import JobLines
from helix_desktop.words.numbers import format_whole_percent

_GROUP = "carrying"
_POLL_MS = 100
T = TypeVar("T")


class JobRunner(QObject):
    """Shows what it runs in the strip below the center."""

    ended = Signal(str, float)
    """Words and seconds of a job that was not canceled."""

    def __init__(self, lines: JobLines) -> None:
        super().__init__(lines)
        self._lines = lines
        self._jobs: dict[str, _Job] = {}
        self._poll_timer = QTimer(self, interval=_POLL_MS)
        self._poll_timer.timeout.connect(self._show_jobs)
        lines.cancel_requested.connect(self._cancel)

    async def run_cancellable(
        self, text: str, operation: Callable[[OnProgress], Awaitable[T]], on_cancel: str
    ) -> T | None:
        """Run it as a job with progress; None when the user has canceled it.

        `on_cancel` says what is kept then.
        """
        return await self._run(_Job(text, True, on_cancel), operation)

    async def run(self, text: str, operation: Callable[[OnProgress], Awaitable[T]]) -> T:
        """Run it as a job that is shown once it reports progress, and that cannot be canceled."""
        done = await self._run(_Job(text, False), operation)
        assert done is not None  # only a canceled job has no result
        return done

    async def _run(self, job: _Job, operation: Callable[[OnProgress], Awaitable[T]]) -> T | None:
        job_id = f"{_GROUP}-{id(job)}"
        self._jobs[job_id] = job
        self._show_jobs()
        self._poll_timer.start()
        started_s = time.monotonic()
        try:
            async with asyncio.timeout(None) as job.limit:
                result = await operation(job.report_progress)
            if job.cancellable or job.progress is not None:  # it had a line
                self.ended.emit(job.text, time.monotonic() - started_s)
            return result
        except TimeoutError:
            return None
        finally:
            del self._jobs[job_id]
            if not self._jobs:
                self._poll_timer.stop()
            self._show_jobs()

    def _show_jobs(self) -> None:
        rows = [
            JobRow(job_id, job.status_text, job.progress, job.cancellable, job.on_cancel)
            for job_id, job in self._jobs.items()
            if job.cancellable or job.progress is not None
        ]
        self._lines.show_jobs(rows, _GROUP)

    def _cancel(self, job_id: str) -> None:
        job = self._jobs.get(job_id)
        if job is not None and job.limit is not None:
            job.limit.reschedule(0)


class _Job:
    """One job: its texts, and its progress, reported from another thread."""

    def __init__(self, text: str, cancellable: bool, on_cancel: str = "") -> None:
        self.text, self.cancellable, self.on_cancel = text, cancellable, on_cancel
        self._done_and_total: tuple[int, int] = (0, 0)
        self.limit: asyncio.Timeout | None = None

    def report_progress(self, done: int, total: int) -> None:
        self._done_and_total = done, total

    @property
    def progress(self) -> float | None:
        """Return 0 to 1; None as long as it is not known."""
        done, size = self._done_and_total
        return min(1.0, done / size) if size else None

    @property
    def status_text(self) -> str:
        """Return what the line says."""
        share = self.progress
        return self.text if share is None else f"{self.text} · {format_whole_percent(share)}"
