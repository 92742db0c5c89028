"""Keeps the git states on screen fresh: after what may change files, and when the user comes back."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import TurnChanged
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.files.file_use import tool_kind
from helix_desktop.ui.kit.intents import OpenSwitcher, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.controller import WorkspaceController

_READING = frozenset({"read", "list", "search"})
"""Kinds of tools that change nothing; what a command does in git's own folder is no change of files."""


class GitController(QObject):
    """Asks for the states of workspaces when they may be others now, and shows those that are."""

    def __init__(
        self, window: MainWindow, session: Session, workspace_controller: WorkspaceController
    ) -> None:
        super().__init__(window)
        self._services = session.app
        self._git, self._sidebar = session.app.git, workspace_controller.sidebar
        self._git.listen(lambda _: self._sidebar.show_workspaces())
        workspace_controller.workspace_opened.connect(self._git.refresh)
        workspace_controller.on(TurnChanged | ChangesRecorded | ToolAnswered, self._on_update)
        window.intents.add(self)
        window.activated.connect(self._refresh_open)

    def _refresh_open(self) -> None:
        for workspace_id in self._services.open_workspaces:
            self._git.refresh(workspace_id)

    @handles(OpenSwitcher)
    def _refresh_all(self) -> None:
        """Read the states of all workspaces: the switcher lists them."""
        for record in self._services.registry.list_workspaces():
            self._git.refresh(record.id)

    def _on_update(
        self, workspace: OpenWorkspace, _session: str, update: TurnChanged | ChangesRecorded | ToolAnswered
    ) -> None:
        is_read = isinstance(update, ToolAnswered) and tool_kind(update.name) in _READING
        if not is_read and not (isinstance(update, TurnChanged) and update.running):
            self._git.refresh(workspace.id)
