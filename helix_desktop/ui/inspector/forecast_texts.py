"""What falls due next in the context, when, and what it takes and saves, as text; no Qt."""

from __future__ import annotations

from dataclasses import replace
from math import floor

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites.forecast import MAX_CALLS, Forecast, NextRewrite, SummaryForecast
from helix_desktop.context.rewrites.planner import BREAKER_FAILURES
from helix_desktop.context.window.request_cost import RequestCost, cost_after, priced_request
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.domain.cost import CostEstimate
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.ui.inspector.compaction_texts import pause_text
from helix_desktop.ui.inspector.inspector_data import ForecastPart, InspectorState
from helix_desktop.words.numbers import format_token_count, format_tokens, format_usd, format_whole_percent
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")


def _next_rewrite_text(forecast: Forecast, gauge: UsageGauge) -> str:
    """Return which change of the context comes next without a model, when, and what it frees."""
    due = forecast.next
    if due is None:
        return ""
    frees = format_token_count(-round(due.saved * gauge.ratio))
    total = format_tokens(gauge.used + round(due.grown * gauge.ratio))
    if not due.calls:
        if due.is_fold:
            return tr("A note replaces old steps with the next request ({tokens})", tokens=frees)
        return tr("Caches old outputs with the next request ({tokens})", tokens=frees)
    if due.is_fold:
        return tr.plural(
            due.calls,
            "A note replaces old steps in about %n model call ({tokens} of about {total} by then)",
            "A note replaces old steps in about %n model calls ({tokens} of about {total} by then)",
            tokens=frees,
            total=total,
        )
    return tr.plural(
        due.calls,
        "Caches old outputs in about %n model call ({tokens} of about {total} by then)",
        "Caches old outputs in about %n model calls ({tokens} of about {total} by then)",
        tokens=frees,
        total=total,
    )


def with_forecast(
    state: InspectorState,
    forecast: Forecast,
    policy: ContextPolicy,
    gauge: UsageGauge,
    cost: RequestCost,
    info: ModelInfo,
    writing: CostEstimate | None,
) -> InspectorState:
    """Return the state with what the next request costs, what changes it next, and what it costs then.

    `writing` is what the summary of the forecast costs itself.
    """
    if not state.is_managed:
        return replace(state, cost_text=_request_cost_text(cost))
    parts: tuple[ForecastPart, ...] = ()
    rewrite = None if state.is_on_hold else forecast.next
    after = _cost_after(rewrite, gauge.ratio, cost, info) if rewrite is not None else cost
    if not state.is_on_hold:
        summary = _summary_figures(forecast.summary, cost, info, writing)
        is_observed = forecast.summary is not None and forecast.summary.kind == "observations"
        parts = (
            _rewrite_part(forecast, policy, gauge, after),
            *_observation_parts(forecast, policy, gauge, summary if is_observed else ()),
            *(() if is_observed or not summary else (ForecastPart(tr("Compaction"), summary),)),
        )
    next_cost = after if rewrite is not None and not rewrite.calls else cost
    return replace(
        state,
        cost_text=_managed_cost_text(next_cost, gauge),
        next_text=_next_rewrite_text(forecast, gauge),
        forecast=parts,
    )


def _cost_by_then(rewrite: NextRewrite, ratio: float, cost: RequestCost, info: ModelInfo) -> RequestCost:
    """Return what the request costs, without the next rewrite, when that is due: the session has grown."""
    grown = round(rewrite.grown * ratio)
    total = cost.total + grown
    fresh = cost.fresh if cost.cached else total
    if rewrite.calls and cost.warms_cache:
        fresh = grown // rewrite.calls
    return priced_request(info, total, total - fresh, cost.is_stored_long)


def _cost_after(rewrite: NextRewrite, ratio: float, cost: RequestCost, info: ModelInfo) -> RequestCost:
    """Return what the first request with the next rewrite costs."""
    then = _cost_by_then(rewrite, ratio, cost, info)
    return cost_after(then, round(rewrite.saved * ratio), round(rewrite.resent * ratio), info)


def _summary_figures(
    summary: SummaryForecast | None, cost: RequestCost, info: ModelInfo, writing: CostEstimate | None
) -> tuple[tuple[str, str], ...]:
    """Return what observations or a handover leave of the request, and what writing them takes."""
    if summary is None:
        return ()
    after = priced_request(info, summary.after, summary.after - summary.fresh, cost.is_stored_long)
    read = tr("the original messages")
    if writing is not None:
        price = None if writing.demo else writing.cost
        read = _with_price(tr("up to {tokens}", tokens=format_tokens(writing.tokens)), price)
    return (
        (tr("Request then"), _change_text(summary.before, after.total)),
        (tr("New of these"), _with_price(format_tokens(after.fresh), after.cost)),
        (tr("Writing reads"), read),
    )


