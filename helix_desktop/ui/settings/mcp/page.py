"""The page of MCP servers: a list of them, those of other programs, and its own cache as one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import urlsplit

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QShowEvent
from PySide6.QtWidgets import QFrame, QWidget

from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.services.cache_server import SharingState, http_config, server_name, stdio_config
from helix_desktop.services.foreign_servers import ForeignServer, ForeignServers
from helix_desktop.services.mcp_config import McpServerStatus, ServerDraft, parse_server_configs
from helix_desktop.services.mcp_servers import SIGN_IN_DETAILS
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import SWITCH_TEXT_X, PushButton, Switch, copy_text
from helix_desktop.ui.design.cards import Dot
from helix_desktop.ui.design.focus import has_keyboard
from helix_desktop.ui.design.labels import ElidedLabel, align_as_code, label, show_text
from helix_desktop.ui.design.layout import FlowBox, ResponsiveRow, card, clear_layout, column, line, pane, row
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.text_fields import TextArea
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.mcp.server_parts import (
    STATES,
    DisclosureButton,
    LogView,
    SecretList,
    ToolList,
    consent_reason_text,
    consent_text,
    servers_total_text,
    start_files_text,
    state_text,
    token_count_tip,
    tools_cost_text,
)
from helix_desktop.ui.settings.page_layout import UndoLine, open_text_file, scrolling_page
from helix_desktop.words.translation import Translator, error_text, translate

tr = Translator("Settings: MCP")


class ForeignServersBox(QFrame):
    def __init__(self, review: Callable[[ForeignServer], object]) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._review = review
        self._shown = ForeignServers()
        self._rows = column(gap=10)
        lead = tr(
            "Found in this folder and in your settings of other programs. Nothing starts until you "
            "review and add it; values of variables and headers aren't copied."
        )
        words = label(lead, "note", wrap=True)
        body = pane(column(words, self._rows, gap=10, margins=(0, 0, 4, 4)))
        self.toggle = DisclosureButton("", body)
        head = row(self.toggle, None, margins=(-_LINK_PX, 0, 0, 0))
        self.setLayout(column(head, body, margins=(16, 5, 12, 5)))
        self.hide()

    def show_servers(self, found: ForeignServers) -> None:
        """Show servers, and what can't be used; nothing is rebuilt while both stay the same."""
        self.setVisible(bool(found.servers or found.unusable))
        if found == self._shown:
            return
        self._shown = found
        count = len(found.servers)
        problems = len(found.unusable)
        words = tr.plural(count, "%n server from other programs", "%n servers from other programs")
        if not count:
            words = tr.plural(
                problems,
                "Servers from other programs: %n problem",
                "Servers from other programs: %n problems",
            )
        self.toggle.setText(words)
        clear_layout(self._rows)
        for server in found.servers:
            self._rows.addWidget(self._server_row(server))
        if count and problems:
            self._rows.addWidget(line())
        for problem in found.unusable:
            place = label(" · ".join(filter(None, (problem.name, problem.file))), "note", wrap=True)
            self._rows.addWidget(pane(column(place, label(translate(problem.why), "warn", wrap=True), gap=2)))

    def _server_row(self, server: ForeignServer) -> QWidget:
        draft = server.draft
        name = server.draft.config.name
        review = PushButton(tr("Review"), name=f"review:{name}", words=tr("Review {name}", name=name))
        review.clicked.connect(lambda: self._review(server))
        source = ElidedLabel(f"{server.program} · {server.file}", "faint")
        head = row(label(name, "strong"), source, gap=9, stretch=1)
        words = column(head, ElidedLabel(draft.config.target_line, "mono"), gap=2)
        if draft.missing_secrets:
            asks = tr("Asks for {names}", names=draft.missing_secrets)
            words.addWidget(label(asks, "note", wrap=True))
        return pane(row(pane(words), review, gap=12, stretch=0))


