"""The laid-out text of the lines in sight, kept while they may be drawn again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QTextCharFormat, QTextLayout, QTextOption

from helix_desktop.domain.file_history.diff import DiffLine, DiffSpan
from helix_desktop.ui.design.diff.line_text import LONG_LINE, TAB_COLUMNS, LineText, line_text
from helix_desktop.ui.design.document_units import count_units, slice_units
from helix_desktop.ui.design.highlight import ColoredRun
from helix_desktop.ui.design.style.theme import Theme

_KEPT_LINES = 600  # several screens
_SLACK = 8  # columns laid out on both sides of what is in sight


class LineLayout:
    """One line: it draws itself, and knows where its characters are; lengths in pixels."""

    def __init__(
        self, text: LineText, runs: Sequence[ColoredRun], spans: Sequence[DiffSpan], font: QFont, theme: Theme
    ) -> None:
        self.text, self._font = text, font
        self._colored = [
            (run.start, run.start + run.length, str(getattr(theme.code, run.role))) for run in runs
        ]
        # On the background of a word that differs not every color of code could be read.
        self._colored += [(span.start, span.end, theme.text) for span in spans]
        self._advance = QFontMetricsF(font).horizontalAdvance("0")
        self._is_cut = text.is_plain and len(text.text) > LONG_LINE
        self._layout = None if self._is_cut else self._lay_out(0, len(text.text))

    def x_of(self, column: int) -> float:
        """Return where a character begins."""
        place = self.text.place(column)
        if self._layout is None:
            return place * self._advance
        x: float = self._layout.lineAt(0).cursorToX(self._unit(place))[0]  # type: ignore[index]  # the stubs miss the pair
        return x

    def column_at(self, x: float) -> int:
        """Return the character whose beginning is nearest to `x`."""
        if self._layout is None:
            return self.text.column(max(0, min(len(self.text.text), round(x / self._advance))))
        return self.text.column(len(slice_units(self.text.text, 0, self._layout.lineAt(0).xToCursor(x))))

    @property
    def width(self) -> float:
        """Return the width of all of it."""
        if self._layout is None:
            return len(self.text.text) * self._advance
        return self._layout.lineAt(0).naturalTextWidth()

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
        layout, start = self._layout, 0
        if layout is None:
            start = max(0, int((room[0] - x) / self._advance) - _SLACK)
            end = max(start, int((room[1] - x) / self._advance) + _SLACK)
            layout = self._lay_out(start, end)
        formats = [self._format(*part, start) for part in colored]
        layout.draw(painter, QPointF(x + start * self._advance, y), formats)

    def _lay_out(self, start: int, end: int) -> QTextLayout:
        layout = QTextLayout(self.text.text[start:end], self._font)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        option.setTabStopDistance(TAB_COLUMNS * self._advance)
        layout.setTextOption(option)
        layout.setFormats([self._format(*part, start) for part in self._colored if part[0] < end])
        layout.beginLayout()
        layout.createLine()
        layout.endLayout()
        return layout

    def _unit(self, place: int) -> int:
        """Return the position of a place in Qt's layout of the whole line; one that is cut is ASCII."""
        return place if self.text.text.isascii() else count_units(self.text.text[:place])

    def _format(self, begin: int, end: int, color: str, start: int) -> QTextLayout.FormatRange:
        result = QTextLayout.FormatRange()
        begin, end = (max(0, self._unit(self.text.place(at)) - start) for at in (begin, end))
        result.start, result.length, result.format = begin, end - begin, _char_format(color)
        return result


@lru_cache(maxsize=64)
def _char_format(color: str) -> QTextCharFormat:
    style = QTextCharFormat()
    style.setForeground(QColor(color))
    return style


class LineLayouts:
    """Makes the layout of a line once for as long as it is in sight or near."""

    def __init__(self, font: QFont, theme: Theme, *, shows_line_ends: bool) -> None:
        self._font, self._theme, self._shows_line_ends = font, theme, shows_line_ends
        self._layouts: OrderedDict[tuple[bool, int], tuple[int, LineLayout]] = OrderedDict()

    def of_line(self, line: DiffLine, runs: Sequence[ColoredRun]) -> LineLayout:
        """Return the layout of a line with these colors."""
        key = (line.kind != "removed", line.old if line.kind == "removed" else line.new)
        found = self._layouts.pop(key, None)
        if found is None or found[0] != len(runs):
            text = line_text(line.text, shows_line_ends=self._shows_line_ends)
            found = (len(runs), LineLayout(text, runs, line.spans, self._font, self._theme))
        self._layouts[key] = found
        if len(self._layouts) > _KEPT_LINES:
            self._layouts.popitem(last=False)
        return found[1]
