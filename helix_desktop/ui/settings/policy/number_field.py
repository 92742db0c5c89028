"""A field for a number, with arrows that lead to the next one."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QWidget

from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import Themed
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")
_ARROW_PX = 18  # the width of the arrows
_INSET_PX = 2  # between them and the field's outline
_DIRECTIONS = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}


class _StepArrow(Themed, QAbstractButton):
    """Half of the end of a number field; it goes on as long as it is pressed, and takes no keyboard."""

    def __init__(self, field: QWidget, direction: int) -> None:
        super().__init__(field)
        self._direction = direction
        self.setAutoRepeat(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setAccessibleName(tr("Increase") if direction > 0 else tr("Decrease"))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the arrow, on a background of its own below the mouse."""
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.isEnabled() and self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.border_strong if self.isDown() else theme.border))
            painter.drawRoundedRect(QRectF(self.rect()), 3, 3)
        color = QColor(theme.muted if self.isEnabled() else theme.faint)
        painter.setPen(QPen(color, 1.4, c=Qt.PenCapStyle.RoundCap, j=Qt.PenJoinStyle.RoundJoin))
        x, y, rise = self.width() / 2, self.height() / 2, 1.5 * self._direction
        painter.drawPolyline([QPointF(x - 3, y + rise), QPointF(x, y - rise), QPointF(x + 3, y + rise)])


class NumberField(QLineEdit):
    """A line edit with two arrows at its end; the Up and Down keys do the same."""

    stepped = Signal(int)
    """1: to the next number above, -1: below."""

    def __init__(self, text: str) -> None:
        """Start with a text."""
        super().__init__(text)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._arrows = [_StepArrow(self, direction) for direction in (1, -1)]
        for arrow, direction in zip(self._arrows, (1, -1), strict=True):
            arrow.clicked.connect(lambda _, direction=direction: self.stepped.emit(direction))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the arrows at the end of the line, one above the other."""
        super().resizeEvent(event)
        width, half = scaled(_ARROW_PX), (self.height() - 2 * _INSET_PX) // 2
        is_mirrored = self.isRightToLeft()
        left = _INSET_PX if is_mirrored else self.width() - width - _INSET_PX
        for place, arrow in enumerate(self._arrows):
            arrow.setGeometry(left, _INSET_PX + place * half, width, half)
        margin = width - _INSET_PX
        self.setTextMargins(margin if is_mirrored else 0, 0, 0 if is_mirrored else margin, 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to the next number with Up and Down."""
        direction = _DIRECTIONS.get(Qt.Key(event.key()), 0)
        if direction and event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        ):
            self.stepped.emit(direction)
        else:
            super().keyPressEvent(event)
