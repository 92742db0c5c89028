"""Parts of a message below each other, all of them built."""

from __future__ import annotations

from bisect import bisect_left

from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.items.item import ItemTools
from helix_desktop.ui.chat.items.painting import HitArea, PaintState
from helix_desktop.ui.chat.items.text_and_code_blocks import CodeBlock, MessageBlock, gap_before, make_block
from helix_desktop.ui.chat.markdown.parser import Block


class BlockStack:
    """Parts from top to bottom, with the blocks they were made of; `base` is the first text's number."""

    def __init__(self, tools: ItemTools, first_number: int = 0, previous: Block | None = None) -> None:
        self._tools = tools
        self._first_number = first_number
        self._previous = previous
        self.blocks: list[MessageBlock] = []
        self._markdown_blocks: list[Block] = []
        self._bottoms: list[float] = []
        self._hit_areas: list[list[HitArea]] = []

    def add(self, block: Block) -> MessageBlock:
        part = make_block(block, self._tools.writer, self._tools.style, self._tools.highlighter)
        part.text.number = self._first_number + len(self.blocks)
        self.blocks.append(part)
        self._markdown_blocks.append(block)
        return part

    def truncate(self, count: int) -> None:
        del self.blocks[count:], self._markdown_blocks[count:], self._bottoms[count:], self._hit_areas[count:]

    def arrange(self, x: float, y: float, width: float, unchanged: int = 0) -> float:
        """Place the parts below each other; the first `unchanged` stay. Return the bottom."""
        unchanged = min(unchanged, len(self._bottoms))
        bottom = self._bottoms[unchanged - 1] if unchanged else y
        del self._bottoms[unchanged:], self._hit_areas[unchanged:]
        for at in range(unchanged, len(self.blocks)):
            part = self.blocks[at]
            before = self._markdown_blocks[at - 1] if at else self._previous
            top = bottom + self._tools.style.px(gap_before(self._markdown_blocks[at], before))
            height = part.layout(width)
            part.move(x, top)
            bottom = top + height
            self._bottoms.append(bottom)
            self._hit_areas.append(list(part.hit_areas()))
        return bottom

    def hit_areas(self) -> list[HitArea]:
        return [area for areas in self._hit_areas for area in areas]

    def paint(self, painter: QPainter, state: PaintState) -> None:
        for at in range(bisect_left(self._bottoms, state.clip.top()), len(self.blocks)):
            part = self.blocks[at]
            if self._bottoms[at] - part.height > state.clip.bottom():
                break
            part.paint(painter, state)

    def copy_text(self, number: int) -> str | None:
        """Return the source of a text that is code, by its number; None when it is none."""
        codes = (part for part in self.blocks if isinstance(part, CodeBlock))
        return next((part.source for part in codes if part.text.number == number), None)
