"""Which rows stand where in the viewport: an anchor row that never jumps when heights become exact."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import NamedTuple

_BLOCK = 512  # rows


class HeightIndex:
    """Heights in pixels with sums per block of 512: 8 bytes a row."""

    def __init__(self, heights: Iterable[float] = ()) -> None:
        self._heights = array("d", heights)
        count = len(self._heights)
        self._sums = array("d", (sum(self._heights[at : at + _BLOCK]) for at in range(0, count, _BLOCK)))
        self.total = sum(self._sums)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> float:
        return self._heights[index]

    def set(self, index: int, height: float) -> None:
        difference = height - self._heights[index]
        if difference:
            self._heights[index] = height
            self._sums[index // _BLOCK] += difference
            self.total += difference

    def append(self, height: float) -> None:
        if len(self._heights) % _BLOCK == 0:
            self._sums.append(0.0)
        self._heights.append(height)
        self._sums[-1] += height
        self.total += height

    def insert(self, index: int, height: float) -> None:
        """Put a row before that of an index; costs what stands after it."""
        if index == len(self._heights):
            self.append(height)
            return
        self._heights.insert(index, height)
        self._sum_from(index // _BLOCK)

    def remove(self, index: int) -> None:
        """Take a row away; costs what stands after it."""
        del self._heights[index]
        self._sum_from(index // _BLOCK)

    def _sum_from(self, block: int) -> None:
        count = len(self._heights)
        rest = (sum(self._heights[at : at + _BLOCK]) for at in range(block * _BLOCK, count, _BLOCK))
        self._sums[block:] = array("d", rest)
        self.total = sum(self._sums)

    def offset(self, index: int) -> float:
        """Distance from the top of all rows to the top of this one."""
        block = index // _BLOCK
        return sum(self._sums[:block]) + sum(self._heights[block * _BLOCK : index])

    def find(self, y: float) -> tuple[int, float]:
        """Return the row at a distance from the top, and how far below that row's top; ends are clamped."""
        if not self._heights:
            return 0, 0.0
        block = 0
        while block < len(self._sums) - 1 and y >= self._sums[block]:
            y -= self._sums[block]
            block += 1
        index = block * _BLOCK
        last = len(self._heights) - 1
        while index < last and y >= self._heights[index]:
            y -= self._heights[index]
            index += 1
        return index, max(0.0, y)


class PlacedRow(NamedTuple):
    """A visible row: its index, its top in the viewport and its height, in pixels."""

    row_index: int
    y: float
    height: float


class ScrollLayout:
    """Scroll position over rows whose heights are estimates until they are visible.

    The position is an anchor row and how far its top lies above the viewport's top, so that
    correcting a height elsewhere never moves what the user reads.
    """

    def __init__(self, measure: Callable[[int], float], bottom_padding: float = 0.0) -> None:
        self._measure = measure
        self._bottom_padding = bottom_padding
        self.is_following = True  # stays at the end when rows come
        self.heights = HeightIndex()
        self.anchor = 0
        self.offset = 0.0
        self.placed: list[PlacedRow] = []

    @property
    def position(self) -> float:
        """Distance scrolled from the top, in pixels, by the heights known so far."""
        return self.heights.offset(self.anchor) + self.offset if len(self.heights) else 0.0

    def max_position(self, view_height: float) -> float:
        return max(0.0, self.heights.total + self._bottom_padding - view_height)

    def is_at_end(self, view_height: float) -> bool:
        """Return True if the last row's end is in sight; needs a layout of the current state."""
        if not self.placed:
            return True
        last = self.placed[-1]
        return (
            last.row_index == len(self.heights) - 1
            and last.y + last.height + self._bottom_padding <= view_height + 2
        )

    def reset(self, estimates: Iterable[float]) -> None:
        """Begin with other rows, at the top."""
        self.heights = HeightIndex(estimates)
        self.anchor, self.offset, self.placed = 0, 0.0, []

    def insert(self, index: int, estimate: float) -> None:
        """Insert a row; what is read stays where it is."""
        is_last = index == len(self.heights)
        self.heights.insert(index, estimate)
        if index <= self.anchor and not is_last:
            self.anchor += 1

    def remove(self, index: int) -> None:
        """Remove a row; what is read stays where it is."""
        self.heights.remove(index)
        if index < self.anchor:
            self.anchor -= 1
        elif index == self.anchor:
            self.offset = min(self.offset, 0.0)

    def scroll_by(self, pixels: float) -> None:
        """Move on by pixels; negative is toward the top."""
        self.offset += pixels

    def scroll_to(self, position: float) -> None:
        """Go to a distance from the top, as a scroll bar says it."""
        self.anchor, self.offset = self.heights.find(position)

    def scroll_to_row(self, index: int, offset: float = 0.0) -> None:
        """Put the top of a row `offset` pixels below the viewport's top."""
        self.anchor, self.offset = index, -offset

    def scroll_to_end(self) -> None:
        count = len(self.heights)
        self.anchor = max(0, count - 1)
        self.offset = self._measure_exactly(self.anchor) if count else 0.0

    def layout(self, view_height: float) -> list[PlacedRow]:
        """Measure what is visible and say where it stands; clamps the position to the ends."""
        self.anchor = min(self.anchor, max(0, len(self.heights) - 1))
        self.placed = []
        if len(self.heights):
            self._settle_anchor()
            self._fill_down(view_height)
            self._fill_up(view_height)
            self.anchor, self.offset = self.placed[0].row_index, -self.placed[0].y
        return self.placed

    def _measure_exactly(self, index: int) -> float:
        height = self._measure(index)
        self.heights.set(index, height)
        return height

    def _settle_anchor(self) -> None:
        while self.offset < 0 and self.anchor > 0:
            self.anchor -= 1
            self.offset += self._measure_exactly(self.anchor)
        self.offset = max(0.0, self.offset)
        height = self._measure_exactly(self.anchor)
        while self.offset >= height and self.anchor < len(self.heights) - 1:
            self.offset -= height
            self.anchor += 1
            height = self._measure_exactly(self.anchor)

    def _fill_down(self, view_height: float) -> None:
        y, index = -self.offset, self.anchor
        while index < len(self.heights) and (y < view_height or index == self.anchor):
            height = self._measure_exactly(index)
            self.placed.append(PlacedRow(index, y, height))
            y += height
            index += 1

    def _fill_up(self, view_height: float) -> None:
        last = self.placed[-1]
        gap = view_height - self._bottom_padding - (last.y + last.height)
        if last.row_index < len(self.heights) - 1 or gap <= 0:
            return
        self._shift(gap)
        while self.placed[0].y > 0 and self.placed[0].row_index > 0:
            index, top = self.placed[0].row_index - 1, self.placed[0].y
            height = self._measure_exactly(index)
            self.placed.insert(0, PlacedRow(index, top - height, height))
        if self.placed[0].y > 0:
            self._shift(-self.placed[0].y)
        self.placed = [row for row in self.placed if row.y + row.height > 0 or row is self.placed[-1]]

    def _shift(self, pixels: float) -> None:
        self.placed = [PlacedRow(row.row_index, row.y + pixels, row.height) for row in self.placed]
