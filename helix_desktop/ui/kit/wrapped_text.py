"""Text that wraps in a row and is selected, with the few signs of Markdown that models write in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QTextCharFormat, QTextLayout, QTextOption

from helix_desktop.ui.design.document_units import count_units, slice_units
from helix_desktop.ui.design.highlight import format_range
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.text_direction import text_direction
from helix_desktop.ui.kit.boxes import MEASURED, Box, Pen, RowText, TextBox

CODE_PAD_PX = 3
"""Of the background of code, at both sides."""
_STYLED = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|(?<![^\s(“\"])\*(?P<emphasis>\w(?:[^*]*\S)?)\*(?![\w*])"
)
"""A star inside a word, or before a dot as in a pattern of file names, is one."""
Style: TypeAlias = Literal["code", "strong", "emphasis"]
StyledPart: TypeAlias = tuple[int, int, Style]
"""Where a part begins, how long it is, and its style."""


def strip_markup(text: str) -> tuple[str, list[StyledPart], list[int]]:
    """Return the text without markup, its styled parts, and where each character and the end are in it."""
    words = ""
    at = 0
    styles: list[StyledPart] = []
    places: list[int] = []
    for hit in _STYLED.finditer(text):
        style = cast("Style", hit.lastgroup)
        first, last = hit.span(style)
        places += range(len(words), len(words) + hit.start() - at)
        words += text[at : hit.start()]
        places += [len(words)] * (first - hit.start())
        styles.append((len(words), last - first, style))
        places += range(len(words), len(words) + last - first)
        words += hit[style]
        places += [len(words)] * (hit.end() - last)
        at = hit.end()
    places += range(len(words), len(words) + len(text) - at + 1)
    return words + text[at:], styles, places


def formats(start: int, length: int, style: Style, text: str) -> Iterator[QTextLayout.FormatRange]:
    """Yield the formats of a styled part; code has room before and behind it, for its background."""
    form = QTextCharFormat()
    if style != "code":
        if style == "strong":
            form.setFontWeight(600)
        else:
            form.setFontItalic(True)
        yield format_range(start, length, form)
        return
    form.setFont(ui_font(12, is_code=True))
    yield format_range(start, length - 1, form)
    yield format_range(start + length - 1, 1, _padded(form))
    if text[:start].endswith(" "):
        yield format_range(start - 1, 1, _padded(QTextCharFormat()))


def _change_format(start: int, end: int, is_struck_out: bool) -> QTextLayout.FormatRange:
    form = QTextCharFormat()
    form.setFontStrikeOut(is_struck_out)
    form.setFontUnderline(not is_struck_out)
    if not is_struck_out:
        form.setFontWeight(600)
    return format_range(start, end - start, form)


def _padded(form: QTextCharFormat) -> QTextCharFormat:
    padded = QTextCharFormat(form)
    padded.setFontLetterSpacingType(QFont.SpacingType.AbsoluteSpacing)
    padded.setFontLetterSpacing(CODE_PAD_PX)
    return padded


_LINE_HEIGHT = 1.4  # of words that wrap, in font sizes
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)


@dataclass(slots=True, eq=False)
class Words(TextBox):
    """Text that wraps, and is selected across rows; `tail` stands behind its last word, as chips do.

    `is_marked_up`: signs of code and emphasis in it are shown as what they mean. Then `changed` are spans of
    its characters, with single spaces, that are underlined, or struck out.
    """

    is_marked_up: bool = False
    tail: Sequence[Box] = ()
    changed: Sequence[tuple[int, int]] = ()
    is_struck_out: bool = False
    number: int = 0  # by which its row, selections and matches know it
    _layout: QTextLayout | None = None
    _styles: list[StyledPart] = field(default_factory=list)
    _size: tuple[float, float] = (-1.0, 0.0)  # width and height
    _tail_places: list[QPointF] = field(default_factory=list)

    def width(self) -> float:
        lines = self.words[:MEASURED].split("\n")
        metrics = self.face()[1]
        tail = sum(box.width() + 4 for box in self.tail)
        return max(map(metrics.horizontalAdvance, lines)) + 1 + (tail + 8 if tail else 0)

    def height(self, width: float) -> float:
        if self._size[0] != width:
            self._size = width, self._wrap(width)
        return self._size[1]

    def place(self, rect: QRectF) -> None:
        self.height(rect.width())
        self.rect = rect
        for box, place in zip(self.tail, self._tail_places, strict=True):
            chip = QRectF(place, place)
            chip.setSize(QRectF(0, 0, box.width(), box.height(box.width())).size())
            if self.runs_from_right:  # what follows the words does so in their direction
                chip.moveLeft(rect.width() - chip.right())
            box.place(chip.translated(rect.topLeft()))

    @property
    def runs_from_right(self) -> bool:
        """Return True if the words run from right to left."""
        return text_direction(self.words) == Qt.LayoutDirection.RightToLeft

    def _prepare(self) -> QTextLayout:
        words = self.words
        styles = list[StyledPart]()
        spans = list[tuple[int, int]]()
        if self.is_marked_up:
            text = " ".join(self.words.split())
            words, styles, places = strip_markup(text)
            ends = (
                (places[min(start, len(text))], places[min(end, len(text))]) for start, end in self.changed
            )
            spans = [(start, end) for start, end in ends if start < end]
            if self.changed and not spans:  # only signs of markup differ: they stay
                words = text
                styles = []
                spans = list(self.changed)
            self.words = words
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        if self.is_code:
            option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        layout = QTextLayout(words.replace("\n", "\u2028"), self.face()[0])
        layout.setTextOption(option)
        layout.setCacheEnabled(True)
        if styles or spans:
            parts = [part for style in styles for part in formats(*style, words)]
            layout.setFormats(parts + [_change_format(*span, self.is_struck_out) for span in spans])
            self._styles = styles
        return layout

    def line_height(self) -> float:
        natural = self.face()[1].height()
        return natural if self.is_code else max(natural, scaled(round(self.px * _LINE_HEIGHT)))

    def _wrap(self, width: float) -> float:
        layout = self._layout = self._layout or self._prepare()
        tall = max(self.line_height(), *(box.height(0) for box in self.tail), 0.0)
        layout.beginLayout()
        y = end = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(max(width, 1))
            line.setPosition(QPointF(0, y + (tall - line.height()) / 2))
            y = y + tall
            end = line.naturalTextWidth()
        layout.endLayout()
        self._tail_places = []
        x = end + 8
        y = y - tall
        for box in self.tail:
            wide = box.width()
            if x + wide > width and x > 0:
                x = 0.0
                y = y + tall + 2
            self._tail_places.append(QPointF(x, y + (tall - box.height(wide)) / 2))
            x += wide + 4
        return y + tall

    def paint(self, pen: Pen) -> None:
        layout = self._layout
        if layout is None:
            return
        pen.qt.save()
        self._paint_code_grounds(pen, layout)
        marks = []
        for mark in pen.state.marks.get(self.number, ()):
            form = QTextCharFormat()
            form.setBackground(mark.color)
            marks.append(format_range(mark.start, mark.end - mark.start, form))
        pen.qt.setPen(pen.color(self.color))
        clip = pen.state.clip
        seen = (
            QRectF(self.rect.x(), clip.y(), self.rect.width(), clip.height()) if clip.isValid() else QRectF()
        )
        layout.draw(pen.qt, self.rect.topLeft(), marks, seen)
        pen.qt.restore()
        for box in self.tail:
            box.paint(pen)

    def _paint_code_grounds(self, pen: Pen, layout: QTextLayout) -> None:
        pen.qt.setPen(Qt.PenStyle.NoPen)
        pen.qt.setBrush(pen.color("inline_code"))
        for start, length, style in self._styles:
            for number in range(layout.lineCount() if style == "code" else 0):
                line = layout.lineAt(number)
                first = max(start, line.textStart())
                last = min(start + length, line.textStart() + line.textLength())
                if first < last:
                    left = _x(line.cursorToX(first))
                    right = _x(line.cursorToX(last))
                    behind = 0 if last == start + length else CODE_PAD_PX  # else there is room already
                    place = QRectF(left - CODE_PAD_PX, line.y() + 1, right - left + CODE_PAD_PX + behind, 0)
                    place.setHeight(line.height() - 2)
                    pen.qt.drawRoundedRect(place.translated(self.rect.topLeft()), 4, 4)

    def parts(self) -> Iterator[Box]:
        yield self
        for box in self.tail:
            yield from box.parts()

    @property
    def row_text(self) -> RowText:
        return self

    @property
    def y(self) -> float:
        return self.rect.y()

    @property
    def length(self) -> int:
        return count_units(self.words)

    def text(self, start: int = 0, end: int | None = None) -> str:
        return slice_units(self.words, start, self.length if end is None else end)

    def position_at(self, x: float, y: float) -> int:
        layout = self._layout
        if layout is None:
            return 0
        here = QPointF(x, y) - self.rect.topLeft()
        lines = [layout.lineAt(number) for number in range(layout.lineCount())]
        line = next((line for line in lines if line.y() + line.height() > here.y()), lines[-1])
        return int(line.xToCursor(here.x()))

    def word_range(self, position: int, whole_block: bool = False) -> tuple[int, int]:
        """Return where the word, or the paragraph, at a position begins and ends."""
        if whole_block:
            begin = self.words.rfind("\n", 0, position) + 1
            end = self.words.find("\n", position)
            return begin, len(self.words) if end < 0 else end
        spans = (hit.span() for hit in _WORD.finditer(self.words))
        return next((span for span in spans if span[0] <= position < span[1]), (position, position))


def _x(position: object) -> float:
    # The binding gives the position alone, or with the cursor's place behind it.
    first = position[0] if isinstance(position, tuple) else position
    return first if isinstance(first, float) else 0.0
