"""A selection that runs across messages."""

from __future__ import annotations

from typing import NamedTuple

from helix_desktop.ui.chat.model import ChatModel
from helix_desktop.ui.chat.rows import source_text
from helix_desktop.ui.chat.sheet import Sheet
from helix_desktop.ui.chat.sheets import Sheets

_RENDERED = 200  # rows; larger selections are copied from the rows' source, so that copying stays quick


class Spot(NamedTuple):
    """A place between two characters: row, text of that row, position in the text."""

    row: int
    text: int
    position: int


class Selection:
    """From an anchor to a head; empty when they are the same."""

    def __init__(self, model: ChatModel, sheets: Sheets) -> None:
        self._model = model
        self._sheets = sheets
        self.anchor: Spot | None = None
        self.head: Spot | None = None

    def __bool__(self) -> bool:
        return self.anchor is not None and self.anchor != self.head

    def clear(self) -> None:
        """Select nothing."""
        self.anchor = self.head = None

    def start(self, spot: Spot) -> None:
        """Put the anchor."""
        self.anchor = self.head = spot

    def extend(self, spot: Spot) -> None:
        """Move the head."""
        if self.anchor is None:
            self.anchor = spot
        self.head = spot

    def cover(self, first: Spot, last: Spot) -> None:
        """Select from one spot to another."""
        self.anchor, self.head = first, last

    def bounds(self) -> tuple[Spot, Spot] | None:
        """The earlier and the later end, or None when nothing is selected."""
        if self.anchor is None or self.head is None or self.anchor == self.head:
            return None
        return min(self.anchor, self.head), max(self.anchor, self.head)

    def ranges(self, index: int, sheet: Sheet) -> dict[int, tuple[int, int]]:
        """Selected positions of a row, by number of its text."""
        bounds = self.bounds()
        if bounds is None or not bounds[0].row <= index <= bounds[1].row:
            return {}
        first, last = bounds
        result = {}
        for number, text in enumerate(sheet.texts):
            start = first.position if (index, number) == first[:2] else 0
            end = last.position if (index, number) == last[:2] else text.length
            if (index, number) >= first[:2] and (index, number) <= last[:2] and start < end:
                result[number] = (start, end)
        return result

    def select_row(self, index: int) -> None:
        """Select all words of one row."""
        texts = self._sheets.get(index).texts
        if texts:
            self.cover(Spot(index, 0, 0), Spot(index, len(texts) - 1, texts[-1].length))

    def select_all(self) -> None:
        """Select all rows."""
        last = len(self._model) - 1
        if last >= 0:
            texts = self._sheets.get(last).texts
            end = Spot(last, len(texts) - 1, texts[-1].length) if texts else Spot(last, 0, 1)
            self.cover(Spot(0, 0, 0), end)

    def covers_row(self, index: int) -> bool:
        """Whether exactly one row is selected as a whole."""
        texts = self._sheets.get(index).texts
        whole = (Spot(index, 0, 0), Spot(index, len(texts) - 1, texts[-1].length)) if texts else None
        return whole is not None and self.bounds() == whole

    def text(self) -> str:
        """The selected words as they are shown, rows apart by an empty line."""
        bounds = self.bounds()
        if bounds is None:
            return ""
        first, last = bounds
        many = last.row - first.row > _RENDERED
        parts = []
        for index in range(first.row, min(last.row, len(self._model) - 1) + 1):
            if many and first.row < index < last.row:
                parts.append(source_text(self._model.row(index)))
                continue
            sheet = self._sheets.get(index)
            ranges = self.ranges(index, sheet)
            parts.append(_joined(sheet, ranges))
        return "\n\n".join(part for part in parts if part)


def _joined(sheet: Sheet, ranges: dict[int, tuple[int, int]]) -> str:
    """The words of some texts of a sheet: items of a list below each other, others apart by an empty line."""
    words = ""
    after_item = False
    for number, span in ranges.items():
        text = sheet.texts[number]
        if words:
            words += "\n" if after_item and text.is_item else "\n\n"
        words += text.text(*span)
        after_item = text.is_item
    return words
