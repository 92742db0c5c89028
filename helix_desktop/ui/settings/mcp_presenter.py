"""Fills the page of MCP servers, live, and does what it asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from PySide6.QtCore import QTimer

from helix_desktop.context.errors import HelixError
from helix_desktop.context.mcp_pasted import Draft
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.settings.dialog import SettingsDialog
from helix_desktop.ui.settings.mcp_card import ServerCard
from helix_desktop.ui.settings.mcp_form import Editing
from helix_desktop.ui.settings.mcp_words import error_text
from helix_desktop.ui.shell import Shell

_SOON_MS = 80  # many changes at once are shown once
_LOG_MS = 700  # how often an open log is looked at


class McpPresenter:
    """Binds the page to the servers of the workspace on screen."""

    def __init__(self, dialog: SettingsDialog, shell: Shell, intents: Intents, desk: Desk) -> None:
        self._dialog, self._page, self._shell, self._desk = dialog, dialog.mcp, shell, desk
        self._intents = Intents(intents.scope, lambda error: self._page.show_fault(error_text(error)))
        self._put_back: Callable[[], Awaitable[None]] | None = None
        self._soon = QTimer(dialog, singleShot=True, interval=_SOON_MS)
        self._soon.timeout.connect(lambda: self._intents.start(self.show(), "show mcp servers"))
        self._logs = QTimer(dialog, interval=_LOG_MS)
        self._logs.timeout.connect(self._look)
        self._logs.start()
        desk.servers.listen(self._hear)
        self._page.card_made.connect(self._connect)
        self._page.undo_requested.connect(lambda: self._do(self._undo, "undo"))
        endpoints, shared = desk.endpoints, self._page.sharing
        shared.switched.connect(
            lambda on: self._do(lambda: endpoints.switch(shell.active, on), "share the cache")
        )
        shared.renew_requested.connect(lambda: self._do(lambda: endpoints.renew(shell.active), "new token"))
        box = self._page.add_box
        box.added.connect(lambda drafts: self._do(lambda: self._add(drafts), "add"))
        box.test_requested.connect(lambda draft: self._test("", draft, box.editing))

    def _hear(self, identity: str) -> None:
        if identity == self._shell.active and self._page.isVisible():
            self._soon.start()

    def _look(self) -> None:
        """Logs grow without a word."""
        if self._page.isVisible() and any(card.is_open("log") for card in self._page.cards.values()):
            self._soon.start()

    def _connect(self, card: ServerCard) -> None:
        do, name, servers = self._do, card.name, self._desk.servers
        card.agreed.connect(
            lambda _, print_: do(lambda: servers.agree(self._shell.active, name, print_), "agree")
        )
        card.switched.connect(
            lambda _, on: do(lambda: servers.switch(self._shell.active, name, on), "switch")
        )
        card.tools_switched.connect(
            lambda _, off: do(lambda: servers.switch_tools(self._shell.active, name, off), "switch a tool")
        )
        card.restart_requested.connect(
            lambda _: do(lambda: servers.restart(self._shell.active, name), "restart")
        )
        card.remove_requested.connect(lambda _: do(lambda: self._remove(name), "remove"))
        card.saved.connect(lambda _, draft: do(lambda: self._save(card, draft), "save"))
        card.test_requested.connect(lambda _, draft: self._test(name, draft, card.editing))

    def _do(self, work: Callable[[], Awaitable[object]], name: str) -> None:
        async def done() -> None:
            self._page.show_fault("")
            self._page.show_undo("")
            await work()
            await self.show()

        self._intents.start(done(), f"mcp {name}")

    async def show(self) -> None:
        """Show the servers as they are now."""
        room = self._desk.rooms.get(self._shell.active)
        if room is None or room.reading:
            self._page.show_nothing()
            return
        record = self._desk.registry.get(room.id)
        reports, keeping = await self._desk.servers.reports(room.id), await self._desk.servers.keeping()
        if room.id == self._shell.active:
            self._page.show_servers(record.name, record.path, reports, keeping)
        sharing = await self._desk.endpoints.sharing(room.id)
        if room.id == self._shell.active:
            command = self._desk.endpoints.command(room.id)
            self._page.sharing.show_sharing(record.name, command, sharing)

    async def _add(self, drafts: list[Draft]) -> None:
        await self._desk.servers.add(self._shell.active, drafts)
        self._page.add_box.paste.clear()  # it may hold a secret
        self._page.add_box.hide()

    async def _save(self, card: ServerCard, draft: Draft) -> None:
        await self._desk.servers.change(self._shell.active, card.name, draft)
        card.open("edit", False)

    async def _remove(self, name: str) -> None:
        self._put_back = await self._desk.servers.remove(self._shell.active, name)
        self._page.show_undo(f"{name} was removed.")

    async def _undo(self) -> None:
        put_back, self._put_back = self._put_back, None
        if put_back is not None:
            await put_back()

    def _test(self, name: str, draft: Draft, editing: Editing) -> None:
        async def tested() -> None:
            try:
                editing.show_test(await self._desk.servers.test(self._shell.active, name, draft))
            except HelixError as error:
                editing.testing(False)
                editing.line.say("failed", error_text(error))

        editing.testing(True)
        self._intents.start(tested(), "mcp test")