class SignInBox(QFrame):
    def __init__(self, session: Session, server: str) -> None:
        super().__init__()
        self.setProperty("role", "well")
        self._session = session
        self._server = server
        self._host = self._secret_storage = self._address = ""
        self._task: asyncio.Task[None] | None = None
        self._words = label("", "note", wrap=True)
        self._error = label("", "error", wrap=True)
        self.start = PushButton(tr("Sign in…"), name="sign_in", on_click=self._start)
        self.open = PushButton(tr("Open browser"), "", "external-link", name="open_browser")
        self.open.clicked.connect(self._open)
        self._copy = PushButton(tr("Copy address"), "", "copy", name="copy_address")
        self._copy.clicked.connect(lambda: copy_text(self._copy, self._address))
        self.cancel = PushButton(tr("Cancel"), name="cancel_sign_in", on_click=self.stop)
        buttons = FlowBox([self.start, self.open, self._copy, self.cancel])
        self.setLayout(column(self._error, self._words, buttons, margins=(12, 9, 12, 10)))
        self._error.hide()
        self._show_step()

    @property
    def is_running(self) -> bool:
        return self._task is not None

    def show_server(self, url: str, secret_storage: str) -> None:
        """Say where to sign in, and where that is kept: `secret_storage` says it."""
        self._host = escape_invisible(urlsplit(url).netloc)
        self._secret_storage = secret_storage
        if not self.is_running:
            self._show_step()

    def _start(self) -> None:
        show_text(self._error, "")
        task = self._task = self._session.actions.start(self._sign_in(), "mcp sign-in")
        self.destroyed.connect(lambda _: task.cancel())
        self._show_step(self.cancel)

    async def _sign_in(self) -> None:
        servers = self._session.app.mcp_servers
        workspace_id = self._session.workspace_id
        fault = ""
        try:
            await servers.sign_in(workspace_id, self._server, self._show_address)
        except HelixError as error:
            fault = error_text(error)
        self._end(fault)

    def _show_address(self, address: str) -> None:
        self._address = address
        self._show_step(self.open)

    def _open(self) -> None:
        is_opened = QDesktopServices.openUrl(QUrl.fromEncoded(self._address.encode()))
        fault = tr("The browser couldn't be opened. Copy the address, and open it there.")
        show_text(self._error, "" if is_opened else fault)
        if is_opened:
            host = urlsplit(self._address).netloc
            self._words.setText(tr("Waiting for you to sign in at {host}.", host=host))
        announce(self, self._words.text() if is_opened else fault)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._end("")

    def _end(self, fault: str) -> None:
        self._task = None
        self._address = ""
        show_text(self._error, fault)
        self._show_step(self.start)
        if fault:
            announce(self, fault)

    def _show_step(self, focus: PushButton | None = None) -> None:
        """Show what comes next; the keyboard goes to `focus` if it is in this box."""
        if not self.is_running:
            words = tr(
                "Helix asks {host} where you sign in, and shows you that address before your browser "
                "opens it. The tokens are secrets.",
                host=self._host,
            )
            words = join_sentences(words, self._secret_storage)
        elif not self._address:
            words = tr("Asking {host} where you sign in…", host=self._host)
        else:
            words = tr("Sign in at {host} in your browser.", host=urlsplit(self._address).netloc)
            announce(self, words)
        self._words.setText(words)
        had_focus = has_keyboard(self)
        self.start.setVisible(not self.is_running)
        self.open.setVisible(bool(self._address))
        self._copy.setVisible(bool(self._address))
        self.cancel.setVisible(self.is_running)
        if had_focus and focus is not None:
            focus.setFocus(Qt.FocusReason.OtherFocusReason)


_PASTE_PX = 92
_REFRESH_MS = 80  # many changes at once are shown once
_SWITCH_PX = 40
_LINK_PX = 12  # a link's own margin, by which a row of them is moved out
_LOG_POLL_MS = 700  # how often an open log is looked at
_EXAMPLES = (
    "npx -y @modelcontextprotocol/server-filesystem ~/notes\n"
    "https://mcp.example.com/mcp\n"
    '{ "mcpServers": { … } }'
)


