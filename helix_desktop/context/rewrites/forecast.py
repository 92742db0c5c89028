"""What falls due next, and when: the engine is asked ahead, as if average model calls followed."""

from __future__ import annotations

from math import ceil
from typing import Literal

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites import fold, planner, sweep
from helix_desktop.context.rewrites.fold import FoldPlan
from helix_desktop.context.rewrites.planner import NO_COMPACTION, CompactionOutlook
from helix_desktop.context.rewrites.sweep import SweepPlan
from helix_desktop.context.summaries import observation
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import ToolCall

MAX_CALLS = 24  # model calls to look ahead
_SAMPLED_CALLS = 10  # newest model calls that an average one is made of
_CALL = ToolCall("forecast", "forecast", "{}")
_DIGEST = "0" * 64


class NextRewrite(msgspec.Struct, frozen=True):
    """The next rewrite without a model, in about `calls` model calls; 0: with the next request.

    Until then the session has `grown`. Every later request has `saved` tokens less; once, `resent` tokens are
    sent again uncached. `is_fold`: steps are noted, else outputs are cached.
    """

    calls: int
    saved: int
    resent: int
    is_fold: bool
    grown: int = 0


class SummaryForecast(msgspec.Struct, frozen=True):
    """The next rewrite that a model writes, in tokens as the provider counts them; all of it is about.

    A request of `before` tokens has `after` with it, of which `fresh` are sent uncached once. The calls that
    write it read at most `read`; None where notes stand for messages, as the originals are read. If none is
    due now, it is the one that comes when the window has filled.
    """

    kind: Literal["handover", "observations"]
    before: int
    after: int
    fresh: int
    read: int | None


class Forecast(msgspec.Struct, frozen=True):
    """What falls due next; tokens by our count.

    `cachable` can leave the context now, `next` is the next rewrite: None if none pays off within `calls`:
    after those, fewer than MAX_CALLS, the window is so full that it is summarized. `unobserved` counts toward
    observations; `failed_observations` is how many tries failed in a row. `summary` is what a model is asked
    to write next, `outlook` when.
    """

    cachable: int = 0
    next: NextRewrite | None = None
    calls: int = MAX_CALLS
    unobserved: int = 0
    failed_observations: int = 0
    summary: SummaryForecast | None = None
    outlook: CompactionOutlook = NO_COMPACTION


NOTHING_DUE = Forecast()


class AverageCall(msgspec.Struct, frozen=True):
    """The tokens of an average model call: its answer, its tool outputs, and their markers."""

    answer: int
    outputs: int
    markers: int

    def scaled(self, factor: float) -> AverageCall:
        """Return a call of so many times its size; without a size, all is output."""
        if not self.answer + self.outputs:
            return AverageCall(0, round(factor), 0)
        answer, outputs, markers = self.answer, self.outputs, self.markers
        return AverageCall(ceil(answer * factor), ceil(outputs * factor), round(markers * factor))


def make_forecast(transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, room: int) -> Forecast:
    """Return what falls due next in a window of `window_size` tokens.

    `room` is what the session can grow until it is summarized, by our count. Slow in a full window:
    call it in a thread.
    """
    if not (policy.enabled and transcript.messages.items) or transcript.on_hold:
        return NOTHING_DUE
    average = average_call(transcript)
    ready = sweep.sweep_with_rewrite(transcript, policy, gauge)
    calls = min(MAX_CALLS, max(0, room) // max(1, average.answer + average.outputs))
    return Forecast(
        ready.saved if ready is not None else 0,
        _next_rewrite(transcript, policy, gauge, average, calls),
        calls,
        observation.unobserved_tokens(transcript),
        transcript.observation_failures,
    )


def average_call(transcript: Transcript) -> AverageCall:
    """Return what a model call of this session takes on average, of the newest."""
    first = max(1, transcript.messages.steps - _SAMPLED_CALLS + 1)
    newest = []
    for item in reversed(transcript.messages.items):
        if item.step < first:
            break
        newest.append(item)
    calls = max(1, transcript.messages.steps - first + 1)
    outputs = [item for item in newest if isinstance(item.event, ToolAnswered)]
    answers = [item for item in newest if isinstance(item.event, AssistantSpoke)]
    tokens = sum(item.tokens for item in outputs)
    return AverageCall(
        sum(item.tokens for item in answers) // calls,
        tokens // calls,
        (tokens - sum(max(0, item.saving) for item in outputs)) // calls,
    )


def _next_rewrite(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, average: AverageCall, max_calls: int
) -> NextRewrite | None:
    ahead = transcript.fork()
    for calls in range(max_calls + 1):
        grown = ahead.window.tokens[0] - transcript.window.tokens[0]
        later = msgspec.structs.replace(gauge, used=gauge.used + round(grown * gauge.ratio))
        ready = sweep.sweep_with_rewrite(ahead, policy, later)
        sweeps = ready is not None and planner.sweep_pays_off(ahead, policy, ready, later, is_cold=False)
        folds = fold.due_folds(ahead, policy, later, ready, ready.masked[0] if ready and sweeps else 0)
        if folds or sweeps:
            return msgspec.structs.replace(_as_rewrite(ahead, policy, folds, ready, calls), grown=grown)
        add_call(ahead, average)
    return None


def _as_rewrite(
    transcript: Transcript, policy: ContextPolicy, folds: list[FoldPlan], ready: SweepPlan | None, calls: int
) -> NextRewrite:
    masked = ready.masked if ready is not None else ()
    outside = tuple(seq for seq in masked if not any(plan.after < seq <= plan.upto for plan in folds))
    freed = [*(plan.gain for plan in folds), sweep.tokens_saved(transcript, outside)]
    saved = sum(tokens - sweep.names_line_tokens(policy, tokens) for tokens in freed)
    first = min([*(plan.after + 1 for plan in folds), *outside])
    items = transcript.messages.between(first - 1, transcript.last_seq)
    resent = transcript.window.tokens_from(items[0].seq) - saved if items else 0
    return NextRewrite(calls, saved, max(0, resent), bool(folds))


def add_call(transcript: Transcript, average: AverageCall) -> None:
    """Add a model call with a tool output to a fork."""
    at, model = transcript.last_event_at_ms, transcript.last_model
    answer = AssistantSpoke("", model, average.answer, (_CALL,))
    output = ToolAnswered(
        _CALL.id, _CALL.name, "", _DIGEST, 0, average.outputs, min(average.markers, average.outputs)
    )
    for event in (answer, output):
        transcript.apply(RecordedEvent(transcript.last_seq + 1, at, event))
