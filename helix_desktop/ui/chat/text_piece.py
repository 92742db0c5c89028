"""A laid-out text that can be painted, pointed at, searched and copied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QFont,
    QPainter,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
)

from helix_desktop.ui.chat.look import INDENT, Look

_LINE_SEPARATOR = "\u2028"


class Decor(NamedTuple):
    """What is drawn beside a block: a list marker, quote bars, a rule; or that it continues a folded line."""

    marker: str = ""
    indent: int = 0
    quote: int = 0
    rule: bool = False
    continues: bool = False


class Pill(NamedTuple):
    """A run of inline code, which gets a rounded ground."""

    block: int
    start: int
    end: int


class Mark(NamedTuple):
    """A range of characters with a coloured ground, for selections and search hits."""

    start: int
    end: int
    color: QColor


PLAIN = Decor()


def new_document(font: QFont, wrap_anywhere: bool = False) -> QTextDocument:
    """An empty document that loads nothing and remembers no edits."""
    document = QTextDocument()
    document.setUndoRedoEnabled(False)
    document.setDocumentMargin(0)
    document.setDefaultFont(font)
    option = QTextOption()
    option.setWrapMode(
        QTextOption.WrapMode.WrapAnywhere
        if wrap_anywhere
        else QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere
    )
    document.setDefaultTextOption(option)
    return document


class TextPiece:
    """One QTextDocument with its decorations, placed at (x, y) inside a sheet."""

    def __init__(self, look: Look, document: QTextDocument, color: str = "") -> None:
        self.look = look
        self.document = document
        self.color = color or look.theme.text
        self.x = 0.0
        self.y = 0.0
        self.width = 0.0
        self.height = 0.0
        self.decor: dict[int, Decor] = {}
        self.pills: list[Pill] = []
        self.is_table = False
        self._pill_rects: list[QRectF] | None = None

    def layout(self, width: float) -> float:
        """Wrap to a width in pixels; the height that takes."""
        self.width = width
        self.document.setTextWidth(width)
        return self.refresh()

    def refresh(self) -> float:
        """Take up a change of the text; the new height in pixels."""
        self._pill_rects = None
        self.height = self.document.size().height()
        return self.height

    @property
    def rect(self) -> QRectF:
        """Where the text stands in its sheet."""
        return QRectF(self.x, self.y, self.width, self.height)

    @property
    def length(self) -> int:
        """How many positions a selection can cover."""
        return self.document.characterCount() - 1

    def paint(self, painter: QPainter, clip: QRectF, marks: Sequence[Mark] = ()) -> None:
        """Draw at the piece's place; `clip` is in the sheet's coordinates."""
        local = clip.translated(-self.x, -self.y)
        painter.save()
        painter.translate(self.x, self.y)
        self._paint_pills(painter)
        self._paint_decor(painter)
        context = QAbstractTextDocumentLayout.PaintContext()
        context.clip = local
        context.palette = self.look.palette(self.color)
        if marks:
            context.selections = [self._selection(mark) for mark in marks]
        painter.setClipRect(local, Qt.ClipOperation.IntersectClip)
        self.document.documentLayout().draw(painter, context)
        painter.restore()

    def hit(self, x: float, y: float) -> int:
        """The position nearest to a point of the sheet."""
        point = QPointF(x - self.x, y - self.y)
        return max(0, self.document.documentLayout().hitTest(point, Qt.HitTestAccuracy.FuzzyHit))

    def link_at(self, x: float, y: float) -> str:
        """The target of the link at a point of the sheet, or nothing."""
        return self.document.documentLayout().anchorAt(QPointF(x - self.x, y - self.y))

    def word(self, position: int, whole_block: bool = False) -> tuple[int, int]:
        """The word, or the whole block, around a position."""
        cursor = QTextCursor(self.document)
        cursor.setPosition(min(position, self.length))
        unit = QTextCursor.SelectionType
        cursor.select(unit.BlockUnderCursor if whole_block else unit.WordUnderCursor)
        start, end = cursor.selectionStart(), cursor.selectionEnd()
        if whole_block and start < end and start != cursor.block().position():
            start = self.document.findBlock(end).position()
        return start, end

    def text(self, start: int = 0, end: int | None = None) -> str:
        """Words between two positions, with list markers, folded lines whole again."""
        last = self.length if end is None else min(end, self.length)
        lines: list[str] = []
        block = self.document.findBlock(start)
        previous: QTextBlock | None = None
        while block.isValid() and block.position() <= last:
            line = self._line(block, start, last)
            separator = self._separator(previous, block)
            if previous is not None and separator != "\n":
                lines[-1] += separator + line
            else:
                lines.append(line)
            previous = block
            block = block.next()
        words = "\n".join(lines)
        return words.strip("\n") if self.is_table else words

    @property
    def is_item(self) -> bool:
        """Whether it is an item of a list."""
        return bool(self.decor.get(0, PLAIN).marker)

    def find(self, needle: str) -> list[tuple[int, int]]:
        """Ranges that hold a needle, letter case ignored."""
        haystack = self.document.toPlainText().lower()
        found = []
        at = haystack.find(needle.lower()) if needle else -1
        while at >= 0:
            found.append((at, at + len(needle)))
            at = haystack.find(needle.lower(), at + len(needle))
        return found

    def line_rect(self, position: int) -> QRectF:
        """Where the line that holds a position stands in the sheet."""
        block = self.document.findBlock(position)
        bounds = self.document.documentLayout().blockBoundingRect(block)
        line = block.layout().lineForTextPosition(position - block.position())
        inner = line.rect() if line.isValid() else QRectF(0, 0, bounds.width(), bounds.height())
        return inner.translated(bounds.topLeft()).translated(self.x, self.y)

    def _line(self, block: QTextBlock, start: int, last: int) -> str:
        begin = max(0, start - block.position())
        text = block.text()[begin : last - block.position()].replace(_LINE_SEPARATOR, "\n")
        decor = self.decor.get(block.blockNumber(), PLAIN)
        if begin == 0 and decor.rule:
            return "---"
        if begin == 0 and decor.marker:
            return f"{'  ' * (decor.indent - 1)}{'-' if decor.marker == '•' else decor.marker} {text}"
        return text

    def _separator(self, previous: QTextBlock | None, block: QTextBlock) -> str:
        if self.decor.get(block.blockNumber(), PLAIN).continues:
            return ""
        if previous is None:
            return "\n"
        table = QTextCursor(block).currentTable()
        if table is None:
            return "\n"
        row = table.cellAt(block.position()).row()
        same = QTextCursor(previous).currentTable() is not None
        return "\t" if same and table.cellAt(previous.position()).row() == row else "\n"

    def _selection(self, mark: Mark) -> QAbstractTextDocumentLayout.Selection:
        selection = QAbstractTextDocumentLayout.Selection()
        cursor = QTextCursor(self.document)
        cursor.setPosition(min(mark.start, self.length))
        cursor.setPosition(min(mark.end, self.length), QTextCursor.MoveMode.KeepAnchor)
        form = QTextCharFormat()
        form.setBackground(mark.color)
        selection.cursor = cursor
        selection.format = form
        return selection

    def _paint_pills(self, painter: QPainter) -> None:
        if not self.pills:
            return
        if self._pill_rects is None:
            self._pill_rects = list(self._measure_pills())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.look.color(self.look.theme.inline_code))
        for rect in self._pill_rects:
            painter.drawRoundedRect(rect, 4.5, 4.5)

    def _measure_pills(self) -> Iterable[QRectF]:
        layout = self.document.documentLayout()
        for pill in self.pills:
            block = self.document.findBlockByNumber(pill.block)
            origin = layout.blockBoundingRect(block).topLeft()
            lines = block.layout()
            for number in range(lines.lineCount()):
                line = lines.lineAt(number)
                start = max(pill.start, line.textStart())
                end = min(pill.end, line.textStart() + line.textLength())
                if start < end:
                    left, right = _x(line.cursorToX(start)), _x(line.cursorToX(end))
                    tall = self.look.px(18)
                    top = line.y() + line.ascent() - self.look.px(13.2)
                    yield QRectF(origin.x() + left - 3, origin.y() + top, right - left + 3, tall)

    def _paint_decor(self, painter: QPainter) -> None:
        for number, decor in self.decor.items():
            if decor is not PLAIN and not decor.continues:
                block = self.document.findBlockByNumber(number)
                self._paint_beside(painter, block, decor)

    def _paint_beside(self, painter: QPainter, block: QTextBlock, decor: Decor) -> None:
        rect = self.document.documentLayout().blockBoundingRect(block)
        line = block.layout().lineAt(0)
        left = rect.x() + (line.x() if line.isValid() else 0)
        theme, look = self.look.theme, self.look
        painter.setPen(Qt.PenStyle.NoPen)
        if decor.rule:
            middle = rect.center().y()
            painter.fillRect(
                QRectF(rect.x(), middle, self.width - rect.x(), 1), look.color(theme.border_strong)
            )
        for level in range(decor.quote):
            painter.setBrush(look.color(theme.border_strong))
            bar = QRectF(INDENT * decor.indent + 16 * level, rect.y(), 3, rect.height())
            painter.drawRoundedRect(bar, 1.5, 1.5)
        if decor.marker:
            baseline = rect.y() + line.y() + line.ascent()
            self._paint_marker(painter, decor, left, baseline)

    def _paint_marker(self, painter: QPainter, decor: Decor, left: float, baseline: float) -> None:
        look, faint = self.look, self.look.color(self.look.theme.faint)
        if decor.marker != "•":
            painter.setFont(self.document.defaultFont())
            painter.setPen(faint)
            width = look.width(decor.marker, self.document.defaultFont())
            painter.drawText(QPointF(left - width - look.px(7), baseline), decor.marker)
            return
        center = QPointF(left - look.px(12), baseline - look.px(5))
        radius = look.px(2.4)
        if decor.indent > 1:
            painter.setPen(faint)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            radius -= 0.4
        else:
            painter.setBrush(faint)
        painter.drawEllipse(center, radius, radius)


def _x(value: object) -> float:
    """The x of cursorToX, which the binding returns alone or with its position."""
    first = value[0] if isinstance(value, tuple) else value
    return float(first) if isinstance(first, int | float) else 0.0
