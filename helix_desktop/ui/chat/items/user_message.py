"""A message of the user, in a bubble."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.actions import EditMessage, ToggleFold
from helix_desktop.ui.chat.items.block_stack import BlockStack
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.message_actions import BUTTON_EDGE, MessageActions
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
from helix_desktop.ui.chat.items.text_and_code_blocks import CodeBlock
from helix_desktop.ui.chat.markdown.parser import parse_user_text
from helix_desktop.ui.chat.rows.row_types import UserRow
from helix_desktop.ui.chat.style import MEDIUM, SMALL
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_FOLD_OVER_LINES, _FOLD_OVER_CHARS = 40, 4_000  # a pasted wall of text is folded above
_FOLDED_LINES, _FOLDED_CHARS = 24, 2_500


class UserMessageItem(RowItem):
    """A bubble at the right; only code is marked up, very long texts are folded until opened."""

    def __init__(self, row: UserRow, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._notes = [(name, "paperclip") for name in row.attachments]
        self.accessible_notes = [tr("Attached: {name}", name=name) for name in row.attachments]
        if row.prompt:
            self._notes.insert(0, (row.prompt, "file-text"))
            self.accessible_notes.insert(0, tr("From {prompt}", "a prompt file", prompt=row.prompt))
        if row.steered:
            self._notes.append((tr("Steered this turn"), "zap"))
            self.accessible_notes.append(tr("Steered this turn"))
        self._actions = MessageActions(
            [EditMessage(row.key.seq)] if row.is_editable else [], row.versions, self.style
        )
        if self._actions.note:
            self.accessible_notes.append(self._actions.note)
        self._stack = BlockStack(tools)
        self._bubble = QRectF()
        lines = row.text.count("\n") + 1
        self._is_long = lines > _FOLD_OVER_LINES or len(row.text) > _FOLD_OVER_CHARS
        self._show_all_label = (
            tr.plural(lines, "Show %n line", "Show all %n lines")
            if lines > _FOLDED_LINES
            else tr.plural(len(row.text), "Show %n character", "Show all %n characters")
        )
        text = row.text
        if self._is_long and "more" not in context.expanded:
            text = "\n".join(text[:_FOLDED_CHARS].split("\n")[:_FOLDED_LINES]) + " …"
        for chunk in parse_user_text(text):
            for block in chunk.blocks:
                self._stack.add(block)
        self._set_texts([part.text for part in self._stack.blocks])

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
        height = self._bubble.height() + (style.px(CHIP_HEIGHT + 8) if self._notes else 0)
        if not self._actions:
            return height
        top = self._bubble.bottom() + style.px(4)
        self._actions.place(width - self._actions.width, top)
        self.hit_areas = [*self.hit_areas, *self._actions.hit_areas]
        return max(height, top + style.px(BUTTON_EDGE))

    def _visible_text(self) -> str:
        return tr("Show less") if "more" in self.context.expanded else self._show_all_label

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
        self._actions.paint(painter, state)
        right = self.width - (self._actions.width + chat_style.px(4) if self._actions else 0)
        for name, glyph in reversed(self._notes):
            style = ChipStyle(theme.muted, theme.raised, theme.border, glyph)
            wide = min(chip_width(chat_style, name, style), max(60.0, right - 4))
            rect = QRectF(right - wide, self._bubble.bottom() + 8, wide, chat_style.px(CHIP_HEIGHT))
            paint_chip(painter, chat_style, rect, name, style)
            right -= wide + 6
