"""Asks whether a folder is trusted, and keeps the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from PySide6.QtCore import QObject

from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.chat.composer.notice_strip import TrustStrip
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.trust.dialog import TrustDialog
from helix_desktop.workspaces.auto_run_files import find_auto_run_files


class TrustController(QObject):
    """Binds the strip and the question to the workspace on screen."""

    def __init__(
        self,
        window: MainWindow,
        session_controller: SessionController,
        async_actions: AsyncActions,
        services: AppServices,
        on_change: Callable[[], Awaitable[None]],
    ) -> None:
        """`on_change` shows the workspace as it is now."""
        super().__init__(window)
        self._window, self._session_controller, self._services, self._on_change = (
            window,
            session_controller,
            services,
            on_change,
        )
        self._strip: TrustStrip = session_controller.views.chat.trust_strip
        self._strip.action_requested.connect(lambda: async_actions.start(self._ask_current(), "trust"))
        window.remedy_requested.connect(
            lambda remedy: (
                async_actions.start(self._ask_current(), "trust") if remedy == "trust_folder" else None
            )
        )
        session_controller.session_changed.connect(self.show)

    def show(self) -> None:
        """Show the strip where the folder on screen is not trusted."""
        workspace = self._session_controller.workspace
        self._strip.setVisible(
            workspace is not None and not workspace.is_read_only and not workspace.is_trusted()
        )

    async def _ask_current(self) -> None:
        if self._session_controller.workspace is not None:
            await self.ask(self._session_controller.workspace.id)

    async def ask(self, workspace_id: str) -> None:
        """Ask about a workspace's folder."""
        record = self._services.registry.get(workspace_id)
        acting = await asyncio.to_thread(find_auto_run_files, Path(record.path))
        dialog = TrustDialog(self._window, record.name, record.path, acting)
        retint(dialog, self._window.theme)
        if await exec_async(dialog):
            await self.set_trusted(workspace_id, True)

    async def set_trusted(self, workspace_id: str, trusted: bool) -> None:
        """Save the user's decision on a folder; without trust, what runs there is stopped."""
        self._services.registry.change(workspace_id, trusted=trusted)
        self._services.mcp_servers.start(workspace_id)
        workspace = self._services.open_workspaces.get(workspace_id)
        if workspace is not None and not trusted:
            for conversation in workspace.conversations:
                await conversation.stop()
        self.show()
        await self._on_change()
