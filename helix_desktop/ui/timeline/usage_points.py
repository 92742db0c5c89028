"""The context over time, counted from the log as the gauge does: one point for each step; no Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy, managed_window
from helix_desktop.context.window.rewrite_sizes import RewriteSize, RewriteSizes
from helix_desktop.context.window.used_tokens import (
    UsageGauge,
    estimate_of,
    is_small_answer,
    latest_report,
    projected_tokens,
)
from helix_desktop.context.window.window import handover_tokens
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    Excluded,
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    SweepReason,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import ModelChosen, OpeningGiven, WindowLearned
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsPlaced,
)
from helix_desktop.domain.store import ReportedUsage
from helix_desktop.words.state_words import STATE_WORDS

PointKind: TypeAlias = Literal[
    "turn", "sweep", "fold", "observations", "handover", "form", "exclude", "undo", "redo", "failure"
]


class UsagePoint(msgspec.Struct, frozen=True):
    """Tokens in the context window just after an event, recorded at `at_ms`.

    `window` is the size of the managed window then. 0 for either: not known. `is_estimated`: the provider had
    not reported it. It is not `is_sent` if it was rewritten before a request had it. A rewrite made of the
    next request's tokens `before` those `after`.
    """

    seq: int
    used: int
    kind: PointKind = "turn"
    window: int = 0
    at_ms: int = 0
    is_estimated: bool = False
    is_sent: bool = True
    before: int = 0
    after: int = 0


_KINDS: dict[type[Event], PointKind] = {
    SweepMade: "sweep",
    FoldMade: "fold",
    ObservationsPlaced: "observations",
    FormChosen: "form",
    Excluded: "exclude",
    Pinned: "turn",
    Unpinned: "turn",
    Undone: "undo",
    Redone: "redo",
}
DROP_KINDS: frozenset[PointKind] = frozenset({"handover", "sweep", "fold", "observations"})
"""What makes the window smaller."""
POINT_COLORS: dict[PointKind, str] = {
    **dict.fromkeys(("fold", "observations", "handover"), STATE_WORDS["folded"].color),
    "sweep": STATE_WORDS["cached"].color,
    "failure": "error",
}
"""What has a dot on the chart, and the token of its color."""


def usage_points(
    log: Sequence[RecordedEvent], policy: ContextPolicy, window_size: int = 0, fixed_tokens: int = 0
) -> tuple[UsagePoint, ...]:
    """Return the points of a log, oldest first.

    `policy` bounds the user's words that handovers quote; `window_size` is the managed window of the model
    which answers next, `fixed_tokens` are those of its prompt and tools, which count before the first answer.
    """
    answers = (recorded.event for recorded in log if isinstance(recorded.event, AssistantSpoke))
    first_window = next((answer.share_window for answer in answers if answer.window), window_size)
    usage = _UsageReducer(policy, _windows_from(log, policy, window_size), first_window, fixed_tokens)
    for recorded, after in zip(log, [*log[1:], None], strict=True):
        usage.apply(recorded, after)
    return usage.complete()


def with_current_usage(
    points: Sequence[UsagePoint], seq: int, gauge: UsageGauge, at_ms: int = 0
) -> tuple[UsagePoint, ...]:
    """Return the points up to what the gauge shows.

    The last message is `seq`, recorded at `at_ms`.
    What came since the last point, another model or other tools count there too.
    """
    if not points:
        return ()
    last = points[-1]
    if last.seq >= seq:
        seq = last.seq
        at_ms = last.at_ms
    now = UsagePoint(seq, gauge.used, window=gauge.window, at_ms=at_ms, is_estimated=not gauge.is_reported)
    if last.seq == seq:
        return (*points[:-1], replace(now, kind=last.kind))
    return (*points, now)


def sent_points(points: Sequence[UsagePoint]) -> list[UsagePoint]:
    """Return what was sent, and what is next; of a rewrite what the request behind it had."""
    sent: list[UsagePoint] = []
    used = 0
    for point in reversed(points):
        used = point.used if point.is_sent else used
        if point.is_sent or point.kind in POINT_COLORS:
            sent.append(replace(point, used=used))
    return sent[::-1]


class _UsageReducer:
    """Counts the window event by event as the gauge does, from the newest report of the model.

    What is always sent next to the messages (prompt, tools) is known from the estimate of each request;
    before the first it is `fixed_tokens`. The user's words within a handover are known from the policy, and
    from the handover's own figure where the policy was another one then. What the session's start tells
    counts as messages do: it can be excluded.
    """

    def __init__(
        self, policy: ContextPolicy, windows_from: Mapping[int, int], window_size: int, fixed_tokens: int
    ) -> None:
        """`windows_from` says which context window counts from an event on, `window_size` is the first."""
        self.points: list[UsagePoint] = []
        self._answered = 0  # so many of them came up to the last answer
        self._policy = policy
        self._windows_from = windows_from
        self._transcript = Transcript()
        self._messages = 0  # tokens, by our count, of what stands in the window
        self._overhead = fixed_tokens
        self._before_rewrites = list[tuple[int, int]]()  # since the last answer: seq, what it counted before
        self._quoted_before: dict[int, int] = {}  # by handover: how many more the policy of then let it quote
        self._sizes = dict[int, RewriteSize]()
        self._rewrite_sizes = RewriteSizes()
        self._model = ""  # PROVIDER/NAME of the one that answered or was chosen last
        self._report: ReportedUsage | None = None  # its newest
        self._window = window_size
        self._at_ms = 0

    def apply(self, recorded: RecordedEvent, following: RecordedEvent | None) -> None:
        self._at_ms = recorded.at
        self._window = self._windows_from.get(recorded.seq) or self._window
        match recorded.event:
            case UserSpoke() | ToolAnswered():
                self._append(recorded)
            case AssistantSpoke() as response:
                self._on_response(recorded, response)
            case HandoverFailed(is_refusal=False) | ObservationsFailed(is_error=True):
                self._transcript.apply(recorded)
                self._add_point(recorded.seq, "failure")
            case HandoverMade() as made:
                self._on_handover(recorded, made, _accompanying_sweep(following))
            case OpeningGiven():
                self._transcript.apply(recorded)
                self._messages = _window_tokens(self._transcript)
            case ModelChosen(model=model):
                self._transcript.apply(recorded)
                self._find_report(model or self._model)
            case event if type(event) in _KINDS:
                self._rewrite(recorded, _KINDS[type(event)])
            case _:
                self._skip(recorded)
        if (size := self._rewrite_sizes.apply(recorded, self._transcript)) is not None:
            self._sizes[recorded.seq] = size

    def complete(self) -> tuple[UsagePoint, ...]:
        self._mark_unsent()
        return tuple(
            replace(point, before=size.before, after=size.after)
            if point.kind != "turn" and (size := self._sizes.get(point.seq))
            else point
            for point in self.points
        )

    def _skip(self, recorded: RecordedEvent) -> None:
        """Read an event that is no rewrite; what it takes out of the window, also reports, counts no more."""
        before = len(self._transcript.window.entries())
        self._transcript.apply(recorded)
        if len(self._transcript.window.entries()) != before:
            self._messages = _window_tokens(self._transcript)
            self._find_report(self._model)

    def _append(self, recorded: RecordedEvent) -> None:
        self._transcript.apply(recorded)
        self._messages += self._transcript.window.entry_tokens(self._transcript.window.entries()[-1])

    def _mark_unsent(self, sent_after: int = 0) -> None:
        """Mark what was rewritten since the last answer, up to `sent_after`, before a request had it."""
        came = [
            at
            for at, point in enumerate(self.points[self._answered :], self._answered)
            if not 0 < sent_after < point.seq
        ]
        for at in came[:-1]:
            self.points[at] = replace(self.points[at], is_sent=False)

    def _on_response(self, recorded: RecordedEvent, event: AssistantSpoke) -> None:
        self._mark_unsent(event.sent_after)
        if event.estimate:
            missed = [before for seq, before in self._before_rewrites if 0 < event.sent_after < seq]
            messages = missed[0] if missed else self._messages + self._quoted_tokens
            self._overhead = max(0, event.estimate - messages)
            self._window = event.share_window or self._window
        self._before_rewrites.clear()
        self._append(recorded)
        self._find_report(event.model)
        if event.estimate:
            report = self._report
            newest = self._transcript.messages.items[-1]
            answer = self._transcript.window.entry_tokens(newest)
            is_reported = report is not None and report.newest and report.unchanged
            is_estimated = report is None or not (is_reported and is_small_answer(answer, report))
            self._add_point(recorded.seq, is_estimated=is_estimated)
        self._answered = len(self.points)

    def _find_report(self, model: str) -> None:
        self._model = model
        self._report = latest_report(self._transcript, model)

    def _on_handover(self, recorded: RecordedEvent, event: HandoverMade, sweep: RecordedEvent | None) -> None:
        """Learn the tokens of the user's words from its figure, which counts the sweep with it."""
        self._add_growth_point(recorded.seq, "handover")
        self._transcript.apply(recorded)
        both = self._transcript if sweep is None else self._transcript.fork()
        if sweep is not None:
            both.apply(sweep)
        after = estimate_of(event.after, self._report, self._ratio)
        words = after - self._overhead - _window_tokens(both)
        self._quoted_before[recorded.seq] = max(0, words) - self._quoted_tokens
        self._recount(recorded.seq, "handover")

    def _rewrite(self, recorded: RecordedEvent, kind: PointKind) -> None:
        self._add_growth_point(recorded.seq, kind)
        self._transcript.apply(recorded)
        self._find_report(self._model)
        self._recount(recorded.seq, kind)

    def _add_growth_point(self, seq: int, kind: PointKind) -> None:
        """Mark what stood there before a rewrite, if something came since the last point.

        What an undo or redo made of the context goes with the way back: no request had it. What stood there
        before it stood there before the way back.
        """
        self._before_rewrites.append((seq, self._messages + self._quoted_tokens))
        if self.points and {kind, self.points[-1].kind} <= {"undo", "redo"}:
            gone = self.points.pop()
            if self.points and self.points[-1].seq == gone.seq:
                self.points[-1] = replace(self.points[-1], seq=seq, at_ms=self._at_ms)
        elif self.points and self.points[-1].used != self._used_tokens():
            self._add_point(seq)

    def _recount(self, seq: int, kind: PointKind) -> None:
        self._messages = _window_tokens(self._transcript)
        self._add_point(seq, kind)

    @property
    def _ratio(self) -> float:
        return self._report.ratio if self._report is not None else 1.0

    @property
    def _quoted_tokens(self) -> int:
        handover = self._transcript.window.handover
        if handover is None or handover[0] in self._transcript.rewrites.excluded:
            return 0  # what stands in place of a handover quotes nobody
        seq, event = handover
        by_policy = handover_tokens(self._transcript, self._policy, self._window)
        return max(0, by_policy - event.tokens - FRAMING_TOKENS + self._quoted_before.get(seq, 0))

    def _used_tokens(self) -> int:
        counted = self._overhead + self._quoted_tokens + self._messages
        return projected_tokens(counted, self._report, self._ratio)

    def _add_point(self, seq: int, kind: PointKind = "turn", is_estimated: bool = True) -> None:
        point = UsagePoint(seq, self._used_tokens(), kind, self._window, self._at_ms, is_estimated)
        self.points.append(point)


