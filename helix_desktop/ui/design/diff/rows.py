"""The rows of a diff, what of them is selected, and their lines as they are drawn: signs, colors, breaks."""

from __future__ import annotations

import re
import time
from abc import abstractmethod
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, chain, takewhile, zip_longest
from typing import Literal, NamedTuple
from unicodedata import combining, east_asian_width

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import QObject, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QTextLayout, QTextOption

from helix_desktop.domain.file_history.diff import DiffLine, DiffSpan, FileDiff
from helix_desktop.domain.unicode_safety import escape_hidden, first_hidden
from helix_desktop.ui.design.document_units import count_units, slice_units
from helix_desktop.ui.design.highlight import MAX_CHARS, ColoredRun, LexerLoader, colored_range, colored_runs
from helix_desktop.ui.design.style.theme import Theme
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
    def _row(self, at: int) -> Row: ...


class UnchangedRows(_LazyRows):
    def __init__(self, lines: Sequence[str], old: int, new: int, count: int) -> None:
        """`old` and `new` count the lines before the first one, `lines` are those of the later content."""
        super().__init__(count)
        self._lines = lines
        self._old = old
        self._new = new

    def texts(self, most: int) -> list[str]:
        """Return the texts of the first rows: fast, as no rows are made."""
        lines = self._lines[self._new : self._new + min(most, len(self))]
        return [line.removesuffix("\n") for line in lines]

    def _row(self, at: int) -> Row:
        old = self._old + at
        new = self._new + at
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
        pattern = re.compile(re.escape(query), re.IGNORECASE)
        count = 0
        number = 0
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
            removed = []
            added = []
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
        left = left_end
        right = right_end


Side = Literal["both", "left", "right"]
"""Which texts a selection takes: inline both, side by side those of the side where it began."""

END = 1 << 30
"""A column behind the end of any line."""


def line_on_side(row: Row | None, side: Side) -> DiffLine | None:
    return None if row is None else {"left": row.left, "right": row.right}.get(side, row.right or row.left)


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
            line = line_on_side(rows.row(index), self.side)
            columns = self.columns(index)
            if line is not None and columns is not None:
                parts.append(line.text.removesuffix("\r")[columns[0] : columns[1]])
        return "\n".join(parts).encode(errors="replace").decode()


TAB_COLUMNS = 4
LONG_LINE = 400  # characters; of longer plain lines only what is in sight is laid out
_LONG_UNEVEN_LINE = 2_000  # characters; the same of lines that are not plain; Qt takes seconds for 200,000
_LINE_END_SIGN = "\\r"
# These surrogates and those between them stand for bytes that are no UTF-8.
_FIRST_BYTE = 0xDC80
_LAST_BYTE = 0xDCFF


class LineText(NamedTuple):
    """What is drawn for a line's text, and of each of its characters the place in that; None: the same."""

    text: str
    places: Sequence[int] | None = None
    is_plain: bool = False  # every character is as wide as any other

    def place(self, column: int) -> int:
        if self.places is None:
            return min(column, len(self.text))
        return self.places[min(column, len(self.places) - 1)]

    def column(self, place: int) -> int:
        return place if self.places is None else max(0, bisect_right(self.places, place) - 1)


def line_text(text: str, *, shows_line_ends: bool) -> LineText:
    """Return what is drawn for a line; a carriage return at its end is a sign only if `shows_line_ends`."""
    end = _LINE_END_SIGN if text.endswith("\r") and shows_line_ends else ""
    text = text.removesuffix("\r")
    is_long = len(text) > LONG_LINE
    if text.isascii() and (text.isprintable() or not first_hidden(text)):
        # A tab of a long line is as wide as any character, so that no part of it has to be laid out to know.
        if is_long:
            return LineText(text.replace("\t", "→") + end, None, True)
        return LineText(text + end, None, "\t" not in text)
    if len(text) > _LONG_UNEVEN_LINE:
        text = text.replace("\t", "→")
    if not first_hidden(text):
        return LineText(text + end)
    parts = [_drawn(char) for char in text]
    return LineText("".join(parts) + end, [0, *accumulate(map(len, parts))])


