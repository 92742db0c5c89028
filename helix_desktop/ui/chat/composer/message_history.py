"""Earlier messages in the composer: Up brings them, Down goes back, and the draft in progress is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor

from helix_desktop.ui.chat.composer.editor import Editor

_NOT_BROWSING = -1


class MessageHistory(QObject):
    """Browses what the user sent, newest first.

    Up begins in an empty text, or where the cursor stands before all of it; it goes on from the first line of
    an earlier message that was not changed.
    """

    text_requested = Signal(str)
    """This text is to stand in the composer."""
    draft_left = Signal(str)
    """The draft is about to make room for an earlier message."""

    def __init__(self, editor: Editor) -> None:
        super().__init__(editor)
        self._editor = editor
        self._read: Callable[[], Sequence[str]] = tuple
        self._messages: Sequence[str] = ()
        self._at = _NOT_BROWSING
        self._draft = ""
        editor.installEventFilter(self)

    def set_source(self, read: Callable[[], Sequence[str]]) -> None:
        """Browse the messages that `read` returns, newest first; it is called when Up begins."""
        self._read = read
        self.end()

    @property
    def draft(self) -> str | None:
        """The draft behind an unchanged earlier message; None if what is typed is the draft."""
        return self._draft if self._is_unchanged() else None

    def end(self) -> str:
        """Browse no more; return the draft that was set aside."""
        draft, self._draft, self._at, self._messages = self._draft, "", _NOT_BROWSING, ()
        return draft

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take Up and Down where they would leave the text."""
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return False
        plain = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == Qt.KeyboardModifier.NoModifier
        if not plain or self._editor.is_composing:
            return False
        if event.key() == Qt.Key.Key_Up:
            return self._go_up()
        return event.key() == Qt.Key.Key_Down and self._go_down()

    def _go_up(self) -> bool:
        if self._is_unchanged():
            if self._can_move(QTextCursor.MoveOperation.Up):
                return False
        elif self._editor.textCursor().position() or self._editor.textCursor().hasSelection():
            return False
        else:
            self.end()
            self._messages = self._read()
            self._draft = self._editor.toPlainText()
        if self._at + 1 >= len(self._messages):
            return self._at != _NOT_BROWSING
        if self._at == _NOT_BROWSING:
            self.draft_left.emit(self._draft)
        self._show(self._at + 1)
        return True

    def _go_down(self) -> bool:
        emptied = self._at != _NOT_BROWSING and not self._editor.toPlainText()
        if not emptied and (not self._is_unchanged() or self._can_move(QTextCursor.MoveOperation.Down)):
            return False
        self._show(_NOT_BROWSING if emptied else self._at - 1)
        return True

    def _show(self, at: int) -> None:
        self._at = at
        self.text_requested.emit(self._messages[at] if at != _NOT_BROWSING else self._draft)
        if at == _NOT_BROWSING:
            self.end()

    def _is_unchanged(self) -> bool:
        return self._at != _NOT_BROWSING and self._editor.toPlainText() == self._messages[self._at]

    def _can_move(self, operation: QTextCursor.MoveOperation) -> bool:
        """Return True if there is a line above, or below, on screen."""
        return QTextCursor(self._editor.textCursor()).movePosition(operation)
