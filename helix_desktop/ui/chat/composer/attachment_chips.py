"""Chips above the composer's text: what goes along with the next message."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QToolButton, QWidget

from helix_desktop.ui.chat.items.painting import paint_box, paint_icon, paint_line
from helix_desktop.ui.chat.style import MEDIUM, SMALL, ChatStyle
from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.layout.flow import FLOW_GAP, flow_height
from helix_desktop.ui.design.style.icons import icon as icon_of

_HEIGHT, _MAX_WIDTH = 26, 320
_PRICE_SEPARATOR = " · "


class _RemoveButton(EnterActivates, QToolButton):
    """Takes a chip away."""


class AttachmentChip(QWidget):
    """One attachment: its label, and a button that takes it away."""

    removed = Signal(str)

    def __init__(self, key: str, label: str, style: ChatStyle, parent: QWidget) -> None:
        super().__init__(parent)
        self.key = key
        self.label = label
        self._style = style
        self._button = _RemoveButton(self)
        self._button.setAccessibleName(f"Remove {label}")
        self._button.setToolTip("Remove")
        self._button.setCursor(Qt.CursorShape.PointingHandCursor)
        self._button.clicked.connect(lambda: self.removed.emit(self.key))
        self.setToolTip(label)
        self.setAccessibleName(label)
        self.set_style(style)

    def set_style(self, style: ChatStyle) -> None:
        """Take the colors of a look."""
        theme = style.theme
        self._style = style
        self._button.setIcon(icon_of("x", theme.accent_text, 12))
        self._button.setIconSize(QSize(12, 12))
        self._button.setStyleSheet(
            "QToolButton { background: transparent; border: 0; border-radius: 9px; padding: 0; }"
            f"QToolButton:hover, QToolButton:focus {{ background: {theme.surface}; }}"
        )
        wide = style.width(self.label, style.font(SMALL, MEDIUM)) + 60
        self.setFixedSize(round(min(_MAX_WIDTH, wide)), _HEIGHT)
        self._button.setGeometry(self.width() - 23, 4, 18, 18)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint a soft background, an icon and the label."""
        theme, style = self._style.theme, self._style
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_box(painter, QRectF(self.rect()), style.color(theme.accent_soft), None, 8)
        paint_icon(
            painter, style, "archive-restore", theme.accent_text, QRectF(9, (_HEIGHT - 13) / 2, 13, 13)
        )
        paint_line(
            painter,
            style,
            self._label_rect(),
            self.visible_label(),
            style.font(SMALL, MEDIUM),
            theme.accent_text,
        )
        painter.end()

    def visible_label(self) -> str:
        """Return the label as it stands on the chip: where room ends its name is cut, never what it costs."""
        name, dot, price = self.label.rpartition(_PRICE_SEPARATOR)
        font, room = self._style.font(SMALL, MEDIUM), self._label_rect().width()
        if not dot or self._style.width(self.label, font) <= room:
            return self.label
        room -= self._style.width(dot + price, font)
        return self._style.metrics(font).elidedText(name, Qt.TextElideMode.ElideMiddle, room) + dot + price

    def _label_rect(self) -> QRectF:
        return QRectF(28, 0, self.width() - 54, _HEIGHT)


class AttachmentBar(QWidget):
    """Chips side by side, in as many lines as they need; no height without chips."""

    removed = Signal(str)

    def __init__(self, style: ChatStyle, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._style = style
        self._chips: list[AttachmentChip] = []
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
            chip = AttachmentChip(key, label, self._style, self)
            chip.removed.connect(self.removed)
            chip.show()
            self._chips.append(chip)
        self._arrange()

    def set_style(self, style: ChatStyle) -> None:
        """Take the colors of a look."""
        self._style = style
        for chip in self._chips:
            chip.set_style(style)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrap the chips again for the new width."""
        self._arrange()

    def _arrange(self) -> None:
        height = flow_height(self._chips, self.width(), place=True)
        self.setFixedHeight(height + FLOW_GAP if height else 0)