def _change_text(before: int, after: int) -> str:
    return tr("{before} → {after}", before=format_tokens(before), after=format_tokens(after))


def _with_price(text: str, dollars: float | None) -> str:
    if dollars is None:
        return text
    return f"{text} · ≈ {format_usd(dollars)}" if dollars else tr("{text} · free", text=text)


def _managed_cost_text(cost: RequestCost, gauge: UsageGauge) -> str:
    """Return the same of a request that is made to fit: how much room is made is known once it is."""
    if cost.total + gauge.reserve > gauge.window > gauge.reserve:
        room = format_token_count(gauge.window - gauge.reserve)
        return tr("Next request: at most {tokens}, once room is made", tokens=room)
    return _request_cost_text(cost)


def _request_cost_text(cost: RequestCost) -> str:
    """Return what the next request costs without its answer, about."""
    if cost.cached:
        tokens = tr(
            "Next request: {fresh} new, {cached} from the provider's cache",
            fresh=format_token_count(cost.fresh),
            cached=format_tokens(cost.cached),
        )
    else:  # the cache has expired, or the provider does not say what it has
        tokens = tr("Next request: {tokens}, all counted as new", tokens=format_token_count(cost.total))
    return _with_price(tokens, cost.cost)


def _rewrite_part(
    forecast: Forecast, policy: ContextPolicy, gauge: UsageGauge, after: RequestCost
) -> ForecastPart:
    due, ratio = forecast.next, gauge.ratio
    cachable = (tr("Ready to be cached"), format_tokens(round(forecast.cachable * ratio)))
    if due is None:
        return ForecastPart(tr("Caching and noting"), (cachable,), _no_rewrite_text(forecast.calls))
    before = gauge.used + round(due.grown * ratio)
    figures = (
        (tr("Comes"), _when_text(due.calls)),
        (tr("Saves in each request"), format_tokens(round(due.saved * ratio))),
        (tr("Sent again, once"), format_tokens(round(due.resent * ratio))),
        (tr("Request then"), _change_text(before, after.total)),
        (tr("New of these"), _with_price(format_tokens(after.fresh), after.cost)),
        cachable,
    )
    pause = tr(
        "It comes sooner after a pause of {time}, when the provider's cache has expired.",
        time=pause_text(policy.cache_ttl_s),
    )
    title = tr("Noting old steps") if due.is_fold else tr("Caching old outputs")
    return ForecastPart(title, figures, pause if due.calls else "")


def _when_text(calls: int) -> str:
    if not calls:
        return tr("with the next request")
    return tr.plural(calls, "in about %n model call", "in about %n model calls")


def _no_rewrite_text(calls: int) -> str:
    """Return why nothing is cached or noted soon; the context is summarized after `calls`, if so few."""
    if calls >= MAX_CALLS:
        return tr.plural(
            MAX_CALLS,
            "Caching or noting doesn't pay off within the next %n model call.",
            "Caching or noting doesn't pay off within the next %n model calls.",
        )
    if not calls:
        return tr("Caching or noting doesn't pay off before the context is compacted.")
    return tr.plural(
        calls,
        "Caching or noting doesn't pay off before the context is compacted, in about %n model call.",
        "Caching or noting doesn't pay off before the context is compacted, in about %n model calls.",
    )


def _observation_parts(
    forecast: Forecast, policy: ContextPolicy, gauge: UsageGauge, summary: tuple[tuple[str, str], ...]
) -> tuple[ForecastPart, ...]:
    """Return when facts are noted; with the figures of the `summary` where that comes next."""
    if not policy.observe_at:
        return ()
    share = forecast.unobserved * gauge.ratio / gauge.window
    figures = (
        (tr("Not noted yet"), format_whole_percent(floor(share * 100) / 100)),  # 29.6 % is not 30 %
        (tr("Noted after a turn from"), format_whole_percent(policy.observe_at)),
    )
    failed = _failed_text(forecast.failed_observations)
    return (ForecastPart(tr("Noting facts"), (*figures, *summary), failed),)


def _failed_text(failures: int) -> str:
    """Return what failures in a row mean for the next try; empty without one."""
    if failures >= BREAKER_FAILURES:
        return tr.plural(
            failures,
            "Noted only when you start it: the last try failed.",
            "Noted only when you start it: the last %n tries failed.",
        )
    if failures:
        return tr.plural(
            failures,
            "The last try failed. Helix tries again later.",
            "The last %n tries failed. Helix tries again later.",
        )
    return ""
