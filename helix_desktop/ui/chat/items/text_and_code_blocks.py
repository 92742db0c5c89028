"""What a message is made of, from top to bottom: texts, code with a header, and what scrolls sideways."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QTextCursor, QWheelEvent

from helix_desktop.ui.chat.actions import CopyCode, ScrollText
from helix_desktop.ui.chat.items.item import ItemTools, RowItem
from helix_desktop.ui.chat.items.painting import ChatPainter
from helix_desktop.ui.chat.markdown.document_writer import DocumentWriter
from helix_desktop.ui.chat.markdown.parser import Block, Code, DisplayedFormula, Paragraph, Prose, Span, Table
from helix_desktop.ui.chat.markdown.text_layout import TextLayout, handle_width
from helix_desktop.ui.chat.style import GAP, INDENT, MEDIUM, SMALL, ChatStyle
from helix_desktop.ui.design.highlight import Highlighter, HighlightJob, SharedLexer
from helix_desktop.ui.design.mirror import is_right_to_left
from helix_desktop.ui.design.safe_text import clean_output
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

HEADER_HEIGHT = 30.0  # pixels
_PATH_PATTERN = re.compile(r"[\w.\-/\\]*[/\\.][\w.\-/\\]+$")
_RELEX_LINES = 1_200  # characters; an open fence is lexed again from a blank line at most so far back

_BAR_HEIGHT = 6  # pixels at zoom 1
_AROUND_BAR = 10  # pixels


class WideBlock:
    """A table or a formula, and the bar that scrolls it."""

    def __init__(self, text: TextLayout, bar_label: str, indent: int = 0) -> None:
        self.text = text
        self._bar_label = bar_label
        self.height = 0.0
        self._indent = indent * text.style.px(INDENT)

    def layout(self, width: float) -> float:
        self.height = self.text.layout(max(40.0, width - self._indent))
        if self.text.max_offset:
            self.height += self.text.style.px(_BAR_HEIGHT) + _AROUND_BAR
        return self.height

    def move(self, x: float, y: float) -> None:
        self.text.x, self.text.y = x + self._indent, y

    def hit_areas(self) -> Sequence[HitArea]:
        text = self.text
        if not text.max_offset:
            return ()
        strip = QRectF(text.x, text.y + text.height + 2, text.width, text.style.px(_BAR_HEIGHT) + 6)
        return (HitArea(f"{text.number}:bar", ScrollText(text.number), self._bar_label, strip),)

    def paint(self, painter: ChatPainter) -> None:
        text = self.text
        painter.text(text)
        for area in self.hit_areas():
            theme = text.style.theme
            bar = area.rect.adjusted(0, 3, 0, -3)
            radius = bar.height() / 2
            painter.box(bar, theme.raised, radius=radius)
            wide = handle_width(text)
            left = bar.x() + (bar.width() - wide) * text.offset / text.max_offset
            handle = QRectF(left, bar.y(), wide, bar.height())
            painter.box(handle, theme.faint if painter.is_active(area) else theme.scrollbar, radius=radius)


class MessageBlock(Protocol):
    """A piece of a message that is stacked with others."""

    text: TextLayout
    height: float

    def layout(self, width: float) -> float:
        """Wrap to a width; the height that takes, both in pixels."""

    def move(self, x: float, y: float) -> None:
        """Move the top left corner to a point of the item."""

    def hit_areas(self) -> Sequence[HitArea]:
        """Return the places that can be clicked."""

    def paint(self, painter: ChatPainter) -> None:
        """Draw at its place."""


class TextBlock:
    def __init__(self, text: TextLayout) -> None:
        self.text = text
        self.height = 0.0

    def layout(self, width: float) -> float:
        self.height = self.text.layout(max(40.0, width))
        return self.height

    def move(self, x: float, y: float) -> None:
        self.text.x, self.text.y = x, y

    def hit_areas(self) -> Sequence[HitArea]:
        """Nothing: links are found by the pointer, not by Tab."""
        return ()

    def paint(self, painter: ChatPainter) -> None:
        painter.text(self.text)


class CodeSplit(NamedTuple):
    """How a part of long code goes on `above` and `below`, and its first line in what is lexed as a whole."""

    continues_above: bool = False
    continues_below: bool = False
    shared_lexer: SharedLexer | None = None
    line: int = 0


class CodeBlock:
    """Code in a frame, with its language or path and a Copy button above; long code is cut into several."""

    def __init__(
        self,
        writer: DocumentWriter,
        style: ChatStyle,
        code: Code,
        highlighter: Highlighter,
        split: CodeSplit | None = None,
        title: str = "",
        shown: str = "",
    ) -> None:
        """`title` stands above the code in the place of its language or path, `shown` in the code's own."""
        self._split = split
        self._style = style
        self._writer = writer
        self._highlighter = highlighter
        self._indent = code.indent * style.px(INDENT)
        label, self.language = code_label(code.info)
        self.label = title or label
        self._has_path = not title and label != self.language
        self._source = code.text
        self.text = writer.write_plain(clean_output(shown or code.text), mono=True)
        self._complete_end = 0  # position where the complete lines of an open fence end
        self.complete_lines = 0
        self.frame = QRectF()
        self.height = 0.0
        self._header_height = 0.0  # pixels above the code
        self._queue_highlight(0)

    @property
    def source(self) -> str:
        """Return the code as it was written: what Copy takes."""
        return self._source

    def layout(self, width: float) -> float:
        style = self._style
        width = max(80.0, width - self._indent)
        body = self.text.layout(width - style.px(28))
        self._header_height = (
            style.px(HEADER_HEIGHT + 10) if self._split is None or not self._split.continues_above else 0.0
        )
        foot = style.px(12) if self._split is None or not self._split.continues_below else 0.0
        self.height = self._header_height + body + foot
        self.frame = QRectF(self.frame.x(), self.frame.y(), width, self.height)
        return self.height

    def move(self, x: float, y: float) -> None:
        style = self._style
        self.frame.moveTo(x + self._indent, y)
        self.text.x = self.frame.x() + style.px(14)
        self.text.y = y + self._header_height

    def hit_areas(self) -> Sequence[HitArea]:
        if not self._header_height:
            return ()
        style = self._style
        font = style.font(SMALL)
        width = max(style.width(tr("Copy"), font), style.width(tr("Copied"), font)) + style.px(34)
        rect = QRectF(self.frame.right() - width - 4, self.frame.y() + 3, width, style.px(HEADER_HEIGHT) - 6)
        number = self.text.number
        label = tr("Copy code, {language}", language=self.label)
        return (HitArea(f"{number}:copy", CopyCode(number), label, rect, radius=6),)

    def paint(self, painter: ChatPainter) -> None:
        self._paint_frame(painter)
        if self._header_height:
            self._paint_header(painter)
        painter.text(self.text)

    def _paint_frame(self, painter: ChatPainter) -> None:
        """Draw the frame; where the code goes on, its edge lies outside of what is drawn."""
        theme, cut = self._style.theme, self._split
        if cut is None:
            painter.box(self.frame, theme.code_surface, theme.border, 10)
            return
        frame = self.frame.adjusted(0, -20 * cut.continues_above, 0, 20 * cut.continues_below)
        painter.qt.save()
        painter.qt.setClipRect(self.frame.toAlignedRect(), Qt.ClipOperation.IntersectClip)
        painter.box(frame, theme.code_surface, theme.border, 10)
        painter.qt.restore()

    def _paint_header(self, painter: ChatPainter) -> None:
        style, theme, frame = self._style, self._style.theme, self.frame
        line = frame.y() + style.px(HEADER_HEIGHT)
        painter.fill(QRectF(frame.x() + 1, line - 1, frame.width() - 2, 1), theme.border)
        area = self.hit_areas()[0]
        font = style.font(SMALL, MEDIUM, mono=self._has_path)
        room = QRectF(frame.x() + 14, frame.y(), area.rect.x() - frame.x() - 22, style.px(HEADER_HEIGHT) - 1)
        painter.line(room, self.label, font, theme.muted)
        self._paint_copy(painter, area)

    def grow(self, lines: Sequence[str], partial: str) -> None:
        """Take complete lines and the line that is still arriving of an open fence."""
        document = self.text.document
        if self._complete_end < self.text.length:
            cursor = QTextCursor(document)
            cursor.setPosition(self._complete_end)
            cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            self._clear_wrapped_lines(cursor.blockNumber())
        first = document.lastBlock().blockNumber()
        if lines:
            self._append(lines)
            self._complete_end = self.text.length
            self.complete_lines += len(lines)
        if partial:
            self._append([partial])
        self._queue_highlight(self._lex_start(first))

    def finish(self, source: str) -> None:
        """Show and keep the whole text of a fence that has ended, and color it as a whole."""
        lines = source.split("\n") if source else []
        self.grow(lines[self.complete_lines :], "")
        self._source = source
        self._queue_highlight(0)

    def _append(self, lines: Sequence[str]) -> None:
        """Put lines below what is there; the very first one goes on the empty first line."""
        cleaned = [clean_output(line) for line in lines]
        self._writer.append_lines(self.text, ["", *cleaned] if self.complete_lines else cleaned)

    def _clear_wrapped_lines(self, first: int) -> None:
        for number in [number for number in self.text.decorations if number > first]:
            del self.text.decorations[number]

    def _lex_start(self, block: int) -> int:
        document = self.text.document
        start = document.findBlockByNumber(block)
        lowest = start.position() - _RELEX_LINES
        while start.previous().isValid() and start.text() and start.position() > lowest:
            start = start.previous()
        return start.blockNumber()

    def _queue_highlight(self, first: int) -> None:
        cut, colors = self._split, self._style.theme.code
        if self.text.decorations:
            return
        if cut is None:
            self._highlighter.add(HighlightJob(self.text.document, self.language, colors, first))
        elif cut.shared_lexer is not None:
            job = HighlightJob(self.text.document, self.language, colors, 0, cut.shared_lexer, cut.line)
            self._highlighter.add(job)

    def _paint_copy(self, painter: ChatPainter, area: HitArea) -> None:
        style, theme = self._style, self._style.theme
        done = painter.state.copied == area.name
        if painter.is_active(area):
            painter.box(area.rect, theme.hover, radius=6)
        color = theme.ok if done else theme.muted
        word = tr("Copied") if done else tr("Copy")
        words = area.rect.adjusted(area.rect.width() - 9 - style.width(word, style.font(SMALL)), 0, 0, 0)
        left = words.x() - style.px(13) - 6
        painter.icon("check" if done else "copy", color, left, area.rect.center().y(), 13)
        painter.line(words, word, style.font(SMALL), color)


