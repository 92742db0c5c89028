"""What a model thought before it answered: a fold above the answer."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.actions import ToggleSection
from helix_desktop.ui.chat.items.item import ItemTools
from helix_desktop.ui.chat.items.painting import HitArea, PaintState, paint_box, paint_icon, paint_line
from helix_desktop.ui.chat.markdown.parser import Paragraph, Prose, Span
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.style import MEDIUM, SMALL, UI
from helix_desktop.words.translation import Translator

tr = Translator("Chat")


class ThinkingBlock:
    """The fold's line and, when it is open, its text, which has the number -1; nothing without thoughts."""

    def __init__(self, reasoning: str, tools: ItemTools, *, is_open: bool) -> None:
        self._style = tools.style
        self._reasoning = reasoning
        self.hit_areas: list[HitArea] = []
        self.text: TextLayout | None = None
        if is_open and reasoning:
            block = Prose((Paragraph((Span(reasoning),)),))
            self.text = tools.writer.write_prose(block, tools.style.theme.muted, UI)
            self.text.number = -1

    def arrange(self, y: float, width: float, *, has_answer: bool) -> float:
        """Lay out below `y` for a width, pixels; `has_answer` when the answer has text. Return the bottom."""
        if not self._reasoning:
            return y
        style, label = self._style, self._label(has_answer)
        rect = QRectF(0, y, style.width(label, style.font(SMALL, MEDIUM)) + style.px(40), style.px(24))
        self.hit_areas = [HitArea("open:thoughts", ToggleSection("thoughts"), label, rect, radius=6)]
        y = rect.bottom() + style.px(4)
        if self.text is not None:
            self.text.x, self.text.y = style.px(14), y + 2
            y += self.text.layout(width - style.px(14)) + style.px(14)
        return y

    def paint(self, painter: QPainter, state: PaintState) -> None:
        """Draw the fold."""
        for area in self.hit_areas:
            self._paint_line(painter, state, area)
        if self.text is not None:
            bar = QRectF(0, self.text.y, 2, self.text.height)
            painter.fillRect(bar, self._style.color(self._style.theme.border_strong))
            self.text.paint(painter, state.clip, state.marks_of(self.text))

    def _paint_line(self, painter: QPainter, state: PaintState, area: HitArea) -> None:
        style, theme = self._style, self._style.theme
        if area.name in (state.hovered, state.pressed):
            paint_box(painter, area.rect, style.color(theme.hover), None, 6)
        side = style.px(14)
        top = area.rect.center().y() - side / 2
        arrow = "chevron-down" if self.text is not None else "chevron-right"
        paint_icon(painter, style, arrow, theme.faint, QRectF(4, top, side, side))
        words = area.rect.adjusted(side + 9, 0, 0, 0)
        paint_line(painter, style, words, area.label, style.font(SMALL, MEDIUM), theme.muted)

    def _label(self, has_answer: bool) -> str:
        if not has_answer:
            return tr("Thinking…")
        return tr.plural(len(self._reasoning.split()), "Thinking · %n word", "Thinking · %n words")
