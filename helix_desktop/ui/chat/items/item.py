"""A row of the conversation: its texts, its places to click, and how it is painted, from boxes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from PySide6.QtCore import QRectF, Qt

from helix_desktop.ui.chat.actions import ApprovalAnswer, RowSection, ScrollText
from helix_desktop.ui.chat.items.text_and_code_blocks import CodeBlock, ItemTools, TextBlock
from helix_desktop.ui.chat.markdown.formula_images import Formula
from helix_desktop.ui.chat.markdown.parser import Paragraph, Prose, Span
from helix_desktop.ui.chat.markdown.plain_text import text_of_layout
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.row_texts import accessible_name
from helix_desktop.ui.chat.rows.row_types import Row
from helix_desktop.ui.chat.style import UI
from helix_desktop.ui.design.document_units import to_lower
from helix_desktop.ui.kit.boxes import Box, HitArea, Pen, Text
from helix_desktop.ui.rows.item import BlockText, BoxItem, ListItem


class ItemContext(msgspec.Struct, frozen=True):
    """View state of a row: `shows_header` shows the speaker, `expanded` are its open sections.

    `names_model`: the answer before was by another model. `answer_tips`: what tooltips say about answers to
    an approval, with their keys. `joins`: the line of a call shares its block with the row above, and with
    the one below.
    """

    shows_header: bool = True
    expanded: frozenset[RowSection] = frozenset()
    answer_tips: frozenset[tuple[ApprovalAnswer, str]] = frozenset()
    joins: tuple[bool, bool] = (False, False)
    names_model: bool = True


def paragraph(text: str, tools: ItemTools, color: str, size: int = UI, bold: bool = False) -> TextBlock:
    """Plain words as one paragraph, `size` in pixels."""
    leaf = Paragraph((Span(text, bold=bold),))
    return TextBlock(tools.writer.write_prose(Prose((leaf,)), color, size))


class SearchLine(Text):
    """A line of words that a search finds; positions in it are characters. Its middle is cut off."""

    def __init__(
        self, words: str, px: int, weight: int = 400, *, is_code: bool = False, is_found: bool = True
    ) -> None:
        super().__init__(words, px, weight=weight, is_code=is_code, elide=Qt.TextElideMode.ElideMiddle)
        self.is_found = is_found
        self.number = 0  # below 0 in its row: its texts count from 0

    def find_all(self, needle: str) -> list[tuple[int, int]]:
        """Ranges that hold a needle, letter case ignored."""
        found = re.finditer(re.escape(to_lower(needle)), to_lower(self.words)) if needle else ()
        return [hit.span() for hit in found]

    def show_position(self, _position: int) -> None:
        """All of it that can be seen is in sight."""

    def line_rect(self, _position: int) -> QRectF:
        return self.rect

    @property
    def shown_words(self) -> str:
        return self._shown

    def place(self, rect: QRectF) -> None:
        super().place(rect)
        self.tip = ""  # that of its line says more

    def paint(self, pen: Pen) -> None:
        """Draw it with its marks; what is cut off is marked where it was cut."""
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


class RowItem(BoxItem):
    """One row of the conversation as the view shows it."""

    def __init__(
        self,
        row: Row,
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
        """Return the lines, and the texts that are built, from top to bottom."""
        return [*self._lines, *self.built_texts]

    def search_words(self) -> Iterator[BlockText]:
        """Return the words of all lines and texts; nothing is built for them."""
        yield from (BlockText(line.number, line.words) for line in self._lines)
        yield from self.block_texts()

    @property
    def built_texts(self) -> Sequence[TextLayout]:
        return self._texts

    text_at, nearest_position = ListItem.text_at, ListItem.nearest_position  # texts stand below each other

    def awaits(self, formulas: frozenset[Formula]) -> bool:
        """Return True if it shows the source of one of these formulas until it is drawn."""
        return any(not text.awaited_formulas.isdisjoint(formulas) for text in self.built_texts)

    def text(self, number: int) -> TextLayout:
        return self._texts[number]

    def block_texts(self) -> Iterator[BlockText]:
        return map(text_of_layout, self._texts)

    def scroll_by_key(self, area: HitArea, key: int) -> bool:
        """Scroll a table or a formula sideways."""
        action = area.action
        return isinstance(action, ScrollText) and self.text(action.text_number).scroll_by_key(key)

    def copy_text(self, number: int) -> str | None:
        """Return the source of a text that is code, by its number; None when it is none."""
        codes = (part for part in self.parts if isinstance(part, CodeBlock) and part.text.number == number)
        return next((code.source for code in codes), None)
