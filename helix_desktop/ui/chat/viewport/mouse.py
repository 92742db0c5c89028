"""The mouse over the conversation: hover, press, select; clicks meant for what stood there before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from PySide6.QtCore import QObject, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QCursor, QGuiApplication, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QToolTip, QWidget

from helix_desktop.ui.chat.actions import (
    AllowAllOnce,
    AnswerQuestion,
    Decide,
    OpenLink,
    OpenSubagent,
    RowAction,
    ToggleSection,
)
from helix_desktop.ui.chat.items.text_and_code_blocks import TableDrag, scroll_by_wheel
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import AskRow
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport, HitResult
from helix_desktop.ui.chat.viewport.selection import Selection, TextPosition
from helix_desktop.ui.kit.intents import perform

AreaId: TypeAlias = tuple[RowKey, str]
"""A place to click: its row, and its name there."""
_EDGE_MS = 30
_DOUBLE, _TRIPLE = 2, 3


class MouseHandler(QObject):
    clicked = Signal(int, object)
    """Index of a row, and the place in it that was clicked."""
    changed = Signal()

    def __init__(
        self, chat_viewport: ChatViewport, selection: Selection, viewport: QWidget, guard: ApprovalClickGuard
    ) -> None:
        super().__init__(viewport)
        self._chat_viewport = chat_viewport
        self._selection = selection
        self.viewport, self.guard = viewport, guard
        self.hovered: AreaId | None = None
        self.pressed: AreaId | None = None
        self.last_index = -1
        self._link = ""
        self._is_selecting = False
        self._clicks = 0
        self._position = QPointF()
        self._table_drag = TableDrag()
        self._click_timer = QTimer(self, singleShot=True)
        self._edge_timer = QTimer(self, interval=_EDGE_MS)
        self._edge_timer.timeout.connect(self._scroll_at_edge)

    def press(self, event: QMouseEvent) -> None:
        located = self._chat_viewport.hit_test(event.position())
        if located is None or event.button() != Qt.MouseButton.LeftButton:
            return
        self.last_index = located.row_index
        area = located.item.hit_area_at(located.x, located.y)
        if area is not None and not self.guard.accepts_click(located.item.row.key, area.action):
            return
        if area is not None:
            self.pressed = (located.item.row.key, area.name)
            self._table_drag.begin(located.item, located.x, area)
            self.changed.emit()
            return
        self._link = _link_at(located)
        self._count_click()
        self._begin_selection(located, bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))

    def open_subagent(self, event: QMouseEvent) -> bool:
        """Take a double click on the bar of a card that has a subagent; whether it was one."""
        located = self._chat_viewport.hit_test(event.position())
        if located is None or event.button() != Qt.MouseButton.LeftButton:
            return False
        hovered_area = located.item.hit_area_at(located.x, located.y)
        place = located.item.hit_area_for(OpenSubagent)
        if (
            place is None
            or located.y > place.rect.bottom()
            or (hovered_area is not None and not isinstance(hovered_area.action, ToggleSection))
        ):
            return False
        self.clicked.emit(located.row_index, place)
        return True

    def move(self, event: QMouseEvent) -> None:
        self._position = event.position()
        self.guard.note_move(event.globalPosition())
        if self._is_selecting:
            self._extend_selection()
        elif self._table_drag.is_active:
            located = self._chat_viewport.hit_test(event.position())
            if located is not None:
                self._table_drag.move(located.x)
                self.changed.emit()
        else:
            self._update_hover()

    def wheel(self, event: QWheelEvent) -> bool:
        """Scroll the table below the mouse sideways; False when there is none, or nothing to scroll."""
        located = self._chat_viewport.hit_test(event.position())
        text = located.item.text_at(located.x, located.y) if located is not None else None
        if not scroll_by_wheel(text, event):
            return False
        self.changed.emit()
        return True

    def release(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        pressed, self.pressed = self.pressed, None
        link, self._link = self._link, ""
        self._is_selecting = False
        self._edge_timer.stop()
        located = self._chat_viewport.hit_test(event.position())
        if self._table_drag.end() or located is None:
            self.changed.emit()
            return
        area = located.item.hit_area_at(located.x, located.y)
        if area is not None and pressed == (located.item.row.key, area.name):
            self.guard.note_click(located.item.row.key, area.action, event.globalPosition())
            self.clicked.emit(located.row_index, area)
        elif link and not self._selection and _link_at(located) == link:
            perform(self, OpenLink(link))
        self.changed.emit()

    def clear_hover(self) -> None:
        self._set_hover(None, "")
        self.viewport.unsetCursor()

    def refresh(self) -> None:
        """Rows have moved below a resting mouse."""
        if not self._is_selecting and self.viewport.underMouse():
            self._position = QPointF(self.viewport.mapFromGlobal(QCursor.pos()))
            self._update_hover()

    def link_at(self, point: QPointF) -> str:
        located = self._chat_viewport.hit_test(point)
        return _link_at(located) if located is not None else ""

    def _count_click(self) -> None:
        self._clicks = self._clicks + 1 if self._click_timer.isActive() else 1
        self._click_timer.start(QGuiApplication.styleHints().mouseDoubleClickInterval())

    def _begin_selection(self, hit: HitResult, extend: bool) -> None:
        spot = _text_position(hit)
        if self._clicks >= _DOUBLE and hit.item.built_texts:
            text = hit.item.text(spot.text)
            start, end = text.word_range(spot.position, whole_block=self._clicks >= _TRIPLE)
            self._selection.select(spot._replace(position=start), spot._replace(position=end))
        elif extend and self._selection.anchor is not None:
            self._selection.extend(spot)
        else:
            self._selection.start(spot)
            self._is_selecting = True
        self._is_selecting = self._is_selecting or extend
        self.changed.emit()

    def _extend_selection(self) -> None:
        located = self._chat_viewport.hit_test(self._position)
        if located is not None:
            self._selection.extend(_text_position(located))
            self.changed.emit()
        outside = self._position.y() < 0 or self._position.y() > self.viewport.height()
        if outside != self._edge_timer.isActive():
            self._edge_timer.start() if outside else self._edge_timer.stop()

    def _scroll_at_edge(self) -> None:
        height = self.viewport.height()
        beyond = self._position.y() if self._position.y() < 0 else self._position.y() - height
        self._chat_viewport.scroll_by(max(-height / 2, min(height / 2, beyond)))
        self._extend_selection()

    def _update_hover(self) -> None:
        located = self._chat_viewport.hit_test(self._position)
        area = located.item.hit_area_at(located.x, located.y) if located is not None else None
        link = _link_at(located) if located is not None and area is None else ""
        hovered = (located.item.row.key, area.name) if located is not None and area is not None else None
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
            self.changed.emit()


def _text_position(hit: HitResult) -> TextPosition:
    return TextPosition(hit.row_index, *hit.item.nearest_position(hit.x, hit.y))


def _link_at(hit: HitResult) -> str:
    text = hit.item.text_at(hit.x, hit.y)
    return text.link_at(hit.x, hit.y) if text is not None else ""


SETTLE_S = 0.4
"""Seconds that a card has to stand still before it takes an answer."""
REST_S = 2.0
"""Seconds that it takes none from a pointer that still rests where it answered another card."""


class ApprovalClickGuard(QObject):
    """Notes when cards that ask arrive, move, or get more room to be seen in. `now` gives seconds."""

    def __init__(self, chat_viewport: ChatViewport, clock: Callable[[], float]) -> None:
        super().__init__(chat_viewport)
        self._chat_viewport, self._model, self._clock = chat_viewport, chat_viewport.model, clock
        self._shown_since: dict[RowKey, float] = {}
        self._places: dict[RowKey, tuple[int, ...]] = {}
        self._still_since: dict[RowKey, float] = {}  # of cards that have moved
        self._answered: tuple[RowKey, QPointF] | None = None  # by a click, whose pointer rests
        model = self._model
        chat_viewport.layout_changed.connect(self._note_moves)
        model.rows_reset.connect(self._reset)
        model.row_added.connect(self._note_cards)
        model.row_removed.connect(self._note_cards)

    def accepts(self, key: RowKey, action: RowAction) -> bool:
        """Return False for an answer to a card that came a moment ago."""
        settled = self._clock() - self._shown_since.get(key, float("-inf")) >= SETTLE_S
        return settled or not isinstance(action, Decide | AllowAllOnce | AnswerQuestion)

    def accepts_click(self, key: RowKey, action: RowAction) -> bool:
        """Return False for a click on a card that came, or moved under the pointer, a moment ago.

        A second click meant for the card before is refused for longer, unless the pointer has moved.
        """
        if not isinstance(action, Decide | AllowAllOnce):
            return self.accepts(key, action)
        rests = self._answered is not None and self._answered[0] != key
        still_since = self._still_since.get(key, float("-inf"))
        if rests:
            still_since = max(still_since, self._shown_since.get(key, float("-inf")))
        settled = self._clock() - still_since >= (REST_S if rests else SETTLE_S)
        return self.accepts(key, action) and settled

    def note_click(self, key: RowKey, action: RowAction, at: QPointF) -> None:
        """Note an answer by a click, at a point of the screen."""
        if isinstance(action, Decide | AllowAllOnce):
            self._answered = key, at

    def note_move(self, at: QPointF) -> None:
        """Note where the pointer is: elsewhere, it answers what it points at."""
        if self._answered is not None:
            moved_px = (at - self._answered[1]).manhattanLength()
            if moved_px >= QGuiApplication.styleHints().startDragDistance():
                self._answered = None

    def _note_moves(self) -> None:
        """Note the cards whose answers are new, lie elsewhere on the screen, or come out at an edge."""
        places: dict[RowKey, tuple[int, ...]] = {}
        for key, widget in self._chat_viewport.widget_pool.visible.items():
            areas = widget.item.hit_areas if widget.item is not None else []
            buttons = [area.rect for area in areas if isinstance(area.action, Decide | AllowAllOnce)]
            if buttons:
                tops = (round(widget.mapToGlobal(rect.topLeft()).y()) for rect in buttons)
                places[key] = self._chat_viewport.column.height, *tops
                if self._places.get(key, places[key]) != places[key]:
                    self._still_since[key] = self._clock()
        self._places = places

    def _reset(self) -> None:
        self._shown_since.clear()
        self._still_since.clear()
        self._note_cards(0)

    def _note_cards(self, index: int) -> None:
        rows = self._model.raw_rows()
        for at in range(index, len(rows)):
            if isinstance(rows[at], AskRow):
                self._shown_since[rows[at].key] = self._clock()
