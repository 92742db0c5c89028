"""The way that Tab takes through the buttons of all rows, in sight or not."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.ui.chat.board import Board
from helix_desktop.ui.chat.row_widget import RowWidget

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
        names = [hot.name for hot in widget.sheet.hots]
        at = names.index(widget.focused_hot) if widget.focused_hot in names else -1
        at += 1 if forward else -1
        if 0 <= at < len(names):
            widget.focus_hot(names[at])
            self._board.uncover(widget.index)
            return True
        return self._search(widget.index + (1 if forward else -1), forward)

    def enter(self, *, forward: bool) -> bool:
        """Come in from outside: to the first visible place, or to the last one."""
        placed = self._board.flow.placed
        if not placed:
            return False
        return self._search(placed[0 if forward else -1].row, forward)

    def _search(self, index: int, forward: bool) -> bool:
        step = 1 if forward else -1
        for _ in range(_REACH):
            if not 0 <= index < len(self._board.model):
                return False
            sheet = self._board.sheet(index)
            if sheet.hots:
                return self._focus(index, sheet.hots[0 if forward else -1].name)
            index += step
        return False

    def _focus(self, index: int, hot: str) -> bool:
        self._board.uncover(index)
        widget = self._widget(index)
        if widget is not None:
            widget.focus_hot(hot)
        return widget is not None

    def _widget(self, index: int) -> RowWidget | None:
        deck = self._board.deck
        return deck.shown.get(self._board.model.shape(index).key) if deck is not None else None