def width_in_columns(text: str) -> int:
    """Return about how many columns of the code font a line takes; rather too many."""
    if text.isascii() and text.isprintable():
        return len(text)
    if first_hidden(text.removesuffix("\r")):  # its code is longer
        text = line_text(text, shows_line_ends=True).text
    width = len(text) + text.endswith("\r")
    if width > LONG_LINE and text.isascii():
        return width
    return (width if text.isascii() else 2 * width) + 7 * text.count("\t")


def _drawn(char: str) -> str:
    is_byte = _FIRST_BYTE <= ord(char) <= _LAST_BYTE
    return f"\\x{ord(char) & 0xFF:02x}" if is_byte else escape_hidden(char)


def expand_tabs(line: LineText) -> LineText:
    """Return what is drawn with blanks in the place of tabs, where no tab stops can be set."""
    if "\t" not in line.text:
        return line
    starts = [0]
    text = ""
    for char in line.text:
        text += " " * (TAB_COLUMNS - len(text) % TAB_COLUMNS) if char == "\t" else char
        starts.append(len(text))
    places = range(len(line.text) + 1) if line.places is None else line.places
    return LineText(text, [starts[place] for place in places])


_SLICE_S = 0.004  # a quarter of a frame
_UPDATE_S = 0.1  # seconds between two drawings while more is found


class SyntaxRuns(QObject):
    """Finds the colored runs of every line of a diff; tells when there are more."""

    found = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs: Iterator[tuple[bool, ColoredRun]] = iter(())
        self._of_line: dict[tuple[bool, int], list[ColoredRun]] = {}
        self._name = ""
        self._loader = LexerLoader()
        self._next_update_at = 0.0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._run_slice)

    def start(self, diff: FileDiff | None, path: str) -> None:
        self._of_line = {}
        self._next_update_at = 0.0
        self._timer.stop()
        name = self._name = path.rpartition("/")[2]
        if diff is None or "." not in name:
            return
        self._runs = chain(_runs(diff.after_lines, name, True), _runs(diff.before_lines, name, False))
        self._timer.start(0)

    def finish(self) -> None:
        """Find all that is left now, for pictures."""
        if self._timer.isActive():
            self._take(float("inf"))

    def of_line(self, number: int, *, is_after: bool) -> Sequence[ColoredRun]:
        """Return the runs of a line, by its number from 1 on its side; none yet if it was not lexed."""
        return self._of_line.get((is_after, number - 1), ())

    def _run_slice(self) -> None:
        if self._loader.is_loaded(self._name):
            self._timer.setInterval(0)
            self._take(time.perf_counter() + _SLICE_S)
        else:
            self._timer.setInterval(LexerLoader.poll_ms)

    def _take(self, deadline: float) -> None:
        """Find runs until a time; what is on screen is drawn again now and then, and at the end."""
        for is_after, run in self._runs:
            self._of_line.setdefault((is_after, run.line), []).append(run)
            if time.perf_counter() > deadline:
                break
        else:
            self._timer.stop()
            self._next_update_at = 0.0
        if time.perf_counter() >= self._next_update_at:
            self._next_update_at = time.perf_counter() + _UPDATE_S
            self.found.emit()


def _runs(lines: Sequence[str], name: str, is_after: bool) -> Iterator[tuple[bool, ColoredRun]]:
    if sum(map(len, lines)) > MAX_CHARS:
        return  # all of it stays plain
    # A carriage return ends a line for the lexer, and a byte order mark is none of its characters.
    code = "".join(lines).replace("\r", " ").replace("\ufeff", " ")
    for run in colored_runs(code, name):
        yield is_after, run


_KEPT_LINES = 600  # several screens
_SLACK = 8  # columns laid out on both sides of what is in sight

_SHORTEST_SHARE = 2  # a word begins a new row if at least half of this one is filled


