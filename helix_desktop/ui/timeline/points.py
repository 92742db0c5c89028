"""A session's log as the sparkline's points: tokens in the window after each step and each rewrite."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.context.event import AssistantSpoke, Recorded, ToolAnswered
from helix_desktop.context.event_rewrite import FoldMade, FormChosen, Redone, SweepMade, Undone
from helix_desktop.context.event_summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsPlaced,
)
from helix_desktop.ui.timeline.rows import Point, PointKind


def points_of(log: Sequence[Recorded]) -> tuple[Point, ...]:
    """The points of a log, oldest first."""
    reading = _Reading()
    for recorded in log:
        reading.take(recorded)
    return tuple(reading.points)


class _Reading:
    """Tokens in the window so far; what a rewrite saved is known until it is undone."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._used = 0
        self._changes: dict[int, int] = {}
        self._shown: dict[int, int] = {}  # tokens of each output in its shown form

    def take(self, recorded: Recorded) -> None:
        """Read the next event."""
        match recorded.event:
            case AssistantSpoke() as spoke if spoke.estimate:
                self._used = (spoke.usage.input if spoke.usage else spoke.estimate) + spoke.tokens
                self._mark(recorded.seq)
            case ToolAnswered() as answer:
                self._shown[recorded.seq] = answer.tokens
                self._used += answer.tokens
            case FormChosen() as chosen:
                change = chosen.tokens - self._shown.get(chosen.target, chosen.tokens)
                self._shown[chosen.target] = chosen.tokens
                self._changes[recorded.seq] = change
                self._used += change
            case HandoverFailed() | ObservationsFailed():
                self._mark(recorded.seq, "failure")
            case _:
                self._rewritten(recorded)

    def _rewritten(self, recorded: Recorded) -> None:
        match recorded.event:
            case SweepMade(saved=saved):
                self._change(recorded.seq, -saved, "sweep")
            case FoldMade(saved=saved):
                self._change(recorded.seq, -saved, "fold")
            case ObservationsPlaced(saved=saved):
                self._change(recorded.seq, -saved, "observations")
            case HandoverMade(before=before, after=after):
                self._used = before
                self._mark(recorded.seq)
                self._change(recorded.seq, after - before, "handover")
            case Undone(target=target) if target in self._changes:
                self._used -= self._changes[target]
                self._mark(recorded.seq, "undo")
            case Redone(target=target) if target in self._changes:
                self._used += self._changes[target]
                self._mark(recorded.seq, "redo")
            case _:
                pass

    def _change(self, seq: int, change: int, kind: PointKind) -> None:
        self._changes[seq] = change
        self._used += change
        self._mark(seq, kind)

    def _mark(self, seq: int, kind: PointKind = "turn") -> None:
        self.points.append(Point(seq, max(0, self._used), kind))
