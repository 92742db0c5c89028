"""Fills the page about a workspace's data and does what it asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.file_history.changes import FileCoverageSettings
from helix_desktop.domain.retention import RetentionRule
from helix_desktop.services.diagnostics import folder_sizes
from helix_desktop.services.file_history import file_coverage_settings
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.settings.data_page import DataPage
from helix_desktop.words.errors import error_text


class DataDialogs(msgspec.Struct, frozen=True):
    """What opens the dialogs that the page leads to, each until it is closed."""

    clean_up: Callable[[], Awaitable[None]]
    trash: Callable[[], Awaitable[None]]
    redact: Callable[[], Awaitable[None]]


class DataPresenter:
    """Binds the page to the store of the workspace on screen."""

    def __init__(self, page: DataPage, context: ControllerContext, dialogs: DataDialogs) -> None:
        self._page, self._services = page, context.services
        self._active_workspace = context.active_workspace
        start, commands = context.async_actions.start, context.window.commands
        self._page.rule_chosen.connect(
            lambda rule: start(self._save_rule(rule), "keep the rule of a clean-up")
        )
        self._page.history_card.settings_chosen.connect(
            lambda settings: start(self._save_coverage(settings), "keep the settings of the file history")
        )
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
        workspace = self._active_workspace.opened
        if workspace is None:
            self._page.show_no_workspace()
            return
        record = self._services.registry.get(workspace.id)
        rule = RetentionRule(record.quota, record.unused_ms)
        totals, plan = await workspace.store.totals(), await workspace.store.retention.plan(rule)
        self._page.show_data(record.name, rule, totals, plan)
        history = self._services.history_storage(workspace.id)
        self._page.history_card.show_settings(file_coverage_settings(record))
        self._page.show_history(await history.totals(), history.quota)
        folder = self._services.registry.data_folder(workspace.id)
        sizes = await asyncio.to_thread(folder_sizes, folder)
        self._page.show_all_data(sum(part["bytes"] for part in sizes.values()))

    async def _show_after(self, open_dialog: Callable[[], Awaitable[None]]) -> None:
        """Open a dialog, and show what is left once it is closed."""
        await open_dialog()
        await self.show()

    async def _save_coverage(self, settings: FileCoverageSettings) -> None:
        workspace = self._active_workspace.opened
        if workspace is not None:
            try:
                await self._services.file_histories.use_settings(workspace.id, settings)
            except InvalidInput as error:
                self._page.history_card.show_error(error_text(error))
            else:
                await self.show()

    async def _save_rule(self, rule: RetentionRule) -> None:
        workspace = self._active_workspace.opened
        if workspace is not None:
            self._services.registry.change(workspace.id, quota=rule.quota, unused_ms=rule.unused_ms)
            await self.show()
