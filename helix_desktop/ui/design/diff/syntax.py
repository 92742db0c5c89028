"""The colors of code in a diff: both sides are lexed as a whole, in short slices."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import chain

from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.ui.design.highlight import ColoredRun, colored_runs

_SLICE_S = 0.004  # a quarter of a frame
_UPDATE_S = 0.1  # seconds between two drawings while more is found


class SyntaxRuns(QObject):
    """Finds the colored runs of every line of a diff; tells when there are more."""

    found = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs: Iterator[tuple[bool, ColoredRun]] = iter(())
        self._of_line: dict[tuple[bool, int], list[ColoredRun]] = {}
        self._next_update_at = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._run_slice)

    def start(self, diff: FileDiff | None, path: str) -> None:
        self._of_line, self._next_update_at = {}, 0.0
        self._timer.stop()
        name = path.rpartition("/")[2]
        if diff is None or "." not in name:
            return
        self._runs = chain(_runs(diff.after_lines, name, True), _runs(diff.before_lines, name, False))
        self._timer.start()

    def finish(self) -> None:
        """Find all that is left now, for pictures."""
        if self._timer.isActive():
            self._take(float("inf"))

    def of_line(self, number: int, *, is_after: bool) -> Sequence[ColoredRun]:
        """Return the runs of a line, by its number from 1 on its side; none yet if it was not lexed."""
        return self._of_line.get((is_after, number - 1), ())

    def _run_slice(self) -> None:
        self._take(time.perf_counter() + _SLICE_S)

    def _take(self, deadline: float) -> None:
        """Find runs until a time; what is on screen is drawn again now and then, and at the end."""
        for is_after, run in self._runs:
            self._of_line.setdefault((is_after, run.line), []).append(run)
            if time.perf_counter() > deadline:
                break
        else:
            self._timer.stop()
            self._next_update_at = 0.0
        if time.perf_counter() >= self._next_update_at:
            self._next_update_at = time.perf_counter() + _UPDATE_S
            self.found.emit()


def _runs(lines: Sequence[str], name: str, is_after: bool) -> Iterator[tuple[bool, ColoredRun]]:
    # A carriage return ends a line for the lexer, and a byte order mark is none of its characters.
    code = "".join(lines).replace("\r", " ").replace("\ufeff", " ")
    for run in colored_runs(code, name):
        yield is_after, run
