"""An answer of the model: a head, the thoughts, and a text that is built only near the viewport."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.items.block_stack import BlockStack
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.lazy_text import TEXTS_PER_SECTION, LazyText
from helix_desktop.ui.chat.items.message_painting import (
    HEADER_HEIGHT,
    WAITING_HEIGHT,
    paint_caret,
    paint_header,
    paint_waiting,
    silence_text,
    waiting_text,
)
from helix_desktop.ui.chat.items.painting import PaintState
from helix_desktop.ui.chat.items.streaming_text import StreamingText
from helix_desktop.ui.chat.items.thinking import ThinkingBlock
from helix_desktop.ui.chat.markdown.plain_text import BlockText, text_of_layout
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.row_types import AssistantRow
from helix_desktop.ui.chat.style import BOTTOM_GAP, MAX_COLUMN_WIDTH

_OPEN_SECTIONS = 2  # at the end of an answer that still grows: what arrives may change them


class AssistantMessageItem(RowItem):
    """Markdown under a head with the model's name, the thoughts folded above it.

    Its text is sections, and below them a stack of parts that grows in place while the answer arrives.
    """

    def __init__(
        self, row: AssistantRow, context: ItemContext, tools: ItemTools, markdown: LazyMarkdown | None = None
    ) -> None:
        """`markdown` is what a previous item has parsed already, of this text or of another."""
        super().__init__(row, context, tools)
        if markdown is None or markdown.source != row.text:
            markdown = LazyMarkdown(row.text)
        self._row = row
        self._lazy_text = LazyText(markdown, tools, _OPEN_SECTIONS if row.streaming else 0)
        before = self._lazy_text.last_block() if row.streaming else None
        self._stack = BlockStack(tools, len(self._lazy_text) * TEXTS_PER_SECTION, before)
        self._streaming_text = StreamingText(self._stack, self._lazy_text.references)
        self._thinking = ThinkingBlock(row.reasoning, tools, is_open="thoughts" in context.expanded)
        self._top = self._bottom = 0.0  # of the text, pixels
        self._lazy_bottom = 0.0
        self._built_texts: list[TextLayout] | None = None
        self._grew_at_s = time.monotonic()
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
        streamed = self._streaming_text
        if not row.streaming and (
            streamed.has_references or streamed.is_plain or self._lazy_text.has_references
        ):
            return False
        kept_count = len(self._stack.blocks)
        if len(row.text) > len(before.text):
            self._grew_at_s = time.monotonic()
            kept_count = self._streaming_text.append(row.text[len(before.text) :])
        self._row = self.row = row
        if not row.streaming:
            kept_count = min(kept_count, self._streaming_text.finish())
        self._relayout(kept_count)
        return True

    @property
    def texts(self) -> Sequence[TextLayout]:
        """Return all texts from top to bottom, built for it as a whole."""
        self.build(0.0, float("inf"), float("inf"))
        return self.built_texts

    @property
    def built_texts(self) -> list[TextLayout]:
        """Return the texts that are built, from top to bottom."""
        if self._built_texts is None:
            thoughts = [self._thinking.text] if self._thinking.text is not None else []
            stacked = (part.text for part in self._stack.blocks)
            self._built_texts = [*thoughts, *self._lazy_text.built_texts(), *stacked]
        return self._built_texts

    def text(self, number: int) -> TextLayout:
        """Return a text by its number, built when it was not; IndexError when there is none."""
        if number < 0 and self._thinking.text is not None:
            return self._thinking.text
        if number >= len(self._lazy_text) * TEXTS_PER_SECTION:
            return self._stack.blocks[number - len(self._lazy_text) * TEXTS_PER_SECTION].text
        text = self._lazy_text.text(number)
        self._follow_lazy_text()
        return text

    def block_texts(self) -> Iterator[BlockText]:
        """Return the words of all texts; nothing is built for them."""
        if self._thinking.text is not None:
            yield text_of_layout(self._thinking.text)
        yield from self._lazy_text.block_texts()
        yield from (text_of_layout(part.text) for part in self._stack.blocks)

    def edge_text(self, *, last: bool) -> int | None:
        """Return the number of the first or the last text, None when there is none."""
        thoughts = self._thinking.text.number if self._thinking.text is not None else None
        tail = self._stack.blocks[-1 if last else 0].text.number if self._stack.blocks else None
        order = (thoughts, self._lazy_text.edge_text(last=last), tail)
        return next((number for number in (order[::-1] if last else order) if number is not None), None)

    def build(self, top: float, bottom: float, deadline: float, *, upwards: bool = False) -> bool:
        """Build what lies between two heights, until a time of time.perf_counter; True when all is built."""
        if not self.width:
            self.layout(float(MAX_COLUMN_WIDTH))
        done = self._lazy_text.build(top, bottom, deadline, upwards=upwards)
        self._follow_lazy_text()
        return done

    def build_hit_area(self, top: float, bottom: float, *, forward: bool) -> None:
        """Build the first place to click that lies between two heights, if it is not built yet."""
        self._lazy_text.build_hit_area(top, bottom, forward=forward)
        self._follow_lazy_text()

    def read_ahead(self, deadline: float) -> bool:
        """Prepare, until a time, what will be built later; True when nothing is left."""
        return self._lazy_text.read_ahead(deadline)

    def scroll_anchor(self, top: float, bottom: float, *, at_end: bool) -> int:
        """Return what must not move in sight while the part between two heights is built."""
        ends_in_sight = bool(self._stack.blocks) and self._lazy_text.stack.bottom < bottom
        return self._lazy_text.stack.scroll_anchor(top, bottom, at_end=at_end or ends_in_sight)

    def anchor_top(self, anchor: int) -> float:
        """Return the position, in pixels, of the anchor that `scroll_anchor` returned."""
        return self._lazy_text.stack.anchor_top(anchor)

    def lazy_markdown(self) -> LazyMarkdown:
        """Return the parsed Markdown that a later item of the same row can reuse."""
        return self._lazy_text.lazy_markdown()

    def copy_text(self, number: int) -> str | None:
        """Return the source of a text that is code, by its number; None when it is none."""
        if number < len(self._lazy_text) * TEXTS_PER_SECTION:
            return self._lazy_text.copy_text(number)
        return self._stack.copy_text(number)

    def _follow_lazy_text(self) -> None:
        """Let what stands below the sections follow them."""
        moved = self._lazy_text.stack.bottom != self._lazy_bottom
        self._relayout(0 if moved else len(self._stack.blocks))

    def _relayout(self, unchanged: int) -> None:
        """Place all but the first `unchanged` parts of the stack again after it changed."""
        self._built_texts = None
        if self.width:
            self.height = self._place(self.width, unchanged)

    def _arrange(self, width: float) -> float:
        return self._place(width, 0)

    def _place(self, width: float, unchanged: int) -> float:
        style = self.style
        has_text = bool(self._stack.blocks or len(self._lazy_text))
        is_head = not (has_text or self._row.streaming)  # of the calls below
        y = style.px(HEADER_HEIGHT + (0 if is_head else 8)) if self.context.shows_header else 0.0
        self._top = self._thinking.arrange(y, width, has_answer=has_text or not self._row.streaming)
        self._built_texts = None
        self._lazy_bottom = self._lazy_text.stack.arrange(0, self._top, width)
        y = self._stack.arrange(0, self._lazy_bottom, width, unchanged)
        self.hit_areas = [*self._thinking.hit_areas, *self._lazy_text.hit_areas(), *self._stack.hit_areas()]
        self._bottom = y
        self.room_below = min(BOTTOM_GAP, style.px(WAITING_HEIGHT)) if self._row.streaming else 0.0
        if self._row.streaming:
            y += style.px(WAITING_HEIGHT) - self.room_below
        return max(y, style.px(8))

    def _paint(self, painter: QPainter, state: PaintState) -> None:
        if self.context.shows_header:
            paint_header(painter, self.style, self._row, self.width)
        self._thinking.paint(painter, state)
        self._lazy_text.paint(painter, state)
        self._stack.paint(painter, state)
        if self._row.streaming:
            self._paint_arrival(painter, state)

    def _paint_arrival(self, painter: QPainter, state: PaintState) -> None:
        """Draw the caret, and for how long nothing came."""
        words = waiting_text(self._row.waiting_since_ms)
        if self._stack.blocks:
            paint_caret(painter, self.style, self._stack.blocks[-1].text)
            words = silence_text(time.monotonic() - self._grew_at_s)
        if words or not self._stack.blocks:
            room = QRectF(0, self._bottom, self.width, self.style.px(WAITING_HEIGHT))
            paint_waiting(painter, self.style, room, state.tick, words)
