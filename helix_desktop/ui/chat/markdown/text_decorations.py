"""Decorations next to and behind text: list markers, quote bars, rules, backgrounds of inline code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QTextBlock, QTextDocument

from helix_desktop.ui.chat.markdown.parser import BULLET
from helix_desktop.ui.chat.style import INDENT, MARKER_GAP, ChatStyle


class BlockDecoration(NamedTuple):
    """A block's list marker, the indents of its quote bars, or rule; or that it continues a folded line."""

    marker: str = ""
    indent: int = 0
    quotes: tuple[int, ...] = ()
    rule: bool = False
    is_continuation: bool = False


class InlineCodeRange(NamedTuple):
    block: int
    start: int
    end: int


NO_DECORATION = BlockDecoration()
QUOTE_INDENT = 16  # pixels at zoom 1
INLINE_CODE_PAD = 3  # pixels of its background before its first letter, but not where it wraps


def paint_inline_code(painter: QPainter, rects: Sequence[QRectF], style: ChatStyle) -> None:
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
                # Not the places of a cursor: in a line of both directions two letters share one.
                places = [run.boundingRect() for run in line.glyphRuns(start, end - start)]
                left = min((place.left() for place in places), default=0.0)
                right = max((place.right() for place in places), default=0.0)
                top = line.y() + line.ascent() - style.px(13.2)
                left -= 0 if number and start == line.textStart() else INLINE_CODE_PAD
                yield QRectF(origin.x() + left, origin.y() + top, right - left, style.px(18))


def paint_decorations(
    painter: QPainter, document: QTextDocument, decorations: Mapping[int, BlockDecoration], style: ChatStyle
) -> None:
    """Draw the decorations of a document's blocks, by block number."""
    for number, decoration in decorations.items():
        if decoration is not NO_DECORATION:
            before = decorations.get(number - 1, NO_DECORATION)
            _paint_decoration(painter, document.findBlockByNumber(number), decoration, before, style)


def _paint_decoration(
    painter: QPainter,
    block: QTextBlock,
    decoration: BlockDecoration,
    before: BlockDecoration,
    style: ChatStyle,
) -> None:
    """Draw what belongs to a block; the bars of a quote go on from those of the block before it."""
    document = block.document()
    rect = document.documentLayout().blockBoundingRect(block)
    line = block.layout().lineAt(0)
    is_from_right = block.blockFormat().rightMargin() > 0  # where its paragraph begins, not only its line
    previous = block.previous()
    above = document.documentLayout().blockBoundingRect(previous).bottom() if previous.isValid() else 0.0
    strong = style.color(style.theme.border_strong)
    painter.setPen(Qt.PenStyle.NoPen)
    if decoration.rule:
        width = document.textWidth() - rect.x()
        painter.fillRect(QRectF(rect.x(), rect.center().y(), width, 1), strong)
    for level, indent in enumerate(decoration.quotes):
        painter.setBrush(strong)
        begin = style.px(INDENT * indent + QUOTE_INDENT * level)
        left = document.textWidth() - begin - 3 if is_from_right else begin
        goes_on = before.quotes[: level + 1] == decoration.quotes[: level + 1]
        top = above - 2 if goes_on else rect.top()  # over the round end of the bar above
        painter.drawRoundedRect(QRectF(left, top, 3, rect.bottom() - top), 1.5, 1.5)
    if decoration.marker and line.isValid():
        start = rect.x() + line.x() + (line.width() if is_from_right else 0.0)
        if is_from_right == (block.textDirection() == Qt.LayoutDirection.RightToLeft):
            # Inline code at its begin moves the first line; the markers of a list stand below each other.
            text_indent = block.blockFormat().textIndent()
            start += text_indent if is_from_right else -text_indent
        base = QPointF(start, rect.y() + line.y() + line.ascent())
        _paint_marker(painter, decoration, base, document, style, is_from_right=is_from_right)


def _paint_marker(
    painter: QPainter,
    decoration: BlockDecoration,
    base: QPointF,
    document: QTextDocument,
    style: ChatStyle,
    *,
    is_from_right: bool,
) -> None:
    """Draw a marker before the point where the first line begins."""
    faint = style.color(style.theme.faint)
    if decoration.marker != BULLET:
        font = document.defaultFont()
        painter.setFont(font)
        painter.setPen(faint)
        gap, wide = style.px(MARKER_GAP), style.width(decoration.marker, font)
        # Between marks from right to left, the dot of a number stands on its left.
        marker = f"\u200f{decoration.marker}\u200f" if is_from_right else decoration.marker
        painter.drawText(base + QPointF(gap if is_from_right else -wide - gap, 0), marker)
        return
    radius = style.px(2.4)
    if decoration.indent > 1:
        painter.setPen(faint)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        radius -= 0.4
    else:
        painter.setBrush(faint)
    across = style.px(12) if is_from_right else -style.px(12)
    painter.drawEllipse(base + QPointF(across, -style.px(5)), radius, radius)
