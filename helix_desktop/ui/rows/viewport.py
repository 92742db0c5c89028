"""Where rows stand in the viewport, and keeping them still while their heights become known."""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import Any, NamedTuple, Protocol

from PySide6.QtCore import QObject, QPointF, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtWidgets import QScrollBar, QWidget

from helix_desktop.ui.design.mirror import visual_rect
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import is_motion_reduced
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.rows.item import ListItem
from helix_desktop.ui.rows.row_widget import RowArea, RowWidget, RowWidgetPool
from helix_desktop.ui.rows.scroll_layout import PlacedRow, ScrollLayout

_SPIN_MS = 90
_CLOCK_MS = 500  # a clock that shows whole seconds goes on where nothing may move
_SLICE_S = 0.0045  # of placing and building in one go: painting takes as long again
_EDGE = 8.0  # room kept around what Tab brings into sight, pixels


class RowSource(Protocol):
    """The rows of a list by index and by key, and their items, made when they are needed."""

    def count(self) -> int: ...
    def key(self, index: int) -> Hashable: ...
    def index_of(self, key: Any) -> int | None: ...
    def get(self, index: int) -> ListItem:
        """Return the item of a row; not laid out."""

    def gap(self, index: int) -> float:
        """Return the room above a row, in pixels."""

    def estimate(self, index: int) -> float:
        """Return about how high a row is, in pixels."""

    def source_text(self, index: int) -> str:
        """Return what is copied of a row that is not laid out."""

    def column_width(self, room: int) -> float:
        """Return how wide the rows are in so much room, in pixels."""

    def clear(self) -> None: ...
    def is_plain(self, key: Any) -> bool: ...
    def show_plain(self, index: int, error: Exception) -> ListItem:
        """Show a row as its words from now on, because its item has raised `error`."""


class TextColumn:
    """Where the rows stand, in the middle; all measures in pixels of the viewport."""

    def __init__(self, viewport: QWidget, source: RowSource) -> None:
        self._viewport = viewport
        self._source = source

    @property
    def width(self) -> float:
        return self._source.column_width(self._viewport.width())

    @property
    def left(self) -> float:
        return float(round((self._viewport.width() - self.width) / 2))

    @property
    def height(self) -> int:
        """Height of what is in sight."""
        return self._viewport.height()

    def item(self, index: int) -> ListItem:
        """Return the item of a row, laid out for the column."""
        item = self._source.get(index)
        try:
            item.layout(self.width)
        except Exception as error:  # noqa: BLE001 - of one row, which must not take the others with it
            item = self.show_plain(index, error)
        return item

    def show_plain(self, index: int, error: Exception) -> ListItem:
        """Show a row as its words from now on, because its item has raised `error`."""
        item = self._source.show_plain(index, error)
        item.layout(self.width)
        return item

    def gap(self, index: int) -> float:
        return self._source.gap(index)

    def row_height(self, index: int) -> float:
        """Height of a row with the room above it."""
        return self.gap(index) + self.item(index).height


_IDLE_S = 0.004  # of one slice while nothing else happens
_MIN_BUILD_S = 0.001  # of building, even when placing has taken all the time
_PAUSE_MS = 4  # between two of them
_LOOKAHEAD_VIEWPORTS = 1.0  # viewports above and below that are built ahead
_MAX_ROUNDS = 40  # of building and placing in one go; each makes at least one row exact


