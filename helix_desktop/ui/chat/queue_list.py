"""The messages that wait for the agent, above the composer: changed, reordered, taken back, or to steer."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from helix_desktop.context.message import InLine
from helix_desktop.ui.chat.editor import Editor
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import (
    ElidedLabel,
    IconButton,
    IconLabel,
    PushButton,
    column,
    label,
    retint,
    row,
)

_TALLEST = 168  # pixels; more than four lines are scrolled
_EDGE = 26
_STEER = "Steer: goes in as soon as the step under way is done"
_WAIT = "Do not steer: wait for the end of the turn"


class _Field(Editor):
    """A message's words while they are changed: Enter keeps them, Esc does not."""

    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def tint(self, theme: Theme) -> None:
        self.setStyleSheet(
            f"QPlainTextEdit {{ background: {theme.hover}; color: {theme.text}; border: 0; padding: 0 4px;"
            f" border-radius: 6px; selection-background-color: {theme.text_selection};"
            f" selection-color: {theme.text}; }}"
        )
        self.fit()


class _Words(ElidedLabel):
    """A message on one line; a double click changes it."""

    chosen = Signal()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.chosen.emit()


class QueueLine(QWidget):
    """One message that waits."""

    edited = Signal(int, str)
    moved = Signal(int, int)
    removed = Signal(int)
    steered = Signal(int, bool)

    def __init__(self, one: InLine) -> None:
        """Show a message."""
        super().__init__()
        self.one = one
        self._face, self._bolt = IconLabel("clock", px=14), IconLabel("zap", px=14, ink="accent_text")
        self._words = _Words(role="muted")
        self._badge = label("after this step", "faint")
        self._field = _Field()
        self._field.setAccessibleName("Words of the waiting message")
        self._field.hide()
        self._steer = IconButton("zap", _STEER, px=14, edge=_EDGE)
        self._edit = IconButton("pencil", "Change its words", px=14, edge=_EDGE)
        self.up = IconButton("chevron-up", "Send it earlier", px=14, edge=_EDGE)
        self.down = IconButton("chevron-down", "Send it later", px=14, edge=_EDGE)
        self._remove = IconButton("x", "Take it back: it is not sent", px=14, edge=_EDGE)
        self._buttons = (self._steer, self._edit, self.up, self.down, self._remove)
        line = row(self._face, self._bolt, self._words, self._field, self._badge, *self._buttons, gap=2)
        line.setStretch(2, 1)
        line.setStretch(3, 1)
        line.insertSpacing(2, 6)
        line.insertSpacing(6, 6)
        self.setLayout(line)
        self._connect()
        self.show_message(one, first=True, last=True)

    def _connect(self) -> None:
        self._steer.clicked.connect(lambda: self.steered.emit(self.one.seq, not self.one.steer))
        self._edit.clicked.connect(self.begin_edit)
        self._words.chosen.connect(self.begin_edit)
        self.up.clicked.connect(lambda: self.moved.emit(self.one.seq, -1))
        self.down.clicked.connect(lambda: self.moved.emit(self.one.seq, 1))
        self._remove.clicked.connect(lambda: self.removed.emit(self.one.seq))
        self._field.entered.connect(self._keep)
        self._field.left.connect(self.end_edit)

    def show_message(self, one: InLine, first: bool, last: bool) -> None:
        """Show it as it is now; words that are being changed stay."""
        self.one = one
        text = " ".join(one.text.split())
        self._words.set_whole(text or "(only what goes along with it)")
        for mark, shown in ((self._badge, one.steer), (self._bolt, one.steer), (self._face, not one.steer)):
            mark.setVisible(shown)
        self._steer.set_tip(_WAIT if one.steer else _STEER)
        self._steer.set_icon("clock" if one.steer else "zap")
        self.up.setEnabled(not first)
        self.down.setEnabled(not last)
        for button in self._buttons:
            button.setAccessibleDescription(text)

    @property
    def unkept(self) -> str:
        """Words that were changed and not kept yet; empty when there are none."""
        text = self._field.toPlainText()
        return text if not self._field.isHidden() and text != self.one.text else ""

    def begin_edit(self) -> None:
        """Let the person change the words."""
        self._field.setPlainText(self.one.text)
        self._show_field(True)
        self._field.setFocus(Qt.FocusReason.OtherFocusReason)
        self._field.moveCursor(self._field.textCursor().MoveOperation.End)

    def end_edit(self) -> None:
        """Show the words as they are."""
        self._show_field(False)
        self._edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _keep(self) -> None:
        text = self._field.toPlainText()
        if text.strip():
            self.edited.emit(self.one.seq, text)
            self.one = InLine(self.one.seq, text, self.one.steer)
        self.end_edit()

    def _show_field(self, on: bool) -> None:
        self._field.setVisible(on)
        self._words.setVisible(not on)
        for button in self._buttons:
            button.setVisible(not on)


