"""Where the rows and columns of a diff are; all lengths in pixels."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
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


def _one_each(_: RowRange) -> Sequence[int]:
    return ()


class RowPlaces:
    """From rows to heights and back."""

    def __init__(
        self,
        rows: DiffRows,
        heights: RowHeights,
        count_lines: Callable[[RowRange], Sequence[int]] = _one_each,
    ) -> None:
        """`count_lines` says into how many lines each row of a range of lines breaks; empty: one each."""
        self._rows, self._heights = rows, heights
        self._tops_within = [_tops_within(part, heights, count_lines) for part in rows.row_ranges]
        sizes = [
            tops[-1] if tops else row_range.count * heights.of(row_range.kind)
            for row_range, tops in zip(rows.row_ranges, self._tops_within, strict=True)
        ]
        self._tops = [0, *accumulate(sizes)]

    @property
    def height(self) -> int:
        """Return the height of all rows."""
        return self._tops[-1]

    def top_of(self, index: int) -> int:
        """Return where a row begins. Raises IndexError."""
        row_range, at = self._rows.locate(index)
        number = bisect_right(self._rows.firsts, index) - 1
        within = self._tops_within[number]
        return self._tops[number] + (within[at] if within else at * self._heights.of(row_range.kind))

    def height_of(self, index: int) -> int:
        """Return the height of a row. Raises IndexError."""
        end = self.top_of(index + 1) if index + 1 < len(self._rows) else self.height
        return end - self.top_of(index)

    def row_at(self, y: int) -> int:
        """Return the row at a height; the first or last for one outside."""
        if not self._rows.row_ranges:
            return 0
        number = min(max(0, bisect_right(self._tops, y) - 1), len(self._rows.row_ranges) - 1)
        row_range = self._rows.row_ranges[number]
        return row_range.first + self._row_within(number, max(0, y - self._tops[number]))

    def rows_between(self, top: int, bottom: int) -> Iterator[tuple[int, int, int, RowRange, int]]:
        """Yield the number, top and height of each row in sight, its range and its number there."""
        if not self._rows.row_ranges:
            return
        first = min(max(0, bisect_right(self._tops, top) - 1), len(self._rows.row_ranges) - 1)
        for number in range(first, len(self._rows.row_ranges)):
            row_range, begin, within = (
                self._rows.row_ranges[number],
                self._tops[number],
                self._tops_within[number],
            )
            height = self._heights.of(row_range.kind)
            for at in range(self._row_within(number, max(0, top - begin)), row_range.count):
                y = begin + (within[at] if within else at * height)
                if y >= bottom:
                    return
                yield (
                    row_range.first + at,
                    y,
                    within[at + 1] - within[at] if within else height,
                    row_range,
                    at,
                )

    def _row_within(self, number: int, y: int) -> int:
        """Return the row of a range at a height in it, the last for one below."""
        row_range, within = self._rows.row_ranges[number], self._tops_within[number]
        at = bisect_right(within, y) - 1 if within else y // self._heights.of(row_range.kind)
        return min(at, row_range.count - 1)


def _tops_within(
    row_range: RowRange, heights: RowHeights, count_lines: Callable[[RowRange], Sequence[int]]
) -> list[int]:
    """Return where each row begins in its range, and the last one ends; empty where all are of one height."""
    counts = count_lines(row_range) if row_range.kind == "lines" else ()
    return [0, *accumulate(count * heights.lines for count in counts)] if counts else []


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
