"""The chat page: the conversation, the field to find words in it, and the composer."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QWidget

from helix_desktop.ui.chat.composer import Composer
from helix_desktop.ui.chat.model import ChatModel
from helix_desktop.ui.chat.view import ChatView
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import IconButton, SearchField, column, label, row


class ChatFind(QFrame):
    """Finds words in the conversation; Enter goes on, Shift+Enter back, Esc leaves."""

    def __init__(self, view: ChatView) -> None:
        super().__init__()
        self._view = view
        self.field = SearchField("Find in this session")
        self.result = label("", "faint")
        before = IconButton("chevron-up", "Previous (Shift+Enter)")
        after = IconButton("chevron-down", "Next (Enter)")
        leave = IconButton("x", "Close (Esc)")
        before.clicked.connect(lambda: self.step(-1))
        after.clicked.connect(lambda: self.step(1))
        leave.clicked.connect(self.leave)
        self.field.textChanged.connect(lambda _: self.step(-1))
        view.find_finished.connect(lambda found: self.result.setText("" if found else "Not found"))
        line = row(self.field, self.result, before, after, leave, margins=(14, 6, 10, 6), gap=6)
        line.setStretch(0, 1)
        self.setLayout(line)
        self.hide()

    def enter(self) -> None:
        """Show the field and let the person type."""
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def leave(self) -> None:
        """Hide the field and its marks."""
        self._view.find_text("")
        self.hide()
        self._view.setFocus()

    def step(self, direction: int) -> None:
        """Go to the next hit downwards (1) or upwards (-1)."""
        self.result.setText("")
        self._view.find_text(self.field.text(), direction)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter, Shift+Enter and Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.leave()
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self.step(-1 if back else 1)
        else:
            super().keyPressEvent(event)


class ChatPage(QWidget):
    """Conversation and composer, one under the other."""

    def __init__(self) -> None:
        super().__init__()
        self.model = ChatModel(self)
        self.view = ChatView(self.model, LIGHT)
        self.composer = Composer(LIGHT)
        self.finding = ChatFind(self.view)
        stack = column(self.finding, self.view, self.composer, gap=0)
        stack.setStretch(1, 1)
        self.setLayout(stack)

    def set_theme(self, theme: Theme, zoom: float | None = None) -> None:
        """Take a theme, and a zoom (1.0 is 15 px text)."""
        self.view.set_theme(theme, zoom)
        self.composer.set_theme(theme)
