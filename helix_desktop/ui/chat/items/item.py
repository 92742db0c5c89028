"""A row of the conversation, its texts and places to click; the texts and code it is made of."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

import msgspec
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QTextCursor

from helix_desktop.ui.chat.actions import ApprovalAnswer, CopyCode, RowAction, RowSection, ScrollText
from helix_desktop.ui.chat.markdown.document_writer import DocumentWriter
from helix_desktop.ui.chat.markdown.formulas import Formula
from helix_desktop.ui.chat.markdown.parser import Block, Code, Paragraph, Prose, Span, Table
from helix_desktop.ui.chat.markdown.sections import MarkdownSection
from helix_desktop.ui.chat.markdown.text_layout import TextLayout, text_of_layout
from helix_desktop.ui.chat.rows.row_texts import accessible_name
from helix_desktop.ui.chat.rows.row_types import Row as ChatRow
from helix_desktop.ui.chat.style import GAP, INDENT, UI, ChatStyle
from helix_desktop.ui.design.document_units import to_lower
from helix_desktop.ui.design.highlight import Highlighter, HighlightJob, SharedLexer
from helix_desktop.ui.design.safe_text import clean_output
from helix_desktop.ui.kit.boxes import (
    Box,
    Button,
    Flow,
    Frame,
    HitArea,
    Icon,
    Pen,
    Row,
    Space,
    Text,
    push_button,
)
from helix_desktop.ui.kit.intents import OpenOutput
from helix_desktop.ui.rows.item import BlockText, ListItem
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

HEADER_HEIGHT = 30.0  # pixels
_PATH_PATTERN = re.compile(r"[\w.\-/\\]*[/\\.][\w.\-/\\]+$")
_RELEX_LINES = 1_200  # characters; an open fence is lexed again from a blank line at most so far back

_BAR_HEIGHT = 6  # pixels at zoom 1
_AROUND_BAR = 10  # pixels


class ItemTools(msgspec.Struct, frozen=True):
    style: ChatStyle
    writer: DocumentWriter
    highlighter: Highlighter


class TextBlock(Box):
    """A piece of a message, or of a card, that a document lays out; sizes in pixels."""

    def __init__(self, text: TextLayout) -> None:
        super().__init__()
        self.text = text
        self._size = (-1.0, 0.0)

    def height(self, width: float) -> float:
        if self._size[0] != width:
            self._size = width, self._wrap(width)
        return self._size[1]

    def _wrap(self, width: float) -> float:
        return self.text.layout(max(40.0, width))

    def place(self, rect: QRectF) -> None:
        self.rect = rect
        self.text.x = rect.x()
        self.text.y = rect.y()

    def paint(self, pen: Pen) -> None:
        self.text.paint(pen.qt, pen.state.clip, pen.state.marks.get(self.text.number, ()))

    @property
    def row_text(self) -> TextLayout:
        return self.text


class WideBlock(TextBlock):
    """A table or a formula, and the bar that scrolls it."""

    def __init__(self, text: TextLayout, bar_label: str, indent: int = 0) -> None:
        super().__init__(text)
        self._bar_label = bar_label
        self._indent = indent * text.style.px(INDENT)

    def _wrap(self, width: float) -> float:
        height = self.text.layout(max(40.0, width - self._indent))
        return height + (self.text.style.px(_BAR_HEIGHT) + _AROUND_BAR if self.text.max_offset else 0.0)

    def place(self, rect: QRectF) -> None:
        super().place(rect.adjusted(self._indent, 0, 0, 0))

    @property
    def areas(self) -> Sequence[HitArea]:
        text = self.text
        if not text.max_offset:
            return ()
        strip = QRectF(text.x, text.y + text.height + 2, text.width, text.style.px(_BAR_HEIGHT) + 6)
        return (HitArea(f"{text.number}:bar", ScrollText(text.number), self._bar_label, strip),)

    def paint(self, pen: Pen) -> None:
        super().paint(pen)
        text = self.text
        for area in self.areas:
            bar = area.rect.adjusted(0, 3, 0, -3)
            pen.box(bar, "raised", radius=bar.height() / 2)
            wide = text.handle_width
            left = bar.x() + (bar.width() - wide) * text.offset / text.max_offset
            handle = QRectF(left, bar.y(), wide, bar.height())
            pen.box(handle, "faint" if pen.is_active(area.name) else "scrollbar", radius=bar.height() / 2)


_WHOLE = MarkdownSection("code", 0, 0)


class CodeBlock(TextBlock):
    """Code in a frame, with its language or path and a Copy button above; long code is cut into several."""

    def __init__(
        self,
        tools: ItemTools,
        code: Code,
        section: MarkdownSection = _WHOLE,
        lexer: SharedLexer | None = None,
        title: str = "",
        shown: str = "",
    ) -> None:
        """`section` is a part of long code, which `lexer` colors as a whole.

        `title` stands above the code in the place of its language or path, `shown` in the code's own.
        """
        super().__init__(tools.writer.write_plain(clean_output(shown or code.text), mono=True))
        self._section = section
        self._lexer = lexer
        self._tools = tools
        self._indent = code.indent * tools.style.px(INDENT)
        label, self.language = code_label(code.info)
        self.label = title or label
        self.source = code.text
        """The code as it was written: what Copy takes."""
        self._complete_end = 0  # position where the complete lines of an open fence end
        self.complete_lines = 0
        self._copy: Button | None = None
        if not section.continues_above:
            has_path = not title and label != self.language
            words = Text(self.label, 12, "muted", 500, is_code=has_path, grow=True, shrink=True)
            copy = Row([Space(grow=True), Icon("copy", px=13), Text(tr("Copy"), 12, "muted")])
            self._copy = Button(
                "", None, copy, tr("Copy code, {language}", language=self.label), "icon", high=24
            )
            self._copy.copied = Row([Space(grow=True), Icon("check", "ok", 13), Text(tr("Copied"), 12, "ok")])
            self._header = Frame(Row([words, self._copy]), (14, 0, 4, 0))
        self._queue_highlight(0)

    def _wrap(self, width: float) -> float:
        style = self._tools.style
        body = self.text.layout(max(80.0, width - self._indent) - style.px(28))
        foot = 0.0 if self._section.continues_below else style.px(12)
        return self._header_height + body + foot

    @property
    def _header_height(self) -> float:
        return self._tools.style.px(HEADER_HEIGHT + 10) if self._copy is not None else 0.0

    def place(self, rect: QRectF) -> None:
        style = self._tools.style
        self.rect = QRectF(
            rect.x() + self._indent, rect.y(), max(80.0, rect.width() - self._indent), rect.height()
        )
        self.text.x = self.rect.x() + style.px(14)
        self.text.y = rect.y() + self._header_height
        if self._copy is not None:
            number = self.text.number
            self._copy.name = f"{number}:copy"
            self._copy.action = CopyCode(number)
            self._header.place(
                QRectF(self.rect.x(), rect.y(), self.rect.width(), style.px(HEADER_HEIGHT) - 1)
            )

    @property
    def areas(self) -> Sequence[HitArea]:
        return self._copy.areas if self._copy is not None else ()

    def paint(self, pen: Pen) -> None:
        """Draw the frame; where the code goes on, its edge lies outside of what is drawn."""
        cut = self._section
        frame = self.rect
        pen.qt.save()
        if cut.continues_above or cut.continues_below:
            pen.qt.setClipRect(frame.toAlignedRect(), Qt.ClipOperation.IntersectClip)
            frame = frame.adjusted(0, -20 * cut.continues_above, 0, 20 * cut.continues_below)
        pen.box(frame, "code_surface", "border", 10)
        pen.qt.restore()
        if self._copy is not None:
            line = self.rect.y() + self._tools.style.px(HEADER_HEIGHT)
            pen.fill(QRectF(self.rect.x() + 1, line - 1, self.rect.width() - 2, 1), "border")
            self._header.paint(pen)
        super().paint(pen)

    def extend(self, lines: Sequence[str], partial: str) -> None:
        self._size = (-1.0, 0.0)
        document = self.text.document
        if self._complete_end < self.text.length:
            cursor = QTextCursor(document)
            cursor.setPosition(self._complete_end)
            cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            for number in [number for number in self.text.decorations if number > cursor.blockNumber()]:
                del self.text.decorations[number]
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
        self.extend(lines[self.complete_lines :], "")
        self.source = source
        self._queue_highlight(0)

    def _append(self, lines: Sequence[str]) -> None:
        """Put lines below what is there; the very first one goes on the empty first line."""
        cleaned = [clean_output(line) for line in lines]
        self._tools.writer.append_lines(self.text, ["", *cleaned] if self.complete_lines else cleaned)

    def _lex_start(self, block: int) -> int:
        document = self.text.document
        start = document.findBlockByNumber(block)
        lowest = start.position() - _RELEX_LINES
        while start.previous().isValid() and start.text() and start.position() > lowest:
            start = start.previous()
        return start.blockNumber()

    def _queue_highlight(self, first: int) -> None:
        cut = self._section
        colors = self._tools.style.theme.code
        is_whole = not (cut.continues_above or cut.continues_below)
        if self.text.decorations or not (is_whole or self._lexer):
            return
        job = HighlightJob(self.text.document, self.language, colors, first, self._lexer, cut.line)
        self._tools.highlighter.add(job)


def make_block(block: Block, tools: ItemTools) -> TextBlock:
    writer = tools.writer
    if isinstance(block, Code):
        return CodeBlock(tools, block)
    if isinstance(block, Table):
        return WideBlock(writer.write_table(block), tr("Scroll the table sideways"), block.indent)
    if isinstance(block, Prose):
        is_quote = all(leaf.quotes for leaf in block.paragraphs)
        return TextBlock(writer.write_prose(block, tools.style.theme.muted if is_quote else ""))
    # A formula or, where it can't be drawn or is not drawn yet, its source.
    text = writer.write_formula(block)
    if text is not None:
        return WideBlock(text, tr("Scroll the formula sideways"), block.indent)
    if "\n" in block.source:
        source: TextBlock = CodeBlock(tools, Code(block.source, "latex", block.indent))
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
        leaf = block.paragraphs[0]
        last = previous.paragraphs[-1]
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


class BlockStack(Box):
    """Parts from top to bottom, with the blocks they were made of; `first_number` is the first text's."""

    def __init__(self, tools: ItemTools, first_number: int = 0) -> None:
        super().__init__()
        self._tools = tools
        self._first_number = first_number
        self.blocks: list[TextBlock] = []
        self.markdown_blocks: list[Block] = []
        self.block_above: Block | None = None
        self._bottoms: list[float] = []  # of the parts that are placed, below the top

    def add(self, block: Block, part: TextBlock | None = None) -> TextBlock:
        part = part or make_block(block, self._tools)
        part.text.number = self._first_number + len(self.blocks)
        self.blocks.append(part)
        self.markdown_blocks.append(block)
        return part

    def truncate(self, count: int) -> None:
        del self.blocks[count:], self.markdown_blocks[count:], self._bottoms[count:]

    def arrange(self, x: float, y: float, width: float) -> float:
        """Place the parts below each other, of those at their place the last alone, which may have grown.

        Return the height.
        """
        if (self.rect.x(), self.rect.y(), self.rect.width()) == (x, y, width):
            del self._bottoms[-1:]
        else:
            self._bottoms = []
        for at in range(len(self._bottoms), len(self.blocks)):
            above = self.markdown_blocks[at - 1] if at else self.block_above
            top = self._bottoms[-1] if at else 0.0
            top += self._tools.style.px(gap_before(self.markdown_blocks[at], above))
            height = self.blocks[at].height(width)
            self.blocks[at].place(QRectF(x, y + top, width, height))
            self._bottoms.append(top + height)
        self.rect = QRectF(x, y, width, self._bottoms[-1] if self._bottoms else 0.0)
        return self.rect.height()

    @property
    def areas(self) -> Sequence[HitArea]:
        return [area for part in self.blocks for area in part.areas]

    def paint(self, pen: Pen) -> None:
        clip = pen.state.clip
        for part in self.blocks[bisect_left(self._bottoms, clip.top() - self.rect.y()) :]:
            if part.rect.top() > clip.bottom():
                break
            part.paint(pen)


