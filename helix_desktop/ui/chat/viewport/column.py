"""The rows as they are laid out in the column of text in the middle of the viewport."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.style import MAX_COLUMN_WIDTH, MIN_MARGIN
from helix_desktop.ui.chat.viewport.item_cache import ItemCache


class TextColumn:
    """At most 760 px wide (at zoom 1), centered; all measures in pixels of the viewport."""

    def __init__(self, viewport: QWidget, item_cache: ItemCache) -> None:
        self._viewport = viewport
        self._item_cache = item_cache

    @property
    def width(self) -> float:
        """Width of a row."""
        margin = MIN_MARGIN if self._viewport.width() > MAX_COLUMN_WIDTH else MIN_MARGIN / 2
        widest = self._item_cache.style.px(MAX_COLUMN_WIDTH)
        return max(120.0, min(widest, self._viewport.width() - 2 * margin))

    @property
    def left(self) -> float:
        """Left edge of the rows."""
        return float(round((self._viewport.width() - self.width) / 2))

    @property
    def height(self) -> int:
        """Height of what is in sight."""
        return self._viewport.height()

    def item(self, index: int) -> RowItem:
        """Return the item of a row, laid out for the column."""
        item = self._item_cache.get(index)
        try:
            item.layout(self.width)
        except Exception as error:  # noqa: BLE001 - of one row, which must not take the others with it
            item = self.show_plain(index, error)
        return item

    def show_plain(self, index: int, error: Exception) -> RowItem:
        """Show a row as its words from now on, because its item has raised `error`."""
        item = self._item_cache.show_plain(index, error)
        item.layout(self.width)
        return item

    def gap(self, index: int) -> float:
        """Room above a row."""
        return self._item_cache.gap(index)

    def row_height(self, index: int) -> float:
        """Height of a row with the room above it."""
        return self.gap(index) + self.item(index).height
