"""Finds words in all rows, without holding up the window."""

from __future__ import annotations

import time
from collections.abc import Iterator

from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.ui.chat.board import Board
from helix_desktop.ui.chat.find_count import FindCount
from helix_desktop.ui.chat.rows import AssistantRow, ToolRow, UserRow, source_text
from helix_desktop.ui.chat.selection import Spot
from helix_desktop.ui.chat.sheet import Sheet

_SLICE_S = 0.008
_FOLDS = ((ToolRow, "card"), (UserRow, "more"), (AssistantRow, "thoughts"))


class Finder(QObject):
    """One search at a time, forwards (1) or backwards (-1), around the ends."""

    finished = Signal(bool)

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._board = board
        self.query = ""
        self.current: tuple[Spot, int] | None = None  # the hit and its length
        self._rows: Iterator[tuple[int, Spot | None]] = iter(())
        self._forward = True
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._work)
        self.count = FindCount(board.model, self)
        self._place = 0  # of the present hit among those of its row

    @property
    def position(self) -> int | None:
        """The number of the present hit, from 1, in the whole conversation; None while it is not known."""
        if self.current is None:
            return None
        before = self.count.before(self.current[0].row)
        return before + self._place if before is not None else None

    def find(self, query: str, direction: int) -> None:
        """Go to the next hit; `finished` tells whether there is one."""
        if query.lower() != self.query:
            self.current = None
            self.count.begin(query.lower())
        self.query = query.lower()
        self._forward = direction >= 0
        if not query or not len(self._board.model):
            self.clear()
            self.finished.emit(False)
            return
        self._rows = self._order()
        self._work()

    def clear(self) -> None:
        """Stop and show no hits."""
        self._timer.stop()
        self.query, self.current, self._rows = "", None, iter(())
        self.count.begin("")

    def hits(self, sheet: Sheet) -> dict[int, list[tuple[int, int]]]:
        """Ranges of what is built of a sheet that hold the words, by number of the text."""
        if not self.query:
            return {}
        return {text.number: found for text in sheet.shown if (found := text.find(self.query))}

    def _order(self) -> Iterator[tuple[int, Spot | None]]:
        """All rows once around; the row of the present hit first beyond it, and at last as a whole."""
        count = len(self._board.model)
        step = 1 if self._forward else -1
        if self.current is not None:
            first = self.current[0].row
            yield first, self.current[0]
        else:
            placed = self._board.flow.placed
            first = placed[0 if self._forward else -1].row - step if placed else 0
        for away in range(1, count + 1):
            yield (first + step * away) % count, None

    def _work(self) -> None:
        deadline = time.perf_counter() + _SLICE_S
        for index, beyond in self._rows:
            if self._matches(index) and self._go_to(index, beyond):
                self.finished.emit(True)
                return
            if time.perf_counter() > deadline:
                self._timer.start(0)
                return
        self.current = None
        self.finished.emit(False)

    def _matches(self, index: int) -> bool:
        row = self._board.model.row(index)
        if isinstance(row, AssistantRow) and self.query in row.reasoning.lower():
            return True
        return self.query in source_text(row).lower()

    def _go_to(self, index: int, beyond: Spot | None) -> bool:
        if beyond is None and self._hits(index) < self.count.of(index):
            self._open(index)  # it hides some of them
        spot = self._spot(index, beyond)
        if beyond is None:
            self.count.correct(index, self._hits(index))
        if spot is None:
            return False
        self.current = (spot, len(self.query))
        self._place = self._hits(index, spot)
        self._reveal(spot)
        return True

    def _hits(self, index: int, upto: Spot | None = None) -> int:
        """The hits that a row shows, or those up to a spot with it; nothing is built for them."""
        hits = 0
        for one in self._board.sheet(index).words():
            text = one.text.lower()
            if upto is not None and one.number == upto.text:
                return hits + text[: upto.position + len(self.query)].count(self.query)
            hits += text.count(self.query)
        return hits

    def _spot(self, index: int, beyond: Spot | None) -> Spot | None:
        """The nearest hit of a row; only texts that hold the words are built for it."""
        sheet = self._board.sheet(index)
        words = sheet.words()
        for one in words if self._forward else reversed(list(words)):
            passed = beyond is not None and (
                one.number < beyond.text if self._forward else one.number > beyond.text
            )
            if passed or self.query not in one.text.lower():
                continue
            found = [Spot(index, one.number, start) for start, _ in sheet.text(one.number).find(self.query)]
            for spot in found if self._forward else reversed(found):
                if beyond is None or (spot > beyond if self._forward else spot < beyond):
                    return spot
        return None

    def _open(self, index: int) -> bool:
        """Open the fold of a row that may hide the words."""
        row = self._board.model.shape(index)
        fold = next((fold for kind, fold in _FOLDS if isinstance(row, kind)), "")
        if not fold or self._board.sheets.is_open(row.key, fold):
            return False
        self._board.sheets.toggle(row.key, fold)
        return True

    def _reveal(self, spot: Spot) -> None:
        sheet = self._board.sheet(spot.row)
        line = sheet.text(spot.text).line_rect(spot.position)
        third = self._board.column.height / 3
        self._board.show_row(spot.row, third - line.y())