class SharingCard(QFrame):
    def __init__(self, page: McpPage) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._stdio_config = self._http_config = ""
        self._lead = label("", "note", wrap=True)
        self._command = label("", "mono", wrap=True)
        align_as_code(self._command)
        session = page.session
        endpoints = page.session.app.cache_endpoints
        copy = PushButton(tr("Copy MCP configuration"), "", "copy", px=13, name="copy_command")
        copy.clicked.connect(lambda: copy_text(copy, self._stdio_config))
        copy_http = PushButton(tr("Copy with token"), "", "copy", px=13, name="copy_http")
        copy_http.clicked.connect(lambda: copy_text(copy_http, self._http_config))
        renew = PushButton(tr("New token"), name="renew_token")
        change = page.change
        renew.clicked.connect(lambda: change(lambda: endpoints.rotate_token(session.workspace_id), "token"))
        self.http = Switch(tr("Also share over HTTP while Helix Desktop runs"))
        self.http.clicked.connect(
            lambda is_on: change(lambda: endpoints.set_enabled(session.workspace_id, is_on), "share")
        )
        self._url = label("", "mono")
        self._error = label("", "error", wrap=True)
        self._endpoint_row = pane(row(ResponsiveRow(self._url, [renew, copy_http])))
        note = tr("For programs that can't start commands. Only on this computer, with the token.")
        http_note = label(note, "note", wrap=True)
        http_note.setContentsMargins(SWITCH_TEXT_X, 0, 0, 0)
        self.setLayout(
            column(
                label(tr("Share outputs over MCP"), "strong"), self._lead, self._command, row(copy, None),
                line(), column(self.http, http_note, gap=1),
                self._error, self._endpoint_row,
                margins=(16, 12, 16, 14), gap=9,
            )
        )  # fmt: skip

    def show_sharing(self, workspace_name: str, command: tuple[str, ...], sharing: SharingState) -> None:
        name = server_name(workspace_name)
        self._stdio_config = stdio_config(name, command)
        self._http_config = http_config(name, sharing)
        lead = tr(
            "Other programs can recall, search and list the outputs of {workspace}, nothing else. "
            "Each program starts this command itself, even while Helix Desktop is open.",
            workspace=workspace_name,
        )
        self._lead.setText(lead)
        self._command.setText(" ".join(f'"{word}"' if " " in word else word for word in command))
        self.http.setChecked(sharing.is_enabled)
        self._url.setText(sharing.url)
        self._endpoint_row.setVisible(bool(sharing.url))
        show_text(self._error, translate(sharing.error))


class AddServerBox(QFrame):
    """What is pasted becomes servers, each shown as it would start, and where its secrets go."""

    def __init__(self, page: McpPage) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._page = page
        self._drafts: tuple[ServerDraft, ...] = ()
        words = tr("Command line, URL or JSON block")
        self.paste = TextArea(words=words, placeholder=_EXAMPLES, height_px=_PASTE_PX)
        self.paste.textChanged.connect(self._parse)
        self._error = label("", "error", wrap=True)
        self._list = column(gap=10)
        self._add = PushButton("", "primary", name="add", on_click=lambda: page.add(self._drafts))
        cancel = PushButton(tr("Cancel"), name="cancel_add", on_click=page.close_add)
        self._lead = label("", "note", wrap=True)
        buttons = FlowBox([cancel, self._add], right_from=0)
        parts = (self._lead, self.paste, self._error, self._list, buttons)
        self.setLayout(column(*parts, margins=(16, 12, 16, 14), gap=9))
        self._parse()

    def start(self) -> None:
        self._lead.setText(tr("Paste a command line, a URL, or the JSON configuration of another program."))
        self.paste.clear()
        self.paste.show()
        self._parse()
        self.paste.setFocus()

    def review(self, server: ForeignServer) -> None:
        lead = tr(
            "{program} has this server in {file}. Values of variables and headers aren't copied.",
            program=server.program,
            file=server.file,
        )
        self._lead.setText(lead)
        self.paste.hide()
        show_text(self._error, "")
        self._show_drafts((server.draft,))
        self._add.setFocus(Qt.FocusReason.OtherFocusReason)

    def _parse(self) -> None:
        pasted = self.paste.toPlainText()
        drafts: tuple[ServerDraft, ...] = ()
        fault = ""
        try:
            if pasted.strip():
                drafts = parse_server_configs(pasted, self._page.used_names())
        except InvalidInput as error:
            fault = error_text(error)
        show_text(self._error, fault)
        self._show_drafts(drafts)

    def _show_drafts(self, drafts: tuple[ServerDraft, ...]) -> None:
        self._drafts = drafts
        clear_layout(self._list)
        for draft in drafts:
            self._list.addWidget(self._draft_row(draft))
        self._add.setText(tr.plural(len(drafts), "Add and start", "Add and start %n servers"))
        self._add.setVisible(bool(drafts))

    def _draft_row(self, draft: ServerDraft) -> QWidget:
        summary, exactly = consent_text(draft.config, self._page.folder)
        target = label(exactly, "mono", wrap=True)
        align_as_code(target)
        words = column(
            label(draft.config.name, "strong"), label(summary, "note", wrap=True), target,
            gap=2, margins=(12, 9, 12, 10),
        )  # fmt: skip
        found = tuple(name for name, value in draft.secrets.items() if value)
        if found:
            note = tr("Secrets: {names}.", names=found)
            storage = self._page.secret_storage
            words.addWidget(label(translate(join_sentences(note, storage)), "note", wrap=True))
        if draft.missing_secrets:
            note = tr("Enter {names} after adding it.", names=draft.missing_secrets)
            words.addWidget(label(note, "warn", wrap=True))
        return card(words, "well")


