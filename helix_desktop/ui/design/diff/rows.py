"""The rows of a diff: heads of hunks, lines and folded lines, and what of them is selected."""

from __future__ import annotations

import re
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import takewhile, zip_longest
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.file_history.diff import DiffLine, FileDiff
from helix_desktop.ui.design.viewer.paged_content import MATCH_LIMIT, Match


class HunkMark(msgspec.Struct, frozen=True):
    """A word about a hunk (empty: none); one that is over is muted, and its button does the opposite."""

    word: str = ""
    is_over: bool = False


NO_MARK = HunkMark()


RowRangeKind = Literal["head", "lines", "fold"]

_LONGEST_PAIRING = 200  # rows of a change in which the other side of its first line is looked for
_PAUSE_LINES = 4_000  # lines searched between two pauses
SHORTEST_FOLD = 2  # lines; a single one takes no more room than the row that would hide it


class Row(NamedTuple):
    """What stands left and right; inline, a line that is on one side only takes the whole width."""

    left: DiffLine | None
    right: DiffLine | None

    @property
    def is_changed(self) -> bool:
        return self.left is not self.right

    @property
    def line(self) -> DiffLine:
        line = self.right or self.left
        assert line is not None
        return line


class _LazyRows(Sequence[Row]):
    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Row:  # type: ignore[override]  # nobody needs slices
        if not 0 <= index < self._count:
            raise IndexError(index)
        return self._row(index)

    @abstractmethod
    def _row(self, at: int) -> Row:
        """Return one of them."""


class UnchangedRows(_LazyRows):
    def __init__(self, lines: Sequence[str], old: int, new: int, count: int) -> None:
        """`old` and `new` count the lines before the first one, `lines` are those of the later content."""
        super().__init__(count)
        self._lines, self._old, self._new = lines, old, new

    def texts(self, most: int) -> list[str]:
        """Return the texts of the first rows: fast, as no rows are made."""
        lines = self._lines[self._new : self._new + min(most, len(self))]
        return [line.removesuffix("\n") for line in lines]

    def _row(self, at: int) -> Row:
        old, new = self._old + at, self._new + at
        full_text = self._lines[new]
        text = full_text.removesuffix("\n")
        line = DiffLine("same", old + 1, new + 1, text, has_line_end=len(text) < len(full_text))
        return Row(line, line)


class _InlineRows(_LazyRows):
    def __init__(self, lines: Sequence[DiffLine]) -> None:
        super().__init__(len(lines))
        self._lines = lines

    @property
    def changed(self) -> list[bool]:
        return [line.kind != "same" for line in self._lines]

    def _row(self, at: int) -> Row:
        line = self._lines[at]
        return Row(line if line.kind != "added" else None, line if line.kind != "removed" else None)


class RowRange(msgspec.Struct, frozen=True):
    """Rows of one kind. A closed fold is one row, whose `rows` are hidden; a head is one without any.

    `hunk` is the number (from 0) of the hunk it belongs to, of a fold: of the hunk behind it. `first` is its
    first row on screen, `first_line` the first of its lines among all of the diff's, folded ones too.
    """

    kind: RowRangeKind
    rows: Sequence[Row]
    hunk: int
    first: int
    first_line: int

    @property
    def count(self) -> int:
        return len(self.rows) if self.kind == "lines" else 1

    @property
    def is_hunk(self) -> bool:
        return self.kind == "lines" and not isinstance(self.rows, UnchangedRows)


