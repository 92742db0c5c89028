"""Which rows stand where in the viewport, and keeping them still while their heights become known."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple, Protocol

from PySide6.QtCore import QObject, QPointF, QRect, Qt, QTimer, Signal
from PySide6.QtWidgets import QScrollBar

from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import is_motion_reduced
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.rows.item import ListItem, PlacedRow
from helix_desktop.ui.rows.row_widget import RowArea, RowWidget, RowWidgetPool

_BLOCK = 512  # rows


class HeightIndex:
    """Heights in pixels with sums per block of 512: 8 bytes a row."""

    def __init__(self, heights: Iterable[float] = ()) -> None:
        self._heights = array("d", heights)
        count = len(self._heights)
        self._sums = array("d", (sum(self._heights[at : at + _BLOCK]) for at in range(0, count, _BLOCK)))
        self.total = sum(self._sums)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> float:
        return self._heights[index]

    def set(self, index: int, height: float) -> None:
        difference = height - self._heights[index]
        if difference:
            self._heights[index] = height
            self._sums[index // _BLOCK] += difference
            self.total += difference

    def insert(self, index: int, height: float) -> None:
        """Put a row before that of an index; costs what stands after it."""
        self._heights.insert(index, height)
        self._sum_from(index // _BLOCK)

    def remove(self, index: int) -> None:
        """Take a row away; costs what stands after it."""
        del self._heights[index]
        self._sum_from(index // _BLOCK)

    def _sum_from(self, block: int) -> None:
        count = len(self._heights)
        rest = (sum(self._heights[at : at + _BLOCK]) for at in range(block * _BLOCK, count, _BLOCK))
        self._sums[block:] = array("d", rest)
        self.total = sum(self._sums)

    def offset(self, index: int) -> float:
        """Distance from the top of all rows to the top of this one."""
        block = index // _BLOCK
        return sum(self._sums[:block]) + sum(self._heights[block * _BLOCK : index])

    def find(self, y: float) -> tuple[int, float]:
        """Return the row at a distance from the top, and how far below that row's top; ends are clamped."""
        if not self._heights:
            return 0, 0.0
        block = 0
        while block < len(self._sums) - 1 and y >= self._sums[block]:
            y -= self._sums[block]
            block += 1
        index = block * _BLOCK
        last = len(self._heights) - 1
        while index < last and y >= self._heights[index]:
            y -= self._heights[index]
            index += 1
        return index, max(0.0, y)


