"""Decorations next to and behind text: list markers, quote bars, rules, backgrounds of inline code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QTextBlock, QTextDocument

from helix_desktop.ui.chat.markdown.parser import BULLET
from helix_desktop.ui.chat.style import INDENT, ChatStyle


class BlockDecoration(NamedTuple):
    """A block's list marker, quote bars or rule; or that it continues a folded line."""

    marker: str = ""
    indent: int = 0
    quote: int = 0
    rule: bool = False
    is_continuation: bool = False


class InlineCodeRange(NamedTuple):
    """A run of inline code, which gets a rounded ground."""

    block: int
    start: int
    end: int


NO_DECORATION = BlockDecoration()


def paint_inline_code(painter: QPainter, rects: Sequence[QRectF], style: ChatStyle) -> None:
    """Draw the grounds of inline code."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(style.color(style.theme.inline_code))
    for rect in rects:
        painter.drawRoundedRect(rect, 4.5, 4.5)


def inline_code_rects(
    document: QTextDocument, ranges: Sequence[InlineCodeRange], style: ChatStyle
) -> Iterable[QRectF]:
    """Return where inline code stands: one rectangle for each line it runs over."""
    layout = document.documentLayout()
    for pill in ranges:
        block = document.findBlockByNumber(pill.block)
        origin = layout.blockBoundingRect(block).topLeft()
        lines = block.layout()
        for number in range(lines.lineCount()):
            line = lines.lineAt(number)
            start = max(pill.start, line.textStart())
            end = min(pill.end, line.textStart() + line.textLength())
            if start < end:
                left, right = _x(line.cursorToX(start)), _x(line.cursorToX(end))
                top = line.y() + line.ascent() - style.px(13.2)
                yield QRectF(origin.x() + left - 3, origin.y() + top, right - left + 3, style.px(18))


def paint_decorations(
    painter: QPainter, document: QTextDocument, decorations: Mapping[int, BlockDecoration], style: ChatStyle
) -> None:
    """Draw the decorations of a document's blocks, by block number."""
    for number, decoration in decorations.items():
        if decoration is not NO_DECORATION and not decoration.is_continuation:
            _paint_decoration(painter, document.findBlockByNumber(number), decoration, style)


def _paint_decoration(
    painter: QPainter, block: QTextBlock, decoration: BlockDecoration, style: ChatStyle
) -> None:
    document = block.document()
    rect = document.documentLayout().blockBoundingRect(block)
    line = block.layout().lineAt(0)
    left = rect.x() + (line.x() if line.isValid() else 0)
    strong = style.color(style.theme.border_strong)
    painter.setPen(Qt.PenStyle.NoPen)
    if decoration.rule:
        width = document.textWidth() - rect.x()
        painter.fillRect(QRectF(rect.x(), rect.center().y(), width, 1), strong)
    for level in range(decoration.quote):
        painter.setBrush(strong)
        bar = QRectF(INDENT * decoration.indent + 16 * level, rect.y(), 3, rect.height())
        painter.drawRoundedRect(bar, 1.5, 1.5)
    if decoration.marker and line.isValid():
        _paint_marker(
            painter, decoration, QPointF(left, rect.y() + line.y() + line.ascent()), document, style
        )


def _paint_marker(
    painter: QPainter, decoration: BlockDecoration, base: QPointF, document: QTextDocument, style: ChatStyle
) -> None:
    faint = style.color(style.theme.faint)
    if decoration.marker != BULLET:
        font = document.defaultFont()
        painter.setFont(font)
        painter.setPen(faint)
        painter.drawText(
            base - QPointF(style.width(decoration.marker, font) + style.px(7), 0), decoration.marker
        )
        return
    radius = style.px(2.4)
    if decoration.indent > 1:
        painter.setPen(faint)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        radius -= 0.4
    else:
        painter.setBrush(faint)
    painter.drawEllipse(base - QPointF(style.px(12), style.px(5)), radius, radius)


def _x(value: object) -> float:
    """Return the x of cursorToX, which the binding returns alone or with its position."""
    first = value[0] if isinstance(value, tuple) else value
    return float(first) if isinstance(first, int | float) else 0.0
