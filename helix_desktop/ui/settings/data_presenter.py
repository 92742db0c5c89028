"""Fills the page about a workspace's data and does what it asks for."""

from __future__ import annotations

from helix_desktop.context.keeping import CleanUp
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.settings.dialog import SettingsDialog
from helix_desktop.ui.shell import Shell


class DataPresenter:
    """Binds the page to the store of the workspace on screen."""

    def __init__(self, dialog: SettingsDialog, shell: Shell, intents: Intents, desk: Desk) -> None:
        self._page, self._shell, self._desk = dialog.data, shell, desk
        start, tidying = intents.start, shell.tidying
        self._page.rule_chosen.connect(lambda rule: start(self._keep(rule), "keep the rule of a clean-up"))
        for asked, work in (
            (self._page.clean_requested, tidying.clean_up),
            (self._page.trash_requested, tidying.show_trash),
            (self._page.forget_requested, tidying.forget),
            (self._page.backup_requested, shell.backup.back_up),
        ):
            asked.connect(dialog.hide)  # never one dialog above another
            asked.connect(lambda work=work: start(work(), "data"))

    async def show(self) -> None:
        """Show the figures and the rule as they are now."""
        room = self._desk.rooms.get(self._shell.active)
        if room is None:
            self._page.show_nothing()
            return
        record = self._desk.registry.get(room.id)
        rule = CleanUp(record.quota, record.unused_ms)
        totals, plan = await room.store.totals(), await room.store.keep.plan(rule)
        self._page.show_data(record.name, rule, totals, plan)

    async def _keep(self, rule: CleanUp) -> None:
        room = self._desk.rooms.get(self._shell.active)
        if room is not None:
            self._desk.registry.change(room.id, quota=rule.quota, unused_ms=rule.unused_ms)
            await self.show()
