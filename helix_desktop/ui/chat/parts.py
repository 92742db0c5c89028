"""What a message is made of, from top to bottom: texts, and blocks of code with a header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QTextCursor

from helix_desktop.ui.chat.highlight import Highlighter, HighlightJob, Lexing
from helix_desktop.ui.chat.look import GAP, INDENT, MEDIUM, SMALL, Look
from helix_desktop.ui.chat.markdown import Block, Code, Prose, Table
from helix_desktop.ui.chat.paint import Hot, Paint, box, icon, line_of_text
from helix_desktop.ui.chat.plain import clean_output
from helix_desktop.ui.chat.prose import ProseWriter
from helix_desktop.ui.chat.text_piece import TextPiece

HEADER = 30.0  # pixels
_PATH = re.compile(r"[\w.\-/\\]*[/\\.][\w.\-/\\]+$")
_LEX_BACK = 1_200  # characters; an open fence is lexed again from a blank line at most so far back


class Part(Protocol):
    """A piece of a message that is stacked with others."""

    text: TextPiece
    height: float

    def layout(self, width: float) -> float:
        """Wrap to a width; the height that takes, both in pixels."""

    def move(self, x: float, y: float) -> None:
        """Put the top left corner at a point of the sheet."""

    def hots(self) -> Sequence[Hot]:
        """The places that can be clicked, their names begun with the text's number."""

    def paint(self, painter: QPainter, paint: Paint) -> None:
        """Draw at its place."""


class TextPart:
    """Prose or a table."""

    def __init__(self, text: TextPiece, indent: int = 0, table: bool = False) -> None:
        self.text = text
        self.height = 0.0
        self._indent = indent * text.look.px(INDENT)
        self._table = table

    def layout(self, width: float) -> float:
        """Wrap to a width; the height that takes, both in pixels."""
        self.height = self.text.layout(max(40.0, width - self._indent))
        return self.height

    def move(self, x: float, y: float) -> None:
        """Put the top left corner at a point of the sheet."""
        self.text.x, self.text.y = x + self._indent, y

    def hots(self) -> Sequence[Hot]:
        """Nothing: links are found by the pointer, not by Tab."""
        return ()

    def paint(self, painter: QPainter, paint: Paint) -> None:
        """Draw at its place."""
        self.text.paint(painter, paint.clip, paint.marks_of(self.text))


class CodeCut(NamedTuple):
    """How a part of long code goes on `above` and `below`, and its first line in what is lexed as a whole."""

    above: bool = False
    below: bool = False
    lexing: Lexing | None = None
    line: int = 0


