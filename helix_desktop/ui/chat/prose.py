"""Writes Markdown blocks into text documents through a cursor: never HTML, never an image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    QTextTable,
    QTextTableFormat,
)

from helix_desktop.ui.chat.look import BODY, CODE, INDENT, SEMIBOLD, Look
from helix_desktop.ui.chat.markdown import Alignment, Leaf, Prose, Span, Table
from helix_desktop.ui.chat.plain import LINE_LIMIT, folded
from helix_desktop.ui.chat.text_decor import Decor, Pill
from helix_desktop.ui.chat.text_piece import TextPiece, new_document

_HEADINGS = {1: 21, 2: 18, 3: 16}  # pixels; deeper ones are body size
_LEADING = 134  # line height in per cent
_CODE_LEADING = 114
_PILL_ROOM = 3.0  # pixels beside inline code, so that its ground touches no letter
_ALIGN = {
    "left": Qt.AlignmentFlag.AlignLeft,
    "center": Qt.AlignmentFlag.AlignHCenter,
    "right": Qt.AlignmentFlag.AlignRight,
}


class ProseWriter:
    """Turns typed blocks into text pieces in one look."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._formats: dict[tuple[Span, int], QTextCharFormat] = {}

    def prose(self, block: Prose, color: str = "", size: int = BODY) -> TextPiece:
        """A piece that holds the leaves of a block."""
        document = new_document(self._look.font(size))
        piece = TextPiece(self._look, document, color)
        cursor = QTextCursor(document)
        cursor.beginEditBlock()
        for number, leaf in enumerate(block.leaves):
            self._leaf(cursor, piece, leaf, first=number == 0)
        cursor.endEditBlock()
        return piece

    def table(self, block: Table) -> TextPiece:
        """A piece that holds a table."""
        document = new_document(self._look.font(BODY))
        piece = TextPiece(self._look, document)
        piece.is_table = True
        columns = max(1, len(block.alignments))
        cursor = QTextCursor(document)
        cursor.beginEditBlock()
        table = cursor.insertTable(len(block.rows), columns, self._table_format(columns))
        for row, cells in enumerate(block.rows):
            for column, spans in enumerate(cells[:columns]):
                self._cell(piece, table, (row, column), spans, block.alignments[column])
        cursor.endEditBlock()
        _shrink_ends(document)
        return piece

    def plain(self, text: str, *, mono: bool, color: str = "", size: int = CODE) -> TextPiece:
        """A piece that holds text as it is, one block per line, very long lines folded."""
        document = new_document(self._look.font(size, mono=mono), wrap_anywhere=mono)
        piece = TextPiece(self._look, document, color)
        self.extend(piece, text.split("\n"))
        return piece

    def extend(self, piece: TextPiece, lines: Sequence[str]) -> None:
        """Add text at the end of a plain piece: the first line goes on the last one."""
        cursor = QTextCursor(piece.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        if piece.document.characterCount() == 1:
            form = QTextBlockFormat()
            form.setLineHeight(_CODE_LEADING, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            cursor.setBlockFormat(form)
        if all(len(line) <= LINE_LIMIT for line in lines):
            cursor.insertText("\n".join(lines))
        else:
            self._insert_folded(cursor, piece, lines)
        cursor.endEditBlock()

    def _insert_folded(self, cursor: QTextCursor, piece: TextPiece, lines: Sequence[str]) -> None:
        for number, line in enumerate(lines):
            for part_number, part in enumerate(folded(line)):
                if part_number or number:
                    cursor.insertBlock()
                if part_number:
                    piece.decor[cursor.blockNumber()] = Decor(continues=True)
                cursor.insertText(part)

    def _leaf(self, cursor: QTextCursor, piece: TextPiece, leaf: Leaf, first: bool) -> None:
        form = self._block_format(leaf, first)
        if first:
            cursor.setBlockFormat(form)
        else:
            cursor.insertBlock(form, QTextCharFormat())
        decor = Decor(leaf.marker, leaf.indent, leaf.quote, leaf.rule)
        if leaf.marker or leaf.quote or leaf.rule:
            piece.decor[cursor.blockNumber()] = decor
        self._spans(cursor, piece, leaf.spans, leaf.heading)

    def _block_format(self, leaf: Leaf, first: bool) -> QTextBlockFormat:
        form = QTextBlockFormat()
        form.setLineHeight(_LEADING, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        form.setLeftMargin(self._look.px(INDENT * leaf.indent + 16 * leaf.quote))
        if not first:
            form.setTopMargin(self._look.px(4 if leaf.marker else 8))
        return form

    def _spans(self, cursor: QTextCursor, piece: TextPiece, spans: Iterable[Span], heading: int) -> None:
        queue = list(spans)
        for number, span in enumerate(queue):
            following = queue[number + 1] if number + 1 < len(queue) else None
            if span.code:
                self._inline_code(cursor, piece, span, heading)
            elif following is not None and following.code and span.text[-1:] not in ("", "\n"):
                self._words(cursor, piece, span, heading, span.text[:-1])
                cursor.insertText(span.text[-1], self._spaced(self._format(span, heading)))
            else:
                self._words(cursor, piece, span, heading, span.text)

    def _words(self, cursor: QTextCursor, piece: TextPiece, span: Span, heading: int, text: str) -> None:
        form = self._format(span, heading)
        parts = folded(text)
        cursor.insertText(parts[0].replace("\n", "\u2028"), form)
        for part in parts[1:]:
            block = cursor.blockFormat()
            block.setTopMargin(0)
            cursor.insertBlock(block)
            quote = piece.decor.get(cursor.blockNumber() - 1, Decor()).quote
            piece.decor[cursor.blockNumber()] = Decor(quote=quote, continues=True)
            cursor.insertText(part.replace("\n", "\u2028"), form)

    def _inline_code(self, cursor: QTextCursor, piece: TextPiece, span: Span, heading: int) -> None:
        form = self._format(span, heading)
        start = cursor.positionInBlock()
        block = cursor.blockNumber()
        text = span.text[:LINE_LIMIT]
        cursor.insertText(text[:-1], form)
        cursor.insertText(text[-1:], self._spaced(form))
        piece.pills.append(Pill(block, start, cursor.positionInBlock()))
        if len(span.text) > len(text):
            self._words(cursor, piece, span, heading, span.text[len(text) :])

    def _spaced(self, form: QTextCharFormat) -> QTextCharFormat:
        spaced = QTextCharFormat(form)
        spaced.setFontLetterSpacingType(QFont.SpacingType.AbsoluteSpacing)
        spaced.setFontLetterSpacing(self._look.px(_PILL_ROOM))
        return spaced

    def _format(self, span: Span, heading: int) -> QTextCharFormat:
        key = (Span("", span.bold, span.italic, span.strike, span.code, span.link), heading)
        form = self._formats.get(key)
        if form is None or span.link:
            form = self._make_format(span, heading)
            if not span.link:
                self._formats[key] = form
        return form

    def _make_format(self, span: Span, heading: int) -> QTextCharFormat:
        form = QTextCharFormat()
        if span.code:
            size = CODE + max(0, _HEADINGS.get(heading, BODY) - BODY)
            form = self._look.format(size, mono=True)
        elif heading:
            form.setProperty(
                QTextFormat.Property.FontPixelSize, round(self._look.px(_HEADINGS.get(heading, BODY)))
            )
        if span.bold or heading:
            form.setFontWeight(SEMIBOLD)
        if span.italic:
            form.setFontItalic(True)
        if span.strike:
            form.setFontStrikeOut(True)
        if span.link:
            form.setAnchor(True)
            form.setAnchorHref(span.link)
            form.setForeground(self._look.color(self._look.theme.accent_text))
        return form

    def _table_format(self, columns: int) -> QTextTableFormat:
        form = QTextTableFormat()
        form.setCellSpacing(0)
        form.setCellPadding(self._look.px(7))
        form.setBorder(1)
        form.setBorderCollapse(True)
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setBorderBrush(self._look.color(self._look.theme.border))
        form.setHeaderRowCount(1)
        form.setColumnWidthConstraints([QTextLength()] * columns)
        return form

    def _cell(
        self,
        piece: TextPiece,
        table: QTextTable,
        at: tuple[int, int],
        spans: Sequence[Span],
        align: Alignment,
    ) -> None:
        cell = table.cellAt(*at)
        if at[0] == 0:
            form = cell.format()
            form.setBackground(self._look.color(self._look.theme.raised))
            cell.setFormat(form)
        cursor = cell.firstCursorPosition()
        block = QTextBlockFormat()
        block.setAlignment(_ALIGN[align])
        cursor.setBlockFormat(block)
        self._spans(cursor, piece, spans, 4 if at[0] == 0 else 0)


def _shrink_ends(document: QTextDocument) -> None:
    """A table stands between two empty blocks that Qt keeps: make them take no room."""
    form = QTextBlockFormat()
    form.setLineHeight(0.01, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
    for block in (document.firstBlock(), document.lastBlock()):
        if QTextCursor(block).currentTable() is None:
            QTextCursor(block).setBlockFormat(form)
