"""The window as it was at an earlier event: a transcript of the log's beginning, rendered as ever."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import msgspec

from helix_desktop.context.log.rewrite_state import RewriteEvent
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.used_tokens import UsageGauge, is_plausible, measure_usage, request_ratio
from helix_desktop.context.window.window import PromptFrame, Window, project
from helix_desktop.context.window.window_breakdown import WindowItem, break_down_window
from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.events.conversation import AssistantSpoke, MessageEvent
from helix_desktop.domain.events.recorded_event import RecordedEvent

_MIN_DISTANCE = 256  # events between two stored states; with more events the distance grows
_MAX_STATES = 24  # each is a list of all messages up to there


class PastWindow(msgspec.Struct, frozen=True):
    """A window of the past: what stood in the request after event `seq`, and its usage.

    `answer_seq` is the step that it is the request of; 0: of none.

    Messages, rewrites and the standing texts of the session are those of then, and so are the model's name
    and the size of its window, where a step recorded them. Not reconstructed, because no event holds them:
    the policy, the system prompt, the tools, and whether the model read images. These are today's.
    `is_exact` says whether our count of the request is the one that was recorded with its answer; None:
    nothing was recorded to compare with.
    """

    seq: int
    transcript: Transcript
    window: Window
    gauge: UsageGauge
    frame: PromptFrame
    effort: SentEffort = ""
    is_exact: bool | None = None
    answer_seq: int = 0

    def items(self) -> tuple[WindowItem, ...]:
        return break_down_window(self.window, self.transcript, self.frame, self.effort)


class PastWindows:
    """The past of one log, which may grow; states on the way are stored, so that a step costs little.

    Used by one thread at a time, any.
    """

    def __init__(self, log: Sequence[RecordedEvent]) -> None:
        self._log = log
        self._states = [Transcript()]  # by their last event; never changed
        self._newest = self._states[0]  # the one that was read last

    def prepare(self) -> None:
        """Read the log to its end, so that any `window_at` is quick from then on."""
        self.transcript_at(len(self._log))

    def transcript_at(self, seq: int) -> Transcript:
        """Return the session after event `seq` (0: before all). Don't change it."""
        place = bisect_right(self._states, seq, key=lambda transcript: transcript.last_seq) - 1
        nearest = self._states[place]
        if nearest.last_seq <= self._newest.last_seq <= seq:
            nearest = self._newest
        if nearest.last_seq == seq:
            return nearest
        state = nearest.fork()
        distance = max(_MIN_DISTANCE, len(self._log) // _MAX_STATES)
        for recorded in self._log[state.last_seq : seq]:
            state.apply(recorded)
            if state.last_seq >= self._states[-1].last_seq + distance:
                self._states.append(state.fork())
        self._newest = state
        return state

    def window_at(self, seq: int, policy: ContextPolicy, frame: PromptFrame) -> PastWindow:
        """Return the window of event `seq`: for a step, the request that it answered.

        For any other event: what would have been sent next. `policy` and `frame` are today's; see PastWindow.
        """
        event = self._log[seq - 1].event
        if not isinstance(event, AssistantSpoke):
            return self._render(seq, policy, self._frame_at(seq, frame))
        frame = _frame_of(event, frame)
        # A handover or an undo may have come while the model answered; that request had no part in it.
        ends = [event.sent_after] if event.sent_after else self._last_events(seq)
        windows = (self._render(last, policy, frame, event) for last in ends)
        first = next(windows)
        exact = next((past for past in (first, *windows) if past.is_exact), first)
        return msgspec.structs.replace(exact, answer_seq=seq)

    def _render(
        self, seq: int, policy: ContextPolicy, frame: PromptFrame, answer: AssistantSpoke | None = None
    ) -> PastWindow:
        transcript = self.transcript_at(seq)
        window = project(transcript, policy, frame)
        gauge = measure_usage(window, transcript, policy, frame)
        if answer is None:
            return PastWindow(seq, transcript, window, gauge, frame)
        gauge = _own_gauge(gauge, answer)
        is_exact = window.estimate == answer.estimate if answer.estimate else None
        return PastWindow(seq, transcript, window, gauge, frame, answer.effort, is_exact)

    def _last_events(self, seq: int) -> Iterator[int]:
        """Yield the events that a request may have been the next one after, the likeliest first."""
        yield seq - 1
        for recorded in reversed(self._log[: seq - 1]):
            if isinstance(recorded.event, MessageEvent):
                return
            if isinstance(recorded.event, RewriteEvent):
                yield recorded.seq - 1

    def _frame_at(self, seq: int, frame: PromptFrame) -> PromptFrame:
        """Return the frame of the last step up to an event; today's without one."""
        answers = (recorded.event for recorded in reversed(self._log[:seq]))
        answer = next((event for event in answers if isinstance(event, AssistantSpoke)), None)
        return _frame_of(answer, frame) if answer is not None else frame


def _own_gauge(gauge: UsageGauge, answer: AssistantSpoke) -> UsageGauge:
    """Return the gauge of a past request with what the provider reported of it, where it did."""
    if answer.usage is None or not is_plausible(answer):
        return gauge
    ratio = request_ratio(answer, gauge.ratio)
    return msgspec.structs.replace(
        gauge, used=answer.usage.input, is_reported=True, ratio=ratio, report_count=1
    )


def _frame_of(answer: AssistantSpoke, frame: PromptFrame) -> PromptFrame:
    if not answer.window or (answer.model, answer.window) == (frame.info.label, frame.info.window):
        return frame
    vendor, _, name = answer.model.partition("/")
    info = msgspec.structs.replace(frame.info, provider=vendor, name=name, window=answer.window)
    ratio = frame.ratio if answer.model == frame.info.label else 1.0  # it is of the model of `frame`
    return msgspec.structs.replace(frame, info=info, ratio=ratio)
