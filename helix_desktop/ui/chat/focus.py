"""The way that Tab takes through the buttons of all rows, in sight or not."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.ui.chat.board import Board
from helix_desktop.ui.chat.flow import Placed
from helix_desktop.ui.chat.paint import Hot
from helix_desktop.ui.chat.row_widget import RowWidget
from helix_desktop.ui.chat.sheet import Sheet

_REACH = 200  # rows; Tab does not search further for a button


class FocusPath(QObject):
    """Knows the place that has the keyboard, and moves it on."""

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._board = board

    def step(self, forward: bool) -> bool:
        """Go to the next place, or the one before; False when there is none within reach."""
        deck = self._board.deck
        widget = deck.focused() if deck is not None else None
        if widget is None or widget.sheet is None:
            return forward and self.enter(forward=True)
        self._reach(widget.sheet, widget.focused_hot, forward)
        names = [hot.name for hot in widget.sheet.hots]
        at = names.index(widget.focused_hot) if widget.focused_hot in names else -1
        at += 1 if forward else -1
        if 0 <= at < len(names):
            return self._focus(widget.index, widget.sheet.hots[at])
        return self._search(widget.index + (1 if forward else -1), forward)

    def enter(self, *, forward: bool) -> bool:
        """Come in from outside: to the first visible place, or to the last one."""
        placed = self._board.flow.placed
        if not placed:
            return False
        for row in placed if forward else reversed(placed):
            hots = self._visible(row)
            if hots:
                return self._focus(row.row, hots[0 if forward else -1])
        return self._search(placed[-1 if forward else 0].row, forward)

    def _visible(self, placed: Placed) -> list[Hot]:
        """The places of a row that are wholly in sight."""
        top = placed.y + self._board.sheets.gap(placed.row)
        height = self._board.column.height
        hots = self._board.sheet(placed.row).hots
        return [hot for hot in hots if top + hot.rect.top() >= 0 and top + hot.rect.bottom() <= height]

    def _reach(self, sheet: Sheet, name: str, forward: bool) -> None:
        """Have the place after, or before, a place built; without a name the first, or last, of the sheet."""
        here = sheet.hot(name)
        edge = 0.0 if forward else sheet.height
        edge = here.rect.y() if here is not None else edge
        heights = [hot.rect.y() for hot in sheet.hots if hot.name != name]
        if forward:
            sheet.reach(edge, min((y for y in heights if y > edge), default=sheet.height), forward=True)
        else:
            sheet.reach(max((y for y in heights if y < edge), default=0.0), edge, forward=False)

    def _search(self, index: int, forward: bool) -> bool:
        step = 1 if forward else -1
        for _ in range(_REACH):
            if not 0 <= index < len(self._board.model):
                return False
            sheet = self._board.sheet(index)
            self._reach(sheet, "", forward)
            if sheet.hots:
                return self._focus(index, sheet.hots[0 if forward else -1])
            index += step
        return False

    def _focus(self, index: int, hot: Hot) -> bool:
        self._board.uncover(index, hot)
        widget = self._widget(index)
        if widget is not None:
            widget.focus_hot(hot.name)
        return widget is not None

    def _widget(self, index: int) -> RowWidget | None:
        deck = self._board.deck
        return deck.shown.get(self._board.model.shape(index).key) if deck is not None else None
