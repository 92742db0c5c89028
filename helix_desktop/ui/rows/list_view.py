"""A list of rows of unlike height on screen: scrolled, selected and used by mouse and keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QContextMenuEvent,
    QCursor,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QMenu, QToolTip, QWidget

from helix_desktop.ui.design.focus import FocusRing, keep_own_tab_order, mark_pane_stop
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Theme, Themed, current_theme, set_style_sheet
from helix_desktop.ui.kit.boxes import HitArea, PaintState, TextMark, color_of
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.ui.rows.item import BlockText, ListItem, PlacedRow
from helix_desktop.ui.rows.row_widget import RowArea
from helix_desktop.ui.rows.viewport import HitResult, ListViewport, RowSource
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_MAX_SEARCH_ROWS = 200  # rows; Tab does not search further for a button

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

    def extend(self, position: TextPosition) -> None:
        if self.anchor is None:
            self.anchor = position
        self.head = position

    def select(self, first: TextPosition, last: TextPosition) -> None:
        self.anchor = first
        self.head = last

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
        return result | {head.number: (0, len(head.text)) for head in self._heads(index, item)}

    def _heads(self, index: int, item: ListItem) -> Sequence[BlockText]:
        """Return the words above a row's texts if the selection comes over them from another row."""
        bounds = self.bounds()
        if bounds is None or bounds[0].row == bounds[1].row:
            return ()
        first, last = bounds
        is_inside = first.row < index <= last.row or first == (index, 0, 0)
        return item.head_texts if is_inside else ()

    def select_row(self, index: int) -> None:
        bounds = self._row_bounds(index)
        if bounds is not None:
            self.select(*bounds)

    def select_all(self) -> None:
        last = self._source.count() - 1
        if last >= 0:
            last_bounds = self._row_bounds(last)
            first = self._row_bounds(0)
            self.select(
                first[0] if first else TextPosition(0, 0, 0),
                last_bounds[1] if last_bounds else TextPosition(last, 0, 1),
            )

    def is_row_selected(self, index: int) -> bool:
        """Return True if exactly one row is selected as a whole."""
        bounds = self._row_bounds(index)
        return bounds is not None and self.bounds() == bounds

    def text(self) -> str:
        """Return the selected words as they are shown, rows apart by an empty line; lines of calls aren't."""
        bounds = self.bounds()
        if bounds is None:
            return ""
        first, last = bounds
        many = last.row - first.row > _MAX_RENDERED_ROWS
        parts = list[str]()
        is_below_line = False
        for index in range(first.row, min(last.row, self._source.count() - 1) + 1):
            if many and first.row < index < last.row:
                line = ""
                words = self._source.source_text(index)
            else:
                line = " ".join(head.text for head in self._heads(index, self._source.get(index)))
                words = _join_texts(self._selected_texts(index, first, last))
            if line or words:
                parts += ["\n" if line and is_below_line else "\n\n", line or words]
                parts += ["\n\n", words] if line and words else []
                is_below_line = not words
        return "".join(parts[1:])

    def _row_bounds(self, index: int) -> tuple[TextPosition, TextPosition] | None:
        item = self._source.get(index)
        first = item.edge_text(last=False)
        last = item.edge_text(last=True)
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


AreaId: TypeAlias = tuple[Hashable, str]
"""A place to click: the key of its row, and its name there."""


def name_in(key: Hashable, area: AreaId | None) -> str:
    """Return the name of a place if it is in the row of a key."""
    return area[1] if area is not None and area[0] == key else ""


_KEY_STEP = 6.0  # pixels
_LEADING = 8  # pixels below the last line of a text, where its end is meant
_FAR = 1e6  # pixels: beyond all rows
_EDGE_MS = 30
_MIN_EDGE_STEP = 12.0  # pixels in that time, from the last pixel in sight on: the screen may end there
_DOUBLE = 2
_TRIPLE = 3
ARRIVAL_S = 0.5
"""Seconds in which a place takes no click after it came under a mouse that rests: it is likely meant for
what was there before."""


