"""Where the rows and columns of a diff are; all lengths in pixels."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from helix_desktop.ui.design.diff.rows import DiffRows, RowRange, RowRangeKind


class Pane(NamedTuple):
    """A column of text: where it, its first and second number, its text and its end are.

    Inline a line has two numbers, side by side one (`second` is `first` then).
    """

    left: float
    first: float
    second: float
    text: float
    right: float


@dataclass(frozen=True, slots=True)
class RowHeights:
    """How high each kind of row is."""

    lines: int
    fold: int
    head: int

    def of(self, kind: RowRangeKind) -> int:
        """Return the height of a row of this kind."""
        return {"lines": self.lines, "fold": self.fold, "head": self.head}[kind]


class RowPlaces:
    """From rows to heights and back."""

    def __init__(self, rows: DiffRows, heights: RowHeights) -> None:
        self._rows, self._heights = rows, heights
        sizes = [stretch.count * heights.of(stretch.kind) for stretch in rows.stretches]
        self._tops = [0, *accumulate(sizes)]

    @property
    def height(self) -> int:
        """Return the height of all rows."""
        return self._tops[-1]

    def top_of(self, index: int) -> int:
        """Return where a row begins. Raises IndexError."""
        stretch, at = self._rows.locate(index)
        number = bisect_right(self._rows.firsts, index) - 1
        return self._tops[number] + at * self._heights.of(stretch.kind)

    def row_at(self, y: int) -> int:
        """Return the row at a height; the first or last for one outside."""
        if not self._rows.stretches:
            return 0
        number = min(max(0, bisect_right(self._tops, y) - 1), len(self._rows.stretches) - 1)
        stretch = self._rows.stretches[number]
        at = max(0, y - self._tops[number]) // self._heights.of(stretch.kind)
        return stretch.first + min(at, stretch.count - 1)

    def rows_between(self, top: int, bottom: int) -> Iterator[tuple[int, int, int, RowRange, int]]:
        """Yield the number, top and height of each row in sight, its stretch and its number there."""
        if not self._rows.stretches:
            return
        number = min(max(0, bisect_right(self._tops, top) - 1), len(self._rows.stretches) - 1)
        for begin, stretch in zip(self._tops[number:], self._rows.stretches[number:], strict=False):
            height = self._heights.of(stretch.kind)
            for at in range(max(0, top - begin) // height, stretch.count):
                y = begin + at * height
                if y >= bottom:
                    return
                yield stretch.first + at, y, height, stretch, at


def inline_panes(width: float, number: float, sign: float, *, has_both: bool = True) -> list[Pane]:
    """Return the one column of an inline diff; `number` and `sign` are the widths of those columns.

    Where there is one side only, one number is enough.
    """
    second = number if has_both else 0.0
    return [Pane(0, 0, second, second + number + sign, width)]


def side_panes(width: float, number: float, sign: float) -> list[Pane]:
    """Return the two columns of a diff side by side."""
    middle = round(width / 2)
    return [
        Pane(left, left, left, left + number + sign, right) for left, right in ((0, middle), (middle, width))
    ]
