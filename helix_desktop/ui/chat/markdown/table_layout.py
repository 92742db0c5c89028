"""A laid-out table whose columns stay readable: one that is too wide for its place scrolls sideways."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtGui import QFont, QTextDocument, QTextLength, QTextTable

from helix_desktop.ui.chat.markdown.parser import Cell, Span
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.style import BODY, CODE, REGULAR, SEMIBOLD, ChatStyle
from helix_desktop.ui.design.mirror import is_right_to_left

CELL_PADDING = 7  # pixels at zoom 1, on each side of a cell
_WORD_LIMIT = 220  # pixels at zoom 1; a longer word breaks before its column gets wider
_WIDE_CELL = 280  # pixels at zoom 1 that a text gets before it wraps in a table that scrolls
_BORDERS = 3  # pixels of the lines around a cell, and of what Qt rounds off
_EDGES = 4  # pixels that Qt adds to the widths of the columns
_CODE_ENDS = 7  # pixels at zoom 1 that code is wider by its background
_SAMPLE = 12  # of the longest texts of a column, by letters, that are measured
_WORDS = re.compile(r"[^\s\u2e80-\uffef]+|[\u2e80-\uffef]")  # East Asian text breaks between any two letters


class ColumnNeed(NamedTuple):
    """How wide a column is with its longest word, and with its longest text in one line, in pixels."""

    word: float
    line: float


class TableLayout(TextLayout):
    """A text that is one table."""

    def __init__(
        self, style: ChatStyle, document: QTextDocument, table: QTextTable, rows: Sequence[Sequence[Cell]]
    ) -> None:
        """`table` is where `rows`, the first of them headings, are written."""
        super().__init__(style, document)
        self.is_table = True
        self._table = table
        self._widths: list[float] = []
        self._needs = [
            _measure_column(style, [row[at] for row in rows if at < len(row)])
            for at in range(table.columns())
        ]

    def layout(self, width: float) -> float:
        """Wrap the cells to a width in pixels, or have a wider table than that; the height that takes."""
        widths = column_widths(
            self._needs, width - _EDGES, self.style.px(_WORD_LIMIT), self.style.px(_WIDE_CELL)
        )
        if self.is_mirrored:
            widths.reverse()
        if widths != self._widths:
            self._widths = widths
            form = self._table.format()
            fixed = QTextLength.Type.FixedLength
            form.setColumnWidthConstraints([QTextLength(fixed, wide) for wide in widths])
            self._table.setFormat(form)
        was_at_end = self.offset >= self.max_offset
        self.width = width
        self.content_width = max(width, math.ceil(sum(widths) + _EDGES))
        self.document.setTextWidth(self.content_width)
        begins_at_end = self.is_mirrored != is_right_to_left()
        self.scroll_to(self.max_offset if was_at_end and begins_at_end else self.offset)
        return self.refresh()


def column_widths(
    needs: Sequence[ColumnNeed], room: float, word_limit: float, wide_cell: float
) -> list[float]:
    """Return the widths of columns in pixels that keep words whole.

    Where not even the words fit, the table is wider than `room`, and columns up to `wide_cell` don't wrap.
    """
    lines = [need.line for need in needs]
    if sum(lines) <= room:
        return lines
    words = [min(need.word, word_limit) for need in needs]
    spare = room - sum(words)
    if spare < 0:
        return [max(word, min(need.line, wide_cell)) for word, need in zip(words, needs, strict=True)]
    return _share(words, lines, spare)


def _share(words: Sequence[float], lines: Sequence[float], spare: float) -> list[float]:
    """Give columns what they need beyond their words, the ones with short texts first."""
    widths = list(words)
    order = sorted(range(len(words)), key=lambda at: lines[at] - words[at])
    for done, at in enumerate(order):
        extra = min(lines[at] - words[at], spare / (len(order) - done))
        widths[at] += extra
        spare -= extra
    return widths


def _measure_column(style: ChatStyle, cells: Sequence[Cell]) -> ColumnNeed:
    """Measure the longest words and texts of a column; its heading stands in bold letters."""
    around = 2 * style.px(CELL_PADDING) + _BORDERS
    longest = sorted(cells[1:], key=_letter_count, reverse=True)[:_SAMPLE]
    line = max((_cell_width(style, cell) for cell in longest), default=0.0)
    words = sorted(
        ((word, span) for cell in cells[1:] for span in cell for word in _WORDS.findall(span.text)),
        key=lambda word: len(word[0]),
        reverse=True,
    )
    word = max((_width(style, text, span) for text, span in words[:_SAMPLE]), default=0.0)
    for span in cells[0] if cells else ():
        word = max([word, *(_width(style, part, span, SEMIBOLD) for part in _WORDS.findall(span.text))])
    if cells:
        line = max(line, _cell_width(style, cells[0], SEMIBOLD))
    return ColumnNeed(math.ceil(word) + around, math.ceil(line) + around)


def _letter_count(cell: Cell) -> int:
    return sum(len(span.text) for span in cell)


def _cell_width(style: ChatStyle, cell: Cell, weight: QFont.Weight = REGULAR) -> float:
    return sum(_width(style, span.text, span, weight) for span in cell)


def _width(style: ChatStyle, text: str, span: Span, weight: QFont.Weight = REGULAR) -> float:
    """Return the width of a text as its span is written, in pixels."""
    font = style.font(CODE if span.code else BODY, SEMIBOLD if span.bold else weight, mono=span.code)
    return style.width(text, font) + (style.px(_CODE_ENDS) if span.code else 0.0)
