"""What falls due next in the context, when, and what it takes and saves, as text; no Qt."""

from __future__ import annotations

from dataclasses import replace
from math import floor

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites.forecast import MAX_CALLS, Forecast, NextRewrite, SummaryForecast
from helix_desktop.context.window.request_cost import RequestCost, cost_after, priced_request
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.domain.cost import CostEstimate
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.ui.inspector.compaction_texts import pause_text
from helix_desktop.ui.inspector.rows import InspectorState
from helix_desktop.words.numbers import format_token_count, format_tokens, format_usd, format_whole_percent
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")


def next_rewrite_text(forecast: Forecast, gauge: UsageGauge) -> str:
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
        return replace(state, cost_text=request_cost_text(cost))
    due: tuple[str, ...] = ()
    rewrite = None if state.is_on_hold else forecast.next
    after = _cost_after(rewrite, gauge.ratio, cost, info) if rewrite is not None else cost
    if not state.is_on_hold:
        summary = _summary_texts(forecast.summary, gauge.used, cost, info, writing)
        is_observed = forecast.summary is not None and forecast.summary.kind == "observations"
        paragraphs = (
            _rewrite_texts(forecast, policy, gauge, after),
            (*_observation_texts(forecast, policy, gauge), *(summary if is_observed else ())),
            () if is_observed else summary,
        )
        due = tuple(" ".join(texts) for texts in paragraphs if texts)
    next_cost = after if rewrite is not None and not rewrite.calls else cost
    return replace(
        state,
        cost_text=request_cost_text(next_cost),
        next_text=next_rewrite_text(forecast, gauge),
        due_texts=due,
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


def _summary_texts(
    summary: SummaryForecast | None,
    used: int,
    cost: RequestCost,
    info: ModelInfo,
    writing: CostEstimate | None,
) -> tuple[str, ...]:
    if summary is None or writing is None:
        return ()
    after = priced_request(info, summary.after, summary.after - summary.fresh, cost.is_stored_long)
    return _after_summary_text(summary, used, after), _writing_text(summary, writing)


def _after_summary_text(summary: SummaryForecast, used: int, after: RequestCost) -> str:
    """Return what the first request after observations or a handover has and costs; `used` is that of now."""
    total, before = format_tokens(after.total), format_tokens(summary.before)
    fresh = format_tokens(after.fresh)
    if summary.before > used and summary.kind == "handover":
        text = tr(
            "When the request has grown to about {before} tokens, compaction leaves about {total}, "
            "{fresh} of them new.",
            total=total,
            before=before,
            fresh=fresh,
        )
    elif summary.before > used:
        text = tr(
            "When the request has grown to about {before} tokens, noted facts leave about {total}, "
            "{fresh} of them new.",
            total=total,
            before=before,
            fresh=fresh,
        )
    elif summary.kind == "observations":
        text = tr(
            "With these facts, the request has about {total} tokens instead of {before}, "
            "{fresh} of them new.",
            total=total,
            before=before,
            fresh=fresh,
        )
    else:
        text = tr(
            "After compaction, the request has about {total} tokens instead of {before}, "
            "{fresh} of them new.",
            total=total,
            before=before,
            fresh=fresh,
        )
    return text + _price(after.cost)


def _writing_text(summary: SummaryForecast, writing: CostEstimate) -> str:
    tokens = format_tokens(writing.tokens)
    if summary.kind == "observations":
        text = tr("Writing them reads up to {tokens} tokens.", tokens=tokens)
    else:
        text = tr("Writing the summary reads up to {tokens} tokens.", tokens=tokens)
    return text + _price(None if writing.demo else writing.cost)


def _price(dollars: float | None) -> str:
    """Return a price as a sentence behind another one; empty for none."""
    return "" if dollars is None else " " + tr("Cost: ≈ {cost}.", cost=format_usd(dollars))


def request_cost_text(cost: RequestCost) -> str:
    """Return what the next request costs without its answer, about."""
    if cost.cached:
        tokens = tr(
            "Next request: {fresh} new, {cached} from the provider's cache",
            fresh=format_token_count(cost.fresh),
            cached=format_tokens(cost.cached),
        )
    else:  # the cache has expired, or the provider does not say what it has
        tokens = tr("Next request: {tokens}, all counted as new", tokens=format_token_count(cost.total))
    return tokens if cost.cost is None else f"{tokens} · ≈ {format_usd(cost.cost)}"


def _rewrite_texts(
    forecast: Forecast, policy: ContextPolicy, gauge: UsageGauge, after: RequestCost
) -> tuple[str, ...]:
    due, ratio = forecast.next, gauge.ratio
    ripe = tr("Ready to be cached: {tokens}.", tokens=format_token_count(round(forecast.ripe * ratio)))
    if due is None:
        return (ripe, _no_rewrite_text(forecast.calls))
    effect = tr(
        "The next change resends {resent} once and saves {saved} in every later request.",
        resent=format_token_count(round(due.resent * ratio)),
        saved=format_token_count(round(due.saved * ratio)),
    )
    total, fresh = format_tokens(after.total), format_tokens(after.fresh)
    if not due.calls:
        now = tr(
            "After that change, the request has about {total} tokens, {fresh} of them new.",
            total=total,
            fresh=fresh,
        )
        return (ripe, effect, now + _price(after.cost))
    then = tr(
        "By then, the request has about {before} tokens; the change leaves about {total}, "
        "{fresh} of them new.",
        before=format_tokens(gauge.used + round(due.grown * ratio)),
        total=total,
        fresh=fresh,
    )
    texts = (ripe, effect, then + _price(after.cost))
    pause = tr(
        "It comes sooner after a pause of {time}, when the provider's cache has expired.",
        time=pause_text(policy.cache_ttl_s),
    )
    return (*texts, pause)


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


def _observation_texts(forecast: Forecast, policy: ContextPolicy, gauge: UsageGauge) -> tuple[str, ...]:
    if not policy.observe_at:
        return ()
    share = forecast.unobserved * gauge.ratio / gauge.window
    return (
        tr(
            "Facts are noted after a turn once messages without a note fill {share}; now they fill {used}.",
            share=format_whole_percent(policy.observe_at),
            used=format_whole_percent(floor(share * 100) / 100),  # 29.6 % is not there yet
        ),
    )
