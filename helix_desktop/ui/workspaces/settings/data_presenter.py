"""Fills the page about a workspace's data and does what it asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from helix_desktop.domain.retention import RetentionRule
from helix_desktop.services.diagnostics import folder_sizes
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.app_settings import WorkspaceSettings
from helix_desktop.ui.settings.data_page import DataPage
from helix_desktop.ui.shell.main_window import MainWindow

_RULES = ("quota", "unused_days", "history_quota")


class DataDialogs(msgspec.Struct, frozen=True):
    """What opens the dialogs that the page leads to, each until it is closed."""

    clean_up: Callable[[], Awaitable[None]]
    trash: Callable[[], Awaitable[None]]
    redact: Callable[[], Awaitable[None]]


class DataPresenter:
    """Binds the page to the store of the workspace on screen."""

    def __init__(
        self,
        page: DataPage,
        window: MainWindow,
        session: Session,
        settings: WorkspaceSettings,
        dialogs: DataDialogs,
    ) -> None:
        self._page, self._services = page, session.app
        self._session = session
        start, commands = session.actions.start, window.commands
        settings.changed.connect(self._on_setting)
        self._async_actions = session.actions
        for signal, open_dialog in (
            (self._page.clean_requested, dialogs.clean_up),
            (self._page.trash_requested, dialogs.trash),
            (self._page.redact_requested, dialogs.redact),
        ):
            signal.connect(
                lambda open_dialog=open_dialog: start(self._show_after(open_dialog), "dialog of the data")
            )
        self._page.backup_requested.connect(commands.export.trigger)

    async def show(self) -> None:
        """Show the figures and the rule as they are now."""
        workspace = self._session.opened
        if workspace is None:
            self._page.show_no_workspace()
            return
        record = self._services.registry.get(workspace.id)
        rule = RetentionRule(record.quota, record.unused_ms)
        totals, plan = await workspace.store.totals(), await workspace.store.retention.plan(rule)
        self._page.show_data(record.name, totals, plan)
        history = self._services.history_storage(workspace.id)
        self._page.show_history(await history.totals(), history.quota)
        folder = self._services.registry.data_folder(workspace.id)
        sizes = await asyncio.to_thread(folder_sizes, folder)
        self._page.show_all_data(sum(part["bytes"] for part in sizes.values()))

    async def _show_after(self, open_dialog: Callable[[], Awaitable[None]]) -> None:
        """Open a dialog, and show what is left once it is closed."""
        await open_dialog()
        await self.show()

    def _on_setting(self, name: str) -> None:
        """Count again what the rule removes."""
        if name in _RULES and self._page.isVisible():
            self._async_actions.start(self.show(), "figures of the data")
