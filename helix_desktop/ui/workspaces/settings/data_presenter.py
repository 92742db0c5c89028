"""Fills the page about a workspace's data and does what it asks for."""

from __future__ import annotations

from helix_desktop.domain.store.retention import RetentionRule
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.settings.dialog import SettingsDialog
from helix_desktop.ui.workspaces.controller import WorkspaceController


class DataPresenter:
    """Binds the page to the store of the workspace on screen."""

    def __init__(
        self,
        dialog: SettingsDialog,
        workspace_controller: WorkspaceController,
        async_actions: AsyncActions,
        services: AppServices,
    ) -> None:
        self._page, self._workspace_controller, self._services = dialog.data, workspace_controller, services
        start, tidying = async_actions.start, workspace_controller.cleanup
        self._page.rule_chosen.connect(
            lambda rule: start(self._save_rule(rule), "keep the rule of a clean-up")
        )
        for signal, work in (
            (self._page.clean_requested, tidying.clean_up),
            (self._page.trash_requested, tidying.show_trash),
            (self._page.redact_requested, tidying.redact),
            (self._page.backup_requested, workspace_controller.backup.back_up),
        ):
            signal.connect(dialog.hide)  # never one dialog above another
            signal.connect(lambda work=work: start(work(), "data"))

    async def show(self) -> None:
        """Show the figures and the rule as they are now."""
        workspace = self._services.open_workspaces.get(self._workspace_controller.active_workspace_id)
        if workspace is None:
            self._page.show_no_workspace()
            return
        record = self._services.registry.get(workspace.id)
        rule = RetentionRule(record.quota, record.unused_ms)
        totals, plan = await workspace.store.totals(), await workspace.store.retention.plan(rule)
        self._page.show_data(record.name, rule, totals, plan)

    async def _save_rule(self, rule: RetentionRule) -> None:
        workspace = self._services.open_workspaces.get(self._workspace_controller.active_workspace_id)
        if workspace is not None:
            self._services.registry.change(workspace.id, quota=rule.quota, unused_ms=rule.unused_ms)
            await self.show()
