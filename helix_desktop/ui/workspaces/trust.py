"""Asks whether a folder is trusted, and keeps the answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import QObject

from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.settings.permissions_page import ChangeTrust
from helix_desktop.ui.trust.dialog import TrustDialog
from helix_desktop.ui.workspaces.sidebar_presenter import SidebarPresenter
from helix_desktop.workspaces.auto_run_files import find_auto_run_files


class TrustController(QObject):
    """Binds the strip and the question to the workspace on screen."""

    def __init__(
        self, context: ControllerContext, session_controller: SessionController, sidebar: SidebarPresenter
    ) -> None:
        super().__init__(context.window)
        self._window, self._services = context.window, context.services
        self._session_controller, self._sidebar = session_controller, sidebar
        self._async_actions, self._windows = context.async_actions, context.windows
        self._pending: set[str] = set()  # workspaces that are asked about, or will be
        self._one_question = asyncio.Lock()
        self._strip = context.views.chat.trust_strip
        self._strip.action_requested.connect(self._ask_current)
        context.views.changes.trust_requested.connect(self._ask_current)
        context.window.remedy_requested.connect(
            lambda remedy: self._ask_current() if remedy == "trust_folder" else None
        )
        context.window.intents.add(self)
        session_controller.session_changed.connect(self.show)

    def show(self) -> None:
        """Show the strip where the folder on screen is not trusted."""
        workspace = self._session_controller.workspace
        self._strip.setVisible(
            workspace is not None and not workspace.is_read_only and not workspace.is_trusted()
        )

    @handles(ChangeTrust)
    async def change(self, is_trusted: bool) -> None:
        """Ask whether the folder on screen is trusted, or take the trust away."""
        workspace = self._session_controller.workspace
        if workspace is not None and is_trusted:
            await self.ask(workspace.id)
        elif workspace is not None:
            await self.set_trusted(workspace.id, False)

    def _ask_current(self) -> None:
        workspace = self._session_controller.workspace
        if workspace is not None:
            self._async_actions.start(self.ask(workspace.id), "trust")

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
        record = self._services.registry.get(workspace_id)
        auto_run_files = await asyncio.to_thread(find_auto_run_files, Path(record.path))
        dialog = TrustDialog(self._window, record.name, record.path, auto_run_files)
        retint(dialog, self._window.theme)
        if await exec_async(dialog):
            await self.set_trusted(workspace_id, True)

    async def set_trusted(self, workspace_id: str, trusted: bool) -> None:
        """Save the user's decision on a folder; without trust, what runs there is stopped."""
        await self._services.set_trusted(workspace_id, trusted)
        self._windows.settings_changed.emit(self._window)
        self.show()
        self._session_controller.composer.show_availability()
        self._session_controller.schedule_refresh()
        if self._window.page() == "chat":
            self._session_controller.composer.widget.editor.setFocus()
        await self._sidebar.refresh()