def source_of(parts: Sequence[Box], number: int) -> str | None:
    codes = (part for part in parts if isinstance(part, CodeBlock) and part.text.number == number)
    return next((code.source for code in codes), None)


class ItemContext(msgspec.Struct, frozen=True):
    """View state of a row: `shows_header` shows the speaker, `expanded` are its open sections.

    `names_model`: the answer before was by another model. `answer_tips`: what tooltips say about answers to
    an approval, with their keys. `joins`: the line of a call shares its block with the row above, and with
    the one below. `repeats_state`: the line above in that block names the same state. `has_message`: an
    answer to what it asks can take what is typed along. `marked` are the options of a question that are
    chosen, by number.
    """

    shows_header: bool = True
    expanded: frozenset[RowSection] = frozenset()
    answer_tips: frozenset[tuple[ApprovalAnswer, str]] = frozenset()
    joins: tuple[bool, bool] = (False, False)
    repeats_state: bool = False
    names_model: bool = True
    has_message: bool = False
    marked: frozenset[int] = frozenset()


def paragraph(text: str, tools: ItemTools, color: str, size: int = UI, bold: bool = False) -> TextBlock:
    leaf = Paragraph((Span(text, bold=bold),))
    return TextBlock(tools.writer.write_prose(Prose((leaf,)), color, size))