class ServerRow(QFrame):
    """A server in the list. What is open in it stays open while its report changes."""

    def __init__(self, name: str, page: McpPage) -> None:
        super().__init__()
        self._name = name
        self._page = page
        self._servers = page.session.app.mcp_servers
        self.setAccessibleName(tr("MCP server {name}", name=name))
        self._report: McpServerStatus | None = None
        self.divider = line()
        self._dot = Dot("faint", px=8)
        self._state = ElidedLabel("", "note")
        self._cost = label("", "faint")
        self._endpoint = ElidedLabel("", "mono")
        self._enabled_switch = Switch("", words=tr("Use {name}", name=name))
        self._enabled_switch.setFixedWidth(_SWITCH_PX)
        enable = self._servers.set_enabled
        self._enabled_switch.toggled.connect(lambda is_on: self._change(enable, "switch", is_on))
        self._reason = label("", "error", wrap=True)
        self._signed_in = label("", "faint", wrap=True)
        self._consent_words = [label("", role, wrap=True) for role in ("warn", "note", "mono", "note")]
        allow = PushButton(tr("Allow and start"), name="allow", on_click=self._give_consent)
        self._consent = card(column(*self._consent_words, row(allow, None), margins=(12, 9, 12, 10)), "well")
        self._consent.hide()
        self.sign_in = SignInBox(page.session, name)
        self.tools = ToolList(lambda off: self._change(self._servers.set_disabled_tools, "tools", off))
        self.secrets = SecretList(
            lambda secret, value: self._change(self._servers.set_secret, "secret", secret, value)
        )
        self.log = LogView()
        self.toggles = {
            "tools": DisclosureButton(tr("Tools"), self.tools, tr("Tools of {name}", name=name)),
            "secrets": DisclosureButton(tr("Secrets"), self.secrets, tr("Secrets of {name}", name=name)),
            "log": DisclosureButton(tr("Log", "noun"), self.log, tr("Log of {name}", name=name)),
        }
        self._restart = self._link(tr("Restart"), "restart", self._servers.restart)
        self._sign_out = self._link(tr("Sign out"), "sign_out", self._servers.sign_out)
        remove = PushButton(tr("Remove"), "link", name="remove", on_click=self._remove)
        head = row(self._dot, label(name, "strong"), self._state, self._enabled_switch, gap=9, stretch=2)
        links = row(
            *self.toggles.values(), self._restart, self._sign_out, remove, None,
            margins=(-_LINK_PX, 0, 0, 0), gap=2,
        )  # fmt: skip
        self.setLayout(
            column(
                self.divider, head, self._endpoint, self._cost, self._signed_in, self._reason, self._consent,
                self.sign_in, links, self.tools, self.secrets, self.log, margins=(0, 6, 0, 4), gap=7,
            )
        )  # fmt: skip

    def _link(self, words: str, name: str, operation: Callable[..., Awaitable[object]]) -> PushButton:
        return PushButton(words, "link", name=name, on_click=lambda: self._change(operation, name))

    def _remove(self) -> None:
        self._page.change(lambda: self._page.remove(self._name), "remove")

    def _change(self, operation: Callable[..., Awaitable[object]], name: str, *values: object) -> None:
        workspace_id = self._page.session.workspace_id
        self._page.change(lambda: operation(workspace_id, self._name, *values), name)

    def _give_consent(self) -> None:
        """Agree to what is on screen: it may be another one by now."""
        if self._report is not None:
            self._change(self._servers.consent, "agree", self._report.config.fingerprint)

    def show_report(self, report: McpServerStatus, folder: str, secret_storage: str) -> None:
        self._report = report
        self._dot.set_color_token(STATES[report.state][1])
        reported_name = report.reported_name if report.state == "ready" else ""
        self._state.set_full_text(" · ".join(part for part in (state_text(report), reported_name) if part))
        show_text(self._cost, tools_cost_text(report))
        self._cost.setToolTip(token_count_tip())
        self._endpoint.set_full_text(report.config.target_line)
        self._endpoint.setVisible(report.state != "unapproved")  # what is agreed to says it in full
        with QSignalBlocker(self._enabled_switch):
            self._enabled_switch.setChecked(report.config.enabled)
        self._enabled_switch.update()
        has_failed = report.state in ("failed", "waiting")
        show_text(self._reason, translate(report.why) if has_failed else "")
        self._consent.setVisible(report.state == "unapproved")
        self.sign_in.show_server(report.config.url, secret_storage)
        needs_sign_in = report.state == "signed_out" or self.sign_in.is_running
        has_left = self._sign_out.hasFocus() and not report.is_signed_in
        if has_left or (has_keyboard(self.sign_in) and not needs_sign_in):
            self.toggles["log"].setFocus(Qt.FocusReason.OtherFocusReason)  # not what is beside it
        self.sign_in.setVisible(needs_sign_in)
        self._sign_out.setVisible(report.is_signed_in)
        signed_in = join_sentences(tr("Signed in."), secret_storage)
        show_text(self._signed_in, signed_in if report.is_signed_in else "")
        consent = consent_reason_text(report.config), *consent_text(report.config, folder)
        for part, text in zip(
            self._consent_words, (*consent, start_files_text(report.start_files)), strict=True
        ):
            show_text(part, text)
        self.tools.show_tools(report.tools)
        self.log.show_log(report.log)
        count = tr.plural(len(report.tools), "%n tool", "%n tools")
        self.toggles["tools"].setText(count if report.tools else tr("Tools"))
        self.toggles["tools"].setVisible(bool(report.tools))
        names = report.config.secret_names
        self.secrets.show_secrets(names, report.missing_secrets, secret_storage)
        self.toggles["secrets"].setVisible(bool(names))
        if not names:
            self.toggles["secrets"].setChecked(False)
        self._restart.setVisible(report.state in ("ready", "failed", "signed_out", "starting", "waiting"))
        self._restart.setText(tr("Start now") if report.state in ("failed", "signed_out") else tr("Restart"))


