"""User actions on the list of workspaces: add a folder, show it, rename, locate, remove."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.dialogs import Choice
from helix_desktop.ui.shell.main_window import MainWindow


class WorkspaceNavigator(Protocol):
    """Where workspaces are shown: the shell."""

    active_workspace_id: str

    async def restore_last(self) -> None:
        """Show the last workspace, or the welcome page."""
        ...

    async def open_folder(self, path: Path) -> None:
        """Make a folder a workspace, and open it."""
        ...

    async def open_workspace(self, workspace_id: str) -> None:
        """Show a workspace."""
        ...

    async def close_workspace(self, workspace_id: str) -> None:
        """End what runs in a workspace, and take it off the screen."""
        ...

    async def refresh(self) -> None:
        """Show the list as it is now."""
        ...


class WorkspaceListController(QObject):
    """Binds the rail's menu, the folder dialog and the missing-folder page to the registry."""

    def __init__(
        self,
        window: MainWindow,
        async_actions: AsyncActions,
        services: AppServices,
        navigator: WorkspaceNavigator,
    ) -> None:
        super().__init__(window)
        self._window, self._services, self._navigator = window, services, navigator
        start, rail, missing = async_actions.start, window.rail, window.missing_folder
        window.commands.open_folder.triggered.connect(lambda: start(self.pick_folder(), "open folder"))
        rail.folder_requested.connect(self._show_folder)
        rail.rename_requested.connect(lambda identity: start(self._rename(identity), "rename"))
        rail.locate_requested.connect(lambda identity: start(self._locate(identity), "locate"))
        rail.remove_requested.connect(lambda identity: start(self._remove(identity), "remove"))
        missing.locate_requested.connect(lambda: start(self._locate(navigator.active_workspace_id), "locate"))
        missing.remove_requested.connect(lambda: start(self._remove(navigator.active_workspace_id), "remove"))

    async def pick_folder(self) -> None:
        """Let the user choose a folder, and open it."""
        path = await dialogs.pick_folder(
            self._window, "Open a project folder", self._start_folder(self._navigator.active_workspace_id)
        )
        if path is not None:
            await self._navigator.open_folder(path)

    def _start_folder(self, workspace_id: str) -> Path:
        """Return where to look for a folder: the parent of a workspace's folder, else home."""
        folder = Path(self._services.registry.get(workspace_id).path).parent if workspace_id else Path.home()
        samples = folder.is_relative_to(self._services.data_folder)
        return folder if folder.is_dir() and not samples else Path.home()

    def _show_folder(self, workspace_id: str) -> None:
        path = self._services.registry.get(workspace_id).path
        QDesktopServices.openUrl(QUrl.fromLocalFile(path))

    async def _rename(self, workspace_id: str) -> None:
        record = self._services.registry.get(workspace_id)
        name = await dialogs.get_text(self._window, "Name of the workspace", record.name, "Rename")
        if name:
            self._services.registry.change(workspace_id, name=name)
            await self._navigator.refresh()

    async def _locate(self, workspace_id: str) -> None:
        record = self._services.registry.get(workspace_id)
        path = await dialogs.pick_folder(
            self._window, f"Where is {record.name} now?", self._start_folder(workspace_id)
        )
        if path is not None:
            self._services.registry.relocate(workspace_id, path)  # may refuse: then what runs goes on
            await self._navigator.close_workspace(workspace_id)
            await self._navigator.open_workspace(workspace_id)

    async def _remove(self, workspace_id: str) -> None:
        record = self._services.registry.get(workspace_id)
        answer = await dialogs.ask(
            self._window,
            self._window.theme,
            f"Remove {record.name} from the list?",
            "What runs in it is stopped. Its folder, its sessions and its cache stay; open the folder again "
            "to have it back.",
            (Choice("", "Keep"), Choice("remove", "Remove", "danger")),
        )
        if answer != "remove":
            return
        await self._navigator.close_workspace(workspace_id)
        self._services.registry.remove(workspace_id)
        if workspace_id == self._navigator.active_workspace_id:
            self._navigator.active_workspace_id = ""
            await self._navigator.restore_last()
        await self._navigator.refresh()