def paragraph_with_code(text: str, tools: ItemTools, color: str, size: int = UI) -> TextBlock:
    """Write a text in which what stands between backticks is code."""
    parts = text.split("`") if text.count("`") % 2 == 0 else [text]
    spans = tuple(Span(part, code=number % 2 == 1) for number, part in enumerate(parts) if part)
    return TextBlock(tools.writer.write_prose(Prose((Paragraph(spans),)), color, size))


def more_lines_text(hidden: int) -> str:
    return tr.plural(hidden, "… %n more line hidden", "… %n more lines hidden") if hidden else ""


def all_lines_button(section: str, action: RowAction, lines: int) -> Button:
    label = tr.plural(lines, "Show %n line", "Show all %n lines")
    return push_button(f"whole:{section}", action, label, high=28)


def card_foot(words: str, buttons: list[Button], digest: str = "") -> Box:
    """Return the last line of a card: a note, and buttons, one of them for its content in the cache."""
    if digest:
        label = tr("Open output")
        buttons.append(push_button("cache:open", OpenOutput(digest), label, "database", tip=digest, high=28))
    note = Text(words, 12, "faint", grow=True, shrink=True)
    return Frame(Row([note, Flow(buttons, 8, is_at_end=True)], 8), (0, 5, 0, 7))