class IncrementalBuilder(QObject):
    """Replaces estimated heights with exact ones without moving what the user reads."""

    rows_moved = Signal()
    """What was built has moved rows, or is to be placed again."""

    def __init__(self, parent: QObject, scroll_layout: ScrollLayout, column: TextColumn) -> None:
        super().__init__(parent)
        self._scroll_layout = scroll_layout
        self._column = column
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._build_ahead)
        self._is_visible_built = True

    def build(self, deadline: float) -> None:
        """Build what is in sight of the placed rows and place them again; goes on later when time is up.

        `deadline` is a time of time.perf_counter.
        """
        deadline = max(deadline, time.perf_counter() + _MIN_BUILD_S)
        for _ in range(_MAX_ROUNDS):
            before = [(row.row_index, row.height) for row in self._scroll_layout.placed]
            self._is_visible_built = self._pass(0.0, deadline)
            self._place()
            if before == [(row.row_index, row.height) for row in self._scroll_layout.placed]:
                break
            if time.perf_counter() > deadline:
                self._is_visible_built = False
                break
        self._timer.start(0 if not self._is_visible_built else _PAUSE_MS)

    def _build_ahead(self) -> None:
        if not self._is_visible_built:
            self.rows_moved.emit()
            return
        deadline = time.perf_counter() + _IDLE_S
        before = list(self._scroll_layout.placed)
        done = self._pass(_LOOKAHEAD_VIEWPORTS, deadline)
        self._place()
        if before != self._scroll_layout.placed:
            self.rows_moved.emit()
        if done and self._read_ahead(deadline):
            self._timer.stop()
        else:
            self._timer.start(_PAUSE_MS)

    def _place(self) -> None:
        if self._scroll_layout.is_following:
            self._scroll_layout.scroll_to_end()
        self._scroll_layout.layout(self._column.height)

    def _pass(self, lookahead: float, deadline: float) -> bool:
        """Build each placed row within the viewport, or as far as `lookahead` viewports beyond."""
        done, placed = True, self._scroll_layout.placed
        for row in reversed(placed) if self._scroll_layout.is_following else placed:
            try:
                done = self._build(row, lookahead * self._column.height, deadline) and done
            except Exception as error:  # noqa: BLE001 - of one row, which must not take the others with it
                self._column.show_plain(row.row_index, error)
                done = False
        return done

    def _build(self, row: PlacedRow, margin: float, deadline: float) -> bool:
        item, height = self._column.item(row.row_index), self._column.height
        top = -row.y - self._column.gap(row.row_index)
        bottom = top + height
        is_first = row is self._scroll_layout.placed[0]
        ends_in_sight = is_first and row.y + row.height <= height and row.y < 0
        upwards = self._scroll_layout.is_following or ends_in_sight
        pin = item.scroll_anchor(top, bottom, at_end=upwards)
        stood = item.anchor_top(pin)
        done = item.build(top - margin, bottom + margin, deadline, upwards=upwards)
        if is_first:
            self._scroll_layout.scroll_by(item.anchor_top(pin) - stood)
        return done

    def _read_ahead(self, deadline: float) -> bool:
        for row in self._scroll_layout.placed:
            try:
                if not self._column.item(row.row_index).read_ahead(deadline):
                    return False
            except Exception as error:  # noqa: BLE001 - as above
                self._column.show_plain(row.row_index, error)
                return False
        return True


class HitResult(NamedTuple):
    """A row under a point, and the point in its item."""

    row_index: int
    item: ListItem
    x: float
    y: float