def _windows_from(log: Sequence[RecordedEvent], policy: ContextPolicy, window_size: int) -> dict[int, int]:
    """Return the managed window that counts from an event on; at the log's end it is `window_size`.

    From a message or an output on that is the window of the request which it is sent with: what is rewritten
    for that one has its room, whatever the settings said at the answer before. Until a server says otherwise
    in an error it is what was believed.
    """
    windows: dict[int, int] = {}
    for recorded in reversed(log):
        match recorded.event:
            case AssistantSpoke(window=answered_with) as answer if answered_with:
                window_size = answer.share_window
            case WindowLearned(window=window, believed=believed):
                windows[recorded.seq] = managed_window(policy, window)
                window_size = managed_window(policy, believed)
            case ModelChosen() | UserSpoke() | ToolAnswered():
                windows[recorded.seq] = window_size
    return windows


def _window_tokens(transcript: Transcript) -> int:
    entries = transcript.window.entries()
    return transcript.opening_tokens + sum(transcript.window.entry_tokens(entry) for entry in entries)


def _accompanying_sweep(following: RecordedEvent | None) -> RecordedEvent | None:
    """Return the event that follows a handover if it is the sweep recorded with it."""
    event = following.event if following else None
    return following if isinstance(event, SweepMade) and event.reason is SweepReason.HANDOVER else None