class QueueList(QFrame):
    """All that waits, in the order in which it is sent."""

    edited = Signal(int, str)
    moved = Signal(int, int)
    removed = Signal(int)
    steered = Signal(int, bool)
    resumed = Signal()
    """The person wants the waiting messages to be sent."""
    orphaned = Signal(str)
    """Words that were being changed when their message was sent as it had been."""

    def __init__(self) -> None:
        """Start empty and hidden."""
        super().__init__()
        self._lines: dict[int, QueueLine] = {}
        self._theme = LIGHT
        self._title = ElidedLabel(role="faint")
        self._send = PushButton("Send now", icon_name="corner-down-left", px=13)
        self._send.clicked.connect(self.resumed)
        inner = QWidget()
        inner.setObjectName("page")
        self._column = QVBoxLayout(inner)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(1)
        self._scroll = QScrollArea()
        self._scroll.setObjectName("page")
        self._scroll.setWidget(inner)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        head = row(self._title, self._send, gap=8)
        head.setStretch(0, 1)
        self.setLayout(column(head, self._scroll, gap=2))
        # A field grows as it is typed into; how tall it is stands only after this turn of the loop.
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self._fit)
        self.hide()

    @property
    def waiting(self) -> tuple[InLine, ...]:
        """The messages that are shown, in order."""
        return tuple(line.one for line in self._lines.values())

    def line(self, seq: int) -> QueueLine:
        """The line of a message; KeyError when it does not wait."""
        return self._lines[seq]

    def show_waiting(self, waiting: Sequence[InLine], held: bool) -> None:
        """Show what is sent when the agent is ready, or, if `held`, when the person says so."""
        wanted = {one.seq for one in waiting}
        for gone in self._lines.keys() - wanted:
            self._drop(self._lines.pop(gone))
        lines = {one.seq: self._lines.get(one.seq) or self._make(one) for one in waiting}
        for place, one in enumerate(waiting):
            lines[one.seq].show_message(one, place == 0, place == len(waiting) - 1)
            if self._column.indexOf(lines[one.seq]) != place:
                self._column.insertWidget(place, lines[one.seq])
        self._lines = lines
        self._title.set_whole("Waiting for you to go on" if held else "Waiting for the agent")
        self._send.setVisible(held)
        self.setVisible(bool(waiting))
        self._soon.start()

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme for lines that come later."""
        self._theme = theme

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Lead the keyboard to the first line."""
        for line in self._lines.values():
            line.up.setFocus(event.reason())
            return

    def _make(self, one: InLine) -> QueueLine:
        line = QueueLine(one)
        line.edited.connect(self.edited)
        line.moved.connect(self.moved)
        line.removed.connect(self.removed)
        line.steered.connect(self.steered)
        for field in line.findChildren(_Field):
            field.textChanged.connect(self._soon.start)
            field.left.connect(self._soon.start)
        retint(line, self._theme)
        return line

    def _drop(self, line: QueueLine) -> None:
        if line.unkept:
            self.orphaned.emit(line.unkept)
        self._column.removeWidget(line)
        line.hide()
        line.deleteLater()

    def _fit(self) -> None:
        """Be as tall as what is shown, up to a limit."""
        self._scroll.setFixedHeight(min(_TALLEST, self._column.sizeHint().height()))
