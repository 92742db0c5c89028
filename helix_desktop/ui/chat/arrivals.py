"""Carries changes of the model to the board; arriving text at most every 33 ms."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer

from helix_desktop.ui.chat.board import Board
from helix_desktop.ui.chat.message_sheets import AssistantSheet
from helix_desktop.ui.chat.rows import AssistantRow
from helix_desktop.ui.chat.sheets import ESTIMATES

FLUSH_MS = 33
_SLOWEST_SHARE = 4  # a flush that costs n ms is followed by a pause of at least 4 n ms


class Arrivals(QObject):
    """Listens to the model of a board for as long as the board lives."""

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._board = board
        self._waiting: set[str] = set()
        self._pause_ms = FLUSH_MS
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.flush)
        model = board.model
        model.row_appended.connect(self._appended)
        model.row_removed.connect(self._removed)
        model.row_changed.connect(self._changed)
        model.row_streamed.connect(self._streamed)

    def flush(self) -> None:
        """Render the text that has arrived."""
        start = time.perf_counter()
        waiting, self._waiting = self._waiting, set()
        for key in waiting:
            index = self._board.model.index_of(key)
            if index is not None and self._grow(index, key):
                self._repaint(key)
        if waiting:
            self._board.refresh()
        spent_ms = (time.perf_counter() - start) * 1000
        self._pause_ms = max(FLUSH_MS, round(spent_ms * _SLOWEST_SHARE))

    def _appended(self, index: int) -> None:
        board = self._board
        board.flow.heights.append(ESTIMATES[type(board.model.shape(index))])
        if not board.following:
            board.unseen += 1
        board.refresh()

    def _removed(self, index: int) -> None:
        self._board.flow.remove(index)
        self._board.unseen = max(0, self._board.unseen - 1)
        self._board.refresh()

    def _changed(self, index: int) -> None:
        key = self._board.model.shape(index).key
        if not self._grow(index, key):
            self._board.sheets.drop(key)
        self._repaint(key)
        self._board.refresh()

    def _streamed(self, index: int, _delta: str) -> None:
        self._waiting.add(self._board.model.shape(index).key)
        if not self._timer.isActive():
            self._timer.start(self._pause_ms)

    def _grow(self, index: int, key: str) -> bool:
        """Let the sheet of an answer grow in place; False when it has to be made anew."""
        row = self._board.model.row(index)
        sheet = self._board.sheets.kept(key)
        return isinstance(row, AssistantRow) and isinstance(sheet, AssistantSheet) and sheet.become(row)

    def _repaint(self, key: str) -> None:
        deck = self._board.deck
        widget = deck.shown.get(key) if deck is not None else None
        if widget is not None:
            widget.update()
