"""Carries a workspace into a file, and a file into a workspace: dialogs, progress, and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

from PySide6.QtCore import QObject, QTimer, QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.domain.digest import format_bytes
from helix_desktop.domain.store.archive_report import SUFFIX, ExportResult, Progress
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.dialogs import Choice
from helix_desktop.ui.design.window_state import Banner, BannerAction, BannerLevel, JobRow
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.numbers import format_whole_percent
from helix_desktop.words.store_reports import export_summary, import_summary

_FILTER = f"Workspaces (*{SUFFIX});;All files (*)"
_GROUP = "carrying"
_DONE = "carried"
_SHOW = "show"
_POLL_MS = 100
T = TypeVar("T")


class WorkspaceNavigator(Protocol):
    """Where workspaces are shown: the shell."""

    active_workspace_id: str

    async def open_workspace(self, workspace_id: str) -> None:
        """Show a workspace."""
        ...

    async def close_workspace(self, workspace_id: str) -> None:
        """End what runs in a workspace, and take it off the screen."""
        ...


class ImportExportController(QObject):
    """Binds the rail's entries for export and import to the app services."""

    def __init__(
        self,
        window: MainWindow,
        async_actions: AsyncActions,
        services: AppServices,
        navigator: WorkspaceNavigator,
    ) -> None:
        super().__init__(window)
        self._window, self._services, self._navigator = window, services, navigator
        self._jobs: dict[str, _Job] = {}
        self._export_path = Path()
        self._poll_timer = QTimer(self)
        self._poll_timer.setInterval(_POLL_MS)
        self._poll_timer.timeout.connect(self._show_jobs)
        start, rail = async_actions.start, window.rail
        rail.export_requested.connect(lambda identity: start(self.export(identity), "export"))
        rail.import_requested.connect(lambda identity: start(self.import_file(identity), "import"))
        window.jobs.cancel_requested.connect(self._cancel)
        window.banners.action_clicked.connect(self._on_banner_action)

    async def export(self, workspace_id: str) -> None:
        """Ask for a file, and write the workspace to it. Raises HelixError."""
        carrier, name = self._services.backup, self._services.registry.get(workspace_id).name
        path = await dialogs.pick_save_file(self._window, f"Export {name}", carrier.file_name(workspace_id))
        if path is None:
            return
        place = path if path.suffix == SUFFIX else path.with_name(path.name + SUFFIX)
        done = await self.run_cancellable_job(
            f"Exporting {name}", lambda tell: carrier.export(workspace_id, place, tell)
        )
        if done is not None:
            self._show_exported(workspace_id, done)

    async def import_file(self, workspace_id: str) -> None:
        """Ask for a file, and merge it into the workspace, which is closed meanwhile. Raises HelixError."""
        name = self._services.registry.get(workspace_id).name
        path = await dialogs.pick_file(self._window, f"Import into {name}", _FILTER)
        if path is not None:
            await self.merge_file(workspace_id, path)

    async def merge_file(self, workspace_id: str, path: Path) -> None:
        """Merge a file into the workspace, which is closed meanwhile. Raises HelixError."""
        carrier = self._services.backup
        if not await self._may_close(workspace_id):
            return
        is_visible = workspace_id == self._navigator.active_workspace_id
        if workspace_id in self._services.open_workspaces:
            await self._navigator.close_workspace(workspace_id)
        try:
            done = await self.run_cancellable_job(
                f"Importing {path.name}", lambda tell: carrier.import_file(workspace_id, path, tell)
            )
        finally:
            if is_visible and self._navigator.active_workspace_id == workspace_id:
                await self._navigator.open_workspace(workspace_id)
        if done is not None:
            words = import_summary(done)
            self._window.banners.show_banner(
                Banner(
                    _DONE,
                    "info",
                    f"{path.name} was imported.",
                    words,
                    workspace=self._banner_workspace(workspace_id),
                )
            )

    async def _may_close(self, workspace_id: str) -> bool:
        """Return True if nothing runs in a workspace, or the user agrees that it may be stopped."""
        workspace = self._services.open_workspaces.get(workspace_id)
        if workspace is None or not any(conversation.is_running for conversation in workspace.conversations):
            return True
        answer = await dialogs.ask(
            self._window,
            self._window.theme,
            "Stop what runs in this workspace?",
            "A workspace is closed while a file is imported into it. What was said so far is kept.",
            (Choice("", "Keep it running"), Choice("stop", "Stop and import", "primary")),
        )
        return answer == "stop"

    async def run_cancellable_job(self, text: str, operation: Callable[[Progress], Awaitable[T]]) -> T | None:
        """Run it as a job with progress; None when the user has cancelled it."""
        return await self._run(_Job(text, True), operation)

    async def run_job(self, text: str, operation: Callable[[Progress], Awaitable[T]]) -> T:
        """Do it as a job that is shown once it tells how far it is, and that cannot be cancelled."""
        done = await self._run(_Job(text, False), operation)
        assert done is not None  # only a cancelled job has no result
        return done

    async def _run(self, job: _Job, operation: Callable[[Progress], Awaitable[T]]) -> T | None:
        identity = f"{_GROUP}-{id(job)}"
        self._jobs[identity] = job
        self._show_jobs()
        self._poll_timer.start()
        try:
            async with asyncio.timeout(None) as job.limit:
                return await operation(job.report_progress)
        except TimeoutError:
            return None
        finally:
            del self._jobs[identity]
            if not self._jobs:
                self._poll_timer.stop()
            self._show_jobs()

    def _show_jobs(self) -> None:
        rows = [
            JobRow(identity, job.status_text, job.progress, job.cancellable)
            for identity, job in self._jobs.items()
            if job.cancellable or job.progress is not None
        ]
        self._window.jobs.show_jobs(rows, _GROUP)

    def _cancel(self, job_id: str) -> None:
        job = self._jobs.get(job_id)
        if job is not None and job.limit is not None:
            job.limit.reschedule(0)

    def _show_exported(self, workspace_id: str, result: ExportResult) -> None:
        self._export_path = Path(result.path)
        what = f"{self._export_path.name} was written: {format_bytes(result.file_size)}, verified."
        is_complete = not (result.totals.missing or result.totals.left_out)
        action = BannerAction(_SHOW, "Show folder")
        level: BannerLevel = "info" if is_complete else "warning"
        words, about = export_summary(result), self._banner_workspace(workspace_id)
        self._window.banners.show_banner(
            Banner(_DONE, level, what, words, actions=(action,), workspace=about)
        )

    def _banner_workspace(self, workspace_id: str) -> str:
        """Return the workspace of a result's banner; one that is not on screen gets its banner everywhere."""
        return workspace_id if workspace_id == self._navigator.active_workspace_id else ""

    def _on_banner_action(self, banner: str, action: str) -> None:
        if (banner, action) == (_DONE, _SHOW):
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._export_path.parent)))


class _Job:
    """One job: its texts, and its progress, reported from another thread."""

    def __init__(self, text: str, cancellable: bool) -> None:
        self._text, self.cancellable = text, cancellable
        self._done_and_total: tuple[int, int] = (0, 0)
        self.limit: asyncio.Timeout | None = None

    def report_progress(self, done: int, total: int) -> None:
        self._done_and_total = done, total

    @property
    def progress(self) -> float | None:
        """0 to 1; None as long as it is not known."""
        done, size = self._done_and_total
        return min(1.0, done / size) if size else None

    @property
    def status_text(self) -> str:
        share = self.progress
        return self._text if share is None else f"{self._text} · {format_whole_percent(share)}"
