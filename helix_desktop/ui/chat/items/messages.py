"""Message items: the user's in a bubble, the model's as a text with a header."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.actions import ToggleFold
from helix_desktop.ui.chat.items.block_stack import BlockStack
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.lazy_message import LazyMessageItem
from helix_desktop.ui.chat.items.message_painting import (
    HEADER_HEIGHT,
    paint_caret,
    paint_header,
    paint_waiting,
)
from helix_desktop.ui.chat.items.painting import (
    CHIP_HEIGHT,
    ChipStyle,
    HitArea,
    PaintState,
    chip_width,
    paint_box,
    paint_chip,
    paint_line,
)
from helix_desktop.ui.chat.items.streaming_text import StreamingText
from helix_desktop.ui.chat.items.text_and_code_blocks import CodeBlock
from helix_desktop.ui.chat.items.thinking import ThinkingBlock
from helix_desktop.ui.chat.markdown.parser import parse_user_text
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown
from helix_desktop.ui.chat.rows.row_types import AssistantRow, UserRow
from helix_desktop.ui.chat.style import MEDIUM, SMALL

_FOLD_OVER_LINES, _FOLD_OVER_CHARS = 40, 4_000  # a pasted wall of text is folded above
_FOLDED_LINES, _FOLDED_CHARS = 24, 2_500
_OPEN_SECTIONS = 2  # at the end of an answer that still grows: what arrives may change them


class UserMessageItem(RowItem):
    """A bubble at the right; only code is marked up, very long texts are folded until opened."""

    def __init__(self, row: UserRow, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._notes = [(name, "paperclip") for name in row.attachments]
        self._notes += [("Steered this turn", "zap")] if row.steered else []
        self.accessible_notes = [f"Attached: {name}" for name in row.attachments]
        self.accessible_notes += ["Steered this turn"] if row.steered else []
        self._stack = BlockStack(tools)
        self._bubble = QRectF()
        lines = row.text.count("\n") + 1
        self._is_long = lines > _FOLD_OVER_LINES or len(row.text) > _FOLD_OVER_CHARS
        self._more_rect = (
            f"Show all {lines:,} lines" if lines > _FOLDED_LINES else f"Show all {len(row.text):,} characters"
        )
        text = row.text
        if self._is_long and "more" not in context.expanded:
            text = "\n".join(text[:_FOLDED_CHARS].split("\n")[:_FOLDED_LINES]) + " …"
        for chunk in parse_user_text(text):
            for block in chunk.blocks:
                self._stack.add(block)
        self.texts = [part.text for part in self._stack.blocks]

    def copy_text(self, number: int) -> str | None:
        """Return the source of a code block."""
        return self._stack.copy_text(number)

    def _arrange(self, width: float) -> float:
        style = self.style
        pad = style.px(16)
        widest = min(width, max(style.px(280), width * 0.82)) - 2 * pad
        self._stack.arrange(0, 0, widest)
        only_prose = all(not isinstance(part, CodeBlock) for part in self._stack.blocks)
        if only_prose and self.texts:
            ideal = max(text.document.idealWidth() for text in self.texts)
            widest = min(widest, ideal + 1)
        if self._is_long:
            widest = max(widest, style.px(220))
        left = width - widest - pad
        bottom = self._stack.arrange(left, style.px(11), widest)
        self.hit_areas = self._stack.hit_areas()
        if self._is_long:
            rect = QRectF(
                left - 8,
                bottom + 6,
                style.width(self._visible_text(), style.font(SMALL, MEDIUM)) + 16,
                style.px(24),
            )
            self.hit_areas.append(
                HitArea("open:more", ToggleFold("more"), self._visible_text(), rect, radius=6)
            )
            bottom = rect.bottom() - 2
        self._bubble = QRectF(left - pad, 0, widest + 2 * pad, bottom + style.px(12))
        return self._bubble.height() + (style.px(CHIP_HEIGHT + 8) if self._notes else 0)

    def _visible_text(self) -> str:
        return "Show less" if "more" in self.context.expanded else self._more_rect

    def _paint(self, painter: QPainter, state: PaintState) -> None:
        chat_style, theme = self.style, self.style.theme
        paint_box(painter, self._bubble, chat_style.color(theme.user_bubble), None, 14)
        self._stack.paint(painter, state)
        more = self.hit_area_for(ToggleFold)
        if more is not None:
            if more.name == state.hovered:
                paint_box(painter, more.rect, chat_style.color(theme.hover), None, 6)
            rect = more.rect.adjusted(8, 0, 0, 0)
            paint_line(
                painter, chat_style, rect, more.label, chat_style.font(SMALL, MEDIUM), theme.accent_text
            )
        right = self.width
        for name, glyph in reversed(self._notes):
            style = ChipStyle(theme.muted, theme.raised, theme.border, glyph)
            wide = min(chip_width(chat_style, name, style), max(60.0, right - 4))
            rect = QRectF(right - wide, self._bubble.bottom() + 8, wide, chat_style.px(CHIP_HEIGHT))
            paint_chip(painter, chat_style, rect, name, style)
            right -= wide + 6


class AssistantMessageItem(LazyMessageItem):
    """Markdown under a head with the model's name, the thoughts folded above it."""

    def __init__(
        self, row: AssistantRow, context: ItemContext, tools: ItemTools, markdown: LazyMarkdown | None = None
    ) -> None:
        """`markdown` is what a previous item has parsed already, of this text or of another."""
        if markdown is None or markdown.source != row.text:
            markdown = LazyMarkdown(row.text)
        super().__init__(row, context, tools, markdown, _OPEN_SECTIONS if row.streaming else 0)
        self._row = row
        self._streaming_text = StreamingText(self._stack, self._lazy_text.references)
        self._top = 0.0
        self._thinking = ThinkingBlock(row.reasoning, tools, is_open="thoughts" in context.expanded)
        self._lead_text = self._thinking.text
        if row.streaming:
            self._streaming_text.append(self._lazy_text.remaining_text)

    @property
    def is_busy(self) -> bool:
        """Return True if the answer still grows."""
        return self._row.streaming

    def try_update(self, row: AssistantRow) -> bool:
        """Show a later state of the same answer by rendering only what is new; False when that cannot be."""
        before = self._row
        if not (before.streaming and row.text.startswith(before.text) and row.reasoning == before.reasoning):
            return False
        if not row.streaming and (self._streaming_text.has_references or self._lazy_text.has_references):
            return False
        kept_count = len(self._stack.blocks)
        if len(row.text) > len(before.text):
            kept_count = self._streaming_text.append(row.text[len(before.text) :])
        self._row = self.row = row
        if not row.streaming:
            kept_count = min(kept_count, self._streaming_text.finish())
        self._relayout(kept_count)
        return True

    def _place(self, width: float, unchanged: int) -> float:
        style = self.style
        begun = bool(self._stack.blocks or len(self._lazy_text))
        y = style.px(HEADER_HEIGHT + 8) if self.context.shows_header else 0.0
        y = self._thinking.arrange(y, width, has_answer=begun or not self._row.streaming)
        self._top = y
        y = self._place_text(y, width, unchanged)
        self.hit_areas = [*self._thinking.hit_areas, *self._lazy_text.hit_areas(), *self._stack.hit_areas()]
        if not begun and self._row.streaming:
            y += style.px(24)
        return max(y, style.px(8))

    def _paint(self, painter: QPainter, state: PaintState) -> None:
        if self.context.shows_header:
            paint_header(painter, self.style, self._row, self.width)
        self._thinking.paint(painter, state)
        self._lazy_text.paint(painter, state)
        self._stack.paint(painter, state)
        if self._row.streaming and self._stack.blocks:
            paint_caret(painter, self.style, self._stack.blocks[-1].text)
        elif self._row.streaming:
            paint_waiting(painter, self.style, self._top, state.tick)
