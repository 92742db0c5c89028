"""The model servers that were found on this machine, each with one button that adds it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.ports import FoundServer
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import IconLabel, PushButton, card, column, empty_layout, label, retint, row

LOOKING = "Looking on the ports of Ollama, LM Studio, llama.cpp and vLLM …"
NOTHING = (
    "No model server answers on ports 11434, 1234, 8080 and 8000 of this machine. Start one and look again."
)
_NAMED = 3  # models that are named


class FoundServers(QWidget):
    """Nothing until somebody looks; then a line, or a card for each server."""

    add_requested = Signal(object)  # FoundServer

    def __init__(self) -> None:
        """Start hidden."""
        super().__init__()
        self._theme = LIGHT
        self._line = label("", "muted", wrap=True)
        self._cards = QVBoxLayout()
        self._cards.setSpacing(6)
        self.setLayout(column(self._line, self._cards, gap=6))
        self.hide()

    def show_looking(self) -> None:
        """Say that the ports are being asked."""
        self._say(LOOKING)

    def show_words(self, words: str) -> None:
        """Say something in the place of servers."""
        self._say(words)

    def show_servers(self, servers: Sequence[FoundServer], known: Collection[str]) -> None:
        """Show what was found; `known` are the base URLs of providers that are there already."""
        self._say("" if servers else NOTHING)
        for server in servers:
            self._cards.addWidget(self._card(server, server.base_url in known))
        retint(self, self._theme)

    def text(self) -> str:
        """The line that stands there instead of servers."""
        return self._line.text()

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme

    def _say(self, words: str) -> None:
        empty_layout(self._cards)
        self._line.setText(words)
        self._line.setVisible(bool(words))
        self.show()

    def _card(self, server: FoundServer, known: bool) -> QWidget:
        where = label(urlsplit(server.base_url).netloc, "faint")
        head = row(label(server.title, "strong"), where, None, gap=8)
        words = column(head, label(models_text(server), "note", wrap=True), gap=1)
        button = PushButton("Added", "", "check") if known else PushButton("Add", "primary", "plus")
        button.setAccessibleName(f"{button.text()} {server.title}")
        button.clicked.connect(lambda: self.add_requested.emit(server))
        button.setEnabled(not known and bool(server.models))
        line = row(IconLabel("server", px=18, ink="muted"), words, button, margins=(14, 9, 12, 9), gap=12)
        line.setStretch(1, 1)
        return card(line)


def models_text(server: FoundServer) -> str:
    """A server's models in a line: loaded ones first, each with its window."""
    if not server.models:
        return "It has no model yet."
    ordered = sorted(server.models, key=lambda model: not model.loaded)
    named = [_model_text(model.name, model.figures.window, model.loaded) for model in ordered[:_NAMED]]
    more = len(ordered) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _model_text(name: str, window: int, loaded: bool | None) -> str:
    about = [f"{tokens_text(window)} window"] if window else []
    if loaded is not None:
        about.append("loaded" if loaded else "not loaded")
    return f"{name} ({', '.join(about)})" if about else name