def make_block(
    block: Block, writer: DocumentWriter, style: ChatStyle, highlighter: Highlighter
) -> MessageBlock:
    if isinstance(block, Code):
        return CodeBlock(writer, style, block, highlighter)
    if isinstance(block, Table):
        return WideBlock(writer.write_table(block), tr("Scroll the table sideways"), block.indent)
    if isinstance(block, DisplayedFormula):
        return _formula_block(block, writer, style, highlighter)
    return TextBlock(writer.write_prose(block, style.theme.muted if _is_quote(block) else ""))


def _formula_block(
    block: DisplayedFormula, writer: DocumentWriter, style: ChatStyle, highlighter: Highlighter
) -> MessageBlock:
    """Return a formula or, where it can't be drawn or is not drawn yet, its source."""
    text = writer.write_formula(block)
    if text is not None:
        return WideBlock(text, tr("Scroll the formula sideways"), block.indent)
    if "\n" in block.source:
        source: MessageBlock = CodeBlock(
            writer, style, Code(block.source, "latex", block.indent), highlighter
        )
    else:
        paragraph = Paragraph((Span(block.source, code=True),), indent=block.indent)
        source = TextBlock(writer.write_prose(Prose((paragraph,))))
    source.text.awaited_formulas |= writer.awaited_formulas(block)
    return source


