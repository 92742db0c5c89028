"""User actions on the list of workspaces: show a folder, rename, locate, remove."""

from __future__ import annotations

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.dialogs import DialogChoice
from helix_desktop.ui.kit.intents import (
    LocateWorkspace,
    RemoveWorkspace,
    RenameWorkspace,
    ShowFolder,
    handles,
)
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.controller import WorkspaceController, start_folder
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")


class WorkspaceListController(QObject):
    def __init__(
        self, window: MainWindow, session: Session, workspace_controller: WorkspaceController
    ) -> None:
        super().__init__(window)
        self._window, self._services = window, session.app
        self._session, self._workspace_controller = session, workspace_controller
        window.intents.add(self)
        start, missing = session.start, window.missing_folder
        missing.locate_requested.connect(lambda: start(self._locate(session.workspace_id), "locate"))
        missing.remove_requested.connect(lambda: start(self._remove(session.workspace_id), "remove"))

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
        answer = await dialogs.ask(
            self._window,
            self._window.theme,
            tr("Remove {workspace} from Helix?", workspace=record.name),
            tr("Running tasks stop. Files, sessions and cache are kept."),
            (DialogChoice("", tr("Cancel")), DialogChoice("remove", tr("Remove"), "danger")),
        )
        if answer != "remove":
            return
        await self._workspace_controller.close_workspace(workspace_id)
        self._services.registry.remove(workspace_id)
        if workspace_id == self._session.workspace_id:
            self._session.workspace_id = ""
            await self._workspace_controller.restore_last()
        await self._workspace_controller.sidebar.refresh()
