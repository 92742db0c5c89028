"""Chips above the composer's text: what goes along with the next message."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QToolButton, QWidget

from helix_desktop.ui.chat.look import MEDIUM, SMALL, Look
from helix_desktop.ui.chat.paint import box, icon, line_of_text
from helix_desktop.ui.icons import icon as icon_of
from helix_desktop.ui.widgets import EnterPresses

_TALL, _GAP, _WIDEST = 26, 6, 320
_BEFORE_PRICE = " · "


class _RemoveButton(EnterPresses, QToolButton):
    """Takes a chip away."""


class Chip(QWidget):
    """One attachment: its label, and a button that takes it away."""

    removed = Signal(str)

    def __init__(self, key: str, label: str, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self.key = key
        self.label = label
        self._look = look
        self._button = _RemoveButton(self)
        self._button.setAccessibleName(f"Remove {label}")
        self._button.setToolTip("Remove")
        self._button.setCursor(Qt.CursorShape.PointingHandCursor)
        self._button.clicked.connect(lambda: self.removed.emit(self.key))
        self.setToolTip(label)
        self.setAccessibleName(label)
        self.use(look)

    def use(self, look: Look) -> None:
        """Take the colours of a look."""
        theme = look.theme
        self._look = look
        self._button.setIcon(icon_of("x", theme.accent_text, 12))
        self._button.setIconSize(QSize(12, 12))
        self._button.setStyleSheet(
            "QToolButton { background: transparent; border: 0; border-radius: 9px; padding: 0; }"
            f"QToolButton:hover, QToolButton:focus {{ background: {theme.surface}; }}"
        )
        wide = look.width(self.label, look.font(SMALL, MEDIUM)) + 60
        self.setFixedSize(round(min(_WIDEST, wide)), _TALL)
        self._button.setGeometry(self.width() - 23, 4, 18, 18)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A soft ground, an icon and the label."""
        theme, look = self._look.theme, self._look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box(painter, QRectF(self.rect()), look.color(theme.accent_soft), None, 8)
        icon(painter, look, "archive-restore", theme.accent_text, QRectF(9, (_TALL - 13) / 2, 13, 13))
        line_of_text(painter, look, self._words(), self.shown(), look.font(SMALL, MEDIUM), theme.accent_text)
        painter.end()

    def shown(self) -> str:
        """The label as it stands on the chip: where room ends its name is cut, never what it costs."""
        name, dot, price = self.label.rpartition(_BEFORE_PRICE)
        font, room = self._look.font(SMALL, MEDIUM), self._words().width()
        if not dot or self._look.width(self.label, font) <= room:
            return self.label
        room -= self._look.width(dot + price, font)
        return self._look.metrics(font).elidedText(name, Qt.TextElideMode.ElideMiddle, room) + dot + price

    def _words(self) -> QRectF:
        return QRectF(28, 0, self.width() - 54, _TALL)


class ChipArea(QWidget):
    """Chips side by side, in as many lines as they need; no height without chips."""

    removed = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._chips: list[Chip] = []
        self.setFixedHeight(0)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the chips, in order."""
        return tuple(chip.key for chip in self._chips)

    def show_chips(self, chips: Sequence[tuple[str, str]]) -> None:
        """Show these chips, each with its key and label."""
        for chip in self._chips:
            chip.hide()
            chip.deleteLater()
        self._chips = []
        for key, label in chips:
            chip = Chip(key, label, self._look, self)
            chip.removed.connect(self.removed)
            chip.show()
            self._chips.append(chip)
        self._arrange()

    def use(self, look: Look) -> None:
        """Take the colours of a look."""
        self._look = look
        for chip in self._chips:
            chip.use(look)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Break the lines anew."""
        self._arrange()

    def _arrange(self) -> None:
        x = y = 0
        for chip in self._chips:
            if x and x + chip.width() > self.width():
                x, y = 0, y + _TALL + _GAP
            chip.move(x, y)
            x += chip.width() + _GAP
        tall = y + _TALL + _GAP if self._chips else 0
        if tall != self.height():
            self.setFixedHeight(tall)
