"""Where rows stand in the viewport, and keeping them still while their heights become known."""

from __future__ import annotations

import time
from typing import NamedTuple

from PySide6.QtCore import QObject, QPointF, QTimer, Signal
from PySide6.QtWidgets import QScrollBar, QWidget

from helix_desktop.ui.chat.accessible import RowArea
from helix_desktop.ui.chat.builder import Builder, View
from helix_desktop.ui.chat.column import Column
from helix_desktop.ui.chat.flow import Flow
from helix_desktop.ui.chat.look import Look
from helix_desktop.ui.chat.model import ChatModel
from helix_desktop.ui.chat.paint import Hot
from helix_desktop.ui.chat.row_widget import Deck, Host, RowWidget
from helix_desktop.ui.chat.sheet import Sheet
from helix_desktop.ui.chat.sheets import ESTIMATES, Sheets

_TRAIL = 18.0  # room below the last row, pixels
_SPIN_MS = 90
_SLICE_S = 0.0045  # of placing and building in one go: painting takes as long again
_EDGE = 8.0  # room kept around what Tab brings into sight, pixels


class Located(NamedTuple):
    """A row under a point, and the point in its sheet."""

    row: int
    sheet: Sheet
    x: float
    y: float


class Board(QObject):
    """Follows the model, lays the visible rows out, and moves the scroll bar along.

    What takes longer than `slice_s` seconds to build comes into sight a frame later.
    """

    moved = Signal()
    follow_changed = Signal(bool)

    def __init__(self, model: ChatModel, sheets: Sheets, viewport: RowArea, bar: QScrollBar) -> None:
        super().__init__(viewport)
        self.model = model
        self.sheets = sheets
        self.flow = Flow(self._measure, _TRAIL)
        self.following = True
        self.unseen = 0
        self.tick = 0
        self.slice_s = _SLICE_S
        self.deck: Deck | None = None
        self.column = Column(viewport, sheets)
        self._builder = Builder(self, self.flow, self._view, self._lay)
        self._viewport = viewport
        self._bar = bar
        self._syncing = False
        self._shown_value = 0

    def open(self, host: Host, lost_focus: QWidget) -> None:
        """Begin to show the model."""
        self.deck = Deck(self._viewport, host, lost_focus.setFocus)
        self.reset()

    @property
    def look(self) -> Look:
        """The look that rows are shown in."""
        return self.sheets.look

    @property
    def at_end(self) -> bool:
        """Whether the end of the last row is in sight."""
        return self.flow.at_end(self.column.height)

    def reset(self) -> None:
        """Show the model's rows from their end."""
        self.sheets.clear()
        self.flow.reset([ESTIMATES[type(row)] for row in self.model.shapes()])
        self.unseen = 0
        self.go_to_end()

    def repaint(self) -> None:
        """Paint all visible rows again."""
        if self.deck is not None:
            self.deck.update()

    def refresh(self) -> None:
        """Lay out again; stays at the end when it follows, else keeps the first visible row still."""
        deadline = time.perf_counter() + self.slice_s
        if self.following:
            self.flow.to_end()
        self._lay(deadline)

    def go_to_end(self) -> None:
        """Show the end and follow from now on."""
        self.set_following(True)
        self.refresh()

    def set_following(self, on: bool) -> None:
        """Stay at the end when rows come, or stay where the person reads."""
        if on:
            self.unseen = 0
        if on != self.following:
            self.following = on
            self.follow_changed.emit(on)

    def scroll_by(self, pixels: float) -> None:
        """Move on; up stops following, reaching the end starts it."""
        if pixels < 0:
            self.set_following(False)
        self.flow.scroll_by(pixels)
        self._lay()
        if pixels > 0 and self.at_end:
            self.set_following(True)
            self.moved.emit()

    def bar_moved(self) -> None:
        """The person has moved the scroll bar."""
        if self._syncing:
            return
        value = self._bar.value()
        by = value - self._shown_value
        if abs(by) <= 2 * self.column.height and 0 < value < self._bar.maximum():
            self.scroll_by(by)
            return
        if by < 0:
            self.set_following(False)
        if value == self._bar.maximum():
            self.go_to_end()
        else:
            self.flow.scroll_to(value)
            self._lay()

    def show_row(self, index: int, above: float | None = None) -> None:
        """Bring a row to `above` pixels below the top, by default a little room."""
        self.set_following(False)
        self.flow.show(index, self.look.px(8) if above is None else above)
        self._lay()
        if self.at_end:
            self.set_following(True)
            self.moved.emit()

    def uncover(self, index: int, hot: Hot) -> None:
        """Scroll as little as is needed to have a place of a row in sight."""
        room = self.column.height - _EDGE
        placed = next((row for row in self.flow.placed if row.row == index), None)
        if placed is None:
            self.show_row(index, room / 3 - hot.rect.y())
            return
        top = placed.y + self.sheets.gap(index) + hot.rect.y()
        bottom = top + min(hot.rect.height(), room)
        if top < _EDGE or bottom > room:
            self.scroll_by(top - _EDGE if top < _EDGE else bottom - room)

    def hold(self, index: int) -> None:
        """Lay out again with the top of a visible row staying where it is."""
        top = next((row.y for row in self.flow.placed if row.row == index), None)
        if top is not None:
            self.flow.show(index, top)
        was, self.following = self.following, False
        self._lay()
        self.following = was
        self.set_following(self.at_end)

    def sheet(self, index: int) -> Sheet:
        """The sheet of a row, laid out for the column."""
        sheet = self.sheets.get(index)
        sheet.layout(self.column.width)
        return sheet

    def locate(self, point: QPointF) -> Located | None:
        """The row at, or nearest to, a point of the viewport; None when there are no rows."""
        if not self.flow.placed:
            return None
        placed = self.flow.placed[0]
        for row in self.flow.placed:
            if row.y > point.y():
                break
            placed = row
        sheet = self.sheet(placed.row)
        top = placed.y + self.sheets.gap(placed.row)
        return Located(placed.row, sheet, point.x() - self.column.left, point.y() - top)

    def _view(self) -> View:
        return View(self.column.height, self.following, self.sheet, self.sheets.gap)

    def _measure(self, index: int) -> float:
        return self.sheets.gap(index) + self.sheet(index).height

    def _lay(self, deadline: float | None = None) -> None:
        deadline = deadline or time.perf_counter() + self.slice_s
        self.flow.layout(self.column.height)
        self._builder.build(deadline)
        rows = [(row, self.sheets.get(row.row), self.sheets.gap(row.row)) for row in self.flow.placed]
        if self.deck is not None:
            self.deck.place(rows, self.column.left)
        self._sync_bar()
        self.moved.emit()

    def _sync_bar(self) -> None:
        height = self.column.height
        self._syncing = True
        self._bar.setRange(0, round(self.flow.limit(height)))
        self._bar.setPageStep(height)
        self._bar.setSingleStep(round(self.look.px(22)))
        self._bar.setValue(round(self.flow.position))
        self._shown_value = self._bar.value()
        self._syncing = False


class Spinner(QObject):
    """Turns what shows work in progress, while any of it is in sight."""

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._board = board
        self._timer = QTimer(self)
        self._timer.setInterval(_SPIN_MS)
        self._timer.timeout.connect(self._spin)
        board.moved.connect(self._watch)

    def _busy(self) -> list[RowWidget]:
        deck = self._board.deck
        shown = deck.shown.values() if deck is not None else ()
        return [widget for widget in shown if widget.sheet is not None and widget.sheet.busy]

    def _watch(self) -> None:
        if not self._busy():
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def _spin(self) -> None:
        self._board.tick += 1
        for widget in self._busy():
            widget.update()
