"""A row laid out for one width: its texts, its places to click, and how it is painted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence

import msgspec
from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.chat.actions import ApprovalAnswer, RowAction, RowSection
from helix_desktop.ui.chat.items.painting import (
    ChatPainter,
    HitArea,
    PaintedLine,
    PaintState,
    paint_focus_ring,
)
from helix_desktop.ui.chat.markdown.document_writer import DocumentWriter
from helix_desktop.ui.chat.markdown.formula_images import Formula
from helix_desktop.ui.chat.markdown.plain_text import BlockText, text_of_layout
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.row_types import Row
from helix_desktop.ui.chat.style import ChatStyle
from helix_desktop.ui.design.highlight import Highlighter


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


class RowItem(ABC):
    """One row as the view shows it; sizes and places in pixels, the origin at its top left corner."""

    backward_entry = ""
    """Name of the place that has the keyboard first when it comes from below; empty: the last one."""

    def __init__(self, row: Row, context: ItemContext, tools: ItemTools) -> None:
        self.row = row
        self.context = context
        self.style = tools.style
        self.width = 0.0
        self.height = 0.0
        self.room_below = 0.0
        """What it may paint below its height, where the gap to the next row or to the edge is."""
        self._texts: Sequence[TextLayout] = []
        self._lines: Sequence[PaintedLine] = []
        self.hit_areas: list[HitArea] = []
        self.widget: QWidget | None = None
        """A real widget that fills the row, for rows in which something is typed."""
        self.accessible_notes: list[str] = []
        """What is shown next to its texts, for screen readers."""

    def layout(self, width: float) -> float:
        """Wrap to a width; the height that takes."""
        if width != self.width:
            self.width = width
            self.height = self._arrange(width)
        return self.height

    def paint(self, painter: QPainter, state: PaintState) -> None:
        self._paint(ChatPainter(painter, self.style, state))
        area = self.hit_area(state.focused)
        if area is not None:
            paint_focus_ring(painter, self.style, area.rect, area.radius)

    @property
    def texts(self) -> Sequence[TextLayout]:
        """Return all texts from top to bottom; an item built in part is built completely first."""
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
        """Return a text by its number, built when it was not; IndexError when there is none."""
        return self._texts[number]

    def block_texts(self) -> Iterator[BlockText]:
        """Return the words of all texts; nothing is built for them."""
        return map(text_of_layout, self._texts)

    @property
    def has_text(self) -> bool:
        """Return True if a screen reader finds something to read in it."""
        return bool(self.accessible_notes) or any(True for _ in self.block_texts())

    def accessible_text(self) -> str:
        parts = (
            ("\n" if words.joiner is None else words.joiner) + words.text for words in self.block_texts()
        )
        return "\n".join(("".join(parts).removeprefix("\n"), *self.accessible_notes)).removeprefix("\n")

    def edge_text(self, *, last: bool) -> int | None:
        """Return the number of the first or the last text, None when there is none."""
        return (len(self._texts) - 1 if last else 0) if self._texts else None

    @property
    def is_busy(self) -> bool:
        """Return True if it shows work in progress, which turns."""
        return False

    def hit_area(self, name: str) -> HitArea | None:
        return next((area for area in self.hit_areas if area.name == name), None)

    def hit_area_for(self, kind: type[RowAction]) -> HitArea | None:
        return next((area for area in self.hit_areas if isinstance(area.action, kind)), None)

    def hit_area_at(self, x: float, y: float) -> HitArea | None:
        """Return the place at a point; of nested ones the later, which lies on top."""
        point = QPointF(x, y)
        return next((area for area in reversed(self.hit_areas) if area.rect.contains(point)), None)

    def tip_at(self, x: float, y: float) -> str:
        """Return what the tooltip at a point says; empty if there is none."""
        area = self.hit_area_at(x, y)
        return area.tip if area is not None else ""

    def text_at(self, x: float, y: float) -> TextLayout | None:
        texts = self.built_texts
        at = bisect_right(texts, y, key=_top) - 1
        if at >= 0 and texts[at].rect.contains(QPointF(x, y)):
            return texts[at]
        return None

    def nearest_position(self, x: float, y: float) -> tuple[int, int]:
        """Return the text, by number, and the position in it nearest to a point; (0, 0) without texts."""
        texts = self.built_texts
        if not texts:
            return 0, 0
        at = max(0, bisect_right(texts, y, key=_top) - 1)
        text = texts[at]
        below = y - (text.y + text.height)
        if at + 1 < len(texts) and below > texts[at + 1].y - y:
            return texts[at + 1].number, 0
        if y < text.y:
            return text.number, 0
        return text.number, (text.length if below > 0 else text.position_at(x, y))

    def copy_text(self, number: int) -> str | None:
        """Return the source of a text that is code, by its number; None when it is none."""
        return None

    def build(self, top: float, bottom: float, deadline: float, *, upwards: bool = False) -> bool:
        """Build what lies between two heights, until a time of time.perf_counter; True when all is built.

        An item is whole from the start unless it says otherwise; what is not built has an estimated height.
        """
        return True

    def build_hit_area(self, top: float, bottom: float, *, forward: bool) -> None:
        """Build the first place to click that lies between two heights, if it is not built yet."""
        return

    def read_ahead(self, deadline: float) -> bool:
        """Prepare, until a time, what will be built later; True when nothing is left."""
        return True

    def scroll_anchor(self, top: float, bottom: float, *, at_end: bool) -> int:
        """Return what must not move in sight while the part between two heights is built."""
        return 0

    def anchor_top(self, anchor: int) -> float:
        """Return the position, in pixels, of the anchor that `scroll_anchor` returned."""
        return 0.0

    @abstractmethod
    def _arrange(self, width: float) -> float:
        """Place texts and hit areas for a width; the height."""

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


def _top(text: TextLayout) -> float:
    return text.y
