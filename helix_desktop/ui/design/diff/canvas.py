"""The drawn rows of a diff, inline or side by side; only those in sight cost anything.

All lengths are in pixels.

Two QPlainTextEdit instead, filled in slices of 9 ms, were measured with 100,000 lines: each step of a resize
visits all of them (13-24 ms in one go), the scroll bar counts lines, no block is higher than its lines (as
folds and heads are, and a line beside a broken one), and a line of 3 million characters takes 1.1 s to show
and 0.8 s to scroll (here 25 ms and 5 ms). A frame of scrolling takes 5.2 ms, here 5.9.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import accumulate, chain
from typing import NamedTuple

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QFrame, QWidget

from helix_desktop.domain.file_history.diff import DiffLine, FileDiff, Hunk
from helix_desktop.ui.design.buttons import EnterActivates, PushButton
from helix_desktop.ui.design.diff.rows import (
    END,
    NO_MARK,
    DiffRows,
    DiffSelection,
    HunkMark,
    LineLayout,
    LineLayouts,
    Row,
    RowRange,
    RowRangeKind,
    Side,
    SyntaxRuns,
    UnchangedRows,
    width_in_columns,
)
from helix_desktop.ui.design.focus import BY_KEYBOARD, FocusRing, has_keyboard
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout import row as row_of
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Themed, current_theme
from helix_desktop.ui.design.viewer.paged_content import Match
from helix_desktop.words.file_changes import missing_line_end_note
from helix_desktop.words.lines import dotted
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_FOLD_HEIGHT = 24  # pixels at 100 %
_HEAD_HEIGHT = 30  # pixels at 100 %
_ICON_PX = 13
_PAD = 12
_EMPTY = FileDiff("text")


class CollapsedRow(EnterActivates, Themed, QAbstractButton):
    """Unchanged lines that are not in sight; a click opens them."""

    def __init__(self, parent: QWidget, open_fold: Callable[[int], object]) -> None:
        super().__init__(parent)
        self._hunk = 0
        self.setToolTip(tr("Show unchanged lines"))
        self.clicked.connect(lambda: open_fold(self._hunk))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_range(self, row_range: RowRange) -> None:
        self._hunk = row_range.hunk
        self.setText(tr.plural(len(row_range.rows), "%n unchanged line", "%n unchanged lines"))
        self.setAccessibleName(self.text())

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(theme.hover if self.underMouse() else theme.no_line))
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1.5))
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 4, 4)
        side = scaled(_ICON_PX)
        top = (self.height() - side) // 2
        painter.drawPixmap(
            QPoint(scaled(_PAD), top), pixmap("ellipsis", theme.muted, side, self.devicePixelRatioF())
        )
        painter.setFont(ui_font(12))
        painter.setPen(QColor(theme.muted))
        room = self.rect().adjusted(scaled(_PAD) + side + 8, 0, -8, 0)
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self.text())


class HunkHead(Themed, QWidget):
    def __init__(self, parent: QWidget, revert: Callable[[int], object]) -> None:
        super().__init__(parent)
        self._number = 0
        self._place = TextLine("", 12, role="muted")
        self.revert = PushButton(tr("Revert"), "link", "undo-2", px=13, name="revert-hunk")
        self.revert.clicked.connect(lambda: revert(self._number))
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setLayout(row_of(self._place, self.revert, margins=(scaled(_PAD), 0, scaled(6), 0), stretch=0))

    def show_hunk(self, number: int, hunk: Hunk, mark: HunkMark, *, is_redo: bool) -> None:
        """Stand above another hunk; `number` counts them from 0. `is_redo`: its button does it again."""
        self._number = number
        place = lines_of(hunk)
        self._place.set_text(hunk_words(hunk, mark))
        self.revert.setText(tr("Redo") if is_redo else tr("Revert"))
        self.revert.set_icon("redo-2" if is_redo else "undo-2")
        self.revert.setToolTip(hunk_verb(is_redo=is_redo))
        words = tr("Revert change {number}, {lines}", number=number + 1, lines=place)
        if is_redo:
            words = tr("Redo change {number}, {lines}", number=number + 1, lines=place)
        self.revert.setAccessibleName(words)

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), QColor(self._theme.no_line))


def hunk_words(hunk: Hunk, mark: HunkMark) -> str:
    return dotted((lines_of(hunk), mark.word))


def hunk_verb(*, is_redo: bool) -> str:
    return tr("Redo this change") if is_redo else tr("Revert this change")


def lines_of(hunk: Hunk) -> str:
    """Return which lines of the later content a hunk is about; of the former one if none is left."""
    lines = hunk.named_by
    later = lines[0].kind == "added"
    first, last = (line.new or line.old for line in (lines[0], lines[-1]))
    if first == last:
        return tr("Line {number}", number=first) if later else tr("Removed line {number}", number=first)
    if later:
        return tr("Lines {first}–{last}", first=first, last=last)
    return tr("Removed lines {first}–{last}", first=first, last=last)


class RowHeads:
    """The widgets of the rows in sight that are no lines, as children of what they are drawn over."""

    def __init__(
        self, viewport: QWidget, open_fold: Callable[[int], object], revert: Callable[[int], object]
    ) -> None:
        """`open_fold` and `revert` get the number of a hunk."""
        self._viewport = viewport
        self._open_fold = open_fold
        self._revert = revert
        self.start(_EMPTY)
        self._in_sight: dict[tuple[RowRangeKind, int], CollapsedRow | HunkHead] = {}
        self._free: dict[RowRangeKind, list[CollapsedRow | HunkHead]] = {"fold": [], "head": []}

    def start(self, diff: FileDiff, marks: Sequence[HunkMark] = (), *, is_redo: bool = False) -> None:
        """Show those of another diff from now on; `is_redo`: to revert a hunk is a redo.

        `marks` say what became of the hunks; none: they are as the diff says.
        """
        self._diff = diff
        self._marks = marks
        self._is_redo = is_redo

    def mark_of(self, hunk: int) -> HunkMark:
        return self._marks[hunk] if hunk < len(self._marks) else NO_MARK

    def does_redo(self, hunk: int) -> bool:
        return self._is_redo != self.mark_of(hunk).is_over

    def show_marks(self, marks: Sequence[HunkMark]) -> None:
        self._marks = marks
        for (_, hunk), widget in self._in_sight.items():
            self._fill(widget, hunk)

    def clear(self) -> None:
        for key in list(self._in_sight):
            self._put_away(key)

    def place(self, heads: list[tuple[RowRange, int, int]]) -> None:
        """Show the rows of these ranges at these tops and heights in pixels, and no others."""
        for key in self._in_sight.keys() - {(row_range.kind, row_range.hunk) for row_range, _, _ in heads}:
            self._put_away(key)
        for row_range, top, height in heads:
            key = (row_range.kind, row_range.hunk)
            if key not in self._in_sight:
                self._in_sight[key] = self._take(row_range)
            widget = self._in_sight[key]
            widget.setGeometry(0, top, self._viewport.width(), height)
            widget.show()
            widget.raise_()  # Tab goes through them as they are stacked

    def _put_away(self, key: tuple[RowRangeKind, int]) -> None:
        """Hide a row that is out of sight; the keyboard goes to the text."""
        widget = self._in_sight.pop(key)
        parent = self._viewport.parentWidget()
        reasons = Qt.FocusReason
        if parent is not None and has_keyboard(widget):
            is_by_keyboard = parent.window().testAttribute(BY_KEYBOARD)
            parent.setFocus(reasons.TabFocusReason if is_by_keyboard else reasons.OtherFocusReason)
        widget.hide()
        self._free[key[0]].append(widget)

    def _take(self, row_range: RowRange) -> CollapsedRow | HunkHead:
        if free := self._free[row_range.kind]:
            widget = free.pop()
        elif row_range.kind == "fold":
            widget = CollapsedRow(self._viewport, self._open_fold)
        else:
            widget = HunkHead(self._viewport, self._revert)
        if isinstance(widget, CollapsedRow):
            widget.show_range(row_range)
        self._fill(widget, row_range.hunk)
        return widget

    def _fill(self, widget: CollapsedRow | HunkHead, hunk: int) -> None:
        if isinstance(widget, HunkHead):
            is_redo = self.does_redo(hunk)
            widget.show_hunk(hunk, self._diff.hunks[hunk], self.mark_of(hunk), is_redo=is_redo)


_OVER_OPACITY = 0.55  # of the lines of a hunk that is over
_MEASURED_LINES = 20_000  # lines whose columns are counted; of all others, those with the most characters
_LONGEST_MEASURED = 100
_STEP_COLUMNS = 8  # of a key that scrolls sideways
_LEAST_COLUMNS = 20  # of a row of a broken line
_LONGEST_BROKEN = 2_000  # columns; with a longer line, as in minified code, nothing is broken


class Pane(NamedTuple):
    """A column of text: where it, its first and second number, its text and its end are.

    Inline a line has two numbers, side by side one (`second` is `first` then).
    """

    left: float
    first: float
    second: float
    text: float
    right: float


RowHeights = Mapping[RowRangeKind, int]


class RowPlaces:
    """From rows to heights and back."""

    def __init__(
        self, rows: DiffRows, heights: RowHeights, count_lines: Callable[[RowRange], Sequence[int]]
    ) -> None:
        """`count_lines` says into how many lines each row of a range of lines breaks; empty: one each."""
        self._rows = rows
        self._heights = heights
        counts = [count_lines(part) if part.kind == "lines" else () for part in rows.row_ranges]
        self._tops_within = [
            [0, *accumulate(count * heights["lines"] for count in of_rows)] if of_rows else []
            for of_rows in counts
        ]
        """Where each row begins in its range, and the last one ends; empty where all are of one height."""
        sizes = [
            tops[-1] if tops else row_range.count * heights[row_range.kind]
            for row_range, tops in zip(rows.row_ranges, self._tops_within, strict=True)
        ]
        self._tops = [0, *accumulate(sizes)]

    @property
    def height(self) -> int:
        return self._tops[-1]

    def top_of(self, index: int) -> int:
        """Return where a row begins. Raises IndexError."""
        row_range, at = self._rows.locate(index)
        number = bisect_right(self._rows.firsts, index) - 1
        within = self._tops_within[number]
        return self._tops[number] + (within[at] if within else at * self._heights[row_range.kind])

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
            row_range = self._rows.row_ranges[number]
            begin = self._tops[number]
            within = self._tops_within[number]
            height = self._heights[row_range.kind]
            for at in range(self._row_within(number, max(0, top - begin)), row_range.count):
                y = begin + (within[at] if within else at * height)
                if y >= bottom:
                    return
                high = within[at + 1] - within[at] if within else height
                yield row_range.first + at, y, high, row_range, at

    def _row_within(self, number: int, y: int) -> int:
        row_range = self._rows.row_ranges[number]
        within = self._tops_within[number]
        at = bisect_right(within, y) - 1 if within else y // self._heights[row_range.kind]
        return min(at, row_range.count - 1)


_SIGN_WIDTH = 20  # pixels at 100 %
_NUMBER_PAD = 8
_ON_HIT = "#1a1d24"  # text on the background of the current hit, in either theme
_RADIUS = 3.0


class LineMarks(NamedTuple):
    """Columns of a line that are selected, the hits of a search in it but the current one, and that one."""

    selected: tuple[int, int] | None = None
    hits: tuple[tuple[int, int], ...] = ()
    current: tuple[int, int] | None = None


class RowPainter:
    def __init__(self) -> None:
        self._theme = current_theme()
        self.font = ui_font(12, is_code=True)
        self._number_font = ui_font(11, is_code=True)
        self._note_font = ui_font(11)
        metrics = QFontMetricsF(self.font)
        self.line_height = round(metrics.lineSpacing()) + scaled(4)
        self.advance = metrics.horizontalAdvance("0")
        self._text_drop = (self.line_height - metrics.lineSpacing()) / 2
        self._sign_width = scaled(_SIGN_WIDTH)
        self._number_pad = scaled(_NUMBER_PAD)

    def number_width(self, largest: int) -> float:
        digits = max(3, len(str(largest)))
        return QFontMetricsF(self._number_font).horizontalAdvance("0") * digits + scaled(2 * _NUMBER_PAD)

    def paint_line(
        self,
        painter: QPainter,
        pane: Pane,
        top: float,
        height: float,
        line: DiffLine,
        layout: LineLayout,
        scroll: float,
        marks: LineMarks,
        numbers: tuple[int, int],
    ) -> None:
        """Draw a line; `scroll` is how far its text is moved to the left, `numbers` stand before it.

        `height` is that of its row, which may have a longer line on its other side.
        """
        rect = QRectF(pane.left, top, pane.right - pane.left, height)
        if line.kind != "same":  # these stand on the background of all
            theme = self._theme
            painter.fillRect(rect, QColor(theme.added_line if line.kind == "added" else theme.removed_line))
        self._paint_numbers(painter, pane, top, line, numbers)
        room = QRectF(pane.text, top, pane.right - pane.text, height)
        painter.setClipRect(room)
        x = pane.text - scroll
        word = self._theme.added_word if line.kind == "added" else self._theme.removed_word
        for places, color in (
            ([(span.start, span.end) for span in line.spans], word),
            (marks.hits, self._theme.warn_soft),
            ([marks.current] if marks.current else (), self._theme.seg_output),
            ([marks.selected] if marks.selected else (), self._theme.text_selection),
        ):
            if places:
                self._fill(painter, layout, x, room, places, color)
        plain = [(*place, self._theme.text) for place in (*marks.hits, marks.selected) if place]
        plain += [(*marks.current, _ON_HIT)] if marks.current else []
        painter.setPen(QColor(self._theme.text))
        layout.draw(painter, x, top + self._text_drop, (room.left(), room.right()), plain)
        if not line.has_line_end:
            top += (layout.row_count - 1) * self.line_height
            painter.setFont(self._note_font)
            painter.setPen(QColor(self._theme.muted))
            room = QRectF(x + layout.last_width + self.advance, top, 4_000, self.line_height)
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, missing_line_end_note())
        painter.setClipping(False)

    def _paint_numbers(
        self, painter: QPainter, pane: Pane, top: float, line: DiffLine, numbers: tuple[int, int]
    ) -> None:
        theme = self._theme
        painter.setFont(self._number_font)
        painter.setPen(QColor(theme.muted if line.kind != "same" else theme.faint))
        sign_left = pane.text - self._sign_width
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for number, left, end in (
            (numbers[0], pane.first, pane.second if pane.second > pane.first else sign_left),
            (numbers[1], pane.second, sign_left),
        ):
            if number:
                room = QRectF(left, top, end - left - self._number_pad, self.line_height)
                painter.drawText(room, right, str(number))
        if line.kind == "same":
            return
        painter.setFont(self.font)
        painter.setPen(QColor(theme.ok if line.kind == "added" else theme.error))
        room = QRectF(sign_left, top, self._sign_width, self.line_height)
        painter.drawText(
            room, Qt.AlignmentFlag.AlignCenter, "+" if line.kind == "added" else "\N{MINUS SIGN}"
        )

    def _fill(
        self,
        painter: QPainter,
        layout: LineLayout,
        x: float,
        room: QRectF,
        spans: Iterable[tuple[int, int]],
        color: str,
    ) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(color))
        for start, end in spans:
            for row, left, right in layout.parts_of(start, end) if end > start else ():
                is_end = end >= END and row == layout.row_count - 1  # the line's end is selected, too
                begin = x + left
                stop = x + right + (self.advance if is_end else 0.0)
                if stop > room.left() and begin < room.right() and (stop > begin or row == 0):
                    begin = max(begin, room.left() - _RADIUS)
                    stop = min(stop, room.right() + _RADIUS)
                    top = room.top() + row * self.line_height + 1
                    box = QRectF(begin, top, max(stop - begin, 2.0), self.line_height - 2)
                    painter.drawRoundedRect(box, _RADIUS, _RADIUS)


class DiffCanvas(Themed, QAbstractScrollArea):
    hunk_revert_requested = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._diff = _EMPTY
        self._opened = set[int]()
        self._columns = 0  # of the longest line
        self._widths: list[list[int]] = []  # columns of the lines of each hunk, as far as they are measured
        self._side_by_side = self._can_revert = False
        self._selection = DiffSelection("both", (0, 0), (0, 0))
        self.current_row = 0  # that the keyboard is on
        self._words_row = self._words_scroll = 0  # the change whose words were shown last, and where they are
        self._first_scroll: int | None = None  # where the first change is in sight, until the user scrolls
        self._matches: dict[int, list[Match]] = {}
        self._match: Match | None = None
        self.syntax = SyntaxRuns(self)
        self.syntax.found.connect(self.viewport().update)
        self._heads = RowHeads(self.viewport(), self.open_fold, self.hunk_revert_requested.emit)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        FocusRing(self)  # the row of the keyboard may be one that has no mark of its own
        self.apply_theme()

    def show_diff(
        self,
        diff: FileDiff | None,
        path: str,
        marks: Sequence[HunkMark] = (),
        *,
        can_revert: bool = False,
        is_redo: bool = False,
    ) -> None:
        """Show a diff of texts with its first change in sight; of long lines, what differs first.

        `path` gives the colors of its code. `can_revert` gives each hunk a head, with its mark; `is_redo`
        says that to revert one is a redo.
        """
        self._diff = diff or _EMPTY
        self._can_revert = can_revert
        self._heads.start(self._diff, marks, is_redo=is_redo)
        self._opened = set()
        self.current_row = 0
        rest = _MEASURED_LINES
        widths = list[list[int]]()
        for hunk in self._diff.hunks:
            widths.append([width_in_columns(line.text) for line in hunk.lines[:rest]])
            rest = max(0, rest - len(hunk.lines))
        self._widths = widths
        self._columns = max(_longest_width(self._diff), *map(max, filter(None, self._widths)), 0)
        self._matches = {}
        self._match = None
        self.syntax.start(diff, path)
        self._build()
        self._show_first_change()
        self._show_words_at(0)
        self.setAccessibleName(tr("Changes of {path}", path=path) if path else tr("Changes"))

    def show_marks(self, marks: Sequence[HunkMark]) -> None:
        """Show what became of the hunks meanwhile; all else stays as it is."""
        self._heads.show_marks(marks)
        self.viewport().update()

    def set_side_by_side(self, on: bool) -> None:
        if on != self._side_by_side:
            line = self._line_at_top()
            self._side_by_side = on
            self._build()
            self.verticalScrollBar().setValue(self._top_of_line(line))
            self._show_words_at(self._places.row_at(self.verticalScrollBar().value()))

    def open_fold(self, hunk: int) -> None:
        """Show the unchanged lines before a hunk, or behind the last one; the keyboard goes to the first."""
        fold = next(part for part in self.rows.row_ranges if (part.kind, part.hunk) == ("fold", hunk))
        self._open(fold)
        self.current_row = fold.first
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _open(self, fold: RowRange) -> None:
        self._opened.add(fold.hunk)
        assert isinstance(fold.rows, UnchangedRows)
        self._columns = max(self._columns, *map(width_in_columns, fold.rows.texts(_MEASURED_LINES)))
        self._build()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._painter = RowPainter()
        line = self._painter.line_height
        fold = scaled(_FOLD_HEIGHT)
        head = scaled(_HEAD_HEIGHT)
        self._heights: RowHeights = {"lines": line, "fold": fold, "head": head}
        self._build()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the first line in its place where lines break elsewhere.

        The first change and its words stay in sight, unless the user has scrolled since.
        """
        is_at_first = self.verticalScrollBar().value() == self._first_scroll
        super().resizeEvent(event)
        line = self._line_at_top()
        breaks_elsewhere = self._columns_of_rows() != self._layouts.columns
        if breaks_elsewhere:
            self._break_lines()
        self._update_bars()
        if breaks_elsewhere:
            self.verticalScrollBar().setValue(self._top_of_line(line))
            self.viewport().update()
        if is_at_first:
            self._show_first_change()
        if self.horizontalScrollBar().value() == self._words_scroll:
            self._show_words_at(self._words_row)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._place_heads()
        self.viewport().update()

    def _build(self) -> None:
        """Make the rows again: for another diff, layout or text size, or an opened fold."""
        self._selection = DiffSelection("both", (0, 0), (0, 0))
        beside = self._side_by_side
        heads = self._can_revert
        self.rows = DiffRows(self._diff, side_by_side=beside, has_heads=heads, opened=self._opened)
        self.current_row = max(0, min(self.current_row, len(self.rows) - 1))
        self._break_lines()
        self._heads.clear()
        self._update_bars()
        self.viewport().update()

    def _break_lines(self) -> None:
        columns = self._columns_of_rows()
        self._layouts = LineLayouts(
            self._painter.font,
            self._theme,
            shows_line_ends=self._diff.has_mixed_line_ends,
            columns=columns,
            row_height=self._painter.line_height,
        )
        self._places = RowPlaces(self.rows, self._heights, self._count_lines)

    def _count_lines(self, row_range: RowRange) -> Sequence[int]:
        """Return into how many lines each row breaks; empty if none of them does."""
        columns = self._layouts.columns
        count = self._layouts.count_rows
        rows = row_range.rows
        if not columns:
            return ()
        if not row_range.is_hunk:
            return [count(row) for row in rows]
        lines = self._diff.hunks[row_range.hunk].lines
        wide = [at for at, width in enumerate(self._widths[row_range.hunk]) if width > columns]  # few, mostly
        if not wide:
            return ()
        if not self._side_by_side:
            counts = [1] * len(rows)
            for at in wide:
                counts[at] = count(rows[at])
            return counts
        wide_lines = {id(lines[at]) for at in wide}
        return [count(row) if id(row[0]) in wide_lines or id(row[1]) in wide_lines else 1 for row in rows]

    def _columns_of_rows(self) -> int:
        """Return after how many columns lines break; 0: all fit, or one is too long to be read as a whole."""
        pane = self._panes()[0]
        columns = max(_LEAST_COLUMNS, int((pane.right - pane.text) / self._painter.advance) - 1)
        is_readable = self._columns <= _LONGEST_BROKEN and len(self.rows) <= _MEASURED_LINES
        return columns if columns < self._columns and is_readable else 0

    def _panes(self) -> list[Pane]:
        largest = max(len(self._diff.before_lines), len(self._diff.after_lines))
        number = self._painter.number_width(largest)
        sign = float(scaled(_SIGN_WIDTH))
        width = float(self.viewport().width())
        if self._side_by_side:
            middle = round(width / 2)
            return [
                Pane(left, left, left, left + number + sign, right)
                for left, right in ((0, middle), (middle, width))
            ]
        second = number if self._diff.before_lines and self._diff.after_lines else 0.0  # one side: one number
        return [Pane(0, 0, second, second + number + sign, width)]

    def _update_bars(self) -> None:
        room = self.viewport().height()
        pane = self._panes()[0]
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, self._places.height - room))
        bar.setPageStep(max(1, room - self._painter.line_height))
        bar.setSingleStep(self._painter.line_height)
        wide = int(pane.right - pane.text)
        bar = self.horizontalScrollBar()
        longest = 0 if self._layouts.columns else int((self._columns + 2) * self._painter.advance)
        bar.setRange(0, max(0, longest - wide))
        bar.setPageStep(max(1, wide))
        bar.setSingleStep(int(_STEP_COLUMNS * self._painter.advance))
        self._place_heads()

    def _place_heads(self) -> None:
        top = self.verticalScrollBar().value()
        in_sight = self._places.rows_between(top, top + self.viewport().height())
        heads = [(part, y - top, height) for _, y, height, part, _ in in_sight if part.kind != "lines"]
        self._heads.place(heads)

    def _show_first_change(self) -> None:
        """Scroll down to the first change where it is below what is in sight, as in a low pane."""
        start = next(iter(self.rows.change_starts), None)
        bar = self.verticalScrollBar()
        top = 0
        if start is not None:
            bottom = self._places.top_of(start) + 2 * self._places.height_of(start)  # what it became, too
            if bottom > self.viewport().height():
                top = self._places.top_of(start) - self._heights["lines"]
        bar.setValue(top)
        self._first_scroll = bar.value()

    def _show_words_at(self, row: int) -> None:
        """Scroll sideways to the first words that differ in a change, at a row or the next one below."""
        pane = self._panes()[0]
        bar = self.horizontalScrollBar()
        wide = int(pane.right - pane.text)
        x = 0
        starts = self.rows.change_starts if bar.maximum() else ()
        start = next((start for start in starts if start >= row), None)
        line = self.rows.line_with_words(start) if start is not None else None
        if line is not None:
            x = int(self._layout_of(line).place_of(line.spans[0].start)[1])
        bar.setValue(0 if x < wide - wide // 5 else x - wide // 3)
        self._words_row = row
        self._words_scroll = bar.value()

    def _line_at_top(self) -> int:
        if not len(self.rows):
            return 0
        row_range, at = self.rows.locate(self._places.row_at(self.verticalScrollBar().value()))
        return row_range.first_line + at

    def _top_of_line(self, line: int) -> int:
        """Return where a line begins, by its number among all lines; of a folded one the fold."""
        return self._places.top_of(self.rows.index_of_line(line)) if len(self.rows) else 0

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(event.rect(), QColor(self._theme.code_surface))
        top = self.verticalScrollBar().value()
        panes = self._panes()
        last = top + event.rect().bottom() + 1
        for index, y, height, row_range, at in self._places.rows_between(top + event.rect().top(), last):
            if row_range.kind == "lines":
                place = float(y - top), float(height)
                is_over = row_range.is_hunk and self._heads.mark_of(row_range.hunk).is_over
                painter.setOpacity(_OVER_OPACITY if is_over else 1.0)
                self._paint_row(painter, panes, index, place, row_range.rows[at], row_range.first_line + at)
        painter.setOpacity(1.0)
        if len(panes) > 1:
            divider = QColor(self._theme.border_strong)
            painter.fillRect(int(panes[1].left), 0, 1, self.viewport().height(), divider)

    def _paint_row(
        self,
        painter: QPainter,
        panes: list[Pane],
        index: int,
        place: tuple[float, float],
        row: Row,
        number: int,
    ) -> None:
        scroll = float(self.horizontalScrollBar().value())
        sides: list[tuple[Pane, DiffLine | None, Side]] = [(panes[0], row.line, "both")]
        if len(panes) > 1:
            sides = [(panes[0], row.left, "left"), (panes[1], row.right, "right")]
        for pane, line, side in sides:
            if line is None:
                room = QRectF(pane.left, place[0], pane.right - pane.left, place[1])
                painter.fillRect(room, QColor(self._theme.no_line))
                continue
            numbers = (line.old, line.new)
            if pane.first == pane.second:
                numbers = (line.old if side == "left" or not line.new else line.new, 0)
            selected = self._selection.columns(index) if self._selection.side == side else None
            marks = self._marks(2 * number + (row.is_changed and line is row.right), selected)
            layout = self._layout_of(line)
            self._painter.paint_line(painter, pane, *place, line, layout, scroll, marks, numbers)
        if index == self.current_row and self.hasFocus():
            painter.fillRect(QRectF(0, place[0], scaled(3), place[1]), QColor(self._theme.accent))

    def _marks(self, place: int, selected: tuple[int, int] | None) -> LineMarks:
        hits = self._matches.get(place, ())
        current = next((_range(hit) for hit in hits if hit == self._match), None)
        return LineMarks(selected, tuple(_range(hit) for hit in hits if hit != self._match), current)

    def _layout_of(self, line: DiffLine) -> LineLayout:
        is_after = line.kind != "removed"
        runs = self.syntax.of_line(line.new if is_after else line.old, is_after=is_after)
        return self._layouts.of_line(line, runs)


def _longest_width(diff: FileDiff) -> int:
    """Return the columns of the longest lines of a diff that has more than are measured; else 0."""
    sides = (diff.before_lines, diff.after_lines)
    if sum(map(len, sides)) <= _MEASURED_LINES:
        return 0
    longest = nlargest(_LONGEST_MEASURED, chain(*sides), key=len)
    return max(width_in_columns(line.removesuffix("\n")) for line in longest)


def _range(hit: Match) -> tuple[int, int]:
    return hit.column, hit.column + hit.length
