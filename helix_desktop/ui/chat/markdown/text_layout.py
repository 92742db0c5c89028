"""Texts as documents that are laid out, painted and searched; and their words without a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt, QUrl
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QFont,
    QImage,
    QPainter,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextImageFormat,
    QTextOption,
)

from helix_desktop.ui.chat.markdown.formulas import Formula
from helix_desktop.ui.chat.markdown.parser import (
    BULLET,
    TASKS,
    Block,
    Cell,
    Code,
    DisplayedFormula,
    Paragraph,
    Prose,
    Table,
)
from helix_desktop.ui.chat.style import INDENT, MARKER_GAP, ChatStyle, palette
from helix_desktop.ui.design.document_units import count_units, slice_units, to_lower
from helix_desktop.ui.design.safe_text import clean_output
from helix_desktop.ui.kit.boxes import TextMark
from helix_desktop.ui.rows.item import BlockText


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

_LINE_SEPARATOR = "\u2028"
_MIN_HANDLE = 30.0  # pixels
_KEY_STEP = 60.0  # pixels


class TextLayout:
    """One QTextDocument with its decorations, placed at (x, y) inside an item."""

    def __init__(self, style: ChatStyle, font: QFont, color: str = "", *, is_code: bool = False) -> None:
        """Make an empty document that loads nothing and remembers no edits; code runs from left to right."""
        self.style = style
        self.document = QTextDocument()
        self.document.setUndoRedoEnabled(False)
        self.document.setDocumentMargin(0)
        self.document.setDefaultFont(font)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        if is_code:
            option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        self.document.setDefaultTextOption(option)
        self.color = color or style.theme.text
        self.x = 0.0
        self.y = 0.0
        self.width = 0.0
        self.height = 0.0
        self.content_width = 0.0  # more than the width where it scrolls sideways
        self.least_width = 0.0  # of its content
        self.offset = 0.0  # pixels by which it is scrolled
        self.decorations: dict[int, BlockDecoration] = {}
        self.inline_code: list[InlineCodeRange] = []
        self.awaited_formulas: set[Formula] = set()  # shown as code until they are drawn
        self._sources: dict[int, str] = {}  # what copies and searches have for a character, by position
        self.is_table = False
        self.is_mirrored = False  # a table whose first column is at the right
        self.number = 0  # by which its item, selections and matches know it
        self.joiner: str | None = (
            None  # what stands before it where a long text was cut; None for a new block
        )
        self._inline_code_rects: list[QRectF] | None = None

    def insert_hidden(self, cursor: QTextCursor, character: str, form: QTextCharFormat) -> None:
        """Insert a character at the end that only the layout is to know, not who copies or searches."""
        self._sources[cursor.position()] = ""
        cursor.insertText(character, form)

    def insert_image(self, cursor: QTextCursor, image: QImage, form: QTextImageFormat, source: str) -> None:
        """Insert an image at the end; who copies or searches has its source instead."""
        name = f"image:{len(self._sources)}"
        self.document.addResource(QTextDocument.ResourceType.ImageResource.value, QUrl(name), image)
        form.setName(name)
        self._sources[cursor.position()] = source
        cursor.insertImage(form)

    def image_source(self, position: int) -> str:
        return self._sources.get(position) or self._sources.get(position - 1, "")

    def hang_wrapped_lines(self, indent: float) -> None:
        """Begin what goes on of a wrapped line `indent` pixels further in than the line itself."""
        form = QTextBlockFormat()
        form.setLeftMargin(indent)
        form.setTextIndent(-indent)
        cursor = QTextCursor(self.document)
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.mergeBlockFormat(form)

    def layout(self, width: float) -> float:
        self.width = width
        self.content_width = max(width, self.least_width)
        self.document.setTextWidth(self.content_width)
        self.scroll_to(self.offset)
        return self.refresh()

    @property
    def max_offset(self) -> float:
        """Return how far it scrolls sideways, in pixels; 0 where all of it is in sight."""
        return max(0.0, self.content_width - self.width)

    @property
    def handle_width(self) -> float:
        """Return how wide the handle is of a bar that scrolls it sideways and is as wide, in pixels."""
        return max(min(_MIN_HANDLE, self.width), self.width * self.width / self.content_width)

    def scroll_to(self, offset: float) -> bool:
        before = self.offset
        self.offset = max(0.0, min(self.max_offset, offset))
        return self.offset != before

    def scroll_by_key(self, key: int) -> bool:
        """Scroll sideways where an arrow key points; False for another key."""
        steps = {Qt.Key.Key_Left: -_KEY_STEP, Qt.Key.Key_Right: _KEY_STEP}
        step = steps.get(Qt.Key(key))
        if step is not None:
            self.scroll_to(self.offset + step)
        return step is not None

    def show_position(self, position: int) -> None:
        if self.max_offset:
            block = self.document.findBlock(position)
            bounds = self.document.documentLayout().blockBoundingRect(block)
            self.scroll_to(min(bounds.x(), max(self.offset, bounds.right() - self.width)))

    def refresh(self) -> float:
        self._inline_code_rects = None
        self.height = self.document.size().height()
        return self.height

    @property
    def rect(self) -> QRectF:
        return QRectF(self.x, self.y, self.width, self.height)

    @property
    def length(self) -> int:
        return self.document.characterCount() - 1

    def paint(self, painter: QPainter, clip: QRectF, marks: Sequence[TextMark] = ()) -> None:
        """Draw at the piece's place; `clip` is in the item's coordinates."""
        part = clip.intersected(self.rect) if self.max_offset else clip
        left = self.x - self.offset
        local = part.translated(-left, -self.y)
        painter.save()
        painter.translate(left, self.y)
        if self.max_offset:
            painter.setClipRect(local, Qt.ClipOperation.IntersectClip)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.style.color(self.style.theme.inline_code))
        self._inline_code_rects = self._inline_code_rects or [*self.inline_code_rects()]
        for rect in self._inline_code_rects:
            painter.drawRoundedRect(rect, 4.5, 4.5)
        for number in self.decorations:
            self._paint_decoration(painter, number)
        context = QAbstractTextDocumentLayout.PaintContext()
        context.clip = local
        context.palette = palette(self.color)
        if marks:
            context.selections = [self._selection(mark) for mark in marks]
        painter.setClipRect(local, Qt.ClipOperation.IntersectClip)
        self.document.documentLayout().draw(painter, context)
        painter.restore()

    def inline_code_rects(self) -> Iterator[QRectF]:
        """Yield where inline code stands: one rectangle for each line it runs over."""
        for pill in self.inline_code:
            block = self.document.findBlockByNumber(pill.block)
            origin = self.document.documentLayout().blockBoundingRect(block).topLeft()
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
                    top = line.y() + line.ascent() - self.style.px(13.2)
                    left -= 0 if number and start == line.textStart() else INLINE_CODE_PAD
                    yield QRectF(origin.x() + left, origin.y() + top, right - left, self.style.px(18))

    def _paint_decoration(self, painter: QPainter, number: int) -> None:
        """Draw what belongs to a block; the bars of a quote go on from those of the block before it."""
        decoration, before = (self.decorations.get(at, NO_DECORATION) for at in (number, number - 1))
        document = self.document
        style = self.style
        block = self.document.findBlockByNumber(number)
        rect = document.documentLayout().blockBoundingRect(block)
        line = block.layout().lineAt(0)
        is_from_right = block.blockFormat().rightMargin() > 0  # where its paragraph begins, not only its line
        strong = style.color(style.theme.border_strong)
        painter.setPen(Qt.PenStyle.NoPen)
        if decoration.rule:
            width = document.textWidth() - rect.x()
            painter.fillRect(QRectF(rect.x(), rect.center().y(), width, 1), strong)
        for level, indent in enumerate(decoration.quotes):
            painter.setBrush(strong)
            begin = style.px(INDENT * indent + QUOTE_INDENT * level)
            left = document.textWidth() - begin - 3 if is_from_right else begin
            top = rect.top()
            if before.quotes[: level + 1] == decoration.quotes[: level + 1]:  # over the round end of its bar
                top = document.documentLayout().blockBoundingRect(block.previous()).bottom() - 2
            painter.drawRoundedRect(QRectF(left, top, 3, rect.bottom() - top), 1.5, 1.5)
        if decoration.marker and line.isValid():
            start = rect.x() + line.x() + (line.width() if is_from_right else 0.0)
            if is_from_right == (block.textDirection() == Qt.LayoutDirection.RightToLeft):
                # Inline code at its begin moves the first line; the markers of a list stand below each other.
                text_indent = block.blockFormat().textIndent()
                start += text_indent if is_from_right else -text_indent
            base = QPointF(start, rect.y() + line.y() + line.ascent())
            self._paint_marker(painter, decoration, base, is_from_right=is_from_right)

    def _paint_marker(
        self, painter: QPainter, decoration: BlockDecoration, base: QPointF, *, is_from_right: bool
    ) -> None:
        """Draw a marker before the point where the first line begins."""
        style = self.style
        faint = style.color(style.theme.faint)
        if decoration.marker != BULLET:
            font = self.document.defaultFont()
            painter.setFont(font)
            painter.setPen(faint)
            gap = style.px(MARKER_GAP)
            wide = style.width(decoration.marker, font)
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

    def position_at(self, x: float, y: float) -> int:
        point = self._point(x, y)
        return max(0, self.document.documentLayout().hitTest(point, Qt.HitTestAccuracy.FuzzyHit))

    def link_at(self, x: float, y: float) -> str:
        return self.document.documentLayout().anchorAt(self._point(x, y))

    def word_range(self, position: int, whole_block: bool = False) -> tuple[int, int]:
        cursor = QTextCursor(self.document)
        cursor.setPosition(min(position, self.length))
        unit = QTextCursor.SelectionType
        cursor.select(unit.BlockUnderCursor if whole_block else unit.WordUnderCursor)
        start = cursor.selectionStart()
        end = cursor.selectionEnd()
        if whole_block and start < end and start != cursor.block().position():
            start = self.document.findBlock(end).position()
        return start, end

    def text(self, start: int = 0, end: int | None = None) -> str:
        """Words between two positions, with list markers, folded lines whole again."""
        last = self.length if end is None else min(end, self.length)
        lines: list[list[str]] = []  # of a table row the cells
        block = self.document.findBlock(start)
        previous: QTextBlock | None = None
        while block.isValid() and block.position() <= last:
            line = self._block_text(block, start, last)
            separator = self._separator(previous, block)
            if previous is None or separator == "\n":
                lines.append([line])
            elif separator:
                lines[-1].append(line)
            else:
                lines[-1][-1] += line
            previous = block
            block = block.next()
        words = "\n".join("\t".join(reversed(cells) if self.is_mirrored else cells) for cells in lines)
        return words.strip("\n") if self.is_table else words

    @property
    def is_list_item(self) -> bool:
        return bool(self.decorations.get(0, NO_DECORATION).marker)

    def find_all(self, needle: str) -> list[tuple[int, int]]:
        haystack = to_lower(self._with_sources(self.document.toPlainText(), 0, self.length))
        ranges = []
        needle = to_lower(needle)
        at = haystack.find(needle) if needle else -1
        end = position = 0  # of the last hit: the end in the haystack, and its position
        while at >= 0:
            start = position + count_units(haystack[end:at])
            end = at + len(needle)
            position = start + count_units(haystack[at:end])
            ranges.append((self._document_position(start), self._document_position(position - 1) + 1))
            at = haystack.find(needle, end)
        return ranges

    def _with_sources(self, text: str, start: int, end: int) -> str:
        """Return a text that stands between two positions of the document, with sources in their places."""
        parts = []
        done = 0
        for position, source in self._sources.items():
            if start <= position < end:
                parts += [slice_units(text, done, position - start), source]
                done = position - start + 1
        return "".join((*parts, slice_units(text, done, end - start))) if parts else text

    def _document_position(self, position: int) -> int:
        """Return where a character stands in the document that has a position in the text with sources."""
        for image, source in self._sources.items():
            if image > position:
                break
            units = count_units(source)
            if position < image + units:
                return image
            position += 1 - units
        return position

    def line_rect(self, position: int) -> QRectF:
        block = self.document.findBlock(position)
        bounds = self.document.documentLayout().blockBoundingRect(block)
        line = block.layout().lineForTextPosition(position - block.position())
        inner = line.rect() if line.isValid() else QRectF(0, 0, bounds.width(), bounds.height())
        return self._placed(inner.translated(bounds.topLeft()))

    def caret_rect(self, height: float) -> QRectF:
        """Return where a caret of a height in pixels stands in the item, behind the last word."""
        block = self.document.lastBlock()
        lines = block.layout()
        if not lines.lineCount():
            return QRectF(self.x + 3, self.y, 2.5, height)
        line = lines.lineAt(lines.lineCount() - 1)
        words = line.naturalTextRect()
        is_from_right = block.textDirection() == Qt.LayoutDirection.RightToLeft
        left = words.left() - 5.5 if is_from_right else words.right() + 3
        caret = QRectF(left, line.rect().bottom() - height - 2, 2.5, height)
        origin = self.document.documentLayout().blockBoundingRect(block).topLeft()
        return self._placed(caret.translated(origin))

    def _placed(self, rect: QRectF) -> QRectF:
        return rect.translated(self.x - self.offset, self.y)

    def _point(self, x: float, y: float) -> QPointF:
        """Return a point of the item in the document."""
        return QPointF(x - self.x + self.offset, y - self.y)

    def _block_text(self, block: QTextBlock, start: int, last: int) -> str:
        begin = max(0, start - block.position())
        text = slice_units(block.text(), begin, last - block.position()).replace(_LINE_SEPARATOR, "\n")
        text = self._with_sources(
            text, block.position() + begin, min(last, block.position() + block.length())
        )
        decor = self.decorations.get(block.blockNumber(), NO_DECORATION)
        if begin == 0 and decor.rule:
            return "---"
        if begin == 0 and decor.marker:
            marker = "-" if decor.marker == BULLET else TASKS.get(decor.marker, decor.marker)
            return f"{'  ' * (decor.indent - 1)}{marker} {text}"
        return text

    def _separator(self, previous: QTextBlock | None, block: QTextBlock) -> str:
        if self.decorations.get(block.blockNumber(), NO_DECORATION).is_continuation:
            return ""
        if previous is None:
            return "\n"
        table = QTextCursor(block).currentTable()
        if table is None:
            return "\n"
        row = table.cellAt(block.position()).row()
        same = QTextCursor(previous).currentTable() is not None
        return "\t" if same and table.cellAt(previous.position()).row() == row else "\n"

    def _selection(self, mark: TextMark) -> QAbstractTextDocumentLayout.Selection:
        selection = QAbstractTextDocumentLayout.Selection()
        cursor = QTextCursor(self.document)
        cursor.setPosition(min(mark.start, self.length))
        cursor.setPosition(min(mark.end, self.length), QTextCursor.MoveMode.KeepAnchor)
        form = QTextCharFormat()
        form.setBackground(mark.color)
        selection.cursor = cursor
        selection.format = form
        return selection


def text_of_layout(layout: TextLayout) -> BlockText:
    return BlockText(layout.number, layout.text(), layout.is_list_item, layout.joiner)


def text_of_block(block: Block, number: int, joins: str | None) -> BlockText:
    match block:
        case Code():
            return BlockText(number, clean_output(block.text), False, joins)
        case DisplayedFormula():
            return BlockText(number, block.source, False, joins)
        case Table():
            return BlockText(number, _table_text(block), False, joins)
        case Prose():
            text = "\n".join(_paragraph_text(leaf) for leaf in block.paragraphs)
            return BlockText(number, text, bool(block.paragraphs[0].marker), joins)


def _paragraph_text(paragraph: Paragraph) -> str:
    if paragraph.rule:
        return "---"
    text = _cell_text(paragraph.spans)
    if not paragraph.marker:
        return text
    return f"{'  ' * (paragraph.indent - 1)}{'-' if paragraph.marker == '•' else paragraph.marker} {text}"


def _cell_text(spans: Cell) -> str:
    return "".join(span.text for span in spans).replace("\u2028", "\n").replace("\u2029", "\n")


def _table_text(table: Table) -> str:
    columns = max(1, len(table.alignments))
    rows = ([*map(_cell_text, cells[:columns])] for cells in table.rows)
    return "\n".join("\t".join(row + [""] * (columns - len(row))) for row in rows).strip("\n")
