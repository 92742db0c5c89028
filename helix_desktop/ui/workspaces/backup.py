"""Backs up all workspaces into a folder: one file each, with progress, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.progress import OnProgress
from helix_desktop.domain.store.archive_report import ExportResult
from helix_desktop.domain.text_format import format_bytes, pluralize
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.window_state import Banner, BannerAction, BannerLevel
from helix_desktop.ui.session.context import ControllerContext
from helix_desktop.ui.workspaces.job_runner import JobRunner
from helix_desktop.workspaces.record import WorkspaceRecord

_DONE, _SHOW = "backed up", "show"
_STEPS_PER_WORKSPACE = 1_000  # of the bar, for each workspace
_MAX_NAMED = 3  # workspaces that could not be written, listed by name


class _BackupSummary(NamedTuple):
    """What came of a backup so far: files, and the names of what is not whole, with why."""

    requested: int
    files: list[ExportResult]
    problems: list[tuple[str, str]]


class BackupController(QObject):
    """Binds the backup command to the app's backup service."""

    def __init__(self, context: ControllerContext, jobs: JobRunner) -> None:
        super().__init__(context.window)
        self._window, self._services, self._jobs = context.window, context.services, jobs
        self._folder = Path()
        start = context.async_actions.start
        context.window.commands.back_up.triggered.connect(lambda: start(self.back_up(), "back up"))
        context.window.banners.action_clicked.connect(self._on_banner_action)

    async def back_up(self) -> None:
        """Ask for a folder, and write each workspace to a file in it. Raises InvalidInput."""
        records = self._services.backup.stored_workspaces()
        if not records:
            raise InvalidInput("There is nothing to back up.", "Nothing was stored in any workspace yet.")
        folder = await dialogs.pick_folder(self._window, "Back up all workspaces into a folder")
        if folder is None:
            return
        summary = _BackupSummary(len(records), [], [])
        noun = pluralize(summary.requested, "workspace")
        ended = await self._jobs.run_cancellable(
            f"Backing up {noun}", lambda tell: self._write(records, folder, summary, tell)
        )
        self._folder = folder
        self._show_result(summary, cancelled=ended is None)

    async def _write(
        self,
        records: Sequence[WorkspaceRecord],
        folder: Path,
        summary: _BackupSummary,
        on_progress: OnProgress,
    ) -> bool:
        for number, record in enumerate(records):

            def report(done: int, size: int, before: int = number) -> None:
                on_progress(
                    before * _STEPS_PER_WORKSPACE + done * _STEPS_PER_WORKSPACE // max(1, size),
                    len(records) * _STEPS_PER_WORKSPACE,
                )

            try:
                result = await self._services.backup.back_up(record.id, folder, report)
            except HelixError as error:
                summary.problems.append((record.name, " ".join(filter(None, (error.what, error.why)))))
                continue
            summary.files.append(result)
            lost = len(result.totals.missing) + len(result.totals.left_out)
            if lost:
                summary.problems.append(
                    (record.name, f"{lost} of its parts are damaged and not in the file.")
                )
        return True

    def _show_result(self, summary: _BackupSummary, cancelled: bool) -> None:
        count = len(summary.files)
        size = format_bytes(sum(result.file_size for result in summary.files))
        share = f"{count} of {summary.requested}" if count < summary.requested else f"{count}"
        noun = "workspace was" if summary.requested == 1 else "workspaces were"
        what = f"{share} {noun} backed up" + (f": {size}, verified." if count else ".")
        if cancelled:
            what = f"The backup was cancelled. {what}"
        problems = [f"{name}: {why}" for name, why in summary.problems[:_MAX_NAMED]]
        if len(summary.problems) > _MAX_NAMED:
            problems.append(f"And {len(summary.problems) - _MAX_NAMED} more.")
        actions = (BannerAction(_SHOW, "Show folder"),) if count else ()
        level: BannerLevel = "warning" if summary.problems else "info"
        why = "\n".join(problems) or f"In {self._folder}"
        self._window.banners.show_banner(Banner(_DONE, level, what, why, actions=actions))

    def _on_banner_action(self, banner: str, action: str) -> None:
        if (banner, action) == (_DONE, _SHOW):
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder)))
