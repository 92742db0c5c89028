"""Fills the page of MCP servers, live, and does what it asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from PySide6.QtCore import QTimer

from helix_desktop.domain.errors import HelixError
from helix_desktop.services.mcp_config import ServerDraft
from helix_desktop.services.mcp_servers import test_limit_s
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.mcp.page import McpPage
from helix_desktop.ui.settings.mcp.server_card import ServerCard
from helix_desktop.ui.settings.mcp.server_form import ServerEditor
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("Settings: MCP")
_REFRESH_MS = 80  # many changes at once are shown once
_LOG_POLL_MS = 700  # how often an open log is looked at


class McpPresenter:
    """Binds the page to the servers of the workspace on screen."""

    def __init__(self, page: McpPage, session: Session) -> None:
        self._page, self._session = page, session
        self._servers, self._endpoints = session.app.mcp_servers, session.app.cache_endpoints
        self._registry = session.app.registry
        self._async_actions = AsyncActions(
            session.actions.scope, lambda error: self._page.show_error(error_text(error))
        )
        self._tests: dict[ServerEditor, asyncio.Task[None]] = {}  # the newest of each form
        self._undo_remove: Callable[[], Awaitable[None]] | None = None
        self._refresh_timer = QTimer(page, singleShot=True, interval=_REFRESH_MS)
        self._refresh_timer.timeout.connect(
            lambda: self._async_actions.start(self.show(), "show mcp servers")
        )
        self._log_timer = QTimer(page, interval=_LOG_POLL_MS)
        self._log_timer.timeout.connect(self._poll_logs)
        self._log_timer.start()
        self._servers.listen(self._on_server_change)
        self._page.card_created.connect(self._connect)
        self._page.undo_requested.connect(lambda: self._run(self._undo, "undo"))
        endpoints, active, shared = self._endpoints, self._session, self._page.sharing
        shared.switched.connect(
            lambda on: self._run(lambda: endpoints.set_enabled(active.workspace_id, on), "share")
        )
        shared.renew_requested.connect(
            lambda: self._run(lambda: endpoints.rotate_token(active.workspace_id), "token")
        )
        box = self._page.add_box
        box.added.connect(lambda drafts: self._run(lambda: self._add(drafts), "add"))
        box.test_requested.connect(lambda draft: self._test("", draft, box.editor))
        box.editor.test_stopped.connect(lambda: self._stop_test(box.editor))

    def _on_server_change(self, workspace_id: str) -> None:
        if workspace_id == self._session.workspace_id and self._page.isVisible():
            self._refresh_timer.start()

    def _poll_logs(self) -> None:
        """Refresh while a log is open: nothing announces that it grows."""
        if self._page.isVisible() and any(card.is_open("log") for card in self._page.cards.values()):
            self._refresh_timer.start()

    def _connect(self, card: ServerCard) -> None:
        do, name, servers, active = self._run, card.name, self._servers, self._session
        card.consent_given.connect(
            lambda _, fingerprint: do(
                lambda: servers.consent(active.workspace_id, name, fingerprint), "agree"
            )
        )
        card.switched.connect(
            lambda _, on: do(lambda: servers.set_enabled(active.workspace_id, name, on), "switch")
        )
        card.tools_switched.connect(
            lambda _, off: do(lambda: servers.set_disabled_tools(active.workspace_id, name, off), "tools")
        )
        card.restart_requested.connect(
            lambda _: do(lambda: servers.restart(active.workspace_id, name), "restart")
        )
        card.remove_requested.connect(lambda _: do(lambda: self._remove(name), "remove"))
        card.saved.connect(lambda _, draft: do(lambda: self._save(card, draft), "save"))
        card.test_requested.connect(lambda _, draft: self._test(name, draft, card.editor))
        card.editor.test_stopped.connect(lambda: self._stop_test(card.editor))

    def _run(self, operation: Callable[[], Awaitable[object]], name: str) -> None:
        async def done() -> None:
            self._page.show_error("")
            self._page.show_undo("")
            await operation()
            await self.show()

        self._async_actions.start(done(), f"mcp {name}")

    async def show(self) -> None:
        """Show the servers as they are now."""
        workspace = self._session.opened
        if workspace is None or workspace.is_read_only:
            self._page.show_no_workspace()
            return
        record = self._registry.get(workspace.id)
        statuses = await self._servers.statuses(workspace.id)
        secret_storage = await self._servers.secret_storage_text()
        if workspace.id == self._session.workspace_id:
            self._page.show_servers(record.name, record.path, statuses, secret_storage)
        sharing = await self._endpoints.sharing_state(workspace.id)
        if workspace.id == self._session.workspace_id:
            command = self._endpoints.stdio_command(workspace.id)
            self._page.sharing.show_sharing(record.name, command, sharing)

    async def _add(self, drafts: list[ServerDraft]) -> None:
        await self._servers.add(self._session.workspace_id, drafts)
        self._page.close_add()
        self._page.add_box.paste.clear()  # it may hold a secret

    async def _save(self, card: ServerCard, draft: ServerDraft) -> None:
        await self._servers.change(self._session.workspace_id, card.name, draft)
        card.end_editing()

    async def _remove(self, name: str) -> None:
        self._undo_remove = await self._servers.remove(self._session.workspace_id, name)
        self._page.show_undo(tr("{name} was removed.", name=name))

    async def _undo(self) -> None:
        put_back, self._undo_remove = self._undo_remove, None
        if put_back is not None:
            await put_back()

    def _test(self, name: str, draft: ServerDraft, editor: ServerEditor) -> None:
        async def tested() -> None:
            try:
                editor.show_test(await self._servers.test(self._session.workspace_id, name, draft))
            except HelixError as error:
                editor.show_test_problem(error_text(error))

        editor.show_testing(test_limit_s(draft.config), may_download=not draft.config.url)
        task = self._tests[editor] = self._async_actions.start(tested(), "mcp test")
        editor.destroyed.connect(lambda _: task.cancel())  # it may end after its form

    def _stop_test(self, editor: ServerEditor) -> None:
        if editor in self._tests:
            self._tests.pop(editor).cancel()
