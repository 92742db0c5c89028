"""Sign-in at an MCP server: the address is shown before the browser opens it."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QApplication, QFrame

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.copied import show_copied
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("Settings: MCP")


class SignInBox(QFrame):
    def __init__(self, session: Session, server: str) -> None:
        super().__init__()
        self.setProperty("role", "well")
        self._session, self._server = session, server
        self._host = self._secret_storage = self._address = ""
        self._task: asyncio.Task[None] | None = None
        self._words, self._error = label("", "note", wrap=True), label("", "error", wrap=True)
        self.start = PushButton(tr("Sign in…"), name="sign_in", on_click=self._start)
        self.open = PushButton(
            tr("Open browser"), "", "external-link", name="open_browser", on_click=self._open
        )
        self._copy = PushButton(
            tr("Copy address"), "", "copy", name="copy_address", on_click=self._copy_address
        )
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
        self._host, self._secret_storage = escape_invisible(urlsplit(url).netloc), secret_storage
        if not self.is_running:
            self._show_step()

    def _start(self) -> None:
        show_text(self._error, "")
        task = self._task = self._session.actions.start(self._sign_in(), "mcp sign-in")
        self.destroyed.connect(lambda _: task.cancel())
        self._show_step(self.cancel)

    async def _sign_in(self) -> None:
        servers, workspace_id = self._session.app.mcp_servers, self._session.workspace_id
        try:
            await servers.sign_in(workspace_id, self._server, self._show_address)
        except HelixError as error:
            self._end(error_text(error))
        else:
            self._end("")

    def _show_address(self, address: str) -> None:
        self._address = address
        self._show_step(self.open)

    def _open(self) -> None:
        """Open the address that is on screen, as the user has seen it."""
        is_opened = QDesktopServices.openUrl(QUrl.fromEncoded(self._address.encode()))
        fault = tr("The browser couldn't be opened. Copy the address, and open it there.")
        show_text(self._error, "" if is_opened else fault)
        if is_opened:
            host = urlsplit(self._address).netloc
            self._words.setText(tr("Waiting for you to sign in at {host}.", host=host))
        announce(self, self._words.text() if is_opened else fault)

    def _copy_address(self) -> None:
        QGuiApplication.clipboard().setText(self._address)
        show_copied(self._copy)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._end("")

    def _end(self, fault: str) -> None:
        self._task, self._address = None, ""
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
        focused = QApplication.focusWidget()
        had_focus = focused is not None and self.isAncestorOf(focused)
        self.start.setVisible(not self.is_running)
        self.open.setVisible(bool(self._address))
        self._copy.setVisible(bool(self._address))
        self.cancel.setVisible(self.is_running)
        if had_focus and focus is not None:
            focus.setFocus(Qt.FocusReason.OtherFocusReason)
