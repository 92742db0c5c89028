"""How messages look: the person's in a bubble, the model's as a text with a head."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.answer_paint import HEAD, paint_caret, paint_head, paint_waiting
from helix_desktop.ui.chat.growth import Growth
from helix_desktop.ui.chat.lazy_sheet import LazySheet
from helix_desktop.ui.chat.look import MEDIUM, SMALL
from helix_desktop.ui.chat.markdown import read_typed
from helix_desktop.ui.chat.paint import (
    CHIP_HEIGHT,
    ChipStyle,
    Hot,
    Paint,
    box,
    chip,
    chip_width,
    line_of_text,
)
from helix_desktop.ui.chat.parts import CodePart
from helix_desktop.ui.chat.rows import AssistantRow, UserRow
from helix_desktop.ui.chat.sections import Reading
from helix_desktop.ui.chat.sheet import Setting, Sheet, Studio
from helix_desktop.ui.chat.stack import Stack
from helix_desktop.ui.chat.thoughts import Thoughts

_LONG_LINES, _LONG_CHARS = 40, 4_000  # a pasted wall of text is folded above
_SHOWN_LINES, _SHOWN_CHARS = 24, 2_500
_OPEN_SECTIONS = 2  # at the end of an answer that still grows: what arrives may change them


class UserSheet(Sheet):
    """A bubble at the right; only code is marked up, very long texts are folded until opened."""

    def __init__(self, row: UserRow, setting: Setting, studio: Studio) -> None:
        super().__init__(row, setting, studio)
        self._notes = [(name, "paperclip") for name in row.attachments]
        self._notes += [("Steered this turn", "zap")] if row.steered else []
        self.asides = [f"Attached: {name}" for name in row.attachments]
        self.asides += ["Steered this turn"] if row.steered else []
        self._stack = Stack(studio)
        self._bubble = QRectF()
        lines = row.text.count("\n") + 1
        self._long = lines > _LONG_LINES or len(row.text) > _LONG_CHARS
        self._more = (
            f"Show all {lines:,} lines" if lines > _SHOWN_LINES else f"Show all {len(row.text):,} characters"
        )
        text = row.text
        if self._long and "more" not in setting.opened:
            text = "\n".join(text[:_SHOWN_CHARS].split("\n")[:_SHOWN_LINES]) + " …"
        for chunk in read_typed(text):
            for block in chunk.blocks:
                self._stack.add(block)
        self.texts = [part.text for part in self._stack.parts]

    def copy_of(self, hot: str) -> str | None:
        """The source of a code block."""
        return self._stack.copy_of(hot)

    def _arrange(self, width: float) -> float:
        look = self.look
        pad = look.px(16)
        widest = min(width, max(look.px(280), width * 0.82)) - 2 * pad
        self._stack.arrange(0, 0, widest)
        only_prose = all(not isinstance(part, CodePart) for part in self._stack.parts)
        if only_prose and self.texts:
            ideal = max(text.document.idealWidth() for text in self.texts)
            widest = min(widest, ideal + 1)
        if self._long:
            widest = max(widest, look.px(220))
        left = width - widest - pad
        bottom = self._stack.arrange(left, look.px(11), widest)
        self.hots = self._stack.hots()
        if self._long:
            rect = QRectF(
                left - 8, bottom + 6, look.width(self._words(), look.font(SMALL, MEDIUM)) + 16, look.px(24)
            )
            self.hots.append(Hot("open:more", self._words(), rect, radius=6))
            bottom = rect.bottom() - 2
        self._bubble = QRectF(left - pad, 0, widest + 2 * pad, bottom + look.px(12))
        return self._bubble.height() + (look.px(CHIP_HEIGHT + 8) if self._notes else 0)

    def _words(self) -> str:
        return "Show less" if "more" in self.setting.opened else self._more

    def _paint(self, painter: QPainter, paint: Paint) -> None:
        look, theme = self.look, self.look.theme
        box(painter, self._bubble, look.color(theme.user_bubble), None, 14)
        self._stack.paint(painter, paint)
        more = self.hot("open:more")
        if more is not None:
            if more.name == paint.hovered:
                box(painter, more.rect, look.color(theme.hover), None, 6)
            rect = more.rect.adjusted(8, 0, 0, 0)
            line_of_text(painter, look, rect, more.label, look.font(SMALL, MEDIUM), theme.accent_text)
        right = self.width
        for name, glyph in reversed(self._notes):
            style = ChipStyle(theme.muted, theme.raised, theme.border, glyph)
            wide = min(chip_width(look, name, style), max(60.0, right - 4))
            rect = QRectF(right - wide, self._bubble.bottom() + 8, wide, look.px(CHIP_HEIGHT))
            chip(painter, look, rect, name, style)
            right -= wide + 6


class AssistantSheet(LazySheet):
    """Markdown under a head with the model's name, the thoughts folded above it."""

    def __init__(
        self, row: AssistantRow, setting: Setting, studio: Studio, reading: Reading | None = None
    ) -> None:
        """`reading` is what a former sheet has read already, of this text or of another."""
        if reading is None or reading.source != row.text:
            reading = Reading(row.text)
        super().__init__(row, setting, studio, reading, _OPEN_SECTIONS if row.streaming else 0)
        self._row = row
        self._growth = Growth(self._stack, self._slabs.known)
        self._top = 0.0
        self._thoughts = Thoughts(row.reasoning, studio, opened="thoughts" in setting.opened)
        self._lead = self._thoughts.text
        if row.streaming:
            self._growth.take(self._slabs.rest)

    @property
    def busy(self) -> bool:
        """Whether the answer still grows."""
        return self._row.streaming

    def become(self, row: AssistantRow) -> bool:
        """Show a later state of the same answer by rendering only what is new; False when that cannot be."""
        before = self._row
        if not (before.streaming and row.text.startswith(before.text) and row.reasoning == before.reasoning):
            return False
        if not row.streaming and (self._growth.has_references or self._slabs.has_references):
            return False
        kept = len(self._stack.parts)
        if len(row.text) > len(before.text):
            kept = self._growth.take(row.text[len(before.text) :])
        self._row = self.row = row
        if not row.streaming:
            kept = min(kept, self._growth.close())
        self._changed(kept)
        return True

    def _place(self, width: float, kept: int) -> float:
        look = self.look
        begun = bool(self._stack.parts or len(self._slabs))
        y = look.px(HEAD + 8) if self.setting.head else 0.0
        y = self._thoughts.arrange(y, width, begun=begun or not self._row.streaming)
        self._top = y
        y = self._place_text(y, width, kept)
        self.hots = [*self._thoughts.hots, *self._slabs.hots(), *self._stack.hots()]
        if not begun and self._row.streaming:
            y += look.px(24)
        return max(y, look.px(8))

    def _paint(self, painter: QPainter, paint: Paint) -> None:
        if self.setting.head:
            paint_head(painter, self.look, self._row, self.width)
        self._thoughts.paint(painter, paint)
        self._slabs.paint(painter, paint)
        self._stack.paint(painter, paint)
        if self._row.streaming and self._stack.parts:
            paint_caret(painter, self.look, self._stack.parts[-1].text)
        elif self._row.streaming:
            paint_waiting(painter, self.look, self._top, paint.tick)
