"""Builds rows in short slices: what is in sight first, what is near while nothing else is to be done."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QObject, QTimer

from helix_desktop.ui.chat.flow import Flow, Placed
from helix_desktop.ui.chat.sheet import Sheet

_IDLE_S = 0.004  # of one slice while nothing else happens
_LEAST_S = 0.001  # of building, even when placing has taken all the time
_PAUSE_MS = 4  # between two of them
_NEAR = 1.0  # viewports above and below that are built ahead
_ROUNDS = 40  # of building and placing in one go; each makes at least one row exact


class View(NamedTuple):
    """What the builder has to know of the viewport at this moment; heights in pixels."""

    height: float
    following: bool
    sheet: Callable[[int], Sheet]
    gap: Callable[[int], float]


class Builder(QObject):
    """Makes estimated heights exact; what the person reads does not move for it."""

    def __init__(
        self, parent: QObject, flow: Flow, view: Callable[[], View], lay: Callable[[], None]
    ) -> None:
        super().__init__(parent)
        self._flow = flow
        self._view = view
        self._lay = lay
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._work)
        self._in_sight = True

    def build(self, deadline: float) -> None:
        """Build what is in sight of the placed rows and place them anew; goes on later when time is up.

        `deadline` is a time of time.perf_counter.
        """
        deadline = max(deadline, time.perf_counter() + _LEAST_S)
        for _ in range(_ROUNDS):
            before = [(row.row, row.height) for row in self._flow.placed]
            self._in_sight = self._pass(0.0, deadline)
            self._place()
            if before == [(row.row, row.height) for row in self._flow.placed]:
                break
            if time.perf_counter() > deadline:
                self._in_sight = False
                break
        self._timer.start(0 if not self._in_sight else _PAUSE_MS)

    def _work(self) -> None:
        if not self._in_sight:
            self._lay()
            return
        deadline = time.perf_counter() + _IDLE_S
        before = list(self._flow.placed)
        done = self._pass(_NEAR, deadline)
        self._place()
        if before != self._flow.placed:
            self._lay()
        if done and self._read(deadline):
            self._timer.stop()
        else:
            self._timer.start(_PAUSE_MS)

    def _place(self) -> None:
        if self._view().following:
            self._flow.to_end()
        self._flow.layout(self._view().height)

    def _pass(self, near: float, deadline: float) -> bool:
        """Build each placed row between the edges of the viewport, or as far as `near` viewports beyond."""
        view = self._view()
        done = True
        placed = self._flow.placed
        for row in reversed(placed) if view.following else placed:
            done = self._build(row, view, near * view.height, deadline) and done
        return done

    def _build(self, row: Placed, view: View, reach: float, deadline: float) -> bool:
        sheet = view.sheet(row.row)
        top = -row.y - view.gap(row.row)
        bottom = top + view.height
        is_first = row is self._flow.placed[0]
        upwards = view.following or (is_first and row.y + row.height <= view.height and row.y < 0)
        pin = sheet.pin(top, bottom, at_end=upwards)
        stood = sheet.top_of(pin)
        done = sheet.build(top - reach, bottom + reach, deadline, upwards=upwards)
        if is_first:
            self._flow.scroll_by(sheet.top_of(pin) - stood)
        return done

    def _read(self, deadline: float) -> bool:
        view = self._view()
        return all(view.sheet(row.row).read_ahead(deadline) for row in self._flow.placed)
