"""A line of a card that is painted without a layout, such as its title: a search finds and marks it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFont, QPainter

from helix_desktop.ui.chat.items.painting import elided_line, paint_line
from helix_desktop.ui.chat.markdown.text_layout import TextMark
from helix_desktop.ui.chat.style import ChatStyle
from helix_desktop.ui.design.document_units import to_lower


class PaintedLine:
    """One line of words, in pixels; positions in it are characters. `keeps_end`: its middle is cut off."""

    def __init__(self, text: str, font: QFont, color: str, *, keeps_end: bool = False) -> None:
        self.words, self.font, self.color, self._keeps_end = text, font, color, keeps_end
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
        return self.rect

    def shown_words(self, style: ChatStyle) -> str:
        return elided_line(style, self.words, self.font, self.rect.width(), keeps_end=self._keeps_end)

    def paint(self, painter: QPainter, style: ChatStyle, marks: Sequence[TextMark]) -> None:
        """Draw it with its marks; what is cut off is marked where it was cut."""
        fitting = self.shown_words(style)
        tall = style.metrics(self.font).height()
        for mark in marks:
            left, right = (
                style.width(fitting[: self._shown_position(fitting, position, end)], self.font)
                for position, end in ((mark.start, False), (mark.end, True))
            )
            place = QRectF(self.rect.x() + left, self.rect.center().y() - tall / 2, right - left, tall)
            painter.fillRect(place, mark.color)
        paint_line(painter, style, self.rect, fitting, self.font, self.color)

    def _shown_position(self, fitting: str, position: int, is_end: bool) -> int:
        """Return where a position stands in what is shown; of what is cut off, an edge of the ellipsis."""
        if fitting == self.words:
            return position
        cut = next(at for at, sign in enumerate(fitting) if sign != self.words[at])
        behind = position - len(self.words) + len(fitting)
        if position <= cut:
            return position
        return behind if behind > cut else cut + is_end