class ScrollLayout:
    """Scroll position over rows whose heights are estimates until they are visible.

    The position is an anchor row and how far its top lies above the viewport's top, so that
    correcting a height elsewhere never moves what the user reads.
    """

    def __init__(self, measure: Callable[[int], float], bottom_padding: float = 0.0) -> None:
        self._measure = measure
        self._bottom_padding = bottom_padding
        self.is_following = False  # stays at the end when rows come
        self.has_room = False  # below the last row, where one was removed: what comes fills it first
        self.heights = HeightIndex()
        self.anchor = 0
        self.offset = 0.0
        self.placed: list[PlacedRow] = []
        self.held_row: Callable[[], int | None] = lambda: None
        """Returns the row that stays still while it is in sight; None: the first one."""

    @property
    def position(self) -> float:
        """Distance scrolled from the top, in pixels, by the heights known so far."""
        return self.heights.offset(self.anchor) + self.offset if len(self.heights) else 0.0

    def max_position(self, view_height: float) -> float:
        end = max(0.0, self.heights.total + self._bottom_padding - view_height)
        return max(end, self.position) if self.has_room else end

    def is_at_end(self, view_height: float) -> bool:
        """Return True if the last row's end is in sight; needs a layout of the current state."""
        if not self.placed:
            return True
        last = self.placed[-1]
        return (
            last.row_index == len(self.heights) - 1
            and last.y + last.height + self._bottom_padding <= view_height + 2
        )

    def reset(self, estimates: Iterable[float]) -> None:
        self.heights = HeightIndex(estimates)
        self.anchor = 0
        self.offset = 0.0
        self.placed = []
        self.has_room = False

    def insert(self, index: int, estimate: float) -> None:
        is_last = index == len(self.heights)
        self.heights.insert(index, estimate)
        if index <= self.anchor and not is_last:
            self.anchor += 1

    def remove(self, index: int) -> None:
        self.heights.remove(index)
        if index < self.anchor:
            self.anchor -= 1
            return
        self.has_room = self.has_room or index > self.anchor or self.offset < 0
        if index == self.anchor:
            self.offset = min(self.offset, 0.0)
        if 0 < self.anchor == len(self.heights):
            self.anchor -= 1
            self.offset += self.heights[self.anchor]

    def scroll_by(self, pixels: float) -> None:
        """Move on by pixels; negative is toward the top."""
        self.offset += pixels

    def scroll_to(self, position: float) -> None:
        """Go to a distance from the top, as a scroll bar says it."""
        self.has_room = False
        self.anchor, self.offset = self.heights.find(position)

    def scroll_to_row(self, index: int, offset: float = 0.0) -> None:
        """Put the top of a row `offset` pixels below the viewport's top."""
        self.anchor = index
        self.offset = -offset

    def scroll_to_end(self) -> None:
        count = len(self.heights)
        self.has_room = False
        self.anchor = max(0, count - 1)
        self.offset = self._measure_exactly(self.anchor) if count else 0.0

    def layout(self, view_height: float) -> list[PlacedRow]:
        """Measure what is visible and say where it stands; clamps the position to the ends."""
        if self.is_following and not self.has_room:
            self.scroll_to_end()
        self.anchor = min(self.anchor, max(0, len(self.heights) - 1))
        self.placed = []
        if len(self.heights):
            self._settle_anchor()
            self._fill_down(view_height)
            last = self.placed[-1]
            gap = view_height - self._bottom_padding - (last.y + last.height)
            is_short = last.row_index == len(self.heights) - 1 and gap > 0
            if self.has_room and not is_short:
                self.has_room = False
                return self.layout(view_height)
            if is_short and not self.has_room:
                self._fill_up(gap)
            self.hold()
        return self.placed

    def hold(self) -> None:
        """Keep the held row where it is now, whatever comes or grows above it; else the first one."""
        if not self.placed:
            return
        held = self.held_row()
        row = next((row for row in self.placed if row.row_index == held), self.placed[0])
        self.scroll_to_row(row.row_index, row.y)

    def _measure_exactly(self, index: int) -> float:
        height = self._measure(index)
        self.heights.set(index, height)
        return height

    def _settle_anchor(self) -> None:
        while self.offset < 0 and self.anchor > 0:
            self.anchor -= 1
            self.offset += self._measure_exactly(self.anchor)
        self.offset = max(0.0, self.offset)
        height = self._measure_exactly(self.anchor)
        while self.offset >= height and self.anchor < len(self.heights) - 1:
            self.offset -= height
            self.anchor += 1
            height = self._measure_exactly(self.anchor)

    def _fill_down(self, view_height: float) -> None:
        y = -self.offset
        index = self.anchor
        while index < len(self.heights) and (y < view_height or index == self.anchor):
            height = self._measure_exactly(index)
            self.placed.append(PlacedRow(index, y, height))
            y += height
            index += 1

    def _fill_up(self, gap: float) -> None:
        self._shift(gap)
        while self.placed[0].y > 0 and self.placed[0].row_index > 0:
            index = self.placed[0].row_index - 1
            top = self.placed[0].y
            height = self._measure_exactly(index)
            self.placed.insert(0, PlacedRow(index, top - height, height))
        if self.placed[0].y > 0:
            self._shift(-self.placed[0].y)
        self.placed = [row for row in self.placed if row.y + row.height > 0 or row is self.placed[-1]]

    def _shift(self, pixels: float) -> None:
        self.placed = [PlacedRow(row.row_index, row.y + pixels, row.height) for row in self.placed]


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

    def estimates(self) -> Iterable[float]:
        """Return about how high each row is, in pixels."""

    def source_text(self, index: int) -> str:
        """Return what is copied of a row that is not laid out."""

    def column_width(self, room: int) -> float:
        """Return how wide the rows are in so much room, in pixels."""

    def clear(self) -> None: ...
    def is_plain(self, key: Any) -> bool: ...
    def show_plain(self, index: int, error: Exception) -> ListItem:
        """Show a row as its words from now on, because its item has raised `error`."""


_IDLE_S = 0.004  # of one slice while nothing else happens
_MIN_BUILD_S = 0.001  # of building, even when placing has taken all the time
_PAUSE_MS = 4  # between two of them
_LOOKAHEAD_VIEWPORTS = 1.0  # viewports above and below that are built ahead
_MAX_ROUNDS = 40  # of building and placing in one go; each makes at least one row exact


class HitResult(NamedTuple):
    """A row under a point, and the point in its item."""

    row_index: int
    item: ListItem
    x: float
    y: float


