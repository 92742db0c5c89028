"""The mouse over the conversation: links, tables, subagents; clicks meant for what stood there before."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from PySide6.QtCore import QObject, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.chat.actions import (
    AllowAllOnce,
    AnswerQuestion,
    Decide,
    OpenLink,
    OpenSubagent,
    ScrollText,
    ToggleSection,
)
from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.markdown.text_layout import TextLayout, handle_width
from helix_desktop.ui.chat.rows.row_types import AskRow
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport
from helix_desktop.ui.design.mirror import is_right_to_left
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.kit.intents import perform
from helix_desktop.ui.rows.list_view import ListMouse
from helix_desktop.ui.rows.selection import Selection
from helix_desktop.ui.rows.viewport import HitResult

_WHEEL_STEP = 60.0  # pixels for a notch of the wheel, which is 120 units
_NOTCH = 120.0


class TableDrag:
    def __init__(self) -> None:
        self._text: TextLayout | None = None
        self._grip = 0.0  # pixels from the left edge of the handle

    @property
    def is_active(self) -> bool:
        return self._text is not None

    def begin(self, item: RowItem, x: float, area: HitArea) -> bool:
        """Hold the bar that was pressed, or bring its handle there first; False when it is none."""
        if not isinstance(area.action, ScrollText):
            return False
        text = self._text = item.text(area.action.text_number)
        wide = handle_width(text)
        left = text.x + (text.width - wide) * text.offset / text.max_offset
        self._grip = x - left if left <= x <= left + wide else wide / 2
        self.move(x)
        return True

    def move(self, x: float) -> None:
        text = self._text
        if text is not None and text.width > handle_width(text):
            part = (x - self._grip - text.x) / (text.width - handle_width(text))
            text.scroll_to(part * text.max_offset)

    def end(self) -> bool:
        was_active, self._text = self.is_active, None
        return was_active


def scroll_by_wheel(text: TextLayout | None, event: QWheelEvent) -> bool:
    """Scroll the table below the mouse sideways; False when the wheel does not turn that way."""
    angle, pixels = event.angleDelta(), event.pixelDelta()
    is_shifted = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
    across = angle.x() or (angle.y() if is_shifted else 0)
    if text is None or not text.max_offset or not (is_shifted or abs(across) > abs(angle.y())):
        return False
    step = float(pixels.x()) if pixels.x() else across / _NOTCH * _WHEEL_STEP
    text.scroll_to(text.offset - _visual(step))
    return True


def _visual(step: float) -> float:
    return -step if is_right_to_left() else step


class MouseHandler(ListMouse):
    def __init__(
        self, chat_viewport: ChatViewport, selection: Selection, viewport: QWidget, guard: ApprovalClickGuard
    ) -> None:
        super().__init__(chat_viewport, selection, viewport)
        self.guard = guard
        self._table_drag = TableDrag()

    def _press_area(self, located: HitResult, area: HitArea) -> None:
        if self.guard.accepts_click(located.item.key, area.action):
            if isinstance(located.item, RowItem):
                self._table_drag.begin(located.item, located.x, area)
            super()._press_area(located, area)

    def double_click(self, event: QMouseEvent) -> bool:
        """Take a double click on the bar of a card that has a subagent; whether it was one."""
        located = self._rows.hit_test(event.position())
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
        self.guard.note_move(event.globalPosition())
        if not self._table_drag.is_active:
            super().move(event)
        elif (located := self._rows.hit_test(event.position())) is not None:
            self._table_drag.move(located.x)
            self.changed.emit()

    def wheel(self, event: QWheelEvent) -> bool:
        """Scroll the table below the mouse sideways; False when there is none, or nothing to scroll."""
        located = self._rows.hit_test(event.position())
        if not scroll_by_wheel(text_under(located), event):
            return False
        self.changed.emit()
        return True

    def release(self, event: QMouseEvent) -> None:
        if self._table_drag.end():
            self.pressed = None
            self.changed.emit()
        else:
            super().release(event)

    def _click_area(self, located: HitResult, area: HitArea, event: QMouseEvent) -> None:
        self.guard.note_click(located.item.key, area.action, event.globalPosition())
        super()._click_area(located, area, event)

    def _open_link(self, link: str) -> None:
        perform(self, OpenLink(link))

    def link_of(self, located: HitResult) -> str:
        text = text_under(located)
        return text.link_at(located.x, located.y) if text is not None else ""


def text_under(located: HitResult | None) -> TextLayout | None:
    """Return the text of a message at a place, if there is one."""
    text = located.item.text_at(located.x, located.y) if located is not None else None
    return text if isinstance(text, TextLayout) else None


SETTLE_S = 0.4
"""Seconds that a card has to stand still before it takes an answer."""
REST_S = 2.0
"""Seconds that it takes none from a pointer that still rests where it answered another card."""


class ApprovalClickGuard(QObject):
    """Notes when cards that ask arrive, move, or get more room to be seen in. `now` gives seconds."""

    def __init__(self, chat_viewport: ChatViewport, clock: Callable[[], float]) -> None:
        super().__init__(chat_viewport)
        self._chat_viewport, self._model, self._clock = chat_viewport, chat_viewport.model, clock
        self._shown_since: dict[Hashable, float] = {}
        self._places: dict[Hashable, tuple[int, ...]] = {}
        self._still_since: dict[Hashable, float] = {}  # of cards that have moved
        self._answered: tuple[Hashable, QPointF] | None = None  # by a click, whose pointer rests
        model = self._model
        chat_viewport.layout_changed.connect(self._note_moves)
        model.rows_reset.connect(self._reset)
        model.row_added.connect(self._note_cards)
        model.row_removed.connect(self._note_cards)

    def accepts(self, key: Hashable, action: object) -> bool:
        """Return False for an answer to a card that came a moment ago."""
        settled = self._clock() - self._shown_since.get(key, float("-inf")) >= SETTLE_S
        return settled or not isinstance(action, Decide | AllowAllOnce | AnswerQuestion)

    def accepts_click(self, key: Hashable, action: object) -> bool:
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

    def note_click(self, key: Hashable, action: object, at: QPointF) -> None:
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
        places: dict[Hashable, tuple[int, ...]] = {}
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
