"""The list of workspaces: what the user does in it, and the git states that it shows."""

from __future__ import annotations

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import TurnChanged
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.files.file_use import tool_kind
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.kit.intents import (
    LocateWorkspace,
    OpenSwitcher,
    RemoveWorkspace,
    RenameWorkspace,
    ShowFolder,
    handles,
)
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.onboarding.pages import MissingFolderPage
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.controller import WorkspaceController, start_folder
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")


_READING = frozenset({"read", "list", "search"})
"""Kinds of tools that change nothing; what a command does in git's own folder is no change of files."""


class WorkspaceListController(QObject):
    def __init__(
        self, window: MainWindow, session: Session, workspace_controller: WorkspaceController
    ) -> None:
        super().__init__(window)
        self._window, self._services = window, session.app
        self._session, self._workspace_controller = session, workspace_controller
        window.lazy_missing_folder.when_built(self._follow_missing_folder)
        self._git = session.app.git
        self._git.listen(lambda _: workspace_controller.sidebar.show_workspaces())
        workspace_controller.workspace_opened.connect(self._git.refresh)
        workspace_controller.on(TurnChanged | ChangesRecorded | ToolAnswered, self._on_update)
        window.intents.add(self)
        window.activated.connect(self._refresh_open)

    def _follow_missing_folder(self, page: MissingFolderPage) -> None:
        session, start = self._session, self._session.start
        page.locate_requested.connect(lambda: start(self._locate(session.workspace_id), "locate"))
        page.remove_requested.connect(lambda: start(self._remove(session.workspace_id), "remove"))

    @handles(ShowFolder)
    def _show_folder(self, workspace_id: str) -> None:
        path = self._services.registry.get(workspace_id).path
        QDesktopServices.openUrl(QUrl.fromLocalFile(path))

    @handles(RenameWorkspace)
    async def _rename(self, workspace_id: str) -> None:
        record = self._services.registry.get(workspace_id)
        name = await dialogs.get_text(self._window, tr("Rename workspace"), record.name, tr("Rename"))
        if name:
            self._services.registry.change(workspace_id, name=name)
            await self._workspace_controller.sidebar.refresh()

    @handles(LocateWorkspace)
    async def _locate(self, workspace_id: str) -> None:
        record = self._services.registry.get(workspace_id)
        path = await dialogs.pick_folder(
            self._window,
            tr("Choose the folder of {workspace}", workspace=record.name),
            start_folder(self._services, workspace_id),
        )
        if path is not None:
            self._services.registry.relocate(workspace_id, path)  # may refuse: then what runs goes on
            await self._workspace_controller.reopen(workspace_id)

    @handles(RemoveWorkspace)
    async def _remove(self, workspace_id: str) -> None:
        record = self._services.registry.get(workspace_id)
        if not await dialogs.confirm(
            self._window,
            tr("Remove {workspace} from Helix?", workspace=record.name),
            tr("Running tasks stop. Files, sessions and cache are kept."),
            "remove",
            tr("Remove"),
        ):
            return
        await self._workspace_controller.close_workspace(workspace_id)
        self._services.registry.remove(workspace_id)
        if workspace_id == self._session.workspace_id:
            self._session.workspace_id = ""
            await self._workspace_controller.restore_last()
        await self._workspace_controller.sidebar.refresh()

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
