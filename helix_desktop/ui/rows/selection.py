"""A selection that runs across rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from helix_desktop.ui.rows.item import BlockText, ListItem
from helix_desktop.ui.rows.viewport import RowSource

_MAX_RENDERED_ROWS = 200  # larger selections are copied from the rows' source, so that copying stays quick


class TextPosition(NamedTuple):
    """A place between two characters: row, text of that row, position in the text."""

    row: int
    text: int
    position: int


class Selection:
    """From an anchor to a head; empty when they are the same."""

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self.anchor: TextPosition | None = None
        self.head: TextPosition | None = None

    def __bool__(self) -> bool:
        return self.anchor is not None and self.anchor != self.head

    def clear(self) -> None:
        self.anchor = self.head = None

    def on_row_added(self, index: int) -> None:
        """Select nothing if it reaches to a row that moves down."""
        bounds = self.bounds()
        if bounds is not None and bounds[1].row >= index:
            self.clear()

    def start(self, position: TextPosition) -> None:
        self.anchor = self.head = position

    def extend(self, position: TextPosition) -> None:
        if self.anchor is None:
            self.anchor = position
        self.head = position

    def select(self, first: TextPosition, last: TextPosition) -> None:
        self.anchor, self.head = first, last

    def bounds(self) -> tuple[TextPosition, TextPosition] | None:
        """Return the earlier and the later end, or None when nothing is selected."""
        if self.anchor is None or self.head is None or self.anchor == self.head:
            return None
        return min(self.anchor, self.head), max(self.anchor, self.head)

    def ranges(self, index: int, item: ListItem) -> dict[int, tuple[int, int]]:
        """Return the selected positions of a row that are in sight or near, by number of the text."""
        bounds = self.bounds()
        if bounds is None or not bounds[0].row <= index <= bounds[1].row:
            return {}
        first, last = bounds
        result = {}
        for text in item.built_texts:
            number = text.number
            start = first.position if (index, number) == first[:2] else 0
            end = last.position if (index, number) == last[:2] else text.length
            if (index, number) >= first[:2] and (index, number) <= last[:2] and start < end:
                result[number] = (start, end)
        return result

    def select_row(self, index: int) -> None:
        bounds = self._row_bounds(index)
        if bounds is not None:
            self.select(*bounds)

    def select_all(self) -> None:
        last = self._source.count() - 1
        if last >= 0:
            last_bounds, first = self._row_bounds(last), self._row_bounds(0)
            self.select(
                first[0] if first else TextPosition(0, 0, 0),
                last_bounds[1] if last_bounds else TextPosition(last, 0, 1),
            )

    def is_row_selected(self, index: int) -> bool:
        """Return True if exactly one row is selected as a whole."""
        bounds = self._row_bounds(index)
        return bounds is not None and self.bounds() == bounds

    def text(self) -> str:
        """Return the selected words as they are shown, rows apart by an empty line."""
        bounds = self.bounds()
        if bounds is None:
            return ""
        first, last = bounds
        many = last.row - first.row > _MAX_RENDERED_ROWS
        parts = []
        for index in range(first.row, min(last.row, self._source.count() - 1) + 1):
            if many and first.row < index < last.row:
                parts.append(self._source.source_text(index))
                continue
            parts.append(_join_texts(self._selected_texts(index, first, last)))
        return "\n\n".join(part for part in parts if part)

    def _row_bounds(self, index: int) -> tuple[TextPosition, TextPosition] | None:
        item = self._source.get(index)
        first, last = item.edge_text(last=False), item.edge_text(last=True)
        if first is None or last is None:
            return None
        return TextPosition(index, first, 0), TextPosition(index, last, item.text(last).length)

    def _selected_texts(self, index: int, first: TextPosition, last: TextPosition) -> Iterator[BlockText]:
        """Return a row's selected text; positions are needed only where the selection starts and ends."""
        item = self._source.get(index)
        for words in item.block_texts():
            at = (index, words.number)
            if not first[:2] <= at <= last[:2]:
                continue
            if at in (first[:2], last[:2]):
                text = item.text(words.number)
                start = first.position if at == first[:2] else 0
                end = last.position if at == last[:2] else text.length
                if start < end:
                    yield words._replace(text=text.text(start, end))
            else:
                yield words


def _join_texts(selected: Iterable[BlockText]) -> str:
    """Words of one row: items of a list below each other, others apart by an empty line."""
    parts: list[str] = []
    after_item = False
    for words in selected:
        if any(parts):
            separator = "\n" if after_item and words.is_list_item else "\n\n"
            parts.append(separator if words.joiner is None else words.joiner)
        parts.append(words.text)
        after_item = words.is_list_item
    return "".join(parts)
