"""The model servers that were found on this machine, each with one button that adds it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from helix_desktop.domain.local_server import LocalServer
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.words.numbers import format_tokens

SCANNING_TEXT = "Looking on the ports of Ollama, LM Studio, llama.cpp and vLLM …"
NOTHING_FOUND_TEXT = (
    "No model server answers on ports 11434, 1234, 8080 and 8000 of this machine. Start one and look again."
)
_MAX_NAMED_MODELS = 3  # models that are named


class FoundServerList(Themed, QWidget):
    """Nothing until somebody looks; then a line, or a card for each server."""

    add_requested = Signal(object)  # LocalServer

    def __init__(self) -> None:
        """Start hidden."""
        super().__init__()
        self._message = label("", "muted", wrap=True)
        self._cards = QVBoxLayout()
        self._cards.setSpacing(6)
        self.setLayout(column(self._message, self._cards, gap=6))
        self.hide()

    def show_scanning(self) -> None:
        """Say that the ports are being asked."""
        self._show_text(SCANNING_TEXT)

    def show_message(self, text: str) -> None:
        """Say something in the place of servers."""
        self._show_text(text)

    def show_servers(self, servers: Sequence[LocalServer], added_urls: Collection[str]) -> None:
        """Show what was found; `added_urls` are the base URLs of providers that are there already."""
        self._show_text("" if servers else NOTHING_FOUND_TEXT)
        for server in servers:
            self._cards.addWidget(self._card(server, server.base_url in added_urls))
        retint(self, self._theme)

    def text(self) -> str:
        """Return the line that stands there instead of servers."""
        return self._message.text()

    def _show_text(self, text: str) -> None:
        clear_layout(self._cards)
        self._message.setText(text)
        self._message.setVisible(bool(text))
        self.show()

    def _card(self, server: LocalServer, is_added: bool) -> QWidget:
        where = label(urlsplit(server.base_url).netloc, "faint")
        head = row(label(server.title, "strong"), where, None, gap=8)
        words = column(head, label(models_text(server), "note", wrap=True), gap=1)
        button = (
            PushButton("Added", "", "check", name="added")
            if is_added
            else PushButton("Add", "primary", "plus", name="add")
        )
        button.setAccessibleName(f"{button.text()} {server.title}")
        button.clicked.connect(lambda: self.add_requested.emit(server))
        button.setEnabled(not is_added and bool(server.models))
        line = row(
            IconLabel("server", px=18, color_token="muted"), words, button, margins=(14, 9, 12, 9), gap=12
        )
        line.setStretch(1, 1)
        return card(line)


def models_text(server: LocalServer) -> str:
    """Return a server's models in a line: loaded ones first, each with its window."""
    if not server.models:
        return "It has no model yet."
    ordered = sorted(server.models, key=lambda model: not model.is_loaded)
    labels = [
        _model_text(model.name, model.spec.window, model.is_loaded) for model in ordered[:_MAX_NAMED_MODELS]
    ]
    more = len(ordered) - len(labels)
    return ", ".join(labels) + (f" and {more} more" if more else "")


def _model_text(name: str, window: int, loaded: bool | None) -> str:
    about = [f"{format_tokens(window)} window"] if window else []
    if loaded is not None:
        about.append("loaded" if loaded else "not loaded")
    return f"{name} ({', '.join(about)})" if about else name
