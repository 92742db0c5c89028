"""Where the keyboard is, shown on what Qt draws no sign of it for."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QAccessible, QColor, QFocusEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QWidget
from shiboken6 import isValid

from helix_desktop.ui.design.style.theme import Themed

KEYBOARD_REASONS = frozenset(
    {Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason}
)
"""Reasons of a focus that came by a key, and has to be seen."""


_PANE_STOP = "pane_stop"


def mark_pane_stop(widget: QWidget, is_stop: bool = True) -> None:
    """Let the key that goes from pane to pane stop here: at a list, a page, or a field to write in."""
    widget.setProperty(_PANE_STOP, is_stop)


def is_pane_stop(widget: QWidget) -> bool:
    return bool(widget.property(_PANE_STOP))


def paint_row_focus(painter: QPainter, row: QRectF, color: str, *, is_keyboard: bool) -> None:
    """Paint where the keyboard is in a list of straight rows: a ring for who uses it, else a bar."""
    if not is_keyboard:
        painter.fillRect(QRectF(row.x(), row.y(), 3, row.height()), QColor(color))
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(color), 2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(row.adjusted(1, 1, -1, -1), 5, 5)
    painter.restore()


class FocusableScrollArea(QScrollArea):
    """A scroll area that takes the keyboard: it has a role besides its name, and shows a ring."""

    accessible_role = QAccessible.Role.Pane

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        FocusRing(self)


def refocus(widget: QWidget | None, reason: Qt.FocusReason = Qt.FocusReason.OtherFocusReason) -> bool:
    """Give the keyboard to a widget that had it once; False if Qt has deleted it, or it is not in sight."""
    if widget is None or not isValid(widget) or not widget.isVisible():
        return False
    widget.setFocus(reason)
    return True


class FocusReturn(QObject):
    """Gives the keyboard back to where it was before a part of the window, which comes and goes, took it."""

    def __init__(self, part: QWidget) -> None:
        super().__init__(part)
        self._part = part
        self._before: QWidget | None = None
        part.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Note where the keyboard is when the part appears, and when the pointer comes to it."""
        if event.type() in {QEvent.Type.Show, QEvent.Type.Enter}:
            focused = QApplication.focusWidget()
            if focused is not None and not self._part.isAncestorOf(focused):
                self._before = focused
        return False

    def give_back_from(self, leaving: QWidget) -> None:
        """Move the keyboard if it is in a widget that is about to be hidden."""
        focused = QApplication.focusWidget()
        if focused is None or not (leaving is focused or leaving.isAncestorOf(focused)):
            return
        if not refocus(self._before):
            self._part.window().setFocus(Qt.FocusReason.OtherFocusReason)


class FocusRing(Themed, QWidget):
    """A line around a widget that the user came to with the keyboard, over all that it holds."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFocusEvent):
            self.setVisible(event.gotFocus() and event.reason() in KEYBOARD_REASONS)
            self.raise_()
        elif event.type() == QEvent.Type.Resize:
            self.setGeometry(self._widget.rect())
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.accent), 2))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(3, 3, -3, -3), 8, 8)
