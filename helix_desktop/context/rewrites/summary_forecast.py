"""What the next handover, or observations in its place, will leave of the window, by the planner's rules."""

from __future__ import annotations

from math import ceil

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites import planner
from helix_desktop.context.rewrites.forecast import MAX_CALLS, SummaryForecast, add_call, average_call
from helix_desktop.context.summaries.observation import EventRange
from helix_desktop.context.window.usage_gauge import UsageGauge, measure_next_request
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade


def forecast_summary(
    transcript: Transcript, policy: ContextPolicy, frame: PromptFrame, now_ms: int
) -> SummaryForecast | None:
    """Return what a model is asked to write next, as the engine decides it; None if nothing frees tokens.

    Its time grows with the window: call it off the UI thread.
    """
    if not (policy.enabled and transcript.messages.items) or transcript.on_hold:
        return None
    gauge = measure_next_request(transcript, policy, frame)
    observed = planner.observation_due(transcript, policy, gauge, now_ms)
    if gauge.pressure == "none" and observed is not None:
        return _of_observations(transcript, policy, gauge, observed)
    ahead = transcript if gauge.pressure != "none" else _filled(transcript, policy, frame)
    gauge = measure_next_request(ahead, policy, frame)
    later_ms = max(now_ms, ahead.last_compaction_at_ms + planner.cooldown_ms(ahead, policy))
    relief = planner.observation_relief(ahead, policy, gauge, later_ms)
    if relief is not None:
        return _of_observations(ahead, policy, gauge, relief)
    plan = planner.handover_due(ahead, policy, gauge, later_ms)
    if plan is None:
        return None
    after = gauge.used - planner.expected_savings(ahead, policy, gauge, plan.cut)
    unchanged = round((frame.fixed_tokens + ahead.opening_tokens) * gauge.ratio)
    previous = (
        ahead.window.handover[1].tokens if ahead.window.handover is not None else 0
    )  # it is updated, so it is read
    read = None if _has_notes(ahead, 0, plan.cut.upto) else round((plan.cut.tokens + previous) * gauge.ratio)
    return SummaryForecast("handover", gauge.used, after, max(0, after - unchanged), read)


def _of_observations(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, event_range: EventRange
) -> SummaryForecast | None:
    saved = round(planner.observation_savings(transcript, policy, gauge, event_range))
    if saved <= 0:  # in a small window their bound is larger than what they replace
        return None
    items = transcript.messages.between(event_range.after, event_range.upto)
    resent = round(transcript.window.tokens_from(items[0].seq) * gauge.ratio) if items else 0
    after = gauge.used - saved
    fresh = min(after, max(0, resent - saved))
    is_noted = _has_notes(transcript, event_range.after, event_range.upto)
    read = None if is_noted else round(event_range.tokens * gauge.ratio)
    return SummaryForecast("observations", gauge.used, after, fresh, read)


def _has_notes(transcript: Transcript, after: int, upto: int) -> bool:
    """Return True if notes stand in the window for messages of a range."""
    folds = (cover for cover in transcript.window.covers if isinstance(cover.event, FoldMade))
    return any(fold.after < upto and after < fold.upto for fold in folds)


def _filled(transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> Transcript:
    """Return a fork in which model calls as they are now have filled the window up to its threshold."""
    ahead, average = transcript.fork(), average_call(transcript)
    if not ahead.turn_open:  # more comes only with a message
        ahead.apply(RecordedEvent(ahead.last_seq + 1, ahead.last_event_at_ms, UserSpoke("", 0)))
    growth = max(1, average.answer + average.outputs)
    largest = max(growth, _missing_tokens(ahead, policy, frame) / MAX_CALLS)
    while (missing := _missing_tokens(ahead, policy, frame)) > 0:
        add_call(ahead, average.scaled(min(largest, missing) / growth))
    return ahead


def _missing_tokens(transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> int:
    """Return the tokens, by our count, that the window still takes up to the threshold."""
    gauge = measure_next_request(transcript, policy, frame)
    return ceil((gauge.handover_threshold - gauge.used) / gauge.ratio)