class UnusedSecretsLine(QFrame):
    """Names the secrets in the keychain that no server in mcp.json has any more, with a button for them."""

    def __init__(self, delete: Callable[[], object]) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._words = label("", "muted", wrap=True)
        button = PushButton(tr("Delete"), "link", name="delete_secrets", on_click=delete)
        self.setLayout(row(self._words, button, margins=(14, 5, 8, 5), stretch=0))
        self.hide()

    def show_secrets(self, unused: Mapping[str, Sequence[str]]) -> None:
        """Show names of secrets by server; nothing when there are none."""
        named = [_secrets_text(server, names) for server, names in unused.items()]
        self._words.setText(tr("Secrets that mcp.json no longer names: {names}.", names=tuple(named)))
        self.setVisible(bool(named))


def _secrets_text(server: str, names: Sequence[str]) -> str:
    shown = [tr("sign-in") if name == SIGN_IN_DETAILS else name for name in names]
    return tr("{names} of {server}", names=tuple(shown), server=server)


class McpPage(QWidget):
    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._servers = session.app.mcp_servers
        self._endpoints = session.app.cache_endpoints
        self._async_actions = AsyncActions(
            session.actions.scope, lambda error: show_text(self._error, error_text(error))
        )
        self._undo_remove: Callable[[], Awaitable[None]] | None = None
        self.rows: dict[str, ServerRow] = {}
        """Those of the workspace on screen, by server."""
        self._all_rows: dict[tuple[str, str], ServerRow] = {}  # with sign-ins of others, by folder and server
        self.folder = ""
        """Of the workspace on screen."""
        self.secret_storage = ""
        """Where secrets are kept, in words."""
        self.add_box = AddServerBox(self)
        self._open_file = PushButton(tr("Open mcp.json"), name="open_file", on_click=self._open)
        self._file_error = label("", "error", wrap=True)
        self.unused_secrets = UnusedSecretsLine(self._delete_unused_secrets)
        self._add_button = PushButton(tr("Add server"), "", "plus", name="add_server", on_click=self.open_add)
        self._total = label("", "faint")
        self._empty = label("", "muted", wrap=True)
        self._error = label("", "error", wrap=True)
        self._undo = UndoLine(lambda: self.change(self._undo_removal, "undo"))
        self._list = column(gap=4, margins=(16, 6, 12, 6))
        self._list_card = card(self._list)
        self.sharing = SharingCard(self)
        self.foreign_servers = ForeignServersBox(self.review)
        self._head = FlowBox([self._add_button, self._open_file, self._total], right_from=2)
        body = column(
            self._head, self.add_box, self._file_error, self._error, self._undo, self.unused_secrets,
            self._empty, self._list_card, self.foreign_servers, self.sharing, gap=10,
        )  # fmt: skip
        page, self._lead = scrolling_page(tr("MCP servers"), " ", body)
        self.setLayout(column(page))
        self.show_no_workspace()
        self._refresh_timer = QTimer(self, singleShot=True, interval=_REFRESH_MS)
        self._refresh_timer.timeout.connect(
            lambda: self._async_actions.start(self._refresh_servers(), "show mcp servers")
        )
        log_timer = QTimer(self, interval=_LOG_POLL_MS)
        log_timer.timeout.connect(self._poll_logs)
        log_timer.start()
        unsubscribe = self._servers.listen(self._on_server_change)
        self.destroyed.connect(lambda _: unsubscribe())

    def _on_server_change(self, workspace_id: str) -> None:
        if workspace_id == self.session.workspace_id and self.isVisible():
            self._refresh_timer.start()

    def _poll_logs(self) -> None:
        """Refresh while a log is open: nothing announces that it grows."""
        if any(server.log.isVisible() for server in self.rows.values()):
            self._refresh_timer.start()

    async def refresh(self) -> None:
        await self._refresh_servers()
        await self._refresh_foreign_servers()

    async def _refresh_foreign_servers(self) -> None:
        workspace = self.session.opened
        if workspace is not None and not workspace.is_read_only:
            found = await self.session.app.foreign_servers.read(workspace.id)
            if workspace.id == self.session.workspace_id:
                self.foreign_servers.show_servers(found)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # Files can change.
        self._async_actions.start(self._refresh_foreign_servers(), "show foreign mcp servers")

    def _open(self) -> None:
        """Open mcp.json in the system's editor, and make it before if it is missing."""

        async def open_file() -> None:
            open_text_file(self._servers.create_file(self.session.workspace_id))

        self._async_actions.start(open_file(), "open mcp.json")

    def _delete_unused_secrets(self) -> None:
        self.change(lambda: self._servers.delete_unused_secrets(self.session.workspace_id), "delete_secrets")

    async def _refresh_servers(self) -> None:
        here = self.session
        workspace = self.session.opened
        if workspace is None or workspace.is_read_only:
            self.show_no_workspace()
            return
        await self._servers.read(workspace.id)
        record = here.app.registry.get(workspace.id)
        reports = await self._servers.statuses(workspace.id)
        secret_storage = await self._servers.secret_storage_text()
        unused = await self._servers.unused_secrets(workspace.id)
        if workspace.id == here.workspace_id:
            self.show_servers(record.name, record.path, reports, secret_storage)
            self.show_file_error(translate(self._servers.file_error(workspace.id)))
            self.unused_secrets.show_secrets(unused)
        sharing = await self._endpoints.sharing_state(workspace.id)
        if workspace.id == here.workspace_id:
            command = self._endpoints.stdio_command(workspace.id)
            self.sharing.show_sharing(record.name, command, sharing)

    def change(self, operation: Callable[[], Awaitable[object]], name: str) -> None:
        async def done() -> None:
            show_text(self._error, "")
            self.show_undo("")
            await operation()
            await self.refresh()

        self._async_actions.start(done(), f"mcp {name}")

    def add(self, drafts: Sequence[ServerDraft]) -> None:
        async def add() -> None:
            await self._servers.add(self.session.workspace_id, drafts)
            self.close_add()
            self.add_box.paste.clear()  # it may hold a secret
            await self._refresh_servers()
            lacking = [draft.config.name for draft in drafts if draft.missing_secrets]
            for name in lacking[:1]:
                self.enter_secret(name)

        self.change(add, "add")

    async def remove(self, name: str) -> None:
        self._undo_remove = await self._servers.remove(self.session.workspace_id, name)
        self.show_undo(tr("{name} was removed.", name=name))

    async def _undo_removal(self) -> None:
        put_back = self._undo_remove
        self._undo_remove = None
        if put_back is not None:
            await put_back()

    def show_no_workspace(self) -> None:
        self._show_rows("", ())
        self._lead.setText(tr("Open a workspace to add MCP servers."))
        for part in (
            self._head, self.add_box, self._file_error, self._error, self._undo, self.unused_secrets,
            self._empty, self.foreign_servers, self.sharing,
        ):  # fmt: skip
            part.hide()

    def show_file_error(self, why: str) -> None:
        """Say what is wrong with mcp.json; nothing when empty."""
        effect = tr("The servers that were read before stay in use.")
        show_text(self._file_error, f"mcp.json: {why} {effect}" if why else "")

    def show_servers(
        self, workspace_name: str, folder: str, reports: tuple[McpServerStatus, ...], secret_storage: str = ""
    ) -> None:
        self.folder = folder
        self.secret_storage = secret_storage
        lead = tr(
            "MCP servers give the agent more tools in {workspace}. They run with your rights, outside "
            "the sandbox. The agent asks before each call, unless a rule allows it.",
            workspace=workspace_name,
        )
        self._lead.setText(lead)
        self._head.show()
        self.sharing.show()
        self._total.setText(servers_total_text(reports))
        self._total.setToolTip(token_count_tip())
        self._empty.setText(tr("No servers yet."))
        self._empty.setVisible(not reports and self.add_box.isHidden())
        self._show_rows(folder, tuple(status.config.name for status in reports))
        for report in reports:
            self.rows[report.config.name].show_report(report, folder, secret_storage)

    def _show_rows(self, folder: str, names: tuple[str, ...]) -> None:
        """Show a row for each server of a folder; a sign-in that runs in another folder's row goes on."""
        self._list_card.setVisible(bool(names))
        current = {name: self._all_rows.get((folder, name)) for name in names}
        if list(self.rows.items()) == list(current.items()):
            return
        rows = {name: known or ServerRow(name, self) for name, known in current.items()}
        for (place, name), old in tuple(self._all_rows.items()):
            self._list.removeWidget(old)
            if rows.get(name) is old:
                continue
            old.hide()
            if place == folder or not old.sign_in.is_running:
                del self._all_rows[place, name]
                old.deleteLater()
        self.rows = rows
        for index, (name, server_row) in enumerate(rows.items()):
            self._all_rows[folder, name] = server_row
            self._list.addWidget(server_row)
            server_row.divider.setVisible(index > 0)
            server_row.show()

    def used_names(self, server: str = "") -> tuple[str, ...]:
        return tuple(name for name in self.rows if name != server)

    def open_add(self) -> None:
        self._empty.hide()
        if self.add_box.isHidden() or self.add_box.paste.isHidden():  # else what was pasted stays
            self.add_box.show()
            self.add_box.start()

    def review(self, server: ForeignServer) -> None:
        self._empty.hide()
        self.add_box.show()
        self.add_box.review(server)

    def close_add(self) -> None:
        """Close the place to paste in; the keyboard goes from there to the button that opened it."""
        if has_keyboard(self.add_box):
            self._add_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.add_box.hide()

    def enter_secret(self, server: str) -> None:
        """Open the secrets of a server, with the keyboard in the first one that has no value."""
        if server in self.rows:
            self.rows[server].toggles["secrets"].setChecked(True)
            self.rows[server].secrets.focus_first()

    def open_tools(self, server: str) -> None:
        """Open the tools of a server, with the keyboard at what closes them; without a sign-in, at that."""
        if server in self.rows:
            sign_in = self.rows[server].sign_in
            button = self.rows[server].toggles["tools"]
            button.setChecked(button.isChecked() or sign_in.isHidden())
            target = button if sign_in.isHidden() else sign_in.start
            target.setFocus(Qt.FocusReason.OtherFocusReason)

    def has_unsaved_edits(self) -> bool:
        return not self.add_box.isHidden() and bool(self.add_box.paste.toPlainText().strip())

    def show_undo(self, text: str) -> None:
        """Offer to undo what was just done, with the keyboard there; nothing when empty."""
        if not text and self._undo.button.hasFocus():
            self._add_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self._undo.say(text)
        if text:  # what the keyboard was at goes away
            self._undo.button.setFocus(Qt.FocusReason.OtherFocusReason)
