"""The page of MCP servers: those of a workspace, a place to paste more, and its own cache as one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.services.cache_server import SharingState, http_config, server_name, stdio_config
from helix_desktop.services.mcp_config import McpServerStatus, ServerDraft, parse_server_configs
from helix_desktop.services.mcp_servers import test_limit_s
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import SWITCH_TEXT_X, PushButton, Switch
from helix_desktop.ui.design.copied import show_copied
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.design.labels import align_as_code, label, show_text
from helix_desktop.ui.design.layout.boxes import clear_layout, column, line, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.settings.mcp.server_card import ServerCard
from helix_desktop.ui.settings.mcp.server_form import ServerEditor
from helix_desktop.ui.settings.mcp.texts import secret_values_text, servers_total_text, token_count_tip
from helix_desktop.ui.settings.page_layout import OnScreen, scrolling_page
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: MCP")

_PASTE_PX = 92
_REFRESH_MS = 80  # many changes at once are shown once
_LOG_POLL_MS = 700  # how often an open log is looked at
_EXAMPLES = (
    "npx -y @modelcontextprotocol/server-filesystem ~/notes\n"
    "https://mcp.example.com/mcp\n"
    '{ "mcpServers": { … } }'
)


class SharingCard(QFrame):
    switched = Signal(bool)
    renew_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._stdio_config = self._http_config = ""
        self._lead, self._command = label("", "note", wrap=True), label("", "mono", wrap=True)
        align_as_code(self._command)
        copy_text, copy_http_text = tr("Copy MCP configuration"), tr("Copy with token")
        copy = PushButton(copy_text, "", "copy", px=13, name="copy_command")
        self.http = Switch(tr("Also share over HTTP while Helix Desktop runs"))
        self._url = label("", "mono")
        self._error = label("", "error", wrap=True)
        self._copy_http, renew = (
            PushButton(copy_http_text, "", "copy", px=13, name="copy_http"),
            PushButton(tr("New token"), name="renew_token"),
        )
        self._endpoint_row = QFrame()
        self._endpoint_row.setLayout(row(ResponsiveRow(self._url, [renew, self._copy_http])))
        http_note = label(
            tr("For programs that can't start commands. Only on this computer, with the token."),
            "note",
            wrap=True,
        )
        set_margins(http_note, SWITCH_TEXT_X, 0, 0, 0)
        self.setLayout(
            column(
                label(tr("Share this cache over MCP"), "strong"), self._lead, self._command, row(copy, None),
                line(), column(self.http, http_note, gap=1),
                self._error, self._endpoint_row,
                margins=(16, 12, 16, 14), gap=9,
            )
        )  # fmt: skip
        self.http.clicked.connect(lambda: self.switched.emit(self.http.isChecked()))
        renew.clicked.connect(self.renew_requested)
        copy.clicked.connect(lambda: _copy(copy, self._stdio_config))
        self._copy_http.clicked.connect(lambda: _copy(self._copy_http, self._http_config))

    def show_sharing(self, workspace_name: str, command: tuple[str, ...], sharing: SharingState) -> None:
        """Show how the cache of a workspace is shared; `command` starts its server."""
        name = server_name(workspace_name)
        self._stdio_config, self._http_config = stdio_config(name, command), http_config(name, sharing)
        self._lead.setText(
            tr(
                "Other programs can recall, search and list the cached outputs of {workspace}, nothing else. "
                "Each program starts this command itself, even while Helix Desktop is open.",
                workspace=workspace_name,
            )
        )
        self._command.setText(" ".join(_quoted(word) for word in command))
        self.http.setChecked(sharing.is_enabled)
        self._url.setText(sharing.url)
        self._endpoint_row.setVisible(bool(sharing.url))
        show_text(self._error, translate(sharing.error))


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word


def _copy(button: PushButton, text: str) -> None:
    """Put a text on the clipboard, and say so on the button for a moment."""
    QGuiApplication.clipboard().setText(text)
    show_copied(button)


class AddServerBox(Themed, QFrame):
    """What is pasted becomes one server with its fields, or a list of several."""

    added = Signal(list)
    """Drafts."""
    test_requested = Signal(object)
    canceled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._drafts: tuple[ServerDraft, ...] = ()
        self.used_names: tuple[str, ...] = ()
        self._secret_storage = ""
        self.paste = TextArea()
        self.paste.setPlaceholderText(_EXAMPLES)
        self.paste.setAccessibleName(tr("Command line, URL or JSON block"))
        self.paste.setFixedHeight(_PASTE_PX)
        self.paste.setTabChangesFocus(True)
        self.paste.textChanged.connect(self._parse)
        self._error = label("", "error", wrap=True)
        self.editor = ServerEditor(tr("Add and start"))
        self.editor.saved.connect(lambda draft: self.added.emit([draft]))
        self.editor.test_requested.connect(self.test_requested)
        self.editor.canceled.connect(self.canceled)
        self._multiple, self._list = QWidget(), QVBoxLayout()
        self._list.setSpacing(8)
        self._add_all, cancel = (
            PushButton("", "primary", name="add_all"),
            PushButton(tr("Cancel"), name="cancel_add_all"),
        )
        self._add_all.clicked.connect(lambda: self.added.emit(list(self._drafts)))
        cancel.clicked.connect(self.canceled)
        self._multiple.setLayout(column(self._list, FlowBox([cancel, self._add_all], right_from=0)))
        self._empty = QWidget()
        other = PushButton(tr("Cancel"), name="cancel_add")
        other.clicked.connect(self.canceled)
        self._empty.setLayout(row(None, other))
        advice = tr("Paste a command line, a URL, or the JSON configuration of another program.")
        what = label(advice, "note", wrap=True)
        self.setLayout(
            column(
                what, self.paste, self._error, self.editor, self._multiple, self._empty,
                margins=(16, 12, 16, 14), gap=9,
            )
        )  # fmt: skip
        self._parse()

    def start(self, used_names: tuple[str, ...]) -> None:
        """Reset the form; `used_names` are the names that are in use."""
        self.used_names = self.editor.used_names = used_names
        self.paste.clear()
        self._parse()
        self.paste.setFocus()

    def show_secret_storage(self, text: str) -> None:
        self.editor.form.show_secret_storage(text)
        self._secret_storage = text

    def _parse(self) -> None:
        text, fault = self.paste.toPlainText(), ""
        try:
            self._drafts = parse_server_configs(text, self.used_names) if text.strip() else ()
        except InvalidInput as error:
            self._drafts, fault = (), error_text(error)
        show_text(self._error, fault)
        is_single, many = len(self._drafts) == 1, len(self._drafts) > 1
        if is_single:
            (draft,) = self._drafts
            missing = tuple(name for name, value in draft.secrets.items() if not value)
            self.editor.edit(draft.config, draft.secrets, missing)
        if many:
            self._show_multiple()
        self.editor.setVisible(is_single)
        self._multiple.setVisible(many)
        self._empty.setVisible(not self._drafts)

    def _show_multiple(self) -> None:
        clear_layout(self._list)
        for draft in self._drafts:
            missing = [name for name, value in draft.secrets.items() if not value]
            words = column(
                label(draft.config.name, "strong"), label(draft.config.target_line, "mono", wrap=True), gap=2
            )
            if missing:
                note = tr("Enter {names} after adding it.", names=tuple(missing))
                words.addWidget(label(note, "warn", wrap=True))
            holder = QWidget()
            holder.setLayout(words)
            self._list.addWidget(holder)
        if self._secret_storage and any(draft.secrets for draft in self._drafts):
            self._list.addWidget(label(secret_values_text(self._secret_storage), "note", wrap=True))
        self._add_all.setText(
            tr.plural(len(self._drafts), "Add and start %n server", "Add and start %n servers")
        )
        retint(self, self._theme)


class McpPage(Themed, QWidget):
    def __init__(self, on_screen: OnScreen) -> None:
        super().__init__()
        self._on_screen, services = on_screen, on_screen.services
        self._servers, self._endpoints = services.mcp_servers, services.cache_endpoints
        self._async_actions = AsyncActions(
            on_screen.async_actions.scope, lambda error: self.show_error(error_text(error))
        )
        self._tests: dict[ServerEditor, asyncio.Task[None]] = {}  # the newest of each form
        self._undo_remove: Callable[[], Awaitable[None]] | None = None
        self.cards: dict[str, ServerCard] = {}
        """Those of the workspace on screen, by server."""
        self._all_cards: dict[tuple[str, str], ServerCard] = {}  # with edits of others, by folder and server
        self.add_box = AddServerBox()
        self._add_button = PushButton(tr("Add server"), "", "plus", name="add_server")
        self._add_button.clicked.connect(self.open_add)
        self._total = label("", "faint")
        self._empty = label("", "muted", wrap=True)
        self._error = label("", "error", wrap=True)
        self._undo_text = label("", "note", wrap=True)
        self._undo_button = undo = PushButton(tr("Undo"), "link", "undo-2", px=13, name="undo")
        undo.clicked.connect(lambda: self._run(self._undo_removal, "undo"))
        self._undo = QFrame()
        self._undo.setProperty("role", "well")
        undo_row = row(self._undo_text, undo, margins=(14, 5, 8, 5))
        undo_row.setStretch(0, 1)
        self._undo.setLayout(undo_row)
        self._list = QVBoxLayout()
        self._list.setSpacing(10)
        self.sharing = SharingCard()
        self._head = FlowBox([self._add_button, self._total], right_from=1)
        body = column(
            self._head, self.add_box, self._error, self._undo, self._empty, self._list, self.sharing, gap=10
        )
        page, self._lead = scrolling_page(tr("MCP servers"), " ", body)
        self.setLayout(column(page))
        self.show_no_workspace()
        box, here, endpoints = self.add_box, on_screen, self._endpoints
        box.canceled.connect(self.close_add)
        box.added.connect(lambda drafts: self._run(lambda: self._add(drafts), "add"))
        box.test_requested.connect(lambda draft: self._test("", draft, box.editor))
        box.editor.test_stopped.connect(lambda: self._stop_test(box.editor))
        self.sharing.switched.connect(
            lambda on: self._run(lambda: endpoints.set_enabled(here.workspace_id, on), "share")
        )
        self.sharing.renew_requested.connect(
            lambda: self._run(lambda: endpoints.rotate_token(here.workspace_id), "token")
        )
        self._refresh_timer = QTimer(self, singleShot=True, interval=_REFRESH_MS)
        self._refresh_timer.timeout.connect(
            lambda: self._async_actions.start(self.refresh(), "show mcp servers")
        )
        log_timer = QTimer(self, interval=_LOG_POLL_MS)
        log_timer.timeout.connect(self._poll_logs)
        log_timer.start()
        unsubscribe = self._servers.listen(self._on_server_change)
        self.destroyed.connect(lambda _: unsubscribe())

    def _on_server_change(self, workspace_id: str) -> None:
        if workspace_id == self._on_screen.workspace_id and self.isVisible():
            self._refresh_timer.start()

    def _poll_logs(self) -> None:
        """Refresh while a log is open: nothing announces that it grows."""
        if self.isVisible() and any(card.is_open("log") for card in self.cards.values()):
            self._refresh_timer.start()

    async def refresh(self) -> None:
        here, workspace = self._on_screen, self._on_screen.workspace
        if workspace is None or workspace.is_read_only:
            self.show_no_workspace()
            return
        record = here.services.registry.get(workspace.id)
        reports = await self._servers.statuses(workspace.id)
        secret_storage = await self._servers.secret_storage_text()
        if workspace.id == here.workspace_id:
            self.show_servers(record.name, record.path, reports, secret_storage)
        sharing = await self._endpoints.sharing_state(workspace.id)
        if workspace.id == here.workspace_id:
            command = self._endpoints.stdio_command(workspace.id)
            self.sharing.show_sharing(record.name, command, sharing)

    def _run(self, operation: Callable[[], Awaitable[object]], name: str) -> None:
        """Change something, and show the servers as they are then."""

        async def done() -> None:
            self.show_error("")
            self.show_undo("")
            await operation()
            await self.refresh()

        self._async_actions.start(done(), f"mcp {name}")

    async def _add(self, drafts: list[ServerDraft]) -> None:
        await self._servers.add(self._on_screen.workspace_id, drafts)
        self.close_add()
        self.add_box.paste.clear()  # it may hold a secret

    async def _save(self, card: ServerCard, draft: ServerDraft) -> None:
        await self._servers.change(self._on_screen.workspace_id, card.name, draft)
        card.end_editing()

    async def _remove(self, name: str) -> None:
        self._undo_remove = await self._servers.remove(self._on_screen.workspace_id, name)
        self.show_undo(tr("{name} was removed.", name=name))

    async def _undo_removal(self) -> None:
        put_back, self._undo_remove = self._undo_remove, None
        if put_back is not None:
            await put_back()

    def _test(self, name: str, draft: ServerDraft, editor: ServerEditor) -> None:
        async def tested() -> None:
            try:
                editor.show_test(await self._servers.test(self._on_screen.workspace_id, name, draft))
            except HelixError as error:
                editor.show_test_problem(error_text(error))

        editor.show_testing(test_limit_s(draft.config), may_download=not draft.config.url)
        task = self._tests[editor] = self._async_actions.start(tested(), "mcp test")
        editor.destroyed.connect(lambda _: task.cancel())  # it may end after its form

    def _stop_test(self, editor: ServerEditor) -> None:
        if editor in self._tests:
            self._tests.pop(editor).cancel()

    def show_no_workspace(self) -> None:
        self._show_cards("", ())
        self._lead.setText(tr("Open a workspace to add MCP servers."))
        for part in (self._head, self.add_box, self._error, self._undo, self._empty, self.sharing):
            part.hide()

    def show_servers(
        self, workspace_name: str, folder: str, reports: tuple[McpServerStatus, ...], secret_storage: str = ""
    ) -> None:
        self.add_box.show_secret_storage(secret_storage)
        self._lead.setText(
            tr(
                "MCP servers give the agent more tools in {workspace}. They run with your rights, outside "
                "the sandbox. The agent asks before each call, unless a rule allows it.",
                workspace=workspace_name,
            )
        )
        self._head.show()
        self.sharing.show()
        self._total.setText(servers_total_text(reports))
        self._total.setToolTip(token_count_tip())
        self._empty.setText(
            tr(
                "No servers yet. Files such as .mcp.json in the folder are never read. Paste what you want "
                "to use."
            )
        )
        self._empty.setVisible(not reports and self.add_box.isHidden())
        names = tuple(status.config.name for status in reports)
        self._show_cards(folder, names)
        for report in reports:
            used_names = tuple(name for name in names if name != report.config.name)
            card = self.cards[report.config.name]
            card.editor.form.show_secret_storage(secret_storage)
            card.show_report(report, folder, used_names)

    def _show_cards(self, folder: str, names: tuple[str, ...]) -> None:
        """Show a card for each server of a folder; what is edited in cards of other folders stays."""
        current = {name: self._all_cards.get((folder, name)) for name in names}
        if list(self.cards.items()) == list(current.items()):
            return
        cards = {name: card or self._create_card(name) for name, card in current.items()}
        for (place, name), old in tuple(self._all_cards.items()):
            self._list.removeWidget(old)
            if cards.get(name) is old:
                continue
            old.hide()
            if place == folder or not old.editor.has_edits:
                del self._all_cards[place, name]
                old.deleteLater()
        self.cards = cards
        for name, server_card in cards.items():
            self._all_cards[folder, name] = server_card
            self._list.addWidget(server_card)
            server_card.show()

    def _create_card(self, name: str) -> ServerCard:
        card, servers, here, run = ServerCard(name), self._servers, self._on_screen, self._run
        card.consent_given.connect(
            lambda _, digest: run(lambda: servers.consent(here.workspace_id, name, digest), "agree")
        )
        card.switched.connect(
            lambda _, on: run(lambda: servers.set_enabled(here.workspace_id, name, on), "switch")
        )
        card.tools.switched.connect(
            lambda off: run(lambda: servers.set_disabled_tools(here.workspace_id, name, off), "tools")
        )
        card.restart_requested.connect(
            lambda _: run(lambda: servers.restart(here.workspace_id, name), "restart")
        )
        card.remove_requested.connect(lambda _: run(lambda: self._remove(name), "remove"))
        card.editor.saved.connect(lambda draft: run(lambda: self._save(card, draft), "save"))
        card.editor.test_requested.connect(lambda draft: self._test(name, draft, card.editor))
        card.editor.test_stopped.connect(lambda: self._stop_test(card.editor))
        retint(card, self._theme)
        return card

    def open_add(self) -> None:
        self._empty.hide()
        if self.add_box.isHidden():  # else what was pasted stays
            self.add_box.show()
            self.add_box.start(tuple(self.cards))

    def close_add(self) -> None:
        """Close the place to paste in; the keyboard goes from there to the button that opened it."""
        focused = self.focusWidget()
        if focused is not None and self.add_box.isAncestorOf(focused):
            self._add_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.add_box.hide()

    def enter_secret(self, server: str) -> None:
        """Open the fields of a server, with the keyboard in the first secret that has no value."""
        if server in self.cards:
            self.cards[server].enter_secret()

    def open_tools(self, server: str) -> None:
        if server in self.cards:
            self.cards[server].open_tools()

    def has_unsaved_edits(self) -> bool:
        pasted = not self.add_box.isHidden() and bool(self.add_box.paste.toPlainText().strip())
        return pasted or any(card.editor.has_edits for card in self._all_cards.values())

    def show_error(self, text: str) -> None:
        show_text(self._error, text)

    def error_text(self) -> str:
        return "" if self._error.isHidden() else self._error.text()

    def show_undo(self, text: str) -> None:
        """Offer to undo what was just done, with the keyboard there; nothing when empty."""
        if not text and self._undo_button.hasFocus():
            self._add_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self._undo_text.setText(text)
        self._undo.setVisible(bool(text))
        if text:  # what the keyboard was at goes away
            self._undo_button.setFocus(Qt.FocusReason.OtherFocusReason)