class DiffRows:
    def __init__(
        self,
        diff: FileDiff,
        *,
        side_by_side: bool = False,
        has_heads: bool = False,
        opened: Collection[int] = (),
    ) -> None:
        """`has_heads` gives each hunk a row above it; `opened` are the folds (their hunks) that are open."""
        self.diff = diff
        self.row_ranges: list[RowRange] = []
        self._count = self._lines = 0
        old = new = 0
        for number, hunk in enumerate(diff.hunks):
            count = hunk.new_start - 1 - new
            head_first = has_heads and count < SHORTEST_FOLD
            if head_first:
                self._add("head", (), number)
            self._add_unchanged(old, new, count, number, opened)
            if has_heads and not head_first:
                self._add("head", (), number)
            rows = list(_rows_side_by_side(hunk.lines)) if side_by_side else _InlineRows(hunk.lines)
            self._add("lines", rows, number)
            old = hunk.old_start - 1 + hunk.old_count
            new = hunk.new_start - 1 + hunk.new_count
        if diff.hunks:
            self._add_unchanged(old, new, len(diff.after_lines) - new, len(diff.hunks), opened)
        self.firsts = [row_range.first for row_range in self.row_ranges]

    def __len__(self) -> int:
        return self._count

    def locate(self, index: int) -> tuple[RowRange, int]:
        """Return the range that a row is in, and its number there. Raises IndexError."""
        if not 0 <= index < self._count:
            raise IndexError(index)
        row_range = self.row_ranges[bisect_right(self.firsts, index) - 1]
        return row_range, index - row_range.first

    def row(self, index: int) -> Row | None:
        """Return the lines of a row; None for the head of a hunk and a fold."""
        row_range, at = self.locate(index)
        return row_range.rows[at] if row_range.kind == "lines" else None

    @cached_property
    def change_starts(self) -> list[int]:
        """The first row of each group of changed lines."""
        return [
            row_range.first + at
            for row_range in self.row_ranges
            if row_range.is_hunk
            for at in _starts_of_runs(
                row_range.rows.changed
                if isinstance(row_range.rows, _InlineRows)
                else [row.is_changed for row in row_range.rows]
            )
        ]

    def line_with_words(self, start: int) -> DiffLine | None:
        """Return of the first line of a change, or of what it became, the one whose words differ first.

        None where the first line is new or gone as a whole.
        """
        rows = map(self.row, range(start, min(start + _LONGEST_PAIRING, self._count)))
        changed = takewhile(lambda row: row is not None and row.is_changed, rows)
        first, *others = [line for row in changed for line in row or () if line is not None]
        pair = [first]
        if first.partner:
            number = first.old or first.new
            pair += [line for line in others if line.kind != first.kind and line.partner == number]
        return min((line for line in pair if line.spans), key=lambda line: line.spans[0].start, default=None)

    def index_of_line(self, line: int) -> int:
        """Return the row on screen of a line, by its number among all lines of the diff; or that of its fold.

        Raises ValueError.
        """
        for row_range in self.row_ranges:
            if row_range.first_line <= line < row_range.first_line + len(row_range.rows):
                return row_range.first + (line - row_range.first_line if row_range.kind == "lines" else 0)
        raise ValueError(f"no line {line}")

    def search(self, query: str) -> Iterator[Match | None]:
        """Yield where `query` stands, letter case aside, in folded lines too; None now and then, for a pause.

        A hit's row is twice the number of its row among all; one more for a changed line that stands right.
        """
        pattern, count, number = re.compile(re.escape(query), re.IGNORECASE), 0, 0
        for row_range in self.row_ranges:
            for sides in row_range.rows:
                for side, shown in enumerate(sides if sides.is_changed else sides[:1]):
                    for hit in pattern.finditer(shown.text) if shown is not None else ():
                        yield Match(2 * number + side, hit.start(), hit.end() - hit.start())
                        count += 1
                        if count >= MATCH_LIMIT:
                            return
                number += 1
                if number % _PAUSE_LINES == 0:
                    yield None

    def _add_unchanged(self, old: int, new: int, count: int, hunk: int, opened: Collection[int]) -> None:
        if count > 0:
            rows = UnchangedRows(self.diff.after_lines, old, new, count)
            self._add("lines" if hunk in opened or count < SHORTEST_FOLD else "fold", rows, hunk)

    def _add(self, kind: RowRangeKind, rows: Sequence[Row], hunk: int) -> None:
        row_range = RowRange(kind, rows, hunk, self._count, self._lines)
        self.row_ranges.append(row_range)
        self._count += row_range.count
        self._lines += len(rows)


def _starts_of_runs(flags: list[bool]) -> Iterator[int]:
    """Yield where each run of True begins."""
    at = 0
    with suppress(ValueError):  # there is no other one
        while True:
            at = flags.index(True, at)
            yield at
            at = flags.index(False, at)


def _rows_side_by_side(lines: Sequence[DiffLine]) -> Iterator[Row]:
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in lines:
        if line.kind == "removed" and not added:
            removed.append(line)
        elif line.kind == "added":
            added.append(line)
        else:
            yield from _paired_rows(removed, added)
            removed, added = [], []
            if line.kind == "removed":
                removed.append(line)
            else:
                yield Row(line, line)
    yield from _paired_rows(removed, added)


def _paired_rows(removed: list[DiffLine], added: list[DiffLine]) -> Iterator[Row]:
    """Yield a group of changes side by side: a line beside the one that it became."""
    places = {line.new: at for at, line in enumerate(added)}
    pairs = [(at, places[line.partner]) for at, line in enumerate(removed) if line.partner in places]
    left = right = 0
    for left_end, right_end in [*pairs, (len(removed), len(added))]:
        for before, after in zip_longest(removed[left:left_end], added[right:right_end]):
            yield Row(before, after)
        left, right = left_end, right_end


Side = Literal["both", "left", "right"]
"""Which texts a selection takes: inline both, side by side those of the side where it began."""

END = 1 << 30
"""A column behind the end of any line."""


def line_on_side(row: Row | None, side: Side) -> DiffLine | None:
    if row is None:
        return None
    return {"left": row.left, "right": row.right}.get(side, row.right or row.left)


class DiffSelection(msgspec.Struct, frozen=True):
    """From one character to another; rows and columns from 0, the columns in the text of the line."""

    side: Side
    anchor: tuple[int, int]
    cursor: tuple[int, int]

    @property
    def is_empty(self) -> bool:
        return self.anchor == self.cursor

    def moved_to(self, row: int, column: int) -> DiffSelection:
        return replace(self, cursor=(row, column))

    def columns(self, row: int) -> tuple[int, int] | None:
        first, last = sorted((self.anchor, self.cursor))
        if self.is_empty or not first[0] <= row <= last[0]:
            return None
        return first[1] if row == first[0] else 0, last[1] if row == last[0] else END

    def text(self, rows: DiffRows) -> str:
        """Return the text of what is selected, without signs and numbers; folded lines are not part of it."""
        first, last = sorted((self.anchor[0], self.cursor[0]))
        parts = []
        for index in range(first, min(last + 1, len(rows))):
            line, columns = line_on_side(rows.row(index), self.side), self.columns(index)
            if line is not None and columns is not None:
                parts.append(line.text.removesuffix("\r")[columns[0] : columns[1]])
        return "\n".join(parts).encode(errors="replace").decode()