def line_breaks(line: LineText, columns: int) -> list[int]:
    """Return the places in what is drawn at which further rows begin; empty if all fits into `columns`.

    Rows end behind a space where there is one in their second half.
    """
    text = line.text
    if len(text) <= columns and line.is_plain:
        return []
    # In which column each character begins, and the last one ends; a tab is as wide as the widest.
    ends = None if line.is_plain else [0, *accumulate(map(_columns_of, text))]
    breaks: list[int] = []
    start = 0
    while (end := _last_that_fits(ends, start, columns, len(text))) < len(text):
        space = text.rfind(" ", start + columns // _SHORTEST_SHARE, end + 1)
        start = space + 1 if 0 <= space < len(text) - 1 else max(end, start + 1)
        breaks.append(start)
    return breaks


def _last_that_fits(ends: Sequence[int] | None, start: int, columns: int, length: int) -> int:
    """Return where a row must end that begins at `start`; without `ends`, each character takes one column."""
    if ends is None:
        return min(length, start + columns)
    begin = ends[start]
    end = start
    while end < length and ends[end + 1] - begin <= columns:
        end += 1
    return end


def _columns_of(char: str) -> int:
    if char.isascii():
        return TAB_COLUMNS if char == "\t" else 1
    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


class LineLayout:
    """One line: it draws itself, and knows where its characters are; lengths in pixels.

    It may be broken into several rows, one below the other.
    """

    def __init__(
        self,
        text: LineText,
        runs: Sequence[ColoredRun],
        spans: Sequence[DiffSpan],
        font: QFont,
        theme: Theme,
        breaks: Sequence[int] = (),
        row_height: int = 0,
    ) -> None:
        """`breaks` are the places in the text at which further rows begin, `row_height` apart."""
        self.text = text
        self._font = font
        self._breaks = breaks
        self._row_height = row_height
        self._colored = [
            (run.start, run.start + run.length, str(getattr(theme.code, run.role))) for run in runs
        ]
        # On the background of a word that differs not every color of code could be read.
        self._colored += [(span.start, span.end, theme.text) for span in spans]
        self._advance = QFontMetricsF(font).horizontalAdvance("0")
        is_long = len(text.text) > (LONG_LINE if text.is_plain else _LONG_UNEVEN_LINE)
        self._layout = None if is_long and not breaks else self._lay_out(0, len(text.text))
        # Where the characters of a long line that is not plain begin, in columns: as a terminal places them.
        is_uneven = self._layout is None and not text.is_plain
        self._grid = [0, *accumulate(map(_columns_of, text.text))] if is_uneven else None

    @property
    def row_count(self) -> int:
        return len(self._breaks) + 1

    def place_of(self, column: int) -> tuple[int, float]:
        place = self.text.place(column)
        if self._layout is None:
            return 0, self._x_of(place)
        row = bisect_right(self._breaks, place)
        x: float = self._layout.lineAt(row).cursorToX(self._unit(place))[0]  # type: ignore[index]  # the stubs miss the pair
        return row, x

    def parts_of(self, start: int, end: int) -> Iterator[tuple[int, float, float]]:
        """Yield each row that some columns are in, and where they begin and end there."""
        first, begin = self.place_of(start)
        last, stop = self.place_of(end)
        for row in range(first, last + 1):
            left = begin if row == first else 0.0
            yield row, left, stop if row == last else self._width_of(row)

    def column_at(self, x: float, row: int = 0) -> int:
        """Return the character in a row whose beginning is nearest to `x`."""
        if self._layout is None:
            return self.text.column(self._place_at(x))
        line = self._layout.lineAt(max(0, min(row, len(self._breaks))))
        return self.text.column(len(slice_units(self.text.text, 0, line.xToCursor(x))))

    def _x_of(self, place: int) -> float:
        return (self._grid[place] if self._grid is not None else place) * self._advance

    def _place_at(self, x: float) -> int:
        column = round(x / self._advance)
        if self._grid is not None:
            column = bisect_right(self._grid, column) - 1
        return max(0, min(len(self.text.text), column))

    @property
    def last_width(self) -> float:
        is_cut = self._layout is None
        return self._x_of(len(self.text.text)) if is_cut else self._width_of(len(self._breaks))

    def _width_of(self, row: int) -> float:
        assert self._layout is not None  # only one row is ever cut
        return self._layout.lineAt(row).naturalTextWidth()

    def draw(
        self,
        painter: QPainter,
        x: float,
        y: float,
        room: tuple[float, float],
        colored: Sequence[tuple[int, int, str]] = (),
    ) -> None:
        """Draw it at a point; only what is in `room`, from left to right, is needed.

        The columns of `colored` are drawn in these colors instead of their own.
        """
        layout = self._layout
        start = 0
        if layout is None:
            start = max(0, self._place_at(room[0] - x) - _SLACK)
            end = self._place_at(room[1] - x) + _SLACK
            layout = self._lay_out(start, end)
        formats = [self._format(*part, start) for part in colored]
        layout.draw(painter, QPointF(x + self._x_of(start), y), formats)

    def _lay_out(self, start: int, end: int) -> QTextLayout:
        layout = QTextLayout(self.text.text[start:end], self._font)
        option = QTextOption()
        modes = QTextOption.WrapMode
        option.setWrapMode(modes.WrapAnywhere if self._breaks else modes.NoWrap)
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        option.setTabStopDistance(TAB_COLUMNS * self._advance)
        layout.setTextOption(option)
        layout.setFormats([self._format(*part, start) for part in self._colored if part[0] < end])
        layout.beginLayout()
        ends = [*(self._unit(place) for place in self._breaks), 0]  # Qt counts in UTF-16
        begin = 0
        for row, stop in enumerate(ends):
            line = layout.createLine()
            if row < len(self._breaks):
                line.setNumColumns(stop - begin)
            line.setPosition(QPointF(0, row * self._row_height))
            begin = stop
        layout.endLayout()
        return layout

    def _unit(self, place: int, start: int = 0) -> int:
        is_ascii = self.text.text.isascii()
        return max(0, place - start if is_ascii else count_units(self.text.text[start:place]))

    def _format(self, begin: int, end: int, color: str, start: int) -> QTextLayout.FormatRange:
        begin, end = (self._unit(self.text.place(at), start) for at in (begin, end))
        return colored_range(begin, end - begin, color)


class LineLayouts:
    """Makes the layout of a line once for as long as it is in sight or near."""

    def __init__(
        self, font: QFont, theme: Theme, *, shows_line_ends: bool, columns: int = 0, row_height: int = 0
    ) -> None:
        """Lines break after so many `columns`; 0: they do not."""
        self._font = font
        self._theme = theme
        self._shows_line_ends = shows_line_ends
        self.columns = columns
        self._row_height = row_height
        self._layouts: OrderedDict[tuple[bool, int], tuple[int, LineLayout]] = OrderedDict()

    def count_rows(self, row: Row) -> int:
        """Return into how many rows the longer side of a row of the diff breaks."""
        count = 1
        for line in row if row.left is not row.right else row[:1]:
            # Most lines are plain and fit, which is found out fast.
            if line is not None and (
                len(line.text) > self.columns or not (line.text.isascii() and line.text.isprintable())
            ):
                count = max(count, len(self._breaks_of(line)) + 1)
        return count

    def _breaks_of(self, line: DiffLine, text: LineText | None = None) -> Sequence[int]:
        if not self.columns or width_in_columns(line.text) <= self.columns:
            return ()
        return line_breaks(text or line_text(line.text, shows_line_ends=self._shows_line_ends), self.columns)

    def of_line(self, line: DiffLine, runs: Sequence[ColoredRun]) -> LineLayout:
        key = (line.kind != "removed", line.old if line.kind == "removed" else line.new)
        found = self._layouts.pop(key, None)
        if found is None or found[0] != len(runs):
            text = line_text(line.text, shows_line_ends=self._shows_line_ends)
            breaks = self._breaks_of(line, text)
            height = self._row_height
            layout = LineLayout(text, runs, line.spans, self._font, self._theme, breaks, height)
            found = (len(runs), layout)
        self._layouts[key] = found
        if len(self._layouts) > _KEPT_LINES:
            self._layouts.popitem(last=False)
        return found[1]