class ListViewport(QObject):
    """Lays the visible rows out, in the middle, and moves the scroll bar along; in pixels of the viewport.

    Estimated heights become exact without moving what the user reads. What takes longer than `slice_s`
    seconds to build comes into sight a frame later.
    """

    layout_changed = Signal()

    def __init__(
        self, source: RowSource, viewport: RowArea, bar: QScrollBar, bottom_px: float, *, follows_end: bool
    ) -> None:
        """`bottom_px` is the room below the last row; one that `follows_end` stays there when rows come."""
        super().__init__(viewport)
        self.source = source
        self._follows_end = follows_end
        self._area = viewport
        self.scroll_layout = ScrollLayout(
            lambda index: source.gap(index) + self.item(index).height, bottom_px
        )
        self.scroll_layout.is_following = follows_end
        self.unseen_count = 0
        self.animation_tick = 0
        self.slice_s = _SLICE_S
        self.widget_pool = RowWidgetPool(viewport)
        self.widget_pool.failed.connect(self._show_plain, Qt.ConnectionType.QueuedConnection)
        self._build_timer = QTimer(self, singleShot=True)
        self._build_timer.timeout.connect(self._build_ahead)
        self._is_visible_built = True
        self._spin_timer = QTimer(self)
        self._spin_timer.timeout.connect(self._spin)
        self._bar = bar
        self._syncing = False
        self._synced_value = 0

    @property
    def column_width(self) -> float:
        return self.source.column_width(self._area.width())

    @property
    def left(self) -> float:
        return float(round((self._area.width() - self.column_width) / 2))

    @property
    def height(self) -> int:
        return self._area.height()

    def item(self, index: int) -> ListItem:
        item = self.source.get(index)
        try:
            item.layout(self.column_width)
        except Exception as error:  # noqa: BLE001 - of one row, which must not take the others with it
            item = self.show_plain(index, error)
        return item

    def show_plain(self, index: int, error: Exception) -> ListItem:
        """Show a row as its words from now on, because its item has raised `error`."""
        item = self.source.show_plain(index, error)
        item.layout(self.column_width)
        return item

    @property
    def is_following(self) -> bool:
        return self.scroll_layout.is_following

    @property
    def is_at_end(self) -> bool:
        return self.scroll_layout.is_at_end(self.height)

    def reset(self) -> None:
        """Show other rows, from their end if it is followed."""
        self.source.clear()
        self.scroll_layout.reset(self.source.estimates())
        self.unseen_count = 0
        self.go_to_end() if self._follows_end else self.refresh()

    def repaint(self) -> None:
        self.widget_pool.update()

    def refresh(self) -> None:
        """Lay out again; stays at the end when it follows, else keeps the first visible row still."""
        self._layout()

    def go_to_end(self) -> None:
        """Show the end, and follow from now on if the list does so."""
        self.set_following(True)
        self.scroll_layout.has_room = False
        if not self.is_following:  # else the layout goes there itself, and what that takes is in its slice
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
        if pixels < 0 or not self.scroll_layout.has_room:
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
        if abs(by) <= 2 * self.height and 0 < value < self._bar.maximum():
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
        self.scroll_layout.has_room = False
        self.scroll_layout.scroll_to_row(index, scaled(8) if offset is None else offset)
        self._layout()
        if self.is_at_end:
            self.set_following(True)
            self.layout_changed.emit()

    def ensure_visible(self, index: int, area: HitArea) -> None:
        """Scroll as little as is needed to have a place of a row in sight."""
        room = self.height - _EDGE
        placed = self.placed_row(index)
        if placed is None:
            self.show_row(index, room / 3 - area.rect.y())
            return
        top = placed.y + self.source.gap(index) + area.rect.y()
        bottom = top + min(area.rect.height(), room)
        if top < _EDGE or bottom > room:
            self.scroll_by(top - _EDGE if top < _EDGE else bottom - room)

    def relayout_in_place(self, index: int) -> None:
        placed = self.placed_row(index)
        if placed is not None:
            self.scroll_layout.scroll_to_row(index, placed.y)
        following = self.is_following
        self.scroll_layout.is_following = False
        self._layout()
        self.scroll_layout.is_following = following and self._follows_end
        self.set_following(self.is_at_end)

    def placed_row(self, index: int) -> PlacedRow | None:
        """Return where a row stands; None when it is out of sight."""
        return next((row for row in self.scroll_layout.placed if row.row_index == index), None)

    def place_of(self, index: int, area: HitArea) -> QRect:
        """Return where a place of a row in sight stands in the viewport."""
        placed = self.placed_row(index)
        top = (placed.y if placed is not None else 0.0) + self.source.gap(index)
        return area.rect.translated(self.left, top).toRect()

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
        return HitResult(placed.row_index, item, point.x() - self.left, point.y() - top)

    def _layout(self) -> None:
        deadline = time.perf_counter() + self.slice_s
        self.scroll_layout.layout(self.height)
        self._build(deadline)
        rows = [
            (row, self.source.get(row.row_index), self.source.gap(row.row_index))
            for row in self.scroll_layout.placed
        ]
        self.widget_pool.place(rows, self.left)
        self._sync_bar()
        if not self._busy_widgets():
            self._spin_timer.stop()
        elif not self._spin_timer.isActive():
            self._spin_timer.start(_CLOCK_MS if is_motion_reduced() else _SPIN_MS)
        self.layout_changed.emit()

    def _show_plain(self, key: Hashable, error: Exception) -> None:
        index = self.source.index_of(key)
        if index is not None and not self.source.is_plain(key):
            self.show_plain(index, error)
            self.refresh()
            self.repaint()

    def _build(self, deadline: float) -> None:
        """Build what is in sight of the placed rows and place them again; goes on later when time is up.

        `deadline` is a time of time.perf_counter.
        """
        deadline = max(deadline, time.perf_counter() + _MIN_BUILD_S)
        for _ in range(_MAX_ROUNDS):
            before = [(row.row_index, row.height) for row in self.scroll_layout.placed]
            self._is_visible_built = self._build_placed(0.0, deadline)
            self.scroll_layout.layout(self.height)
            if before == [(row.row_index, row.height) for row in self.scroll_layout.placed]:
                break
            if time.perf_counter() > deadline:
                self._is_visible_built = False
                break
        self._build_timer.start(0 if not self._is_visible_built else _PAUSE_MS)

    def _build_ahead(self) -> None:
        if not self._is_visible_built:
            self._show_built()
            return
        deadline = time.perf_counter() + _IDLE_S
        before = list(self.scroll_layout.placed)
        done = self._build_placed(_LOOKAHEAD_VIEWPORTS, deadline)
        self.scroll_layout.layout(self.height)
        if before != self.scroll_layout.placed:
            self._show_built()
        if done and self._for_placed(lambda _, item: item.read_ahead(deadline)):
            self._build_timer.stop()
        else:
            self._build_timer.start(_PAUSE_MS)

    def _show_built(self) -> None:
        """Paint what was built, also in rows whose place and height stay as they are."""
        self._layout()
        self.repaint()

    def _for_placed(self, work: Callable[[PlacedRow, ListItem], bool]) -> bool:
        """Do some work on each placed row, from the end if that is followed; return True if all is done."""
        done = True
        placed = self.scroll_layout.placed
        for row in reversed(placed) if self.is_following else placed:
            try:
                done = work(row, self.item(row.row_index)) and done
            except Exception as error:  # noqa: BLE001 - of one row, which must not take the others with it
                self.show_plain(row.row_index, error)
                done = False
        return done

    def _build_placed(self, lookahead: float, deadline: float) -> bool:
        """Build each placed row within the viewport, or as far as `lookahead` viewports beyond."""
        height = self.height
        margin = lookahead * height

        def build(row: PlacedRow, item: ListItem) -> bool:
            top = -row.y - self.source.gap(row.row_index)
            bottom = top + height
            is_first = row is self.scroll_layout.placed[0]
            ends_in_sight = is_first and row.y + row.height <= height and row.y < 0
            upwards = self.is_following or ends_in_sight
            pin = item.scroll_anchor(top, bottom, at_end=upwards)
            stood = item.anchor_top(pin)
            done = item.build(top - margin, bottom + margin, deadline, upwards=upwards)
            if is_first and row.row_index == self.scroll_layout.anchor:
                self.scroll_layout.scroll_by(item.anchor_top(pin) - stood)
            return done

        return self._for_placed(build)

    def _sync_bar(self) -> None:
        height = self.height
        self._syncing = True
        self._bar.setRange(0, round(self.scroll_layout.max_position(height)))
        self._bar.setPageStep(height)
        self._bar.setSingleStep(scaled(22))
        self._bar.setValue(round(self.scroll_layout.position))
        self._synced_value = self._bar.value()
        self._syncing = False

    def _busy_widgets(self) -> list[RowWidget]:
        visible = self.widget_pool.visible.values()
        return [widget for widget in visible if widget.item is not None and widget.item.is_busy]

    def _spin(self) -> None:
        """Turn what shows work in progress, and let its clock go on, while any of it is in sight."""
        if not is_motion_reduced():
            self.animation_tick += 1
        for widget in self._busy_widgets():
            widget.update()
