"""A row laid out for one width: its texts, its places to click, and how it is painted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import msgspec
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.actions import ApprovalAnswer, RowSection, ScrollText
from helix_desktop.ui.chat.items.painting import ChatPainter, PaintedLine, paint_focus_ring
from helix_desktop.ui.chat.markdown.document_writer import DocumentWriter
from helix_desktop.ui.chat.markdown.formula_images import Formula
from helix_desktop.ui.chat.markdown.plain_text import text_of_layout
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.row_texts import accessible_name
from helix_desktop.ui.chat.rows.row_types import Row
from helix_desktop.ui.chat.style import ChatStyle
from helix_desktop.ui.design.highlight import Highlighter
from helix_desktop.ui.kit.boxes import HitArea, PaintState
from helix_desktop.ui.rows.item import BlockText, ListItem


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


class ItemTools(msgspec.Struct, frozen=True):
    style: ChatStyle
    writer: DocumentWriter
    highlighter: Highlighter


class RowItem(ListItem):
    """One row of the conversation as the view shows it."""

    def __init__(self, row: Row, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row.key)
        self.row = row
        self.context = context
        self.style = tools.style
        self._texts: Sequence[TextLayout] = []
        self._lines: Sequence[PaintedLine] = []

    @property
    def accessible_name(self) -> str:
        return accessible_name(self.row)

    def paint(self, painter: QPainter, state: PaintState) -> None:
        self._paint(ChatPainter(painter, self.style, state))
        area = self.hit_area(state.focused)
        if area is not None:
            paint_focus_ring(painter, self.style, area.rect, area.radius)

    @property
    def texts(self) -> Sequence[TextLayout]:
        return self._texts

    def _set_texts(self, texts: Sequence[TextLayout]) -> None:
        self._texts = texts
        for number, text in enumerate(texts):
            text.number = number

    def _set_lines(self, lines: Sequence[PaintedLine]) -> None:
        """Set the lines above the texts that a search finds, too; they cannot be selected."""
        self._lines = lines
        for number, line in enumerate(lines, -len(lines)):
            line.number = number

    def search_text(self, number: int) -> TextLayout | PaintedLine:
        if self._lines and number < 0:
            return self._lines[number + len(self._lines)]
        return self.text(number)

    @property
    def built_search_texts(self) -> Sequence[TextLayout | PaintedLine]:
        """Return the lines, and the texts that are built, from top to bottom."""
        return [*self._lines, *self.built_texts]

    def search_words(self) -> Iterator[BlockText]:
        """Return the words of all lines and texts; nothing is built for them."""
        yield from (BlockText(line.number, line.words) for line in self._lines)
        yield from self.block_texts()

    @property
    def built_texts(self) -> Sequence[TextLayout]:
        return self._texts

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
        return None

    @abstractmethod
    def _paint(self, painter: ChatPainter) -> None:
        """Draw everything but the focus ring."""


class CardPart:
    """What stands below the line of a call; sizes in pixels."""

    texts: Sequence[TextLayout] = ()
    notes: Sequence[str] = ()
    """What it shows beside its texts, for screen readers."""

    def __init__(self, style: ChatStyle) -> None:
        self._style = style
        self.hit_areas: list[HitArea] = []

    def arrange(self, top: float, width: float) -> float:
        """Stand below `top`; return where it ends."""
        raise NotImplementedError

    def paint(self, painter: ChatPainter) -> None:
        raise NotImplementedError
