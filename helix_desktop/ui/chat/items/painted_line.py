"""A line of a card that is painted without a layout, such as its title: a search finds and marks it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFont, QPainter

from helix_desktop.ui.chat.items.painting import paint_line
from helix_desktop.ui.chat.markdown.text_layout import TextMark
from helix_desktop.ui.chat.style import ChatStyle
from helix_desktop.ui.design.document_units import to_lower


class PaintedLine:
    """One line of words, in pixels; positions in it are characters."""

    def __init__(self, text: str, font: QFont, color: str) -> None:
        self.words, self.font, self.color = text, font, color
        self.rect = QRectF()
        self.number = 0  # below 0 in an item whose search finds it: its texts count from 0

    def find_all(self, needle: str) -> list[tuple[int, int]]:
        """Ranges that hold a needle, letter case ignored."""
        haystack, needle = to_lower(self.words), to_lower(needle)
        ranges: list[tuple[int, int]] = []
        at = haystack.find(needle) if needle else -1
        while at >= 0:
            ranges.append((at, at + len(needle)))
            at = haystack.find(needle, at + len(needle))
        return ranges

    def show_position(self, _position: int) -> None:
        """All of it that can be seen is in sight."""

    def line_rect(self, _position: int) -> QRectF:
        """Return where it stands in the item."""
        return self.rect

    def paint(self, painter: QPainter, style: ChatStyle, marks: Sequence[TextMark]) -> None:
        """Draw it with its marks; what is cut off is marked at its end."""
        room = min(self.rect.width(), style.width(self.words, self.font))
        tall = style.metrics(self.font).height()
        for mark in marks:
            left = min(style.width(self.words[: mark.start], self.font), max(0.0, room - tall))
            right = min(style.width(self.words[: mark.end], self.font), room)
            place = QRectF(self.rect.x() + left, self.rect.center().y() - tall / 2, right - left, tall)
            painter.fillRect(place, mark.color)
        paint_line(painter, style, self.rect, self.words, self.font, self.color)