class CodePart:
    """Code in a frame, with its language or path and a Copy button above; long code is cut into several."""

    def __init__(
        self,
        writer: ProseWriter,
        look: Look,
        code: Code,
        highlighter: Highlighter,
        cut: CodeCut | None = None,
    ) -> None:
        self._cut = cut
        self._look = look
        self._writer = writer
        self._highlighter = highlighter
        self._indent = code.indent * look.px(INDENT)
        self.label, self.language = code_label(code.info)
        self._source = code.text
        self.text = writer.plain(clean_output(code.text), mono=True)
        self._done = 0  # position where the complete lines of an open fence end
        self.complete = 0
        self.frame = QRectF()
        self.height = 0.0
        self._head = 0.0  # pixels above the code
        self._job(0)

    @property
    def source(self) -> str:
        """The code as it was written: what Copy takes."""
        return self._source

    def layout(self, width: float) -> float:
        """Wrap to a width; the height that takes, both in pixels."""
        look = self._look
        width = max(80.0, width - self._indent)
        body = self.text.layout(width - look.px(28))
        self._head = look.px(HEADER + 10) if self._cut is None or not self._cut.above else 0.0
        foot = look.px(12) if self._cut is None or not self._cut.below else 0.0
        self.height = self._head + body + foot
        self.frame = QRectF(self.frame.x(), self.frame.y(), width, self.height)
        return self.height

    def move(self, x: float, y: float) -> None:
        """Put the top left corner at a point of the sheet."""
        look = self._look
        self.frame.moveTo(x + self._indent, y)
        self.text.x = self.frame.x() + look.px(14)
        self.text.y = y + self._head

    def hots(self) -> Sequence[Hot]:
        """The Copy button."""
        if not self._head:
            return ()
        look = self._look
        width = look.width("Copied", look.font(SMALL)) + look.px(34)
        rect = QRectF(self.frame.right() - width - 4, self.frame.y() + 3, width, look.px(HEADER) - 6)
        return (Hot(f"{self.text.number}:copy", f"Copy code, {self.label}", rect, radius=6),)

    def paint(self, painter: QPainter, paint: Paint) -> None:
        """Draw at its place."""
        self._paint_frame(painter)
        if self._head:
            self._paint_head(painter, paint)
        self.text.paint(painter, paint.clip, paint.marks_of(self.text))

    def _paint_frame(self, painter: QPainter) -> None:
        """Draw the frame; where the code goes on, its edge lies outside of what is drawn."""
        look, theme, cut = self._look, self._look.theme, self._cut
        colors = look.color(theme.code_surface), look.color(theme.border)
        if cut is None:
            box(painter, self.frame, *colors, 10)
            return
        painter.save()
        painter.setClipRect(self.frame.toAlignedRect(), Qt.ClipOperation.IntersectClip)
        box(painter, self.frame.adjusted(0, -20 if cut.above else 0, 0, 20 if cut.below else 0), *colors, 10)
        painter.restore()

    def _paint_head(self, painter: QPainter, paint: Paint) -> None:
        look, theme, frame = self._look, self._look.theme, self.frame
        line = frame.y() + look.px(HEADER)
        painter.fillRect(QRectF(frame.x() + 1, line - 1, frame.width() - 2, 1), look.color(theme.border))
        hot = self.hots()[0]
        is_path = self.label != self.language
        font = look.font(SMALL, MEDIUM, mono=is_path)
        room = QRectF(frame.x() + 14, frame.y(), hot.rect.x() - frame.x() - 22, look.px(HEADER) - 1)
        line_of_text(painter, look, room, self.label, font, theme.muted)
        self._paint_copy(painter, paint, hot)

    def grow(self, lines: Sequence[str], partial: str) -> None:
        """Take complete lines and the line that is still arriving of an open fence."""
        document = self.text.document
        if self._done < self.text.length:
            cursor = QTextCursor(document)
            cursor.setPosition(self._done)
            cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            self._forget_folds(cursor.blockNumber())
        first = document.lastBlock().blockNumber()
        if lines:
            self._append(lines)
            self._done = self.text.length
            self.complete += len(lines)
        if partial:
            self._append([partial])
        self._job(self._lex_from(first))

    def close(self, source: str) -> None:
        """The fence has ended: show and keep its whole text, colour it as a whole."""
        lines = source.split("\n") if source else []
        self.grow(lines[self.complete :], "")
        self._source = source
        self._job(0)

    def _append(self, lines: Sequence[str]) -> None:
        """Put lines below what is there; the very first one goes on the empty first line."""
        shown = [clean_output(line) for line in lines]
        self._writer.extend(self.text, ["", *shown] if self.complete else shown)

    def _forget_folds(self, first: int) -> None:
        for number in [number for number in self.text.decor if number > first]:
            del self.text.decor[number]

    def _lex_from(self, block: int) -> int:
        document = self.text.document
        start = document.findBlockByNumber(block)
        lowest = start.position() - _LEX_BACK
        while start.previous().isValid() and start.text() and start.position() > lowest:
            start = start.previous()
        return start.blockNumber()

    def _job(self, first: int) -> None:
        cut, colors = self._cut, self._look.theme.code
        if self.text.decor:
            return
        if cut is None:
            self._highlighter.add(HighlightJob(self.text.document, self.language, colors, first))
        elif cut.lexing is not None:
            job = HighlightJob(self.text.document, self.language, colors, 0, cut.lexing, cut.line)
            self._highlighter.add(job)

    def _paint_copy(self, painter: QPainter, paint: Paint, hot: Hot) -> None:
        look, theme = self._look, self._look.theme
        done = paint.copied == hot.name
        if hot.name in (paint.hovered, paint.pressed):
            box(painter, hot.rect, look.color(theme.hover), None, 6)
        color = theme.ok if done else theme.muted
        side = look.px(13)
        top = hot.rect.center().y() - side / 2
        word = "Copied" if done else "Copy"
        words = hot.rect.adjusted(hot.rect.width() - 9 - look.width(word, look.font(SMALL)), 0, 0, 0)
        mark = QRectF(words.x() - side - 6, top, side, side)
        icon(painter, look, "check" if done else "copy", color, mark)
        line_of_text(painter, look, words, word, look.font(SMALL), color)


def make_part(block: Block, writer: ProseWriter, look: Look, highlighter: Highlighter) -> Part:
    """The part that shows a Markdown block."""
    if isinstance(block, Code):
        return CodePart(writer, look, block, highlighter)
    if isinstance(block, Table):
        return TextPart(writer.table(block), block.indent, table=True)
    return TextPart(writer.prose(block, look.theme.muted if _is_quote(block) else ""))


def gap_before(block: Block, previous: Block | None) -> float:
    """Room between two blocks, pixels at zoom 1."""
    if previous is None:
        return 0.0
    if isinstance(block, Prose) and block.leaves[0].heading:
        return 20.0
    if isinstance(block, Prose) and isinstance(previous, Prose):
        leaf, last = block.leaves[0], previous.leaves[-1]
        if leaf.marker and last.indent:
            return 5.0
        if last.heading:
            return 7.0
        return 10.0 if not leaf.marker else 8.0
    return GAP + 2.0


def code_label(info: str) -> tuple[str, str]:
    """What a fence's header says, and the language (or file name) that colours it."""
    words = info.replace("title=", " ").replace('"', " ").replace(":", " ").split()
    if not words:
        return "text", ""
    path = next((word for word in words if _PATH.match(word)), "")
    language = words[0].lower() if words[0] != path else path.replace("\\", "/").rpartition("/")[2]
    return path or language, language


def _is_quote(block: Prose) -> bool:
    return all(leaf.quote for leaf in block.leaves)
