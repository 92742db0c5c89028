"""A session's log as the chart's points: tokens in the context window after each step and each rewrite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from helix_desktop.context.budget import ratio_of
from helix_desktop.context.event import AssistantSpoke, Event, Recorded, ToolAnswered, UserSpoke
from helix_desktop.context.event_rewrite import (
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.context.event_summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsPlaced,
)
from helix_desktop.context.rewrite_kind import SweepReason
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.timeline.rows import Point, PointKind

_KINDS: dict[type[Event], PointKind] = {
    SweepMade: "sweep",
    FoldMade: "fold",
    ObservationsPlaced: "observations",
    FormChosen: "form",
    Pinned: "turn",
    Unpinned: "turn",
    Undone: "undo",
    Redone: "redo",
}


def points_of(log: Sequence[Recorded]) -> tuple[Point, ...]:
    """Return the points of a log, oldest first."""
    usage = _Usage()
    for recorded, after in zip(log, [*log[1:], None], strict=True):
        usage.take(recorded, after)
    return tuple(usage.points)


def ended_at(points: Sequence[Point], seq: int, used: int, window: int) -> tuple[Point, ...]:
    """Return the points up to what the gauge shows: `used` of `window` tokens, the last message being `seq`.

    What came since the last point, another model or other tools count there too.
    """
    if not points:
        return ()
    last = points[-1]
    if last.seq >= seq:
        return (*points[:-1], replace(last, used=used, window=window))
    return (*points, Point(seq, used, window=window))


class _Usage:
    """Counts the window event by event as the gauge does: what a report did not see, times the model's ratio.

    What is always sent beside the messages (prompt, tools) is known from the estimate of each request; the
    user's words within a handover, from the handover's own figure.
    """

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._known = Transcript()
        self._messages = 0  # tokens, by our count, of what stands in the window
        self._fixed = 0
        self._quoted: dict[int, int] = {}  # of the user's words, by the handover that quotes them
        self._report: tuple[int, int] | None = None  # tokens as reported, and as we counted them then
        self._ratio, self._window = 1.0, 0

    def take(self, recorded: Recorded, after: Recorded | None) -> None:
        """Read the next event; `after` is the one that follows it."""
        match recorded.event:
            case UserSpoke() | ToolAnswered():
                self._append(recorded)
            case AssistantSpoke() as spoke:
                self._answered(recorded, spoke)
            case HandoverFailed() | ObservationsFailed():
                self._known.apply(recorded)
                self._mark(recorded.seq, "failure")
            case HandoverMade() as made:
                self._hand_over(recorded, made, _rides(after))
            case event if type(event) in _KINDS:
                self._rewrite(recorded, _KINDS[type(event)])
            case _:
                self._pass(recorded)

    def _pass(self, recorded: Recorded) -> None:
        """Read an event that is no rewrite; what it takes out of the window is not counted any more."""
        before = len(self._known.live())
        self._known.apply(recorded)
        if len(self._known.live()) != before:
            self._messages, self._report = _shown(self._known), None

    def _append(self, recorded: Recorded) -> None:
        self._known.apply(recorded)
        self._messages += self._known.shown_tokens(self._known.live()[-1])

    def _answered(self, recorded: Recorded, spoke: AssistantSpoke) -> None:
        if spoke.estimate:
            self._fixed = max(0, spoke.estimate - self._messages - self._quoted_now)
            reported = spoke.usage.input if spoke.usage else 0
            self._report = (reported, spoke.estimate) if reported else None
            self._window = spoke.window or self._window
        self._append(recorded)
        self._ratio = ratio_of(self._known, spoke.model)
        if spoke.estimate:
            self._mark(recorded.seq)

    def _hand_over(self, recorded: Recorded, made: HandoverMade, ride: Recorded | None) -> None:
        """Learn the tokens of the user's words from its figure, which counts the sweep with it."""
        self._mark_growth(recorded.seq)
        self._known.apply(recorded)
        both = self._known if ride is None else self._known.fork()
        if ride is not None:
            both.apply(ride)
        words = round(made.after / self._ratio) - self._fixed - _shown(both)
        self._quoted[recorded.seq] = max(0, words)
        self._count(recorded.seq, "handover")

    def _rewrite(self, recorded: Recorded, kind: PointKind) -> None:
        self._mark_growth(recorded.seq)
        self._known.apply(recorded)
        self._count(recorded.seq, kind)

    def _mark_growth(self, seq: int) -> None:
        """Mark what stood there before a rewrite, if something came since the last point."""
        if self.points and self.points[-1].used != self._used:
            self._mark(seq)

    def _count(self, seq: int, kind: PointKind) -> None:
        self._messages, self._report = _shown(self._known), None
        self._mark(seq, kind)

    @property
    def _quoted_now(self) -> int:
        held = self._known.handover
        return self._quoted.get(held[0], 0) if held else 0

    @property
    def _used(self) -> int:
        counted = self._fixed + self._quoted_now + self._messages
        if self._report is None:
            return round(counted * self._ratio)
        reported, then = self._report
        return max(0, reported + round((counted - then) * self._ratio))

    def _mark(self, seq: int, kind: PointKind = "turn") -> None:
        self.points.append(Point(seq, self._used, kind, self._window))


def _shown(transcript: Transcript) -> int:
    return sum(transcript.shown_tokens(entry) for entry in transcript.live())


def _rides(after: Recorded | None) -> Recorded | None:
    """Return the event that follows a handover if it is the sweep recorded with it."""
    event = after.event if after else None
    return after if isinstance(event, SweepMade) and event.reason is SweepReason.HANDOVER else None
