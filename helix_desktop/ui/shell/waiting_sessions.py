"""The button above the pages that says which other sessions wait for the user, and leads to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.budget.status_line import STATUS_LINE_PX
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.layout.boxes import row
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.words.translation import Translator

tr = Translator("Window")


class WaitingSession(NamedTuple):
    """A session with an approval request or a question, and the workspace it is in."""

    workspace_id: str
    session_id: str
    title: str


class WaitingSessionsLine(Themed, QWidget):
    """Says how many other sessions wait for the user; a click asks for the first. Hidden while none does."""

    session_requested = Signal(str, str)
    """Workspace and session that the user wants to see."""

    def __init__(self) -> None:
        super().__init__()
        self._sessions: tuple[WaitingSession, ...] = ()
        self.button = PushButton("", "link", "shield-alert", px=13, name="waiting-sessions")
        self.button.clicked.connect(self._open_first)
        line = row(margins=(8, 1, 12, 0))
        line.addStretch(1)
        line.addWidget(self.button)
        self.setLayout(line)
        self.tint(self._theme)
        self.hide()

    def tint(self, theme: Theme) -> None:
        super().tint(theme)
        self.setFixedHeight(scaled(STATUS_LINE_PX))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.raised))
        painter.fillRect(0, self.height() - 1, self.width(), 1, QColor(self._theme.border))

    def _open_first(self) -> None:
        first = self._sessions[0]
        self.session_requested.emit(first.workspace_id, first.session_id)

    def show_sessions(self, sessions: Sequence[WaitingSession]) -> None:
        """Show those that wait now; a screen reader announces when others do."""
        if tuple(sessions) == self._sessions:
            return
        is_more = bool(set(sessions) - set(self._sessions))
        self._sessions = tuple(sessions)
        self.setVisible(bool(sessions))
        words = waiting_text(len(sessions)) if sessions else ""
        self.button.setText(words)
        self.button.setToolTip(plain_tooltip("\n".join(session.title for session in sessions)))
        self.button.setAccessibleName(": ".join((words, *(session.title for session in sessions[:1]))))
        if is_more:
            announce(self.button, self.button.accessibleName())


def waiting_text(count: int) -> str:
    return tr.plural(count, "%n session waits for you", "%n sessions wait for you")
