"""The model servers that were found on this machine, each with one button that adds it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from helix_desktop.domain.model_spec import LocalServer
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, label, show_text
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.translation import Translator

tr = Translator("Welcome")

_MAX_NAMED_MODELS = 3  # models that are named


class FoundServerList(Themed, QWidget):
    """Nothing until somebody looks; then a line, or a card for each server."""

    add_requested = Signal(object)  # LocalServer
    next_step_changed = Signal()
    """It has a button that is the next step now, or has it no longer."""

    def __init__(self) -> None:
        super().__init__()
        self._message = label("", "muted", wrap=True)
        self._cards = QVBoxLayout()
        self._cards.setSpacing(6)
        self.is_next_step = False
        self.setLayout(column(self._message, self._cards, gap=6))
        self.hide()

    def show_scanning(self) -> None:
        self._show_text(tr("Searching the ports of Ollama, LM Studio, llama.cpp and vLLM…"))

    def show_message(self, text: str) -> None:
        self._show_text(text)

    def show_servers(self, servers: Sequence[LocalServer], added_urls: Collection[str]) -> None:
        """Show what was found; `added_urls` are the base URLs of providers that are there already."""
        nothing = tr("No model server found on ports 11434, 1234, 8080 and 8000. Start one and search again.")
        self._show_text("" if servers else nothing)
        for server in servers:
            self._cards.addWidget(self._card(server, server.base_url in added_urls))
        retint(self, self._theme)
        self._set_next_step(any(server.models and server.base_url not in added_urls for server in servers))

    def text(self) -> str:
        """Return the line that stands there instead of servers."""
        return self._message.text()

    def _show_text(self, text: str) -> None:
        clear_layout(self._cards)
        show_text(self._message, text)
        self.show()
        self._set_next_step(False)

    def _set_next_step(self, is_next: bool) -> None:
        if is_next != self.is_next_step:
            self.is_next_step = is_next
            self.next_step_changed.emit()

    def _card(self, server: LocalServer, is_added: bool) -> QWidget:
        where = label(urlsplit(server.base_url).netloc, "faint")
        title = tr("Model server") if server.kind == "other" else server.title
        head = row(label(title, "strong"), where, None, gap=8)
        words = column(head, label(_models_text(server), "note", wrap=True), gap=1)
        button = (
            PushButton(tr("Added"), "", "check", name="added")
            if is_added
            else PushButton(tr("Add"), "primary", "plus", name="add")
        )
        added, add = tr("{server} is added", server=title), tr("Add {server}", server=title)
        button.setAccessibleName(added if is_added else add)
        button.clicked.connect(lambda: self.add_requested.emit(server))
        button.setEnabled(not is_added and bool(server.models))
        line = row(
            IconLabel("server", px=18, color_token="muted"), words, button, margins=(14, 9, 12, 9), gap=12
        )
        line.setStretch(1, 1)
        return card(line)


def _models_text(server: LocalServer) -> str:
    """Return a server's models in a line: loaded ones first, each with its context window."""
    if not server.models:
        return tr("No models yet")
    ordered = sorted(server.models, key=lambda model: not model.is_loaded)
    labels = [
        _model_text(model.name, model.spec.window, model.is_loaded) for model in ordered[:_MAX_NAMED_MODELS]
    ]
    more = len(ordered) - len(labels)
    if more:
        labels.append(tr.plural(more, "%n more", "%n more"))
    return " · ".join(labels)


def _model_text(name: str, window_size: int, loaded: bool | None) -> str:
    about = [tr("{tokens} context", tokens=format_tokens(window_size))] if window_size else []
    if loaded is not None:
        about.append(tr("loaded") if loaded else tr("not loaded"))
    return tr("{model} ({about})", model=name, about=", ".join(about)) if about else name
