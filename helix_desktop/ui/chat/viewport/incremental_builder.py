"""Builds rows in short slices: what is in sight first, what is near while nothing else is to be done."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.ui.chat.viewport.column import TextColumn
from helix_desktop.ui.chat.viewport.scroll_layout import PlacedRow, ScrollLayout

_IDLE_S = 0.004  # of one slice while nothing else happens
_MIN_BUILD_S = 0.001  # of building, even when placing has taken all the time
_PAUSE_MS = 4  # between two of them
_LOOKAHEAD_VIEWPORTS = 1.0  # viewports above and below that are built ahead
_MAX_ROUNDS = 40  # of building and placing in one go; each makes at least one row exact


class IncrementalBuilder(QObject):
    """Replaces estimated heights with exact ones without moving what the user reads."""

    rows_moved = Signal()
    """What was built has moved rows, or is to be placed again."""

    def __init__(self, parent: QObject, scroll_layout: ScrollLayout, column: TextColumn) -> None:
        super().__init__(parent)
        self._scroll_layout = scroll_layout
        self._column = column
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._build_ahead)
        self._is_visible_built = True

    def build(self, deadline: float) -> None:
        """Build what is in sight of the placed rows and place them again; goes on later when time is up.

        `deadline` is a time of time.perf_counter.
        """
        deadline = max(deadline, time.perf_counter() + _MIN_BUILD_S)
        for _ in range(_MAX_ROUNDS):
            before = [(row.row_index, row.height) for row in self._scroll_layout.placed]
            self._is_visible_built = self._pass(0.0, deadline)
            self._place()
            if before == [(row.row_index, row.height) for row in self._scroll_layout.placed]:
                break
            if time.perf_counter() > deadline:
                self._is_visible_built = False
                break
        self._timer.start(0 if not self._is_visible_built else _PAUSE_MS)

    def _build_ahead(self) -> None:
        if not self._is_visible_built:
            self.rows_moved.emit()
            return
        deadline = time.perf_counter() + _IDLE_S
        before = list(self._scroll_layout.placed)
        done = self._pass(_LOOKAHEAD_VIEWPORTS, deadline)
        self._place()
        if before != self._scroll_layout.placed:
            self.rows_moved.emit()
        if done and self._read_ahead(deadline):
            self._timer.stop()
        else:
            self._timer.start(_PAUSE_MS)

    def _place(self) -> None:
        if self._scroll_layout.is_following:
            self._scroll_layout.scroll_to_end()
        self._scroll_layout.layout(self._column.height)

    def _pass(self, lookahead: float, deadline: float) -> bool:
        """Build each placed row within the viewport, or as far as `lookahead` viewports beyond."""
        done, placed = True, self._scroll_layout.placed
        for row in reversed(placed) if self._scroll_layout.is_following else placed:
            try:
                done = self._build(row, lookahead * self._column.height, deadline) and done
            except Exception as error:  # noqa: BLE001 - of one row, which must not take the others with it
                self._column.show_plain(row.row_index, error)
                done = False
        return done

    def _build(self, row: PlacedRow, margin: float, deadline: float) -> bool:
        item, height = self._column.item(row.row_index), self._column.height
        top = -row.y - self._column.gap(row.row_index)
        bottom = top + height
        is_first = row is self._scroll_layout.placed[0]
        ends_in_sight = is_first and row.y + row.height <= height and row.y < 0
        upwards = self._scroll_layout.is_following or ends_in_sight
        pin = item.scroll_anchor(top, bottom, at_end=upwards)
        stood = item.anchor_top(pin)
        done = item.build(top - margin, bottom + margin, deadline, upwards=upwards)
        if is_first:
            self._scroll_layout.scroll_by(item.anchor_top(pin) - stood)
        return done

    def _read_ahead(self, deadline: float) -> bool:
        for row in self._scroll_layout.placed:
            try:
                if not self._column.item(row.row_index).read_ahead(deadline):
                    return False
            except Exception as error:  # noqa: BLE001 - as above
                self._column.show_plain(row.row_index, error)
                return False
        return True
