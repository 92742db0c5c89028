"""Where the keyboard is, shown on what Qt draws no sign of it for."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QAccessible, QColor, QFocusEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from helix_desktop.ui.design.themed import Themed

KEYBOARD_REASONS = frozenset(
    {Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason}
)
"""Reasons of a focus that came by a key, and has to be seen."""


class FocusableScrollArea(QScrollArea):
    """A scroll area that takes the keyboard: it has a role besides its name, and shows a ring."""

    accessible_role = QAccessible.Role.Pane

    def __init__(self) -> None:
        """Empty, without a frame."""
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self._ring = FocusRing(self)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring to somebody who came with the keyboard."""
        super().focusInEvent(event)
        self._ring.show_for(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the ring away."""
        super().focusOutEvent(event)
        self._ring.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the ring at the edge."""
        super().resizeEvent(event)
        self._ring.setGeometry(self.rect())


class FocusRing(Themed, QWidget):
    """A line around a widget that has the keyboard, over all that it holds."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_for(self, event: QFocusEvent) -> None:
        """Appear to somebody who came with the keyboard."""
        self.setVisible(event.reason() in KEYBOARD_REASONS)
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the line."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.accent), 2))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(3, 3, -3, -3), 8, 8)
