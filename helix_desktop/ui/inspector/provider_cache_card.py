"""The inspector's card of the provider's cache: what requests read from it, and why not more."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.cards import Card
from helix_desktop.ui.design.labels import SelectableText, TextLine, show_text
from helix_desktop.ui.design.layout.boxes import line
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.inspector.inspector_data import ProviderCacheRow, ProviderCacheState
from helix_desktop.ui.inspector.key_value import KeyValue
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")


class ProviderCacheCard(Card):
    """The bill of the session as providers reported it, and what its newest requests read."""

    requests_requested = Signal()  # all of them, as a text

    def __init__(self) -> None:
        super().__init__((16, 9, 16, 13), 6)
        self._state: ProviderCacheState | None = None
        self._lines: list[_RequestLine] = []
        self._share = Pill("", "ok")
        self._share.setToolTip(
            tr(
                "Share of the input tokens that were read from the provider cache, in the answers of this "
                "session. Summaries, side questions and subagents aren't counted here."
            )
        )
        requests = IconButton("eye", tr("Show all requests"), px=15, edge=28)
        requests.clicked.connect(self.requests_requested)
        self.body.addWidget(ResponsiveRow(TextLine(tr("Provider cache"), 13, 600), [self._share, requests]))
        self._figures = tuple(KeyValue("", "") for _ in range(5))
        for figure in self._figures:
            self.body.addWidget(figure)
        self.note = SelectableText("", 12, "muted")
        """What holds for all requests."""
        self.body.addWidget(self.note)
        self.body.addWidget(line())
        self._rows = QVBoxLayout()
        self._rows.setSpacing(7)
        self.body.addLayout(self._rows)
        self.hide()

    def show_state(self, state: ProviderCacheState | None) -> None:
        """Show other figures and requests; None hides the card."""
        self.setVisible(state is not None)
        if state is None or state == self._state:
            return
        self._state = state
        self._share.set_text(state.share, "ok" if state.has_hits else "neutral")
        self._share.setVisible(bool(state.share))
        figures = (
            (tr("Read"), state.read),
            (tr("Written"), state.cache_writes),
            (tr("New"), state.fresh),
            (tr("Session cost"), state.cost),
            (tr("Requested lifetime"), state.lifetime),
        )
        for figure, (name, value) in zip(self._figures, figures, strict=True):
            figure.set_value(name, value)
            figure.setVisible(bool(value))
        show_text(self.note, state.note)
        while len(self._lines) < len(state.rows):
            self._lines.append(_RequestLine())
            self._rows.addWidget(self._lines[-1])
            retint(self._lines[-1], self._theme)
        for request, row in zip(self._lines, state.rows, strict=False):
            request.show_row(row)
        for at, request in enumerate(self._lines):
            request.setVisible(at < len(state.rows))

    def figures(self) -> list[KeyValue]:
        """Return the figures that are shown."""
        return [figure for figure in self._figures if not figure.isHidden()]

    def texts(self) -> list[str]:
        """Return the lines on requests, newest first."""
        return [text for request in self._lines if not request.isHidden() for text in request.texts()]


class _RequestLine(QWidget):
    """What one request read, and below it why not more."""

    def __init__(self) -> None:
        super().__init__()
        self._read, self._reason = SelectableText("", 12), SelectableText("", 12, "muted")
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(1)
        body.addWidget(self._read)
        body.addWidget(self._reason)

    def show_row(self, row: ProviderCacheRow) -> None:
        """Show another request."""
        self._read.setText(row.text)
        show_text(self._reason, row.reason)

    def texts(self) -> list[str]:
        """Return the lines that are shown."""
        return [words.text() for words in (self._read, self._reason) if not words.isHidden()]
