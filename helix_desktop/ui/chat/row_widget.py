"""The light widgets that show the visible rows, and their recycling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QRect, Qt, QTimer
from PySide6.QtGui import QAccessible, QFocusEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAccessibleWidget, QWidget

from helix_desktop.ui.chat.accessible import RowArea, RowButton, RowText
from helix_desktop.ui.chat.flow import Placed
from helix_desktop.ui.chat.paint import Paint
from helix_desktop.ui.chat.rows import spoken_name
from helix_desktop.ui.chat.sheet import Sheet

_BLEED = 6  # pixels beside a row, for rings and pills that reach over the column's edge


class Host(Protocol):
    """What a row's widget asks of the view."""

    def paint_state(self, index: int, sheet: Sheet, widget: RowWidget) -> Paint:
        """How a row looks at this moment."""

    def activate(self, index: int, hot: str) -> None:
        """Do what a place of a row does."""

    def step_focus(self, forward: bool) -> bool:
        """Move the keyboard to the next place; False when there is none."""


class RowWidget(QWidget):
    """Paints one sheet; the view hands it another one when its row scrolls away."""

    def __init__(self, parent: QWidget, host: Host) -> None:
        super().__init__(parent)
        self._host = host
        self.index = -1
        self.sheet: Sheet | None = None
        self.focused_hot = ""
        self._text: RowText | None = None
        self._buttons: dict[str, RowButton] = {}
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def bind(self, index: int, sheet: Sheet) -> None:
        """Show a sheet from now on."""
        if sheet is not self.sheet or index != self.index:
            same_row = self.sheet is not None and self.sheet.row.key == sheet.row.key
            self.index, self.sheet = index, sheet
            self.setAccessibleName(spoken_name(sheet.row))
            if not same_row or sheet.hot(self.focused_hot) is None:
                self.focused_hot = ""
            self.update()

    def place(self, x: float, y: float, sheet: Sheet) -> None:
        """Stand with the sheet's origin at a point of the viewport."""
        rect = QRect(round(x) - _BLEED, round(y), round(sheet.width) + 2 * _BLEED, round(sheet.height) + 1)
        if rect.size() != self.size():
            self.update()
        self.setGeometry(rect)
        self.show()
        self._place_children()

    def release(self) -> None:
        """Show nothing any more, and wait for another sheet."""
        self.sheet = None
        self.index = -1
        self.focused_hot = ""
        self._place_children()

    def make_accessible(self) -> QAccessibleWidget:
        """Return the interface that assistive technology asks; what it finds below follows at once."""
        QTimer.singleShot(0, self, self._place_children)
        return QAccessibleWidget(self, QAccessible.Role.ListItem)

    def text(self) -> str:
        """Return all text of the row, its name where it shows none."""
        return (self.sheet.accessible_text() if self.sheet is not None else "") or self.accessibleName()

    def has_keyboard(self) -> bool:
        """Return True if the row or one of its places has the keyboard."""
        return self.hasFocus() or any(button.hasFocus() for button in self._buttons.values())

    def focus_hot(self, name: str) -> None:
        """Give a place of this row the keyboard."""
        self.focused_hot = name
        self._place_children()
        self._buttons.get(name, self).setFocus(Qt.FocusReason.TabFocusReason)
        self.update()

    def _place_children(self) -> None:
        """Have a button for the place with the keyboard; text and all buttons while a screen reader runs."""
        active = QAccessible.isActive()
        if not (active or self.focused_hot or self._buttons):
            return
        hots = {hot.name: hot for hot in self.sheet.hots} if self.sheet is not None else {}
        if not active:
            hots = {name: hot for name, hot in hots.items() if name == self.focused_hot}
        elif self._text is None:
            self._text = RowText(self, self.text)
        if self._text is not None:
            self._text.setVisible(self.sheet is not None and self.sheet.has_text)
            self._text.setGeometry(self.rect())
        for name in [name for name in self._buttons if name not in hots]:
            button = self._buttons.pop(name)
            if button.hasFocus():
                self.setFocus(Qt.FocusReason.OtherFocusReason)
            button.hide()
            button.deleteLater()
        for name, hot in hots.items():
            if name not in self._buttons:
                button = self._buttons[name] = RowButton(self, name, self._take_focus)
                button.clicked.connect(lambda _=False, name=name: self.trigger(name))
                button.show()
            self._buttons[name].setAccessibleName(hot.label)
            self._buttons[name].setGeometry(hot.rect.translated(_BLEED, 0).toRect())

    def _take_focus(self, name: str) -> None:
        self.focused_hot = name
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the part of the sheet that is asked for."""
        if self.sheet is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(_BLEED, 0)
        paint = self._host.paint_state(self.index, self.sheet, self)
        paint.clip = event.rect().translated(-_BLEED, 0).toRectF()
        paint.focused = self.focused_hot if self.has_keyboard() else ""
        self.sheet.paint(painter, paint)
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and Space do what the focused place does."""
        hot = self.sheet.hot(self.focused_hot) if self.sheet is not None else None
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if hot is not None and (event.key() == Qt.Key.Key_Space or (enter and hot.enter)):
            self._host.activate(self.index, hot.name)
        elif not enter:
            event.ignore()

    def trigger(self, hot: str) -> None:
        """Do what a place of this row does."""
        self._host.activate(self.index, hot)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab goes through the places of all rows."""
        return self._host.step_focus(forward)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring."""
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the ring away."""
        self.update()


class Deck:
    """The widgets of the visible rows; a widget out of sight is used again."""

    def __init__(self, viewport: RowArea, host: Host, lost_focus: Callable[[], None]) -> None:
        self._viewport = viewport
        self._host = host
        self._lost_focus = lost_focus
        self._free: list[RowWidget] = []
        self.shown: dict[str, RowWidget] = {}
        viewport.rows = lambda: sorted(self.shown.values(), key=lambda widget: widget.index)

    @property
    def made(self) -> int:
        """How many widgets exist."""
        return len(self.shown) + len(self._free)

    def place(self, rows: list[tuple[Placed, Sheet, float]], x: float) -> None:
        """Show these sheets; each comes with its place and the room above it."""
        wanted = {sheet.row.key for _, sheet, _ in rows}
        for key in [key for key in self.shown if key not in wanted]:
            self._recycle(key)
        for placed, sheet, gap in rows:
            widget = self.shown.get(sheet.row.key)
            if widget is None:
                widget = self._free.pop() if self._free else RowWidget(self._viewport, self._host)
                self.shown[sheet.row.key] = widget
            widget.bind(placed.row, sheet)
            widget.place(x, placed.y + gap, sheet)
        for widget in self._free:
            widget.hide()

    def update(self) -> None:
        """Paint all visible rows again."""
        for widget in self.shown.values():
            widget.update()

    def focused(self) -> RowWidget | None:
        """The row that has the keyboard, or None."""
        return next((widget for widget in self.shown.values() if widget.has_keyboard()), None)

    def _recycle(self, key: str) -> None:
        widget = self.shown.pop(key)
        if widget.has_keyboard():
            self._lost_focus()
        widget.release()
        self._free.append(widget)
