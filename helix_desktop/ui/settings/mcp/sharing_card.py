"""What lets other programs read a workspace's cache: a command, or an endpoint with a token."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame

from helix_desktop.services.cache_server.config_snippets import (
    SharingState,
    http_config,
    server_name,
    stdio_config,
)
from helix_desktop.ui.design.buttons import SWITCH_TEXT_X, PushButton, Switch
from helix_desktop.ui.design.copied import show_copied
from helix_desktop.ui.design.labels import align_as_code, label, show_text
from helix_desktop.ui.design.layout.boxes import column, line, row
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: MCP")


class SharingCard(QFrame):
    """The two ways in, each ready to be copied."""

    switched = Signal(bool)
    renew_requested = Signal()

    def __init__(self) -> None:
        """Start without a workspace."""
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
