"""A row laid out for one width: its texts, its places to click, and how it is painted."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.kit.boxes import Box, Button, HitArea, PaintState, Pen, RowText
from helix_desktop.ui.kit.wrapped_text import Words


class BlockText(NamedTuple):
    """The plain text of one block of a row; `joiner` goes before it, None means an empty line."""

    number: int
    text: str
    is_list_item: bool = False
    joiner: str | None = None


class PlacedRow(NamedTuple):
    """A visible row: its index, its top in the viewport and its height, in pixels."""

    row_index: int
    y: float
    height: float


class ListItem:
    """One row as the list shows it, a tree of boxes: its texts, places to click and tips are theirs.

    Sizes and places are in pixels, the origin at its top left corner.
    """

    backward_entry = ""
    """Name of the place that has the keyboard first when it comes from below; empty: the last one."""
    enter_area = ""
    """Name of the place that Enter presses on a choice, which Space checks; empty: Enter does too."""
    head_texts: Sequence[BlockText] = ()
    """Words above its texts without positions, which a selection takes as a whole; numbers below 0."""
    row_area = ""
    """Name of the place that a click beside all places presses; empty: none."""

    def __init__(self, key: Hashable, name: str, box: Box, theme: Theme) -> None:
        self.key = key
        self._name = name
        self._box = box
        self._theme = theme
        self.width = 0.0
        self.height = 0.0
        self.room_below = 0.0
        """What it may paint below its height, where the gap to the next row or to the edge is."""
        self.hit_areas: list[HitArea] = []
        self.widget: QWidget | None = None
        """A real widget that fills the row, for rows in which something is typed."""
        self.parts = list(box.parts())
        names = Counter[str]()
        for button in (part for part in self.parts if isinstance(part, Button)):
            names[button.name] += 1
            if names[button.name] > 1:  # a source of two sentences, say
                button.name = f"{button.name}#{names[button.name]}"
        self._texts: Sequence[RowText] = [text for part in self.parts if (text := part.row_text) is not None]
        for number, text in enumerate(self._texts):
            text.number = number
        self.accessible_notes = [
            part.accessible_text
            for part in self.parts
            if part.accessible_text and not isinstance(part, Words)
        ]
        """What is shown next to its texts, for screen readers."""

    @property
    def accessible_name(self) -> str:
        return self._name

    def layout(self, width: float) -> float:
        """Wrap to a width; the height that takes."""
        if width != self.width:
            self.width = width
            self.height = self._arrange(width)
        return self.height

    def _arrange(self, width: float) -> float:
        height = self._box.height(width)
        self._box.place(QRectF(0, 0, width, height))
        self._texts = sorted(self._texts, key=lambda text: (text.rect.y(), text.number))
        for number, text in enumerate(self._texts):
            text.number = number
        self.hit_areas = [area for part in self.parts for area in part.areas]
        return height

    def paint(self, painter: QPainter, state: PaintState) -> None:
        pen = Pen(painter, self._theme, state)
        self._box.paint(pen)
        self.paint_focus(pen)

    def paint_focus(self, pen: Pen) -> None:
        area = self.hit_area(pen.state.focused)
        if area is not None:
            pen.box(area.rect, "", "accent", area.radius, 2)

    @property
    def texts(self) -> Sequence[RowText]:
        return self._texts

    @property
    def built_texts(self) -> Sequence[RowText]:
        return self._texts

    def text(self, number: int) -> RowText:
        return self._texts[number]

    def block_texts(self) -> Iterator[BlockText]:
        return (BlockText(text.number, text.text()) for text in self._texts)

    @property
    def has_text(self) -> bool:
        return bool(self.accessible_notes) or any(True for _ in self.block_texts())

    def accessible_text(self) -> str:
        parts = (
            ("\n" if words.joiner is None else words.joiner) + words.text for words in self.block_texts()
        )
        return "\n".join(("".join(parts).removeprefix("\n"), *self.accessible_notes)).removeprefix("\n")

    def edge_text(self, *, last: bool) -> int | None:
        if not self._texts:
            return None
        return len(self._texts) - 1 if last else 0

    @property
    def is_busy(self) -> bool:
        """Return True if it shows work in progress, which turns."""
        return False

    def hit_area(self, name: str) -> HitArea | None:
        return next((area for area in self.hit_areas if area.name == name), None)

    def hit_area_for(self, kind: type[object]) -> HitArea | None:
        return next((area for area in self.hit_areas if isinstance(area.action, kind)), None)

    def hit_area_at(self, x: float, y: float) -> HitArea | None:
        """Return the place at a point; of nested ones the later, which lies on top."""
        point = QPointF(x, y)
        return next((area for area in reversed(self.hit_areas) if area.rect.contains(point)), None)

    def tip_at(self, x: float, y: float) -> str:
        point = QPointF(x, y)
        tips = (part.tip for part in reversed(self.parts) if part.tip and part.rect.contains(point))
        return next(tips, "")

    def text_at(self, x: float, y: float) -> RowText | None:
        point = QPointF(x, y)
        return next((text for text in self.built_texts if text.rect.contains(point)), None)

    def nearest_position(self, x: float, y: float) -> tuple[int, int]:
        """Return the text, by number, and the position in it nearest to a point; (0, 0) without texts."""
        if (text := self.text_at(x, y)) is not None:
            return text.number, text.position_at(x, y)
        texts = self.built_texts
        if not texts:
            return 0, 0
        at = max(0, bisect_right(texts, y, key=lambda text: text.y) - 1)
        text = texts[at]
        below = y - text.rect.bottom()
        if at + 1 < len(texts) and below > texts[at + 1].y - y:
            return texts[at + 1].number, 0
        if y < text.y:
            return text.number, 0
        return text.number, (text.length if below > 0 else text.position_at(x, y))

    def scroll_by_key(self, area: HitArea, key: int) -> bool:
        """Scroll a place that has the keyboard where an arrow key points; False for another key or place."""
        return False

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
