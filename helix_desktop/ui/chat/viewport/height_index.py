"""Heights of very many rows: O(1) update, O(sqrt n) search."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

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
        """Change one height."""
        difference = height - self._heights[index]
        if difference:
            self._heights[index] = height
            self._sums[index // _BLOCK] += difference
            self.total += difference

    def append(self, height: float) -> None:
        """Add a row at the end."""
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
