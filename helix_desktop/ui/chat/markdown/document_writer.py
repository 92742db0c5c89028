"""Writes Markdown blocks into text documents through a cursor: never HTML, no image but drawn formulas.

What is wider than its place, a table or a formula on its own lines, scrolls sideways.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTableFormat,
)

from helix_desktop.ui.chat.markdown.formulas import Formula, FormulaDrawing, FormulaDrawings, formula_image
from helix_desktop.ui.chat.markdown.parser import (
    Alignment,
    Cell,
    DisplayedFormula,
    Paragraph,
    Prose,
    Span,
    Table,
)
from helix_desktop.ui.chat.markdown.text_layout import (
    INLINE_CODE_PAD,
    QUOTE_INDENT,
    BlockDecoration,
    InlineCodeRange,
    TextLayout,
)
from helix_desktop.ui.chat.style import BODY, CODE, INDENT, REGULAR, SEMIBOLD, ChatStyle
from helix_desktop.ui.design.safe_text import LINE_LIMIT, wrap_long_line
from helix_desktop.ui.design.text_direction import text_direction

_HEADINGS = {1: 21, 2: 18, 3: 16}  # pixels; deeper ones are body size
_LEADING = 134  # line height in per cent
_CODE_LEADING = 114  # percent of the height of a line
_INLINE_CODE_PADDING = 3.0  # pixels on both sides of inline code, so that its background touches no letter
_BOTH = 2  # directions
_LEFT_TO_RIGHT_ISOLATE = "\u2066"
_END_OF_ISOLATE = "\u2069"
_FROM_RIGHT = Qt.LayoutDirection.RightToLeft
_ALIGN = {
    "left": Qt.AlignmentFlag.AlignLeft,
    "center": Qt.AlignmentFlag.AlignHCenter,
    "right": Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute,
}

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
    def __init__(self, style: ChatStyle, block: Table, form: QTextTableFormat) -> None:
        """Make an empty table in which the rows of `block`, the first of them headings, are to be written."""
        super().__init__(style, style.font(BODY))
        self.is_table = True
        self._widths = list[float]()
        columns = max(1, len(block.alignments))
        self.table = QTextCursor(self.document).insertTable(len(block.rows), columns, form)
        self._needs = [
            _measure_column(style, [row[at] for row in block.rows if at < len(row)]) for at in range(columns)
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
            form = self.table.format()
            fixed = QTextLength.Type.FixedLength
            form.setColumnWidthConstraints([QTextLength(fixed, wide) for wide in widths])
            self.table.setFormat(form)
        was_at_end = self.offset >= self.max_offset
        self.width = width
        self.content_width = max(width, math.ceil(sum(widths) + _EDGES))
        self.document.setTextWidth(self.content_width)
        self.scroll_to(self.max_offset if was_at_end and self.is_mirrored else self.offset)
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
    order = sorted(range(len(words)), key=lambda at: lines[at] - words[at])  # short texts first
    for done, at in enumerate(order):
        extra = min(lines[at] - words[at], spare / (len(order) - done))
        words[at] += extra
        spare -= extra
    return words


def _measure_column(style: ChatStyle, cells: Sequence[Cell]) -> ColumnNeed:
    around = 2 * style.px(CELL_PADDING) + _BORDERS
    longest = sorted(cells[1:], key=lambda cell: -sum(len(span.text) for span in cell))[:_SAMPLE]
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


def _cell_width(style: ChatStyle, cell: Cell, weight: QFont.Weight = REGULAR) -> float:
    return sum(_width(style, span.text, span, weight) for span in cell)


def _width(style: ChatStyle, text: str, span: Span, weight: QFont.Weight = REGULAR) -> float:
    font = style.font(CODE if span.code else BODY, SEMIBOLD if span.bold else weight, mono=span.code)
    return style.width(text, font) + (style.px(_CODE_ENDS) if span.code else 0.0)


class _Place(NamedTuple):
    """Where words are written; `heading` is the level of that of a paragraph, 0 for others."""

    cursor: QTextCursor
    layout: TextLayout
    heading: int


class DocumentWriter:
    """Turns typed blocks into text pieces in one look."""

    def __init__(self, style: ChatStyle, formulas: FormulaDrawings | None = None) -> None:
        """Without `formulas`, their sources are written as code."""
        self._style = style
        self._formulas = formulas
        self._formats: dict[tuple[Span, int], QTextCharFormat] = {}

    def write_prose(self, block: Prose, color: str = "", size: int = BODY) -> TextLayout:
        layout = TextLayout(self._style, self._style.font(size), color)
        cursor = QTextCursor(layout.document)
        cursor.beginEditBlock()
        for number, paragraph in enumerate(block.paragraphs):
            side = _direction(paragraph.spans)
            for line_number, line in enumerate(_lines_of_both_directions(paragraph)):
                form = self._block_format(line, side, has_margin=number > 0 and line_number == 0)
                if number or line_number:
                    cursor.insertBlock(form, QTextCharFormat())
                else:
                    cursor.setBlockFormat(form)
                if line.marker or line.quotes or line.rule:
                    decoration = BlockDecoration(line.marker, line.indent, line.quotes, line.rule)
                    layout.decorations[cursor.blockNumber()] = decoration
                self._write_spans(_Place(cursor, layout, line.heading), line.spans)
        cursor.endEditBlock()
        return layout

    def write_table(self, block: Table) -> TextLayout:
        form = QTextTableFormat()
        form.setCellSpacing(0)
        form.setCellPadding(self._style.px(CELL_PADDING))
        form.setBorder(1)
        form.setBorderCollapse(True)
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setBorderBrush(self._style.color(self._style.theme.border))
        form.setHeaderRowCount(1)
        direction = _direction(span for cells in block.rows for spans in cells for span in spans)
        if direction == _FROM_RIGHT:
            form.setAlignment(Qt.AlignmentFlag.AlignRight)
        layout = TableLayout(self._style, block, form)
        layout.is_mirrored = direction == _FROM_RIGHT
        cursor = QTextCursor(layout.document)
        cursor.beginEditBlock()
        for row, cells in enumerate(block.rows):
            places = list(enumerate(cells[: layout.table.columns()]))
            for column, spans in reversed(places) if layout.is_mirrored else places:
                self._write_cell(layout, (row, column), spans, block.alignments[column])
        cursor.endEditBlock()
        _shrink_ends(layout.document)
        return layout

    def write_formula(self, block: DisplayedFormula) -> TextLayout | None:
        """Return a piece that holds a formula; None if it can't be drawn, or is not drawn yet."""
        drawing = self._formulas.find(Formula(block.source, displayed=True)) if self._formulas else None
        if drawing is None:
            return None
        style = self._style
        image, form = formula_image(drawing, style.font(BODY), style.color(style.theme.text), style.ratio)
        layout = TextLayout(style, style.font(BODY))
        layout.least_width = math.ceil(form.width())
        cursor = QTextCursor(layout.document)
        centered = QTextBlockFormat()
        centered.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        cursor.setBlockFormat(centered)
        layout.insert_image(cursor, image, form, block.source)
        return layout

    def awaited_formulas(self, block: DisplayedFormula) -> set[Formula]:
        formula = Formula(block.source, displayed=True)
        return {formula} if self._formulas is not None and self._formulas.is_waiting(formula) else set()

    def write_plain(self, text: str, *, mono: bool, color: str = "", size: int = CODE) -> TextLayout:
        """Return a piece that holds text as it is, one block per line, very long lines folded.

        What is `mono` is code, and runs from left to right.
        """
        layout = TextLayout(self._style, self._style.font(size, mono=mono), color, is_code=mono)
        self.append_lines(layout, text.split("\n"))
        return layout

    def append_lines(self, layout: TextLayout, lines: Sequence[str]) -> None:
        """Add text at the end of a plain piece: the first line goes on the last one."""
        cursor = QTextCursor(layout.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        if layout.document.characterCount() == 1:
            form = QTextBlockFormat()
            form.setLineHeight(_CODE_LEADING, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            cursor.setBlockFormat(form)
        is_short = all(len(line) <= LINE_LIMIT for line in lines)
        if is_short:
            cursor.insertText("\n".join(lines))
        for number, line in enumerate(() if is_short else lines):
            for part_number, part in enumerate(wrap_long_line(line)):
                if part_number or number:
                    cursor.insertBlock()
                if part_number:
                    layout.decorations[cursor.blockNumber()] = BlockDecoration(is_continuation=True)
                cursor.insertText(part)
        cursor.endEditBlock()

    def _block_format(
        self, paragraph: Paragraph, side: Qt.LayoutDirection, *, has_margin: bool
    ) -> QTextBlockFormat:
        """Return the format of a paragraph, or of a line of one whose marker or bar is at `side`."""
        form = QTextBlockFormat()
        form.setLineHeight(_LEADING, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        form.setLayoutDirection(_direction(paragraph.spans))
        margin = self._style.px(INDENT * paragraph.indent + QUOTE_INDENT * len(paragraph.quotes))
        marker = paragraph.marker or paragraph.item_marker
        if marker:  # a number from 100 on needs more than an indent
            # With the widest digits, all texts of a list begin at one place.
            widest = "".join("0" if sign.isdecimal() else sign for sign in marker)
            room = self._style.width(widest, self._style.font(BODY))
            margin = max(margin, margin - self._style.px(INDENT) + room)
        if paragraph.indent or paragraph.quotes:
            edge = Qt.AlignmentFlag.AlignRight if side == _FROM_RIGHT else Qt.AlignmentFlag.AlignLeft
            form.setAlignment(edge | Qt.AlignmentFlag.AlignAbsolute)
        if side == _FROM_RIGHT:
            form.setRightMargin(margin)
        else:
            form.setLeftMargin(margin)
        if has_margin:
            form.setTopMargin(self._style.px(4 if paragraph.marker else 8))
        return form

    def _write_spans(self, place: _Place, spans: Iterable[Span]) -> None:
        cursor = place.cursor
        queue = [(span, self._drawing(span, place.layout)) for span in spans]
        for number, (span, drawing) in enumerate(queue):
            following, next_drawing = queue[number + 1] if number + 1 < len(queue) else (None, None)
            if drawing is not None:
                style = self._style
                size = max(_HEADINGS.get(place.heading, BODY), BODY)
                color = style.color(place.layout.color)
                image, form = formula_image(drawing, style.font(size), color, style.ratio)
                place.layout.insert_image(cursor, image, form, span.text)
            elif span.code:
                self._write_inline_code(place, span)
            elif (
                following is not None
                and following.code
                and next_drawing is None
                and span.text[-1:] not in ("", "\n")
                and not _is_from_right(cursor)
            ):
                self._write_text(place, span, span.text[:-1])
                cursor.insertText(span.text[-1], self._padded_format(self._format(span, place.heading)))
            else:
                self._write_text(place, span, span.text)

    def _drawing(self, span: Span, layout: TextLayout) -> FormulaDrawing | None:
        """Return the drawing of a formula if there is one; note one that is still to come."""
        if not span.formula or self._formulas is None:
            return None
        formula = Formula(span.text, displayed=False)
        drawing = self._formulas.find(formula)
        if self._formulas.is_waiting(formula):
            layout.awaited_formulas.add(formula)
        return drawing

    def _write_text(self, place: _Place, span: Span, text: str) -> None:
        cursor = place.cursor
        decorations = place.layout.decorations
        form = self._format(span, place.heading)
        parts = wrap_long_line(text)
        cursor.insertText(parts[0].replace("\n", "\u2028"), form)
        for part in parts[1:]:
            block = cursor.blockFormat()
            block.setTopMargin(0)
            cursor.insertBlock(block)
            quotes = decorations.get(cursor.blockNumber() - 1, BlockDecoration()).quotes
            decorations[cursor.blockNumber()] = BlockDecoration(quotes=quotes, is_continuation=True)
            cursor.insertText(part.replace("\n", "\u2028"), form)

    def _write_inline_code(self, place: _Place, span: Span) -> None:
        cursor = place.cursor
        layout = place.layout
        form = self._format(span, place.heading)
        is_isolated = _is_from_right(cursor)
        if not cursor.positionInBlock():  # else its background begins left of the paragraph
            indented = cursor.blockFormat()
            indented.setTextIndent(INLINE_CODE_PAD)
            cursor.setBlockFormat(indented)
        if is_isolated:  # else signs at its ends would stand on its other side
            layout.insert_hidden(cursor, _LEFT_TO_RIGHT_ISOLATE, _hidden_format())
        start = cursor.positionInBlock()
        block = cursor.blockNumber()
        text = span.text[:LINE_LIMIT]
        cursor.insertText(text[:-1], form)
        cursor.insertText(text[-1:], self._padded_format(form))
        layout.inline_code.append(InlineCodeRange(block, start, cursor.positionInBlock()))
        if is_isolated:
            layout.insert_hidden(cursor, _END_OF_ISOLATE, self._padded_format(_hidden_format()))
        if len(span.text) > len(text):
            self._write_text(place, span, span.text[len(text) :])

    def _padded_format(self, form: QTextCharFormat) -> QTextCharFormat:
        spaced = QTextCharFormat(form)
        spaced.setFontLetterSpacingType(QFont.SpacingType.AbsoluteSpacing)
        spaced.setFontLetterSpacing(self._style.px(_INLINE_CODE_PADDING))
        return spaced

    def _format(self, span: Span, heading: int) -> QTextCharFormat:
        key = (replace(span, text=""), heading)
        if key in self._formats:
            return self._formats[key]
        form = QTextCharFormat()
        if span.code:
            size = CODE + max(0, _HEADINGS.get(heading, BODY) - BODY)
            form.setFont(self._style.font(size, mono=True))
        elif heading:
            form.setProperty(
                QTextFormat.Property.FontPixelSize, round(self._style.px(_HEADINGS.get(heading, BODY)))
            )
        if span.bold or heading:
            form.setFontWeight(SEMIBOLD)
        if span.italic:
            form.setFontItalic(True)
        if span.strike:
            form.setFontStrikeOut(True)
        if span.is_warning:
            form.setForeground(self._style.color(self._style.theme.warn))
        if span.link:
            form.setAnchor(True)
            form.setAnchorHref(span.link)
            form.setForeground(self._style.color(self._style.theme.accent_text))
        else:
            self._formats[key] = form
        return form

    def _write_cell(
        self, layout: TableLayout, position: tuple[int, int], spans: Sequence[Span], align: Alignment
    ) -> None:
        row, column = position
        # Qt lays columns out from the left, whatever the direction.
        cell = layout.table.cellAt(row, layout.table.columns() - 1 - column if layout.is_mirrored else column)
        if row == 0:
            form = cell.format()
            form.setBackground(self._style.color(self._style.theme.raised))
            cell.setFormat(form)
        cursor = cell.firstCursorPosition()
        block = QTextBlockFormat()
        block.setAlignment(_ALIGN[align])
        if layout.is_mirrored:
            block.setLayoutDirection(_FROM_RIGHT)
        cursor.setBlockFormat(block)
        self._write_spans(_Place(cursor, layout, 4 if row == 0 else 0), spans)


def _direction(spans: Iterable[Span]) -> Qt.LayoutDirection:
    """Return the direction of a paragraph: that of its first letter that is not code."""
    for span in spans:
        direction = text_direction(span.text)
        if not span.code and direction != Qt.LayoutDirection.LayoutDirectionAuto:
            return direction
    return Qt.LayoutDirection.LayoutDirectionAuto


def _hidden_format() -> QTextCharFormat:
    form = QTextCharFormat()
    form.setProperty(QTextFormat.Property.FontPixelSize, 1)  # makes its line no higher
    return form


def _is_from_right(cursor: QTextCursor) -> bool:
    return cursor.blockFormat().layoutDirection() == _FROM_RIGHT


def _lines_of_both_directions(paragraph: Paragraph) -> list[Paragraph]:
    """Return a paragraph's lines, where one of them has another direction; else the paragraph alone.

    The marker of a list item is that of its first line.
    """
    if not any("\n" in span.text for span in paragraph.spans):
        return [paragraph]
    lines: list[list[Span]] = [[]]
    for span in paragraph.spans:
        parts = [span.text] if span.code else span.text.split("\n")
        lines[-1].append(replace(span, text=parts[0]))
        lines += [[replace(span, text=part)] for part in parts[1:]]
    if len({_direction(line) for line in lines} - {Qt.LayoutDirection.LayoutDirectionAuto}) < _BOTH:
        return [paragraph]
    return [
        replace(
            paragraph,
            spans=tuple(span for span in line if span.text),
            marker="" if number else paragraph.marker,
        )
        for number, line in enumerate(lines)
    ]


def _shrink_ends(document: QTextDocument) -> None:
    form = QTextBlockFormat()
    form.setLineHeight(0.01, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
    for block in (document.firstBlock(), document.lastBlock()):
        if QTextCursor(block).currentTable() is None:
            QTextCursor(block).setBlockFormat(form)
