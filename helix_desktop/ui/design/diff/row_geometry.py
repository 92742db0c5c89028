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
        sizes = [row_range.count * heights.of(row_range.kind) for row_range in rows.row_ranges]
        self._tops = [0, *accumulate(sizes)]

    @property
    def height(self) -> int:
        """Return the height of all rows."""
        return self._tops[-1]

    def top_of(self, index: int) -> int:
        """Return where a row begins. Raises IndexError."""
        row_range, at = self._rows.locate(index)
        number = bisect_right(self._rows.firsts, index) - 1
        return self._tops[number] + at * self._heights.of(row_range.kind)

    def row_at(self, y: int) -> int:
        """Return the row at a height; the first or last for one outside."""
        if not self._rows.row_ranges:
            return 0
        number = min(max(0, bisect_right(self._tops, y) - 1), len(self._rows.row_ranges) - 1)
        row_range = self._rows.row_ranges[number]
        at = max(0, y - self._tops[number]) // self._heights.of(row_range.kind)
        return row_range.first + min(at, row_range.count - 1)

    def rows_between(self, top: int, bottom: int) -> Iterator[tuple[int, int, int, RowRange, int]]:
        """Yield the number, top and height of each row in sight, its range and its number there."""
        if not self._rows.row_ranges:
            return
        number = min(max(0, bisect_right(self._tops, top) - 1), len(self._rows.row_ranges) - 1)
        for begin, row_range in zip(self._tops[number:], self._rows.row_ranges[number:], strict=False):
            height = self._heights.of(row_range.kind)
            for at in range(max(0, top - begin) // height, row_range.count):
                y = begin + at * height
                if y >= bottom:
                    return
                yield row_range.first + at, y, height, row_range, at


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
