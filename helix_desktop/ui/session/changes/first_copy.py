"""The first copy of a workspace's files as a job: until it is done, not every change can be undone."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.ui.design.window_state import JobRow
from helix_desktop.ui.session.context import ControllerContext
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_GROUP = "first_copy"


class FirstCopyJob(QObject):
    """Follows the coverage of the workspace on screen."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._jobs, self._session_controller = context.window.jobs, session_controller
        self._workspace: OpenWorkspace | None = None
        self._unlisten: Callable[[], None] = lambda: None
        session_controller.session_changed.connect(self._follow)

    def _follow(self) -> None:
        workspace = self._session_controller.workspace
        if workspace is self._workspace:
            return
        self._unlisten()
        self._workspace = workspace
        self._unlisten = workspace.changes.listen(self._show) if workspace is not None else lambda: None
        self._show()

    def _show(self) -> None:
        """Show how many files are in; it goes on by itself after a restart, and has no end before it ends."""
        coverage = self._workspace.changes.coverage if self._workspace is not None else None
        rows = []
        if coverage is not None and coverage.files and not (coverage.is_complete or coverage.error):
            words = tr.plural(
                coverage.files, "Copying files for undo · %n file", "Copying files for undo · %n files"
            )
            rows = [JobRow(_GROUP, words, None, False)]
        self._jobs.show_jobs(rows, _GROUP)
