"""What stands beside and behind words: list markers, quote bars, rules, grounds of inline code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QTextBlock, QTextDocument

from helix_desktop.ui.chat.look import INDENT, Look
from helix_desktop.ui.chat.markdown import BULLET


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


PLAIN = Decor()


def paint_pills(painter: QPainter, rects: Sequence[QRectF], look: Look) -> None:
    """Draw the grounds of inline code."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(look.color(look.theme.inline_code))
    for rect in rects:
        painter.drawRoundedRect(rect, 4.5, 4.5)


def measure_pills(document: QTextDocument, pills: Sequence[Pill], look: Look) -> Iterable[QRectF]:
    """Where inline code stands: one rectangle for each line it runs over."""
    layout = document.documentLayout()
    for pill in pills:
        block = document.findBlockByNumber(pill.block)
        origin = layout.blockBoundingRect(block).topLeft()
        lines = block.layout()
        for number in range(lines.lineCount()):
            line = lines.lineAt(number)
            start = max(pill.start, line.textStart())
            end = min(pill.end, line.textStart() + line.textLength())
            if start < end:
                left, right = _x(line.cursorToX(start)), _x(line.cursorToX(end))
                top = line.y() + line.ascent() - look.px(13.2)
                yield QRectF(origin.x() + left - 3, origin.y() + top, right - left + 3, look.px(18))


def paint_decor(painter: QPainter, document: QTextDocument, decor: Mapping[int, Decor], look: Look) -> None:
    """Draw what stands beside the blocks of a document, by number of the block."""
    for number, one in decor.items():
        if one is not PLAIN and not one.continues:
            _paint_beside(painter, document.findBlockByNumber(number), one, look)


def _paint_beside(painter: QPainter, block: QTextBlock, decor: Decor, look: Look) -> None:
    document = block.document()
    rect = document.documentLayout().blockBoundingRect(block)
    line = block.layout().lineAt(0)
    left = rect.x() + (line.x() if line.isValid() else 0)
    strong = look.color(look.theme.border_strong)
    painter.setPen(Qt.PenStyle.NoPen)
    if decor.rule:
        width = document.textWidth() - rect.x()
        painter.fillRect(QRectF(rect.x(), rect.center().y(), width, 1), strong)
    for level in range(decor.quote):
        painter.setBrush(strong)
        bar = QRectF(INDENT * decor.indent + 16 * level, rect.y(), 3, rect.height())
        painter.drawRoundedRect(bar, 1.5, 1.5)
    if decor.marker and line.isValid():
        _paint_marker(painter, decor, QPointF(left, rect.y() + line.y() + line.ascent()), document, look)


def _paint_marker(
    painter: QPainter, decor: Decor, base: QPointF, document: QTextDocument, look: Look
) -> None:
    faint = look.color(look.theme.faint)
    if decor.marker != BULLET:
        font = document.defaultFont()
        painter.setFont(font)
        painter.setPen(faint)
        painter.drawText(base - QPointF(look.width(decor.marker, font) + look.px(7), 0), decor.marker)
        return
    radius = look.px(2.4)
    if decor.indent > 1:
        painter.setPen(faint)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        radius -= 0.4
    else:
        painter.setBrush(faint)
    painter.drawEllipse(base - QPointF(look.px(12), look.px(5)), radius, radius)


def _x(value: object) -> float:
    """The x of cursorToX, which the binding returns alone or with its position."""
    first = value[0] if isinstance(value, tuple) else value
    return float(first) if isinstance(first, int | float) else 0.0
