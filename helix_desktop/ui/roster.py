"""What a person does with the list of workspaces: add a folder, show it, rename, locate, remove."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.ui import dialogs
from helix_desktop.ui.dialogs import Choice
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk


class Stage(Protocol):
    """Where workspaces are shown: the shell."""

    active: str

    async def begin(self) -> None:
        """Show the last workspace, or the welcome page."""
        ...

    async def open_folder(self, path: Path) -> None:
        """Make a folder a workspace, and open it."""
        ...

    async def open_workspace(self, identity: str) -> None:
        """Show a workspace."""
        ...

    async def leave(self, identity: str) -> None:
        """End what runs in a workspace, and take it off the screen."""
        ...

    async def refresh(self) -> None:
        """Show the list as it is now."""
        ...


class Roster(QObject):
    """Binds the rail's menu, the folder dialog and the missing-folder page to the registry."""

    def __init__(self, window: MainWindow, intents: Intents, desk: Desk, stage: Stage) -> None:
        super().__init__(window)
        self._window, self._desk, self._stage = window, desk, stage
        start, rail, missing = intents.start, window.rail, window.missing
        window.commands.open_folder.triggered.connect(lambda: start(self.pick_folder(), "open folder"))
        rail.folder_requested.connect(self._show_folder)
        rail.rename_requested.connect(lambda identity: start(self._rename(identity), "rename"))
        rail.locate_requested.connect(lambda identity: start(self._locate(identity), "locate"))
        rail.remove_requested.connect(lambda identity: start(self._remove(identity), "remove"))
        missing.locate_requested.connect(lambda: start(self._locate(stage.active), "locate"))
        missing.remove_requested.connect(lambda: start(self._remove(stage.active), "remove"))

    async def pick_folder(self) -> None:
        """Let the person choose a folder, and open it."""
        path = await dialogs.pick_folder(
            self._window, "Open a project folder", self._near(self._stage.active)
        )
        if path is not None:
            await self._stage.open_folder(path)

    def _near(self, identity: str) -> Path:
        """Where to look for a folder: beside the one of a workspace, else at home."""
        beside = Path(self._desk.registry.get(identity).path).parent if identity else Path.home()
        samples = beside.is_relative_to(self._desk.data_folder)
        return beside if beside.is_dir() and not samples else Path.home()

    def _show_folder(self, identity: str) -> None:
        path = self._desk.registry.get(identity).path
        QDesktopServices.openUrl(QUrl.fromLocalFile(path))

    async def _rename(self, identity: str) -> None:
        record = self._desk.registry.get(identity)
        name = await dialogs.get_text(self._window, "Name of the workspace", record.name, "Rename")
        if name:
            self._desk.registry.change(identity, name=name)
            await self._stage.refresh()

    async def _locate(self, identity: str) -> None:
        record = self._desk.registry.get(identity)
        path = await dialogs.pick_folder(self._window, f"Where is {record.name} now?", self._near(identity))
        if path is not None:
            self._desk.registry.relocate(identity, path)  # may refuse: then what runs goes on
            await self._stage.leave(identity)
            await self._stage.open_workspace(identity)

    async def _remove(self, identity: str) -> None:
        record = self._desk.registry.get(identity)
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
        await self._stage.leave(identity)
        self._desk.registry.remove(identity)
        if identity == self._stage.active:
            self._stage.active = ""
            await self._stage.begin()
        await self._stage.refresh()