def gap_before(block: Block, previous: Block | None) -> float:
    """Room between two blocks, pixels at zoom 1."""
    if previous is None:
        return 0.0
    if isinstance(block, Prose) and block.paragraphs[0].heading:
        return 20.0
    if isinstance(block, Prose) and isinstance(previous, Prose):
        leaf, last = block.paragraphs[0], previous.paragraphs[-1]
        if leaf.marker and last.indent:
            return 5.0
        if last.heading:
            return 7.0
        return 10.0 if not leaf.marker else 8.0
    return GAP + 2.0


def code_label(info: str) -> tuple[str, str]:
    """Return what a fence's header says, and the language (or file name) that colors it."""
    words = info.replace("title=", " ").replace('"', " ").replace(":", " ").split()
    if not words:
        return tr("text", "code block without a language"), ""
    path = next((word for word in words if _PATH_PATTERN.match(word)), "")
    language = words[0].lower() if words[0] != path else path.replace("\\", "/").rpartition("/")[2]
    return path or language, language


def _is_quote(block: Prose) -> bool:
    return all(leaf.quotes for leaf in block.paragraphs)


class BlockStack:
    """Parts from top to bottom, with the blocks they were made of; `base` is the first text's number."""

    def __init__(self, tools: ItemTools, first_number: int = 0, previous: Block | None = None) -> None:
        self._tools = tools
        self._first_number = first_number
        self._previous = previous
        self.blocks: list[MessageBlock] = []
        self._markdown_blocks: list[Block] = []
        self._bottoms: list[float] = []
        self._hit_areas: list[list[HitArea]] = []

    def add(self, block: Block) -> MessageBlock:
        part = make_block(block, self._tools.writer, self._tools.style, self._tools.highlighter)
        part.text.number = self._first_number + len(self.blocks)
        self.blocks.append(part)
        self._markdown_blocks.append(block)
        return part

    def truncate(self, count: int) -> None:
        del self.blocks[count:], self._markdown_blocks[count:], self._bottoms[count:], self._hit_areas[count:]

    def arrange(self, x: float, y: float, width: float, unchanged: int = 0) -> float:
        """Place the parts below each other; the first `unchanged` stay. Return the bottom."""
        unchanged = min(unchanged, len(self._bottoms))
        bottom = self._bottoms[unchanged - 1] if unchanged else y
        del self._bottoms[unchanged:], self._hit_areas[unchanged:]
        for at in range(unchanged, len(self.blocks)):
            part = self.blocks[at]
            before = self._markdown_blocks[at - 1] if at else self._previous
            top = bottom + self._tools.style.px(gap_before(self._markdown_blocks[at], before))
            height = part.layout(width)
            part.move(x, top)
            bottom = top + height
            self._bottoms.append(bottom)
            self._hit_areas.append(list(part.hit_areas()))
        return bottom

    def hit_areas(self) -> list[HitArea]:
        return [area for areas in self._hit_areas for area in areas]

    def paint(self, painter: ChatPainter) -> None:
        for at in range(bisect_left(self._bottoms, painter.state.clip.top()), len(self.blocks)):
            part = self.blocks[at]
            if self._bottoms[at] - part.height > painter.state.clip.bottom():
                break
            part.paint(painter)

    def copy_text(self, number: int) -> str | None:
        """Return the source of a text that is code, by its number; None when it is none."""
        codes = (part for part in self.blocks if isinstance(part, CodeBlock))
        return next((part.source for part in codes if part.text.number == number), None)


