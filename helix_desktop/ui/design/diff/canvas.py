"""The drawn rows of a diff, inline or side by side; only those in sight cost anything."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame

from helix_desktop.domain.file_history.diff import DiffLine, FileDiff
from helix_desktop.ui.design.diff.hunk_mark import HunkMark
from helix_desktop.ui.design.diff.line_layouts import LineLayout, LineLayouts
from helix_desktop.ui.design.diff.line_text import width_in_columns
from helix_desktop.ui.design.diff.row_geometry import Pane, RowHeights, RowPlaces, inline_panes, side_panes
from helix_desktop.ui.design.diff.row_heads import FOLD_HEIGHT, HEAD_HEIGHT, RowHeads
from helix_desktop.ui.design.diff.row_painting import SIGN_WIDTH, LineMarks, RowPainter
from helix_desktop.ui.design.diff.rows import DiffRows, Row, RowRange
from helix_desktop.ui.design.diff.selection import DiffSelection, Side
from helix_desktop.ui.design.diff.syntax import SyntaxRuns
from helix_desktop.ui.design.focus import FocusRing
from helix_desktop.ui.design.mirror import keep_left_to_right
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.design.viewer.paged_content import Match

_OVER_OPACITY = 0.55  # of the lines of a hunk that is over
_EMPTY = FileDiff("text")
_MEASURED_LINES = 20_000  # lines that are looked at for the longest one
_STEP_COLUMNS = 8  # of a key that scrolls sideways
_LEAST_COLUMNS = 20  # of a row of a broken line
_LONGEST_BROKEN = 2_000  # columns; with a longer line, as in minified code, nothing is broken


class DiffCanvas(Themed, QAbstractScrollArea):
    """Lays out and draws the rows of one diff of texts."""

    hunk_revert_requested = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # code
        self._diff, self._opened = _EMPTY, set[int]()
        self._columns = 0  # of the longest line
        self._widths: list[list[tuple[int, DiffLine]]] = []  # columns of the lines of each hunk
        self._side_by_side = self._can_revert = False
        self._selection = DiffSelection("both", (0, 0), (0, 0))
        self._current = 0  # the row that the keyboard is on
        self._matches: dict[int, list[Match]] = {}
        self._match: Match | None = None
        self.syntax = SyntaxRuns(self)
        self.syntax.found.connect(self.viewport().update)
        self._heads = RowHeads(self.viewport())
        self._heads.fold_clicked.connect(self.open_fold)
        self._heads.revert_clicked.connect(self.hunk_revert_requested)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        FocusRing(self)  # the row of the keyboard may be one that has no mark of its own
        self._set_up_painter()

    @property
    def rows(self) -> DiffRows:
        """Return the rows on screen."""
        return self._rows

    def show_diff(
        self,
        diff: FileDiff | None,
        path: str,
        marks: Sequence[HunkMark] = (),
        *,
        can_revert: bool = False,
        is_redo: bool = False,
    ) -> None:
        """Show a diff of texts from its beginning on; `path` gives the colors of its code.

        `can_revert` gives each hunk a head, with its mark; `is_redo` says that to revert one is a redo.
        """
        self._diff, self._can_revert, self._heads.is_redo = diff or _EMPTY, can_revert, is_redo
        self._heads.marks = marks
        self._opened, self._current = set(), 0
        self._widths = _line_widths(self._diff)
        self._columns = max((width for widths in self._widths for width, _ in widths), default=0)
        self._matches, self._match = {}, None
        self.syntax.start(diff, path)
        self._build()
        self.verticalScrollBar().setValue(0)
        self.horizontalScrollBar().setValue(0)

    def show_marks(self, marks: Sequence[HunkMark]) -> None:
        """Show what became of the hunks meanwhile; all else stays as it is."""
        self._heads.show_marks(marks, self._diff)
        self.viewport().update()

    def set_side_by_side(self, on: bool) -> None:
        """Show both sides beside each other, or one text."""
        if on != self._side_by_side:
            line = self._line_at_top()
            self._side_by_side = on
            self._build()
            self.verticalScrollBar().setValue(self._top_of_line(line))

    def open_fold(self, hunk: int) -> None:
        """Show the unchanged lines before a hunk, or behind the last one; the keyboard goes to the first."""
        fold = next(part for part in self._rows.row_ranges if (part.kind, part.hunk) == ("fold", hunk))
        self._open(fold)
        self._current = fold.first
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _open(self, fold: RowRange) -> None:
        self._opened.add(fold.hunk)
        measured = fold.rows[:_MEASURED_LINES]
        self._columns = max(self._columns, *(width_in_columns(row.line.text) for row in measured))
        self._build()

    def tint(self, theme: Theme) -> None:
        """Paint with these tokens, at the text size in force, from now on."""
        super().tint(theme)
        self._set_up_painter()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the scroll bars' ranges true, and the first line in its place where lines break elsewhere."""
        super().resizeEvent(event)
        if self._columns_of_rows() == self._layouts.columns:
            self._update_bars()
            return
        line = self._line_at_top()
        self._break_lines()
        self._update_bars()
        self.verticalScrollBar().setValue(self._top_of_line(line))
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Draw again; rows that are widgets go along."""
        self._place_heads()
        self.viewport().update()

    def _set_up_painter(self) -> None:
        self._painter = RowPainter(self._theme)
        self._heights = RowHeights(self._painter.line_height, scaled(FOLD_HEIGHT), scaled(HEAD_HEIGHT))
        self._build()

    def _build(self) -> None:
        """Make the rows again: for another diff, layout or text size, or an opened fold."""
        diff = self._diff
        self._selection = DiffSelection("both", (0, 0), (0, 0))
        self._rows = DiffRows(
            diff, side_by_side=self._side_by_side, has_heads=self._can_revert, opened=self._opened
        )
        self._current = max(0, min(self._current, len(self._rows) - 1))
        self._break_lines()
        self._heads.clear()
        self._update_bars()
        self.viewport().update()

    def _break_lines(self) -> None:
        """Lay lines out for the width there is now."""
        columns = self._columns_of_rows()
        self._layouts = LineLayouts(
            self._painter.font,
            self._theme,
            shows_line_ends=self._diff.has_mixed_line_ends,
            columns=columns,
            row_height=self._painter.line_height,
        )
        self._places = RowPlaces(self._rows, self._heights, self._count_lines)

    def _count_lines(self, row_range: RowRange) -> Sequence[int]:
        """Return into how many lines each row breaks; empty if none of them does."""
        columns, count = self._layouts.columns, self._layouts.count_rows
        if not columns:
            return ()
        if not row_range.is_hunk:
            return [count(row) for row in row_range.rows]
        wide = {id(line) for width, line in self._widths[row_range.hunk] if width > columns}  # few, mostly
        if not wide:
            return ()
        return [count(row) if id(row[0]) in wide or id(row[1]) in wide else 1 for row in row_range.rows]

    def _columns_of_rows(self) -> int:
        """Return after how many columns lines break; 0: all fit, or one is too long to be read as a whole."""
        pane = self._panes()[0]
        columns = max(_LEAST_COLUMNS, int((pane.right - pane.text) / self._painter.advance) - 1)
        is_readable = self._columns <= _LONGEST_BROKEN and len(self._rows) <= _MEASURED_LINES
        return columns if columns < self._columns and is_readable else 0

    def _panes(self) -> list[Pane]:
        largest = max(len(self._diff.before_lines), len(self._diff.after_lines))
        number, sign = self._painter.number_width(largest), float(scaled(SIGN_WIDTH))
        width = float(self.viewport().width())
        if self._side_by_side:
            return side_panes(width, number, sign)
        has_both = bool(self._diff.before_lines and self._diff.after_lines)
        return inline_panes(width, number, sign, has_both=has_both)

    def _update_bars(self) -> None:
        room, pane = self.viewport().height(), self._panes()[0]
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
        heads = [
            (row_range, y - top, height)
            for _, y, height, row_range, _ in in_sight
            if row_range.kind != "lines"
        ]
        self._heads.place(heads, self._diff, self._theme)

    def _line_at_top(self) -> int:
        """Return the number of the first line in sight, among all lines."""
        if not len(self._rows):
            return 0
        row_range, at = self._rows.locate(self._places.row_at(self.verticalScrollBar().value()))
        return row_range.first_line + at

    def _top_of_line(self, line: int) -> int:
        """Return where a line begins, by its number among all lines; of a folded one the fold."""
        return self._places.top_of(self._rows.index_of_line(line)) if len(self._rows) else 0

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the rows in sight."""
        painter = QPainter(self.viewport())
        keep_left_to_right(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(event.rect(), self._painter.background("same"))
        top, panes = self.verticalScrollBar().value(), self._panes()
        last = top + event.rect().bottom() + 1
        for index, y, height, row_range, at in self._places.rows_between(top + event.rect().top(), last):
            if row_range.kind == "lines":
                place = float(y - top), float(height)
                is_over = row_range.is_hunk and self._heads.mark_of(row_range.hunk).is_over
                painter.setOpacity(_OVER_OPACITY if is_over else 1.0)
                self._paint_row(painter, panes, index, place, row_range.rows[at], row_range.first_line + at)
        painter.setOpacity(1.0)
        if len(panes) > 1:
            painter.fillRect(int(panes[1].left), 0, 1, self.viewport().height(), self._painter.divider)

    def _paint_row(
        self,
        painter: QPainter,
        panes: list[Pane],
        index: int,
        place: tuple[float, float],
        row: Row,
        number: int,
    ) -> None:
        """Draw a row at a `place`: its top and height in pixels."""
        scroll = float(self.horizontalScrollBar().value())
        sides: list[tuple[Pane, DiffLine | None, Side]] = [(panes[0], row.line, "both")]
        if len(panes) > 1:
            sides = [(panes[0], row.left, "left"), (panes[1], row.right, "right")]
        for pane, line, side in sides:
            if line is None:
                self._painter.paint_nothing(painter, pane, *place)
                continue
            numbers = (line.old, line.new)
            if pane.first == pane.second:
                numbers = (line.old if side == "left" or not line.new else line.new, 0)
            selected = self._selection.columns(index) if self._selection.side == side else None
            marks = self._marks(2 * number + (row.is_changed and line is row.right), selected)
            layout = self._layout_of(line)
            self._painter.paint_line(painter, pane, *place, line, layout, scroll, marks, numbers)
        if index == self._current and self.hasFocus():
            self._painter.paint_current(painter, *place)

    def _marks(self, place: int, selected: tuple[int, int] | None) -> LineMarks:
        hits = self._matches.get(place, ())
        current = next((_range(hit) for hit in hits if hit == self._match), None)
        return LineMarks(selected, tuple(_range(hit) for hit in hits if hit != self._match), current)

    def _layout_of(self, line: DiffLine) -> LineLayout:
        is_after = line.kind != "removed"
        runs = self.syntax.of_line(line.new if is_after else line.old, is_after=is_after)
        return self._layouts.of_line(line, runs)


def _line_widths(diff: FileDiff) -> list[list[tuple[int, DiffLine]]]:
    """Return the columns of the lines of each hunk, as far as lines are looked at."""
    rest, widths = _MEASURED_LINES, list[list[tuple[int, DiffLine]]]()
    for hunk in diff.hunks:
        widths.append([(width_in_columns(line.text), line) for line in hunk.lines[:rest]])
        rest = max(0, rest - len(hunk.lines))
    return widths


def _range(hit: Match) -> tuple[int, int]:
    return hit.column, hit.column + hit.length
