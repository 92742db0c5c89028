"""The way that Tab takes through the buttons of all rows, in sight or not."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.items.painting import HitArea
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport
from helix_desktop.ui.chat.viewport.row_widget import RowWidget
from helix_desktop.ui.chat.viewport.scroll_layout import PlacedRow

_MAX_SEARCH_ROWS = 200  # rows; Tab does not search further for a button


class FocusOrder(QObject):
    """Knows the place that has the keyboard, and moves it on."""

    def __init__(self, chat_viewport: ChatViewport) -> None:
        super().__init__(chat_viewport)
        self._chat_viewport = chat_viewport

    def step(self, forward: bool) -> bool:
        """Go to the next place, or the one before; False when there is none within reach."""
        widget = self._chat_viewport.widget_pool.focused_widget()
        if widget is None or widget.item is None:
            return forward and self.enter(forward=True)
        stop = widget.stop_name
        self._build_next(widget.item, stop, forward)
        names = [area.name for area in widget.item.hit_areas]
        at = names.index(stop) if stop in names else -1
        at += 1 if forward else -1
        if 0 <= at < len(names):
            return self._focus(widget.index, widget.item.hit_areas[at])
        return self._search(widget.index + (1 if forward else -1), forward)

    def enter(self, *, forward: bool) -> bool:
        """Come in from outside: to the first visible place; backward to the last, or where a row wants it."""
        placed = self._chat_viewport.scroll_layout.placed
        if not placed:
            return False
        visible = [(row.row_index, area) for row in placed for area in self.visible_areas(row)]
        if not forward:
            entries = {
                row.row_index: self._chat_viewport.item(row.row_index).backward_entry for row in placed
            }
            visible = [(row, area) for row, area in visible if area.name == entries[row]] or visible[-1:]
        if visible:
            return self._focus(*visible[0])
        return self._search(placed[-1 if forward else 0].row_index, forward)

    def visible_areas(self, placed: PlacedRow) -> list[HitArea]:
        """Return the places of a row that are wholly in sight."""
        top = placed.y + self._chat_viewport.item_cache.gap(placed.row_index)
        height = self._chat_viewport.column.height
        areas = self._chat_viewport.item(placed.row_index).hit_areas
        return [area for area in areas if top + area.rect.top() >= 0 and top + area.rect.bottom() <= height]

    def _build_next(self, item: RowItem, name: str, forward: bool) -> None:
        """Have the place after, or before, a place built; without a name the first, or last, of the item."""
        here = item.hit_area(name)
        edge = 0.0 if forward else item.height
        edge = here.rect.y() if here is not None else edge
        heights = [area.rect.y() for area in item.hit_areas if area.name != name]
        if forward:
            item.build_hit_area(
                edge, min((y for y in heights if y > edge), default=item.height), forward=True
            )
        else:
            item.build_hit_area(max((y for y in heights if y < edge), default=0.0), edge, forward=False)

    def _search(self, index: int, forward: bool) -> bool:
        step = 1 if forward else -1
        for _ in range(_MAX_SEARCH_ROWS):
            if not 0 <= index < len(self._chat_viewport.model):
                return False
            item = self._chat_viewport.item(index)
            self._build_next(item, "", forward)
            if item.hit_areas:
                return self._focus(index, item.hit_areas[0 if forward else -1])
            index += step
        return False

    def _focus(self, index: int, area: HitArea) -> bool:
        self._chat_viewport.ensure_visible(index, area)
        widget = self._widget(index)
        if widget is not None:
            widget.focus_area(area.name)
        return widget is not None

    def _widget(self, index: int) -> RowWidget | None:
        return self._chat_viewport.widget_pool.visible.get(self._chat_viewport.model.raw_row(index).key)
