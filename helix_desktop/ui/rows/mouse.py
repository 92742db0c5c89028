"""The mouse over a list of rows: hover, press, select."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

from PySide6.QtCore import QObject, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QCursor, QGuiApplication, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QToolTip, QWidget

from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.rows.selection import Selection, TextPosition
from helix_desktop.ui.rows.viewport import HitResult, ListViewport

AreaId: TypeAlias = tuple[Hashable, str]
"""A place to click: the key of its row, and its name there."""
_EDGE_MS = 30
_DOUBLE, _TRIPLE = 2, 3


class ListMouse(QObject):
    clicked = Signal(int, object)
    """Index of a row, and the place in it that was clicked."""
    changed = Signal()

    def __init__(self, rows: ListViewport, selection: Selection, viewport: QWidget) -> None:
        super().__init__(viewport)
        self._rows, self._selection, self.viewport = rows, selection, viewport
        self.hovered: AreaId | None = None
        self.pressed: AreaId | None = None
        self.last_index = -1
        self._link = ""
        self._is_selecting = False
        self._clicks = 0
        self._position = QPointF()
        self._click_timer = QTimer(self, singleShot=True)
        self._edge_timer = QTimer(self, interval=_EDGE_MS)
        self._edge_timer.timeout.connect(self._scroll_at_edge)

    def press(self, event: QMouseEvent) -> None:
        located = self._rows.hit_test(event.position())
        if located is None or event.button() != Qt.MouseButton.LeftButton:
            return
        self.last_index = located.row_index
        area = located.item.hit_area_at(located.x, located.y)
        if area is not None:
            self._press_area(located, area)
            return
        self._link = self.link_of(located)
        self._count_click()
        self._begin_selection(located, bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))

    def _press_area(self, located: HitResult, area: HitArea) -> None:
        self.pressed = (located.item.key, area.name)
        self.changed.emit()

    def double_click(self, event: QMouseEvent) -> bool:
        """Do what a double click does here beside that of a press; False if nothing."""
        return False

    def wheel(self, event: QWheelEvent) -> bool:
        """Scroll what is below the mouse by itself; False where nothing does."""
        return False

    def move(self, event: QMouseEvent) -> None:
        self._position = event.position()
        if self._is_selecting:
            self._extend_selection()
        else:
            self._update_hover()

    def release(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        pressed, self.pressed = self.pressed, None
        link, self._link = self._link, ""
        self._is_selecting = False
        self._edge_timer.stop()
        located = self._rows.hit_test(event.position())
        if located is not None:
            area = located.item.hit_area_at(located.x, located.y)
            if area is not None and pressed == (located.item.key, area.name):
                self._click_area(located, area, event)
            elif link and not self._selection and self.link_of(located) == link:
                self._open_link(link)
        self.changed.emit()

    def _click_area(self, located: HitResult, area: HitArea, event: QMouseEvent) -> None:
        self.clicked.emit(located.row_index, area)

    def _open_link(self, link: str) -> None: ...

    def link_of(self, located: HitResult) -> str:
        """Return the target of the link at a place, or an empty string."""
        return ""

    def clear_hover(self) -> None:
        self._set_hover(None, "")
        self.viewport.unsetCursor()

    def refresh(self) -> None:
        """Rows have moved below a resting mouse."""
        if not self._is_selecting and self.viewport.underMouse():
            self._position = QPointF(self.viewport.mapFromGlobal(QCursor.pos()))
            self._update_hover()

    def link_at(self, point: QPointF) -> str:
        located = self._rows.hit_test(point)
        return self.link_of(located) if located is not None else ""

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
        located = self._rows.hit_test(self._position)
        if located is not None:
            self._selection.extend(_text_position(located))
            self.changed.emit()
        outside = self._position.y() < 0 or self._position.y() > self.viewport.height()
        if outside != self._edge_timer.isActive():
            self._edge_timer.start() if outside else self._edge_timer.stop()

    def _scroll_at_edge(self) -> None:
        height = self.viewport.height()
        beyond = self._position.y() if self._position.y() < 0 else self._position.y() - height
        self._rows.scroll_by(max(-height / 2, min(height / 2, beyond)))
        self._extend_selection()

    def _update_hover(self) -> None:
        located = self._rows.hit_test(self._position)
        area = located.item.hit_area_at(located.x, located.y) if located is not None else None
        link = self.link_of(located) if located is not None and area is None else ""
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
            self.changed.emit()


def _text_position(hit: HitResult) -> TextPosition:
    return TextPosition(hit.row_index, *hit.item.nearest_position(hit.x, hit.y))
