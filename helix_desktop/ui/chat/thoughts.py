"""What a model thought before it answered: a fold above the answer."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.look import MEDIUM, SMALL, UI
from helix_desktop.ui.chat.markdown import Leaf, Prose, Span
from helix_desktop.ui.chat.paint import Hot, Paint, box, icon, line_of_text
from helix_desktop.ui.chat.sheet import Studio
from helix_desktop.ui.chat.text_piece import TextPiece


class Thoughts:
    """The fold's line and, when it is open, its text, which has the number -1; nothing without thoughts."""

    def __init__(self, reasoning: str, studio: Studio, *, opened: bool) -> None:
        self._look = studio.look
        self._reasoning = reasoning
        self.hots: list[Hot] = []
        self.text: TextPiece | None = None
        if opened and reasoning:
            block = Prose((Leaf((Span(reasoning),)),))
            self.text = studio.writer.prose(block, studio.look.theme.muted, UI)
            self.text.number = -1

    def arrange(self, y: float, width: float, *, begun: bool) -> float:
        """Stand below a height for a width, pixels; `begun` when the answer has words. The bottom."""
        if not self._reasoning:
            return y
        look, label = self._look, self._label(begun)
        rect = QRectF(0, y, look.width(label, look.font(SMALL, MEDIUM)) + look.px(40), look.px(24))
        self.hots = [Hot("open:thoughts", label, rect, radius=6)]
        y = rect.bottom() + look.px(4)
        if self.text is not None:
            self.text.x, self.text.y = look.px(14), y + 2
            y += self.text.layout(width - look.px(14)) + look.px(14)
        return y

    def paint(self, painter: QPainter, paint: Paint) -> None:
        """Draw the fold."""
        for hot in self.hots:
            self._paint_line(painter, paint, hot)
        if self.text is not None:
            bar = QRectF(0, self.text.y, 2, self.text.height)
            painter.fillRect(bar, self._look.color(self._look.theme.border_strong))
            self.text.paint(painter, paint.clip, paint.marks_of(self.text))

    def _paint_line(self, painter: QPainter, paint: Paint, hot: Hot) -> None:
        look, theme = self._look, self._look.theme
        if hot.name in (paint.hovered, paint.pressed):
            box(painter, hot.rect, look.color(theme.hover), None, 6)
        side = look.px(14)
        top = hot.rect.center().y() - side / 2
        arrow = "chevron-down" if self.text is not None else "chevron-right"
        icon(painter, look, arrow, theme.faint, QRectF(4, top, side, side))
        words = hot.rect.adjusted(side + 9, 0, 0, 0)
        line_of_text(painter, look, words, hot.label, look.font(SMALL, MEDIUM), theme.muted)

    def _label(self, begun: bool) -> str:
        return f"Thinking · {len(self._reasoning.split()):,} words" if begun else "Thinking…"
