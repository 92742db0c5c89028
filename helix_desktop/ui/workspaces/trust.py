"""Asks whether a folder is trusted, and keeps the answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import QObject

from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.kit.intents import ApplyRemedy, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.window_group import WindowGroup
from helix_desktop.ui.settings.permissions_page import ChangeTrust
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.trust.dialog import TrustDialog
from helix_desktop.ui.workspaces.sidebar_presenter import SidebarPresenter
from helix_desktop.workspaces.auto_run_files import find_auto_run_files


class TrustController(QObject):
    def __init__(
        self, window: MainWindow, session: Session, windows: WindowGroup, sidebar: SidebarPresenter
    ) -> None:
        super().__init__(window)
        self._window, self._session, self._windows = window, session, windows
        self._sidebar = sidebar
        self._pending: set[str] = set()  # workspaces that are asked about, or will be
        self._one_question = asyncio.Lock()
        self._strip = window.pages.chat.trust_strip
        self._strip.action_requested.connect(self._ask_current)
        window.intents.add(self)
        session.changed.connect(self.show)

    def show(self) -> None:
        """Show the strip where the folder on screen is not trusted."""
        session = self._session
        self._strip.setVisible(
            session.has_workspace and not (session.workspace.is_read_only or session.workspace.is_trusted())
        )

    @handles(ApplyRemedy)
    def apply_remedy(self, remedy: str) -> None:
        """Ask whether the folder on screen is trusted, where that helps against an error."""
        if remedy == "trust_folder":
            self._ask_current()

    @handles(ChangeTrust)
    async def change(self, is_trusted: bool) -> None:
        """Ask whether the folder on screen is trusted, or take the trust away."""
        workspace_id = self._session.workspace.id
        if is_trusted:
            await self.ask(workspace_id)
        else:
            await self.set_trusted(workspace_id, False)

    def _ask_current(self) -> None:
        self._session.start(self.ask(self._session.workspace.id), "trust")

    async def ask(self, workspace_id: str) -> None:
        """Ask about a workspace's folder, after any question that is open; once for several calls."""
        if workspace_id in self._pending:
            return
        self._pending.add(workspace_id)
        try:
            async with self._one_question:
                await self._ask(workspace_id)
        finally:
            self._pending.discard(workspace_id)

    async def _ask(self, workspace_id: str) -> None:
        record = self._session.app.registry.get(workspace_id)
        auto_run_files = await asyncio.to_thread(find_auto_run_files, Path(record.path))
        dialog = TrustDialog(self._window, record.name, record.path, auto_run_files)
        if await exec_async(dialog):
            await self.set_trusted(workspace_id, True)

    async def set_trusted(self, workspace_id: str, trusted: bool) -> None:
        """Save the user's decision on a folder; without trust, what runs there is stopped."""
        await self._session.app.set_trusted(workspace_id, trusted)
        self._windows.settings_changed.emit(self._window)
        self.show()
        self._session.follow_models()  # whether something can be sent
        if self._window.page() == "chat":
            self._window.pages.chat.composer.editor.setFocus()
        await self._sidebar.refresh()