class SearchLine(Text):
    """A line of words that a search finds; positions in it are characters. Its middle is cut off."""

    def __init__(
        self, words: str, px: int, weight: int = 400, *, is_code: bool = False, is_found: bool = True
    ) -> None:
        super().__init__(words, px, weight=weight, is_code=is_code, elide=Qt.TextElideMode.ElideMiddle)
        self.is_found = is_found
        self.number = 0  # below 0 in its row: its texts count from 0

    def find_all(self, needle: str) -> list[tuple[int, int]]:
        found = re.finditer(re.escape(to_lower(needle)), to_lower(self.words)) if needle else ()
        return [hit.span() for hit in found]

    def show_position(self, _position: int) -> None:
        """All of it that can be seen is in sight."""

    def line_rect(self, _position: int) -> QRectF:
        return self.rect

    def place(self, rect: QRectF) -> None:
        super().place(rect)
        self.tip = ""  # that of its line says more

    def paint(self, pen: Pen) -> None:
        metrics = self.face()[1]
        for mark in pen.state.marks.get(self.number, ()):
            left, right = (
                metrics.horizontalAdvance(self._shown[: self._shown_position(position, is_end)])
                for position, is_end in ((mark.start, False), (mark.end, True))
            )
            place = QRectF(self.rect.x() + left, 0, right - left, metrics.height())
            place.moveTop(self.rect.center().y() - metrics.height() / 2)
            pen.qt.fillRect(place, mark.color)
        super().paint(pen)

    def _shown_position(self, position: int, is_end: bool) -> int:
        """Return where a position stands in what is shown; of what is cut off, an edge of the ellipsis."""
        if self._shown == self.words:
            return position
        cut = next((at for at, sign in enumerate(self._shown) if sign != self.words[at]), 0)
        behind = position - len(self.words) + len(self._shown)
        if position <= cut:
            return position
        return behind if behind > cut else cut + is_end


class RowItem(ListItem):
    """One row of the conversation as the view shows it."""

    def __init__(
        self,
        row: ChatRow,
        context: ItemContext,
        tools: ItemTools,
        box: Box | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """`notes` are what a screen reader says of it beside its texts."""
        super().__init__(row.key, "", box or Box(), tools.style.theme)
        self.row = row
        self.context = context
        self.style = tools.style
        self.accessible_notes = [*notes]
        self._texts: Sequence[TextLayout]
        self._lines = [part for part in self.parts if isinstance(part, SearchLine) and part.is_found]
        for number, line in enumerate(self._lines, -len(self._lines)):
            line.number = number
        self.head_texts = [BlockText(line.number, line.words) for line in self._lines]

    @property
    def accessible_name(self) -> str:
        return accessible_name(self.row)

    @property
    def texts(self) -> Sequence[TextLayout]:
        return self._texts

    def search_text(self, number: int) -> TextLayout | SearchLine:
        if self._lines and number < 0:
            return self._lines[number + len(self._lines)]
        return self.text(number)

    @property
    def built_search_texts(self) -> Sequence[TextLayout | SearchLine]:
        return [*self._lines, *self.built_texts]

    def search_words(self) -> Iterator[BlockText]:
        yield from self.head_texts
        yield from self.block_texts()

    @property
    def built_texts(self) -> Sequence[TextLayout]:
        return self._texts

    def awaits(self, formulas: frozenset[Formula]) -> bool:
        return any(not text.awaited_formulas.isdisjoint(formulas) for text in self.built_texts)

    def text(self, number: int) -> TextLayout:
        return self._texts[number]

    def block_texts(self) -> Iterator[BlockText]:
        return map(text_of_layout, self._texts)

    def scroll_by_key(self, area: HitArea, key: int) -> bool:
        action = area.action
        return isinstance(action, ScrollText) and self.text(action.text_number).scroll_by_key(key)

    def copy_text(self, number: int) -> str | None:
        """Return the source of a text that is code, by its number; None when it is none."""
        return source_of(self.parts, number)
