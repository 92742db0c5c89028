"""Builds rows in short slices: what is in sight first, what is near while nothing else is to be done."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QObject, QTimer

from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.viewport.scroll_layout import PlacedRow, ScrollLayout

_IDLE_S = 0.004  # of one slice while nothing else happens
_MIN_BUILD_S = 0.001  # of building, even when placing has taken all the time
_PAUSE_MS = 4  # between two of them
_LOOKAHEAD_VIEWPORTS = 1.0  # viewports above and below that are built ahead
_MAX_ROUNDS = 40  # of building and placing in one go; each makes at least one row exact


class ViewportState(NamedTuple):
    """What the builder has to know of the viewport at this moment; heights in pixels."""

    height: float
    is_following: bool
    item: Callable[[int], RowItem]
    gap: Callable[[int], float]


class IncrementalBuilder(QObject):
    """Replaces estimated heights with exact ones without moving what the user reads."""

    def __init__(
        self,
        parent: QObject,
        scroll_layout: ScrollLayout,
        get_state: Callable[[], ViewportState],
        relayout: Callable[[], None],
    ) -> None:
        super().__init__(parent)
        self._scroll_layout = scroll_layout
        self._get_state = get_state
        self._relayout = relayout
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
            self._relayout()
            return
        deadline = time.perf_counter() + _IDLE_S
        before = list(self._scroll_layout.placed)
        done = self._pass(_LOOKAHEAD_VIEWPORTS, deadline)
        self._place()
        if before != self._scroll_layout.placed:
            self._relayout()
        if done and self._read_ahead(deadline):
            self._timer.stop()
        else:
            self._timer.start(_PAUSE_MS)

    def _place(self) -> None:
        if self._get_state().is_following:
            self._scroll_layout.scroll_to_end()
        self._scroll_layout.layout(self._get_state().height)

    def _pass(self, lookahead: float, deadline: float) -> bool:
        """Build each placed row within the viewport, or as far as `lookahead` viewports beyond."""
        view = self._get_state()
        done = True
        placed = self._scroll_layout.placed
        for row in reversed(placed) if view.is_following else placed:
            done = self._build(row, view, lookahead * view.height, deadline) and done
        return done

    def _build(self, row: PlacedRow, state: ViewportState, margin: float, deadline: float) -> bool:
        item = state.item(row.row_index)
        top = -row.y - state.gap(row.row_index)
        bottom = top + state.height
        is_first = row is self._scroll_layout.placed[0]
        upwards = state.is_following or (is_first and row.y + row.height <= state.height and row.y < 0)
        pin = item.scroll_anchor(top, bottom, at_end=upwards)
        stood = item.anchor_top(pin)
        done = item.build(top - margin, bottom + margin, deadline, upwards=upwards)
        if is_first:
            self._scroll_layout.scroll_by(item.anchor_top(pin) - stood)
        return done

    def _read_ahead(self, deadline: float) -> bool:
        view = self._get_state()
        return all(view.item(row.row_index).read_ahead(deadline) for row in self._scroll_layout.placed)
