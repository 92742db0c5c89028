"""Chips above the composer's text: what goes along with the next message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QToolButton, QWidget

from helix_desktop.ui.chat.items.painting import paint_box, paint_icon, paint_line
from helix_desktop.ui.chat.style import MEDIUM, SMALL, ChatStyle
from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.layout.flow import FLOW_GAP, flow_height
from helix_desktop.ui.design.style.icons import icon as icon_of
from helix_desktop.words.translation import Translator

tr = Translator("Composer")

_HEIGHT, _MAX_WIDTH = 26, 320


@dataclass(frozen=True, slots=True)
class ChipText:
    """What a chip shows: a name, which is cut where it has no room, and what is said of it."""

    key: str
    name: str
    note: str

    @property
    def label(self) -> str:
        """Return both, on one line."""
        return f"{self.name}{self.suffix}"

    @property
    def suffix(self) -> str:
        """Return what follows the name."""
        return f" · {self.note}"


class _RemoveButton(EnterActivates, QToolButton):
    """Takes a chip away."""


class AttachmentChip(QWidget):
    """One attachment: its label, and a button that takes it away."""

    removed = Signal(str)

    def __init__(self, text: ChipText, style: ChatStyle, parent: QWidget) -> None:
        super().__init__(parent)
        self._text = text
        self._style = style
        self._button = _RemoveButton(self)
        self._button.setAccessibleName(tr("Remove {attachment}", attachment=self.label))
        self._button.setToolTip(tr("Remove"))
        self._button.setCursor(Qt.CursorShape.PointingHandCursor)
        self._button.clicked.connect(lambda: self.removed.emit(self.key))
        self.setToolTip(self.label)
        self.setAccessibleName(self.label)
        self.set_style(style)

    @property
    def key(self) -> str:
        """Return the key of the attachment."""
        return self._text.key

    @property
    def label(self) -> str:
        """Return the whole label."""
        return self._text.label

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
        """Return the label as it stands on the chip: its name is cut where room ends, to a third at most."""
        font, room = self._style.font(SMALL, MEDIUM), self._label_rect().width()
        if self._style.width(self.label, font) <= room:
            return self.label
        suffix = self._text.suffix
        room = max(room / 3, room - self._style.width(suffix, font))
        metrics = self._style.metrics(font)
        return metrics.elidedText(self._text.name, Qt.TextElideMode.ElideMiddle, room) + suffix

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

    def show_chips(self, chips: Sequence[ChipText]) -> None:
        """Show these chips."""
        for chip in self._chips:
            chip.hide()
            chip.deleteLater()
        self._chips = []
        for text in chips:
            chip = AttachmentChip(text, self._style, self)
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