class ListViewport(QObject):
    """Lays the visible rows out, and moves the scroll bar along.

    What takes longer than `slice_s` seconds to build comes into sight a frame later.
    """

    layout_changed = Signal()

    def __init__(
        self, source: RowSource, viewport: RowArea, bar: QScrollBar, bottom_px: float, *, follows_end: bool
    ) -> None:
        """`bottom_px` is the room below the last row; one that `follows_end` stays there when rows come."""
        super().__init__(viewport)
        self.source = source
        self._follows_end = follows_end
        self.column = TextColumn(viewport, source)
        self.scroll_layout = ScrollLayout(self.column.row_height, bottom_px)
        self.scroll_layout.is_following = follows_end
        self.unseen_count = 0
        self.animation_tick = 0
        self.slice_s = _SLICE_S
        self.widget_pool = RowWidgetPool(viewport)
        self._builder = IncrementalBuilder(self, self.scroll_layout, self.column)
        self._builder.rows_moved.connect(self._show_built)
        self.widget_pool.failed.connect(self._show_plain, Qt.ConnectionType.QueuedConnection)
        self._bar = bar
        self._syncing = False
        self._synced_value = 0

    def px(self, size: float) -> float:
        """Return a measure at the text size in force."""
        return size * scaled(100) / 100

    @property
    def is_following(self) -> bool:
        """Return True if it stays at the end when rows come."""
        return self.scroll_layout.is_following

    @property
    def is_at_end(self) -> bool:
        return self.scroll_layout.is_at_end(self.column.height)

    def reset(self) -> None:
        """Show other rows, from their end if it is followed."""
        self.source.clear()
        self.scroll_layout.reset(map(self.source.estimate, range(self.source.count())))
        self.unseen_count = 0
        self.go_to_end() if self._follows_end else self.refresh()

    def repaint(self) -> None:
        self.widget_pool.update()

    def refresh(self) -> None:
        """Lay out again; stays at the end when it follows, else keeps the first visible row still."""
        deadline = time.perf_counter() + self.slice_s
        if self.is_following:
            self.scroll_layout.scroll_to_end()
        self._layout(deadline)

    def go_to_end(self) -> None:
        """Show the end, and follow from now on if the list does so."""
        self.set_following(True)
        self.scroll_layout.scroll_to_end()
        self.refresh()

    def set_following(self, following: bool) -> None:
        if following:
            self.unseen_count = 0
        self.scroll_layout.is_following = following and self._follows_end

    def scroll_by(self, pixels: float) -> None:
        """Move on; up stops following, reaching the end starts it."""
        if pixels < 0:
            self.set_following(False)
        self.scroll_layout.scroll_by(pixels)
        self._layout()
        if pixels > 0 and self.is_at_end:
            self.set_following(True)
            self.layout_changed.emit()

    def on_bar_moved(self) -> None:
        if self._syncing:
            return
        value = self._bar.value()
        by = value - self._synced_value
        if abs(by) <= 2 * self.column.height and 0 < value < self._bar.maximum():
            self.scroll_by(by)
            return
        if by < 0:
            self.set_following(False)
        if value == self._bar.maximum():
            self.go_to_end()
        else:
            self.scroll_layout.scroll_to(value)
            self._layout()

    def show_row(self, index: int, offset: float | None = None) -> None:
        """Scroll a row to `offset` pixels below the top, by default a small margin."""
        self.set_following(False)
        self.scroll_layout.scroll_to_row(index, self.px(8) if offset is None else offset)
        self._layout()
        if self.is_at_end:
            self.set_following(True)
            self.layout_changed.emit()

    def ensure_visible(self, index: int, area: HitArea) -> None:
        """Scroll as little as is needed to have a place of a row in sight."""
        room = self.column.height - _EDGE
        placed = self.placed_row(index)
        if placed is None:
            self.show_row(index, room / 3 - area.rect.y())
            return
        top = placed.y + self.source.gap(index) + area.rect.y()
        bottom = top + min(area.rect.height(), room)
        if top < _EDGE or bottom > room:
            self.scroll_by(top - _EDGE if top < _EDGE else bottom - room)

    def relayout_in_place(self, index: int) -> None:
        """Lay out again with the top of a visible row staying where it is."""
        placed = self.placed_row(index)
        if placed is not None:
            self.scroll_layout.scroll_to_row(index, placed.y)
        following, self.scroll_layout.is_following = self.is_following, False
        self._layout()
        self.scroll_layout.is_following = following and self._follows_end
        self.set_following(self.is_at_end)

    def item(self, index: int) -> ListItem:
        return self.column.item(index)

    def placed_row(self, index: int) -> PlacedRow | None:
        """Return where a row stands; None when it is out of sight."""
        return next((row for row in self.scroll_layout.placed if row.row_index == index), None)

    def place_of(self, index: int, area: HitArea) -> QRect:
        """Return where a place of a row in sight stands in the viewport."""
        placed = self.placed_row(index)
        top = (placed.y if placed is not None else 0.0) + self.source.gap(index)
        return visual_rect(area.rect, self.column.width).translated(self.column.left, top).toRect()

    def hit_test(self, point: QPointF) -> HitResult | None:
        """Return the row at, or nearest to, a point of the viewport; None when there are no rows."""
        if not self.scroll_layout.placed:
            return None
        placed = self.scroll_layout.placed[0]
        for row in self.scroll_layout.placed:
            if row.y > point.y():
                break
            placed = row
        item = self.item(placed.row_index)
        top = placed.y + self.source.gap(placed.row_index)
        here = visual_rect(QRectF(point.x() - self.column.left, point.y() - top, 0, 0), item.width)
        return HitResult(placed.row_index, item, here.x(), here.y())

    def _layout(self, deadline: float | None = None) -> None:
        deadline = deadline or time.perf_counter() + self.slice_s
        self.scroll_layout.layout(self.column.height)
        self._builder.build(deadline)
        rows = [
            (row, self.source.get(row.row_index), self.source.gap(row.row_index))
            for row in self.scroll_layout.placed
        ]
        self.widget_pool.place(rows, self.column.left)
        self._sync_bar()
        self.layout_changed.emit()

    def _show_plain(self, key: Hashable, error: Exception) -> None:
        index = self.source.index_of(key)
        if index is not None and not self.source.is_plain(key):
            self.column.show_plain(index, error)
            self.refresh()
            self.repaint()

    def _show_built(self) -> None:
        """Paint what was built, also in rows whose place and height stay as they are."""
        self._layout()
        self.repaint()

    def _sync_bar(self) -> None:
        height = self.column.height
        self._syncing = True
        self._bar.setRange(0, round(self.scroll_layout.max_position(height)))
        self._bar.setPageStep(height)
        self._bar.setSingleStep(round(self.px(22)))
        self._bar.setValue(round(self.scroll_layout.position))
        self._synced_value = self._bar.value()
        self._syncing = False


class Spinner(QObject):
    """Turns what shows work in progress, and lets its clock go on, while any of it is in sight."""

    def __init__(self, viewport: ListViewport) -> None:
        super().__init__(viewport)
        self._viewport = viewport
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._spin)
        viewport.layout_changed.connect(self._update_timer)

    def _busy(self) -> list[RowWidget]:
        visible = self._viewport.widget_pool.visible.values()
        return [widget for widget in visible if widget.item is not None and widget.item.is_busy]

    def _update_timer(self) -> None:
        if not self._busy():
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start(_CLOCK_MS if is_motion_reduced() else _SPIN_MS)

    def _spin(self) -> None:
        if not is_motion_reduced():
            self._viewport.animation_tick += 1
        for widget in self._busy():
            widget.update()
