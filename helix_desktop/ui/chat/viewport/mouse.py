"""The mouse over the conversation: hovering, pressing, selecting, dragging past the edge."""

from __future__ import annotations

from typing import TypeAlias

from PySide6.QtCore import QObject, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QCursor, QGuiApplication, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QToolTip, QWidget

from helix_desktop.ui.chat.actions import OpenSubagent, ToggleSection
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.viewport.approval_click_guard import ApprovalClickGuard
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport, HitResult
from helix_desktop.ui.chat.viewport.selection import Selection, TextPosition
from helix_desktop.ui.chat.viewport.table_scroll import TableDrag, scroll_by_wheel

AreaId: TypeAlias = tuple[RowKey, str]
"""A place to click: its row, and its name there."""
_EDGE_MS = 30
_DOUBLE, _TRIPLE = 2, 3


class MouseHandler(QObject):
    clicked = Signal(int, object)
    """Index of a row, and the place in it that was clicked."""
    link_activated = Signal(str)
    link_hovered = Signal(str)
    changed = Signal()

    def __init__(
        self, chat_viewport: ChatViewport, selection: Selection, viewport: QWidget, guard: ApprovalClickGuard
    ) -> None:
        super().__init__(viewport)
        self._chat_viewport = chat_viewport
        self._selection = selection
        self._viewport = viewport
        self._guard = guard
        self.hovered: AreaId | None = None
        self.pressed: AreaId | None = None
        self.last_index = -1
        self._link = ""
        self._hovered_link = ""
        self._is_selecting = False
        self._clicks = 0
        self._position = QPointF()
        self._table_drag = TableDrag()
        self._click_timer = QTimer(self)
        self._click_timer.setSingleShot(True)
        self._edge_timer = QTimer(self)
        self._edge_timer.setInterval(_EDGE_MS)
        self._edge_timer.timeout.connect(self._scroll_at_edge)

    def press(self, event: QMouseEvent) -> None:
        located = self._chat_viewport.hit_test(event.position())
        if located is None or event.button() != Qt.MouseButton.LeftButton:
            return
        self.last_index = located.row_index
        area = located.item.hit_area_at(located.x, located.y)
        if area is not None and not self._guard.accepts_click(located.item.row.key, area.action):
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
        self._guard.note_move(event.globalPosition())
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
            self._guard.note_click(located.item.row.key, area.action, event.globalPosition())
            self.clicked.emit(located.row_index, area)
        elif link and not self._selection and _link_at(located) == link:
            self.link_activated.emit(link)
        self.changed.emit()

    def clear_hover(self) -> None:
        self._set_hover(None, "", "")
        self._viewport.unsetCursor()

    def refresh(self) -> None:
        """Rows have moved below a resting mouse."""
        if not self._is_selecting and self._viewport.underMouse():
            self._position = QPointF(self._viewport.mapFromGlobal(QCursor.pos()))
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
        outside = self._position.y() < 0 or self._position.y() > self._viewport.height()
        if outside != self._edge_timer.isActive():
            self._edge_timer.start() if outside else self._edge_timer.stop()

    def _scroll_at_edge(self) -> None:
        height = self._viewport.height()
        beyond = self._position.y() if self._position.y() < 0 else self._position.y() - height
        self._chat_viewport.scroll_by(max(-height / 2, min(height / 2, beyond)))
        self._extend_selection()

    def _update_hover(self) -> None:
        located = self._chat_viewport.hit_test(self._position)
        area = located.item.hit_area_at(located.x, located.y) if located is not None else None
        link = _link_at(located) if located is not None and area is None else ""
        hovered = (located.item.row.key, area.name) if located is not None and area is not None else None
        tip = located.item.tip_at(located.x, located.y) if located is not None else ""
        self._set_hover(hovered, link, link or tip)
        if area is not None or link:
            self._viewport.setCursor(Qt.CursorShape.PointingHandCursor)
        elif located is not None and located.item.text_at(located.x, located.y) is not None:
            self._viewport.setCursor(Qt.CursorShape.IBeamCursor)
        else:
            self._viewport.unsetCursor()

    def _set_hover(self, hovered: AreaId | None, link: str, tip: str) -> None:
        if link != self._hovered_link:
            self._hovered_link = link
            self.link_hovered.emit(link)
        if self._viewport.toolTip() != tip:
            self._viewport.setToolTip(tip)
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