_PAGE = 0.8  # of the visible width
_WHEEL_STEP = 60.0  # pixels for a notch of the wheel, which is 120 units
_NOTCH = 120.0


class TableDrag:
    def __init__(self) -> None:
        self._text: TextLayout | None = None
        self._grip = 0.0  # pixels from the left edge of the handle

    @property
    def is_active(self) -> bool:
        return self._text is not None

    def begin(self, item: RowItem, x: float, area: HitArea) -> bool:
        """Hold the bar that was pressed, or bring its handle there first; False when it is none."""
        if not isinstance(area.action, ScrollText):
            return False
        text = self._text = item.text(area.action.text_number)
        wide = handle_width(text)
        left = text.x + (text.width - wide) * text.offset / text.max_offset
        self._grip = x - left if left <= x <= left + wide else wide / 2
        self.move(x)
        return True

    def move(self, x: float) -> None:
        text = self._text
        if text is not None and text.width > handle_width(text):
            part = (x - self._grip - text.x) / (text.width - handle_width(text))
            text.scroll_to(part * text.max_offset)

    def end(self) -> bool:
        was_active, self._text = self.is_active, None
        return was_active


def scroll_page(text: TextLayout) -> None:
    """Scroll on by a page; from the end back to the beginning."""
    if not text.scroll_to(text.offset + _PAGE * text.width):
        text.scroll_to(0.0)


def scroll_by_wheel(text: TextLayout | None, event: QWheelEvent) -> bool:
    """Scroll the table below the mouse sideways; False when the wheel does not turn that way."""
    angle, pixels = event.angleDelta(), event.pixelDelta()
    is_shifted = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
    across = angle.x() or (angle.y() if is_shifted else 0)
    if text is None or not text.max_offset or not (is_shifted or abs(across) > abs(angle.y())):
        return False
    step = float(pixels.x()) if pixels.x() else across / _NOTCH * _WHEEL_STEP
    text.scroll_to(text.offset - _visual(step))
    return True


def _visual(step: float) -> float:
    return -step if is_right_to_left() else step
