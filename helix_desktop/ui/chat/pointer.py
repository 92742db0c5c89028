"""The mouse over the conversation: hovering, pressing, selecting, dragging past the edge."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QCursor, QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QToolTip, QWidget

from helix_desktop.ui.chat.answer_guard import AnswerGuard
from helix_desktop.ui.chat.board import Board, Located
from helix_desktop.ui.chat.selection import Selection, Spot

_EDGE_MS = 30
_DOUBLE, _TRIPLE = 2, 3


class Pointer(QObject):
    """Turns mouse events of the viewport into hovering, clicks and a selection."""

    clicked = Signal(int, str)
    link_activated = Signal(str)
    link_hovered = Signal(str)
    changed = Signal()

    def __init__(self, board: Board, selection: Selection, viewport: QWidget, guard: AnswerGuard) -> None:
        super().__init__(viewport)
        self._board = board
        self._selection = selection
        self._viewport = viewport
        self._guard = guard
        self.hovered: tuple[str, str] = ("", "")
        self.pressed: tuple[str, str] = ("", "")
        self.last_index = -1
        self._link = ""
        self._hovered_link = ""
        self._selecting = False
        self._clicks = 0
        self._at = QPointF()
        self._count = QTimer(self)
        self._count.setSingleShot(True)
        self._edge = QTimer(self)
        self._edge.setInterval(_EDGE_MS)
        self._edge.timeout.connect(self._scroll_at_edge)

    def press(self, event: QMouseEvent) -> None:
        """A button goes down."""
        located = self._board.locate(event.position())
        if located is None or event.button() != Qt.MouseButton.LeftButton:
            return
        self.last_index = located.row
        hot = located.sheet.hot_at(located.x, located.y)
        if hot is not None and not self._guard.takes(located.sheet.row.key, hot.name):
            return
        if hot is not None:
            self.pressed = (located.sheet.row.key, hot.name)
            self.changed.emit()
            return
        self._link = _link(located)
        self._count_click()
        self._begin(located, bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))

    def open_subagent(self, event: QMouseEvent) -> bool:
        """Take a double click on the bar of a card that has a subagent; whether it was one."""
        located = self._board.locate(event.position())
        if located is None or event.button() != Qt.MouseButton.LeftButton:
            return False
        under = located.sheet.hot_at(located.x, located.y)
        place = located.sheet.hot("subagent:card")
        if (
            place is None
            or located.y > place.rect.bottom()
            or (under is not None and under.name != "open:card")
        ):
            return False
        self.clicked.emit(located.row, place.name)
        return True

    def move(self, event: QMouseEvent) -> None:
        """The mouse moves, with or without a button."""
        self._at = event.position()
        if self._selecting:
            self._extend()
        else:
            self._hover()

    def release(self, event: QMouseEvent) -> None:
        """A button goes up."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        pressed, self.pressed = self.pressed, ("", "")
        link, self._link = self._link, ""
        self._selecting = False
        self._edge.stop()
        located = self._board.locate(event.position())
        if located is None:
            return
        hot = located.sheet.hot_at(located.x, located.y)
        if hot is not None and pressed == (located.sheet.row.key, hot.name):
            self.clicked.emit(located.row, hot.name)
        elif link and not self._selection and _link(located) == link:
            self.link_activated.emit(link)
        self.changed.emit()

    def leave(self) -> None:
        """The mouse has left the viewport."""
        self._set_hover(("", ""), "", "")
        self._viewport.unsetCursor()

    def refresh(self) -> None:
        """Rows have moved below a resting mouse."""
        if not self._selecting and self._viewport.underMouse():
            self._at = QPointF(self._viewport.mapFromGlobal(QCursor.pos()))
            self._hover()

    def link_at(self, point: QPointF) -> str:
        """The link at a point of the viewport, or nothing."""
        located = self._board.locate(point)
        return _link(located) if located is not None else ""

    def _count_click(self) -> None:
        self._clicks = self._clicks + 1 if self._count.isActive() else 1
        self._count.start(QGuiApplication.styleHints().mouseDoubleClickInterval())

    def _begin(self, located: Located, extend: bool) -> None:
        spot = _spot(located)
        if self._clicks >= _DOUBLE and located.sheet.shown:
            text = located.sheet.text(spot.text)
            start, end = text.word(spot.position, whole_block=self._clicks >= _TRIPLE)
            self._selection.cover(spot._replace(position=start), spot._replace(position=end))
        elif extend and self._selection.anchor is not None:
            self._selection.extend(spot)
        else:
            self._selection.start(spot)
            self._selecting = True
        self._selecting = self._selecting or extend
        self.changed.emit()

    def _extend(self) -> None:
        located = self._board.locate(self._at)
        if located is not None:
            self._selection.extend(_spot(located))
            self.changed.emit()
        outside = self._at.y() < 0 or self._at.y() > self._viewport.height()
        if outside != self._edge.isActive():
            self._edge.start() if outside else self._edge.stop()

    def _scroll_at_edge(self) -> None:
        height = self._viewport.height()
        beyond = self._at.y() if self._at.y() < 0 else self._at.y() - height
        self._board.scroll_by(max(-height / 2, min(height / 2, beyond)))
        self._extend()

    def _hover(self) -> None:
        located = self._board.locate(self._at)
        hot = located.sheet.hot_at(located.x, located.y) if located is not None else None
        link = _link(located) if located is not None and hot is None else ""
        key = (located.sheet.row.key, hot.name) if located is not None and hot is not None else ("", "")
        self._set_hover(key, link, link or (hot.tip if hot is not None else ""))
        if hot is not None or link:
            self._viewport.setCursor(Qt.CursorShape.PointingHandCursor)
        elif located is not None and located.sheet.text_at(located.x, located.y) is not None:
            self._viewport.setCursor(Qt.CursorShape.IBeamCursor)
        else:
            self._viewport.unsetCursor()

    def _set_hover(self, hovered: tuple[str, str], link: str, tip: str) -> None:
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


def _spot(located: Located) -> Spot:
    return Spot(located.row, *located.sheet.nearest(located.x, located.y))


def _link(located: Located) -> str:
    text = located.sheet.text_at(located.x, located.y)
    return text.link_at(located.x, located.y) if text is not None else ""
