"""Parts of a message below each other, all of them built."""

from __future__ import annotations

from bisect import bisect_left

from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.markdown import Block
from helix_desktop.ui.chat.paint import Hot, Paint
from helix_desktop.ui.chat.parts import CodePart, Part, gap_before, make_part
from helix_desktop.ui.chat.sheet import Studio


class Stack:
    """Parts from top to bottom, with the blocks they were made of; `base` is the first text's number."""

    def __init__(self, studio: Studio, base: int = 0, before: Block | None = None) -> None:
        self._studio = studio
        self._base = base
        self._before = before
        self.parts: list[Part] = []
        self._blocks: list[Block] = []
        self._bottoms: list[float] = []
        self._hots: list[list[Hot]] = []

    def add(self, block: Block) -> Part:
        """Put the part of a block at the end."""
        part = make_part(block, self._studio.writer, self._studio.look, self._studio.highlighter)
        part.text.number = self._base + len(self.parts)
        self.parts.append(part)
        self._blocks.append(block)
        return part

    def cut(self, count: int) -> None:
        """Keep the first parts only."""
        del self.parts[count:], self._blocks[count:], self._bottoms[count:], self._hots[count:]

    def arrange(self, x: float, y: float, width: float, kept: int = 0) -> float:
        """Place the parts below each other, the first `kept` stay where they are; the bottom."""
        kept = min(kept, len(self._bottoms))
        bottom = self._bottoms[kept - 1] if kept else y
        del self._bottoms[kept:], self._hots[kept:]
        for at in range(kept, len(self.parts)):
            part = self.parts[at]
            before = self._blocks[at - 1] if at else self._before
            top = bottom + self._studio.look.px(gap_before(self._blocks[at], before))
            height = part.layout(width)
            part.move(x, top)
            bottom = top + height
            self._bottoms.append(bottom)
            self._hots.append(list(part.hots()))
        return bottom

    def hots(self) -> list[Hot]:
        """The places of all parts."""
        return [hot for hots in self._hots for hot in hots]

    def paint(self, painter: QPainter, paint: Paint) -> None:
        """Draw the parts that are in sight."""
        for at in range(bisect_left(self._bottoms, paint.clip.top()), len(self.parts)):
            part = self.parts[at]
            if self._bottoms[at] - part.height > paint.clip.bottom():
                break
            part.paint(painter, paint)

    def copy_of(self, hot: str) -> str | None:
        """The source of the code whose Copy button has a name."""
        for part in self.parts:
            if isinstance(part, CodePart) and any(place.name == hot for place in part.hots()):
                return part.source
        return None