class ListMouse(QObject):
    """What it points at, or clicked where it still rests, stays in place when the rows change."""

    clicked = Signal(int, object)
    """Index of a row, and the place in it that was clicked."""
    changed = Signal()

    def __init__(
        self, rows: ListViewport, viewport: QWidget, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` gives seconds."""
        super().__init__(viewport)
        self._rows = rows
        self.selection = Selection(rows.source)
        self.viewport = viewport
        rows.scroll_layout.held_row = lambda: rows.source.index_of(self.held[0]) if self.held else None
        self._clock = clock
        self.settle()
        self.hovered: AreaId | None = None
        self.pressed: AreaId | None = None
        self.last_pressed: AreaId | None = None
        self._press_place = QPointF()
        self.last_index = -1
        self._link = ""
        self._is_selecting = False
        self._clicks = 0
        self._position = QPointF()
        self._end = (-1, QPointF())  # of the selection: the row, x in the viewport and y in the row
        self._click_timer = QTimer(self, singleShot=True)
        self._edge_timer = QTimer(self, interval=_EDGE_MS)
        self._edge_timer.timeout.connect(self._scroll_at_edge)

    def press(self, event: QMouseEvent) -> None:
        located = self._rows.hit_test(event.position())
        if located is None or event.button() != Qt.MouseButton.LeftButton:
            return
        self.last_index = located.row_index
        area = located.item.hit_area_at(located.x, located.y)
        before = self.last_pressed
        self.last_pressed = (located.item.key, area.name) if area else None
        if area is not None:
            from_mouse = event.globalPosition() - self._pointer
            if from_mouse.manhattanLength() >= QGuiApplication.styleHints().startDragDistance():
                self.settle()  # a finger or pen pressed
            is_second = event.type() == QEvent.Type.MouseButtonDblClick
            if self._clock() - self._arrived_at < ARRIVAL_S:
                self.last_pressed = before
            elif not is_second or self.last_pressed == before:  # else the first click put it there
                self._press_place = event.position()
                self._press_area(located, area)
            return
        self._link = self.link_of(located)
        extend = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        hints = QGuiApplication.styleHints()
        moved = event.position() - self._press_place
        is_again = self._click_timer.isActive() and moved.manhattanLength() < hints.mouseDoubleClickDistance()
        self._clicks = self._clicks + 1 if is_again and not extend else 1
        self._click_timer.start(hints.mouseDoubleClickInterval())
        self._press_place = event.position()
        self._begin_selection(located, extend)

    def _press_area(self, located: HitResult, area: HitArea) -> None:
        self.pressed = (located.item.key, area.name)
        self.changed.emit()

    def double_click(self, event: QMouseEvent) -> bool:
        return False

    def wheel(self, event: QWheelEvent) -> bool:
        return False

    @property
    def held(self) -> AreaId | None:
        return self.hovered or self.last_pressed

    def move(self, event: QMouseEvent) -> None:
        if event.globalPosition().toPoint() != self._pointer:
            self.settle()
        moved_px = (event.position() - self._press_place).manhattanLength()
        if self.pressed is None and moved_px >= QGuiApplication.styleHints().startDragDistance():
            self.last_pressed = None
        self._position = event.position()
        if self._is_selecting:
            self._extend_selection()
        else:
            self._update_hover()

    def release(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        pressed = self.pressed
        self.pressed = None
        link = self._link
        self._link = ""
        is_click = self._is_selecting and not self.selection
        self._is_selecting = False
        self._edge_timer.stop()
        located = self._rows.hit_test(event.position())
        if located is not None and pressed is not None:
            self._release_area(located, pressed, event)
        elif located is not None:
            if link and not self.selection and self.link_of(located) == link:
                self._open_link(link)
            elif is_click and located.row_index == self.last_index:
                area = located.item.hit_area(located.item.row_area)
                if area is not None:
                    self._click_area(located, area, event)
        self.changed.emit()

    def _release_area(self, located: HitResult, pressed: AreaId, event: QMouseEvent) -> None:
        """Click what was pressed if the mouse is on it, or rests: rows may have moved below it since."""
        area = located.item.hit_area_at(located.x, located.y)
        if area is None or pressed != (located.item.key, area.name):
            moved_px = (event.position() - self._press_place).manhattanLength()
            index = self._rows.source.index_of(pressed[0])
            if index is None or moved_px >= QGuiApplication.styleHints().startDragDistance():
                return
            located = located._replace(row_index=index, item=self._rows.item(index))
            area = located.item.hit_area(pressed[1])
        if area is not None:
            self._click_area(located, area, event)

    def _click_area(self, located: HitResult, area: HitArea, event: QMouseEvent) -> None:
        self.clicked.emit(located.row_index, area)

    def _open_link(self, link: str) -> None: ...

    def link_of(self, located: HitResult) -> str:
        return ""

    def clear_hover(self) -> None:
        self._set_hover(None, "")
        self.viewport.unsetCursor()

    def refresh(self) -> None:
        """Point at what is under the mouse now: rows moved."""
        if not self._is_selecting and self.viewport.underMouse():
            before = self.hovered
            is_resting = QCursor.pos() == self._pointer
            if not is_resting:
                self.settle()
            self._position = QPointF(self.viewport.mapFromGlobal(self._pointer))
            self._update_hover()
            if is_resting and self.hovered != before:
                self._arrived_at = self._clock()

    def settle(self) -> None:
        """Take clicks at once: the user moved the mouse, or what is under it."""
        self._pointer = QCursor.pos()
        self._arrived_at = float("-inf")

    def link_at(self, point: QPointF) -> str:
        located = self._rows.hit_test(point)
        return self.link_of(located) if located is not None else ""

    def _begin_selection(self, hit: HitResult, extend: bool) -> None:
        spot = _text_position(hit)
        self._end = (hit.row_index, QPointF(self._press_place.x(), hit.y))
        if self._clicks >= _DOUBLE and hit.item.built_texts:
            text = hit.item.text(spot.text)
            start, end = text.word_range(spot.position, whole_block=self._clicks >= _TRIPLE)
            self.selection.select(spot._replace(position=start), spot._replace(position=end))
        elif extend and self.selection.anchor is not None:
            self.selection.extend(spot)
        else:
            self.selection.select(spot, spot)
            self._is_selecting = True
        self._is_selecting = self._is_selecting or extend
        self.changed.emit()

    def _extend_selection(self) -> None:
        self._extend_to(self._position)
        outside = not 0 < self._position.y() < self.viewport.height() - 1
        if outside != self._edge_timer.isActive():
            self._edge_timer.start() if outside else self._edge_timer.stop()

    def _extend_to(self, point: QPointF) -> None:
        located = self._rows.hit_test(point)
        if located is not None:
            self._end = (located.row_index, QPointF(point.x(), max(0.0, min(located.y, located.item.height))))
            self.selection.extend(_text_position(located))
            self.changed.emit()

    def extend_by_key(self, key: Qt.Key, page: float) -> None:
        """Move the end of the selection by a line, by `page` pixels, or to an end of the list."""
        rows = self._rows
        row, end = self._end
        head = self.selection.head
        if head is None:
            return
        is_up = key in (Qt.Key.Key_Up, Qt.Key.Key_PageUp, Qt.Key.Key_Home)
        beyond = QPointF(end.x(), -_FAR if is_up else _FAR)
        if key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            rows.show_row(0, 0.0) if is_up else rows.go_to_end()
            self._extend_to(beyond)
            return
        y = end.y() if row == head.row else 0.0
        rows.ensure_visible(head.row, HitArea("", None, "", QRectF(0, y - 2 * _LINE, 1, 4 * _LINE)))
        placed = rows.placed_row(head.row)
        y += rows.source.gap(head.row) + (placed.y if placed is not None else 0.0)
        if key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            rows.scroll_by(-page if is_up else page)
            is_edge = rows.scroll_layout.position <= 0 if is_up else rows.is_at_end
            self._extend_to(beyond if is_edge else QPointF(end.x(), y))
            return
        is_moved = False
        while 0 <= y < rows.height and not is_moved:
            y += -_KEY_STEP if is_up else _KEY_STEP
            if (hit := rows.hit_test(QPointF(end.x(), y))) is not None and _is_on_line(hit):
                place = _text_position(hit)
                is_moved = place < head if is_up else place > head
        self._extend_to(QPointF(end.x(), y))

    def _scroll_at_edge(self) -> None:
        height = self.viewport.height()
        y = self._position.y()
        beyond = y - _MIN_EDGE_STEP if y <= 0 else y - height + _MIN_EDGE_STEP
        self._rows.scroll_by(max(-height / 2, min(height / 2, beyond)))
        self._extend_selection()

    def _update_hover(self) -> None:
        located = self._rows.hit_test(self._position)
        area = located.item.hit_area_at(located.x, located.y) if located is not None else None
        link = self.link_of(located) if located is not None and area is None else ""
        if located is not None and area is None:
            area = located.item.hit_area(located.item.row_area)
        hovered = (located.item.key, area.name) if located is not None and area is not None else None
        tip = located.item.tip_at(located.x, located.y) if located is not None else ""
        self._set_hover(hovered, link or tip)
        if area is not None or link:
            self.viewport.setCursor(Qt.CursorShape.PointingHandCursor)
        elif located is not None and located.item.text_at(located.x, located.y) is not None:
            self.viewport.setCursor(Qt.CursorShape.IBeamCursor)
        else:
            self.viewport.unsetCursor()

    def _set_hover(self, hovered: AreaId | None, tip: str) -> None:
        if self.viewport.toolTip() != tip:
            self.viewport.setToolTip(tip)
            if not tip:
                QToolTip.hideText()
        if hovered != self.hovered:
            self.hovered = hovered
            self._rows.scroll_layout.hold()
            self.changed.emit()


def _text_position(hit: HitResult) -> TextPosition:
    return TextPosition(hit.row_index, *hit.item.nearest_position(hit.x, hit.y))


def _is_on_line(hit: HitResult) -> bool:
    """Return False between the lines of a row, and where it has none."""
    rects = [text.rect.adjusted(0, 0, 0, -scaled(_LEADING)) for text in hit.item.built_texts]
    is_on_text = any(rect.top() <= hit.y <= rect.bottom() for rect in rects)
    return is_on_text or (bool(hit.item.head_texts) and hit.item.nearest_position(hit.x, hit.y) == (0, 0))


_LINE = 44.0  # pixels an arrow key scrolls
_PAGE_OVERLAP = 48.0  # pixels
SCROLL_BAR_PX = 12
"""Width beside the rows: what stands below them leaves it free too, to be in line with them."""


class RowListView(Themed, QAbstractScrollArea):
    """Needs `use` before it is shown: with the parts that a list makes for its kinds of rows."""

    accessible_role = QAccessible.Role.Pane

    def __init__(self, name: str, rows_name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._area = RowArea(rows_name)
        self.setViewport(self._area)
        keep_own_tab_order(self._area)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        self.viewport().setMouseTracking(True)
        self._ring = FocusRing(self)
        mark_pane_stop(self)

    def use(self, rows: ListViewport, mouse: ListMouse) -> None:
        self._rows = rows
        self._mouse = mouse
        self._selection = mouse.selection
        rows.layout_changed.connect(mouse.refresh)
        mouse.changed.connect(rows.repaint)
        pool = rows.widget_pool
        pool.paint_state = self._paint_state
        pool.focus_stepped.connect(self._step_focus)
        pool.focus_lost.connect(self.setFocus)
        for clicked in (mouse.clicked, pool.activated):
            clicked.connect(self._activate)
        bar = self.verticalScrollBar()
        bar.rangeChanged.connect(lambda low, high: bar.setEnabled(high > low))  # else its handle is shown
        bar.setEnabled(False)

    def _paint_state(self, index: int, item: ListItem) -> PaintState:
        return PaintState(
            QRectF(),
            hovered=name_in(item.key, self._mouse.hovered),
            pressed=name_in(item.key, self._mouse.pressed),
            tick=self._rows.animation_tick,
            marks=self._marks(index, item),
        )

    def _marks(self, index: int, item: ListItem) -> dict[int, list[TextMark]]:
        color = color_of(current_theme().text_selection)
        ranges = self._selection.ranges(index, item).items()
        return {number: [TextMark(*span, color)] for number, span in ranges}

    def _activate(self, index: int, area: HitArea) -> None:
        if isinstance(area.action, Intent):
            perform(self, area.action)

    def show_style(self, theme: Theme) -> None:
        self._ring.apply_theme()
        set_style_sheet(self, _style(type(self).__name__, theme))

    def selected_text(self) -> str:
        return self._selection.text()

    def copy(self) -> None:
        text = self._selection.text()
        if text:
            QGuiApplication.clipboard().setText(text)

    def select_all(self) -> None:
        """Select the row that was clicked last; asked again, or without one, everything."""
        index = self._mouse.last_index
        if 0 <= index < self._rows.source.count() and not self._selection.is_row_selected(index):
            self._selection.select_row(index)
        else:
            self._selection.select_all()
        self._rows.repaint()

    def viewportEvent(self, event: QEvent) -> bool:
        kind = event.type()
        if isinstance(event, QMouseEvent):
            if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
                self.setFocus(Qt.FocusReason.MouseFocusReason)
                double = kind == QEvent.Type.MouseButtonDblClick
                if not (double and self._mouse.double_click(event)):
                    self._mouse.press(event)
                return True
            if kind == QEvent.Type.MouseMove:
                self._mouse.move(event)
                return True
            if kind == QEvent.Type.MouseButtonRelease:
                self._mouse.release(event)
                return True
        elif isinstance(event, QWheelEvent):
            is_taken = self._mouse.wheel(event) or super().viewportEvent(event)
            self._mouse.settle()
            return is_taken
        elif kind == QEvent.Type.Leave:
            self._mouse.clear_hover()
        return super().viewportEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._ring.setGeometry(self.viewport().geometry())
        self._rows.refresh()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._rows.on_bar_moved()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        height = self.viewport().height()
        steps = {
            Qt.Key.Key_Up: -_LINE,
            Qt.Key.Key_Down: _LINE,
            Qt.Key.Key_PageUp: _PAGE_OVERLAP - height,
            Qt.Key.Key_PageDown: height - _PAGE_OVERLAP,
        }
        key = Qt.Key(event.key())
        is_shifted = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        is_extending = is_shifted and self._selection.head is not None
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        elif is_extending and key in (*steps, Qt.Key.Key_Home, Qt.Key.Key_End):
            self._mouse.extend_by_key(key, height - _PAGE_OVERLAP)
        elif key in steps and not event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self._rows.scroll_by(steps[key])
        elif key == Qt.Key.Key_Home and self._rows.source.count():
            self._rows.show_row(0, 0.0)
        elif key == Qt.Key.Key_End:
            self._rows.go_to_end()
        elif key == Qt.Key.Key_Escape and self._selection:
            self._selection.clear()
            self._rows.repaint()
            event.ignore()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() == Qt.FocusReason.BacktabFocusReason:
            self._enter(forward=False)

    def focusNextPrevChild(self, forward: bool) -> bool:
        if forward and self.hasFocus() and self._enter(forward=True):
            return True
        return super().focusNextPrevChild(forward)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill_menu(menu, QPointF(event.pos()))
        menu.popup(event.globalPos())

    def fill_menu(self, menu: QMenu, place: QPointF) -> None:
        if self._selection:
            menu.addAction(tr("Copy"), self.copy)
        menu.addAction(tr("Select all"), self.select_all)

    def _step_focus(self, forward: bool) -> None:
        """Move the keyboard to the next place; leave the list after the last one."""
        if not self._focus_next(forward):
            self.setFocus(Qt.FocusReason.ShortcutFocusReason)  # to be seen, and to stay here
            if forward:
                super().focusNextPrevChild(True)

    def _focus_next(self, forward: bool) -> bool:
        """Go to the next place, or the one before; False when there is none within reach."""
        widget = self._rows.widget_pool.focused_widget()
        if widget is None or widget.item is None:
            return forward and self._enter(forward=True)
        stop = widget.stop_name
        self._build_next(widget.item, stop, forward)
        names = [area.name for area in widget.item.hit_areas]
        at = names.index(stop) if stop in names else -1
        at += 1 if forward else -1
        if 0 <= at < len(names):
            return self._focus(widget.index, widget.item.hit_areas[at])
        return self._focus_beyond(widget.index + (1 if forward else -1), forward)

    def _enter(self, *, forward: bool) -> bool:
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
        return self._focus_beyond(placed[-1 if forward else 0].row_index, forward)

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
        height = self._rows.height
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

    def _focus_beyond(self, index: int, forward: bool) -> bool:
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
        widget = self._rows.widget_pool.visible.get(self._rows.source.key(index))
        if widget is not None:
            widget.focus_area(area.name)
        return widget is not None


def _style(kind: str, theme: Theme) -> str:
    return (
        f"{kind} {{ background: {theme.canvas}; border: 0; }}"
        f"QScrollBar:vertical {{ background: transparent; width: {SCROLL_BAR_PX}px; margin: 0; border: 0; }}"
        f"QScrollBar::handle:vertical {{ background: {theme.scrollbar}; border-radius: 4px; min-height: 36px;"
        " margin: 2px; }"
        f"QScrollBar::handle:vertical:hover {{ background: {theme.faint}; }}"
        "QScrollBar::handle:vertical:disabled { background: transparent; }"
        "QScrollBar::add-line:vertical, QScrollBar::sub-line:vertical { height: 0; width: 0; border: 0; }"
        "QScrollBar::add-page:vertical, QScrollBar::sub-page:vertical { background: transparent; }"
    )
