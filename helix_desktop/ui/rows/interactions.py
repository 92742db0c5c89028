"""What the rows' widgets ask for, what their buttons do, and the way that Tab takes through them."""

from __future__ import annotations

from collections.abc import Hashable

from PySide6.QtCore import QObject, QRectF, Signal

from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.ui.kit.boxes import HitArea, PaintState, TextMark, color_of
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.ui.rows.item import ListItem
from helix_desktop.ui.rows.mouse import AreaId, ListMouse
from helix_desktop.ui.rows.row_widget import RowWidget
from helix_desktop.ui.rows.scroll_layout import PlacedRow
from helix_desktop.ui.rows.selection import Selection
from helix_desktop.ui.rows.viewport import ListViewport

_MAX_SEARCH_ROWS = 200  # rows; Tab does not search further for a button


class FocusOrder(QObject):
    def __init__(self, rows: ListViewport) -> None:
        super().__init__(rows)
        self._rows = rows

    def step(self, forward: bool) -> bool:
        """Go to the next place, or the one before; False when there is none within reach."""
        widget = self._rows.widget_pool.focused_widget()
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
        placed = self._rows.scroll_layout.placed
        if not placed:
            return False
        visible = [(row.row_index, area) for row in placed for area in self.visible_areas(row)]
        if not forward:
            entries = {row.row_index: self._rows.item(row.row_index).backward_entry for row in placed}
            visible = [(row, area) for row, area in visible if area.name == entries[row]] or visible[-1:]
        if visible:
            return self._focus(*visible[0])
        return self._search(placed[-1 if forward else 0].row_index, forward)

    def focus_area(self, key: Hashable, *names: str) -> bool:
        """Go to the first of these places that a row has; False if it has none of them."""
        index = self._rows.source.index_of(key)
        if index is None:
            return False
        item = self._rows.item(index)
        found = (area for name in names if (area := item.hit_area(name)) is not None)
        area = next(found, None)
        return area is not None and self._focus(index, area)

    def visible_areas(self, placed: PlacedRow) -> list[HitArea]:
        """Return the places of a row that are wholly in sight."""
        top = placed.y + self._rows.source.gap(placed.row_index)
        height = self._rows.column.height
        areas = self._rows.item(placed.row_index).hit_areas
        return [area for area in areas if top + area.rect.top() >= 0 and top + area.rect.bottom() <= height]

    def _build_next(self, item: ListItem, name: str, forward: bool) -> None:
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
            if not 0 <= index < self._rows.source.count():
                return False
            item = self._rows.item(index)
            self._build_next(item, "", forward)
            if item.hit_areas:
                return self._focus(index, item.hit_areas[0 if forward else -1])
            index += step
        return False

    def _focus(self, index: int, area: HitArea) -> bool:
        self._rows.ensure_visible(index, area)
        widget = self._widget(index)
        if widget is not None:
            widget.focus_area(area.name)
        return widget is not None

    def _widget(self, index: int) -> RowWidget | None:
        return self._rows.widget_pool.visible.get(self._rows.source.key(index))


class ListInteractions(QObject):
    focus_leave_requested = Signal(bool)

    def __init__(self, rows: ListViewport, mouse: ListMouse, selection: Selection) -> None:
        super().__init__(rows)
        self._rows, self._mouse, self._selection = rows, mouse, selection
        self.focus = FocusOrder(rows)
        pool = rows.widget_pool
        pool.paint_state = self._paint_state
        pool.focus_stepped.connect(self._step_focus)
        for clicked in (mouse.clicked, pool.activated):
            clicked.connect(self._activate)

    def _paint_state(self, index: int, item: ListItem) -> PaintState:
        return PaintState(
            QRectF(),
            hovered=name_in(item.key, self._mouse.hovered),
            pressed=name_in(item.key, self._mouse.pressed),
            tick=self._rows.animation_tick,
            marks=self._marks(index, item),
        )

    def _activate(self, index: int, area: HitArea) -> None:
        if isinstance(area.action, Intent):
            perform(self, area.action)

    def _step_focus(self, forward: bool) -> None:
        """Move the keyboard to the next place; leaves the list after the last one."""
        if not self.focus.step(forward):
            self.focus_leave_requested.emit(forward)

    def _marks(self, index: int, item: ListItem) -> dict[int, list[TextMark]]:
        color = color_of(current_theme().text_selection)
        ranges = self._selection.ranges(index, item).items()
        return {number: [TextMark(*span, color)] for number, span in ranges}


def name_in(key: Hashable, area: AreaId | None) -> str:
    """Return the name of a place if it is in the row of a key."""
    return area[1] if area is not None and area[0] == key else ""
