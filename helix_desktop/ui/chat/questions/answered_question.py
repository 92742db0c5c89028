"""A question that has its answer, or never gets one: question and answer, as they stand in the log."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.domain.question import Question
from helix_desktop.ui.chat.items.dividers_and_notices import paragraph_layout
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.painting import (
    CHIP_HEIGHT,
    ChipStyle,
    PaintState,
    chip_width,
    paint_box,
    paint_chip,
    paint_icon,
    paint_line,
)
from helix_desktop.ui.chat.rows.row_texts import reply_state_text
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.chat.style import SEMIBOLD, UI
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_LINE = 40.0  # pixels, the card's first line
_LEFT, _RIGHT = 38.0, 14.0


class AnsweredQuestion(RowItem):
    def __init__(self, row: ToolRow, question: Question, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._tool = row
        theme = self.style.theme
        self._answers = [*row.reply.options, row.reply.text.strip()] if row.reply is not None else []
        texts = [escape_invisible(text) for text in (question.text, *filter(None, self._answers))]
        colors = [theme.muted, *(theme.text for _ in texts[1:])]
        self._set_texts(
            [paragraph_layout(text, tools, color, UI) for text, color in zip(texts, colors, strict=True)]
        )

    def _arrange(self, width: float) -> float:
        style = self.style
        y = style.px(_LINE)
        for text in self.texts:
            text.x, text.y = style.px(_LEFT), y
            y += text.layout(width - style.px(_LEFT + _RIGHT)) + style.px(7)
        return y + style.px(6)

    def _paint(self, painter: QPainter, state: PaintState) -> None:
        style, theme = self.style, self.style.theme
        card = QRectF(0, 0, self.width, self.height)
        paint_box(painter, card, style.color(theme.surface), style.color(theme.border), 10)
        self._paint_head(painter)
        side = style.px(15)
        for number, text in enumerate(self.texts):
            if number:
                place = QRectF(style.px(14), text.y + style.px(2.5), side, side)
                is_option = self._tool.reply is not None and number <= len(self._tool.reply.options)
                paint_icon(painter, style, "check" if is_option else "user", theme.accent_text, place)
            text.paint(painter, state.clip, state.marks_of(text))

    def _paint_head(self, painter: QPainter) -> None:
        style, theme = self.style, self.style.theme
        side, line = style.px(15), style.px(_LINE)
        sign = QRectF(14, (line - side) / 2, side, side)
        paint_icon(painter, style, "circle-question-mark", theme.muted, sign)
        words = reply_state_text(self._tool)
        is_answered = self._tool.reply is not None and not self._tool.reply.is_skip
        colors = (theme.ok, theme.ok_soft, "", "check") if is_answered else (theme.muted, theme.hover)
        chip = ChipStyle(*colors)
        wide, tall = chip_width(style, words, chip), style.px(CHIP_HEIGHT)
        place = QRectF(self.width - style.px(_RIGHT) - wide, (line - tall) / 2, wide, tall)
        paint_chip(painter, style, place, words, chip)
        left = style.px(_LEFT)
        title = QRectF(left, 0, place.x() - left - style.px(8), line)
        paint_line(painter, style, title, tr("Question"), style.font(UI, SEMIBOLD), theme.text)
