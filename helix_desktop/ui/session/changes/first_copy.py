"""The first copy of a workspace's files as a job: until it is done, not every change can be undone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.workspace_changes import WorkspaceChanges
from helix_desktop.domain.file_history.changes import FileCoverage
from helix_desktop.ui.changes.texts import copied_share
from helix_desktop.ui.design.shell_data import JobAction, JobRow
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_GROUP = "first_copy"


class FirstCopyJob(QObject):
    """Follows the coverage of the workspace on screen; the user pauses and resumes the copy."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._jobs, self._session_controller = context.window.jobs, session_controller
        self._start = context.async_actions.start
        self._workspace: OpenWorkspace | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        session_controller.session_changed.connect(self._follow)

    def _follow(self) -> None:
        workspace = self._session_controller.workspace
        if workspace is self._workspace:
            return
        self._unsubscribe()
        self._workspace = workspace
        self._unsubscribe = workspace.changes.listen(self._show) if workspace is not None else lambda: None
        self._show()

    def _show(self) -> None:
        """Show how many files are in; after a restart it goes on, or still is paused."""
        rows = []
        if self._workspace is not None:
            changes, coverage = self._workspace.changes, self._workspace.changes.coverage
            has_begun = bool(coverage.files) or coverage.is_paused
            if has_begun and not (coverage.is_complete or coverage.error):
                pause = partial(self._pause, changes, not coverage.is_paused)
                rows = [_row(coverage, pause)]
        self._jobs.show_jobs(rows, _GROUP)

    def _pause(self, changes: WorkspaceChanges, is_paused: bool) -> None:
        self._start(changes.pause_copy(is_paused), "pause the first copy")


def _row(coverage: FileCoverage, pause: Callable[[], object]) -> JobRow:
    share = copied_share(coverage)
    if coverage.is_paused:
        words = tr.plural(
            coverage.pending,
            "Copying files for undo paused · %n file left",
            "Copying files for undo paused · %n files left",
        )
        return JobRow(_GROUP, words, share, JobAction("resume", pause))
    words = tr.plural(coverage.files, "Copying files for undo · %n file", "Copying files for undo · %n files")
    effect = tr("Until you resume, changes to files that aren't copied yet can't be undone.")
    return JobRow(_GROUP, words, share, JobAction("pause", pause, effect))
