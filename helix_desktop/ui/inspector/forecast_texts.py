"""What falls due next in the context, when, and what it takes and saves, as text; no Qt."""

from __future__ import annotations

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites.forecast import MAX_CALLS, Forecast
from helix_desktop.context.window.request_cost import RequestCost, cost_after
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.words.numbers import format_tokens, format_usd, format_whole_percent
from helix_desktop.words.times import format_duration
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")

_MINUTE = 60  # seconds


def next_rewrite_text(forecast: Forecast, gauge: UsageGauge) -> str:
    """Return which change of the context comes next without a model, when, and what it frees."""
    due = forecast.next
    if due is None:
        return ""
    frees = format_tokens(-round(due.saved * gauge.ratio))
    if not due.calls:
        if due.is_fold:
            return tr("Notes old steps with the next request · {tokens} tokens", tokens=frees)
        return tr("Caches old outputs with the next request · {tokens} tokens", tokens=frees)
    if due.is_fold:
        return tr.plural(
            due.calls,
            "Notes old steps in about %n model call · {tokens} tokens",
            "Notes old steps in about %n model calls · {tokens} tokens",
            tokens=frees,
        )
    return tr.plural(
        due.calls,
        "Caches old outputs in about %n model call · {tokens} tokens",
        "Caches old outputs in about %n model calls · {tokens} tokens",
        tokens=frees,
    )


def due_texts(forecast: Forecast, policy: ContextPolicy, gauge: UsageGauge) -> tuple[str, ...]:
    """Return a sentence for each change that comes: where it stands now, what it takes and saves."""
    return (
        *_rewrite_texts(forecast, policy, gauge.ratio),
        *_observation_texts(forecast, policy, gauge),
        tr(
            "Compaction starts at {share} of the context window; now it is {used} full.",
            share=format_whole_percent(policy.handover_at),
            used=format_whole_percent(gauge.share),
        ),
    )


def cost_text(cost: RequestCost) -> str:
    """Return what the next request costs without its answer, about."""
    tokens = tr(
        "Next request: {fresh} tokens new, {cached} from the provider's cache",
        fresh=format_tokens(cost.fresh),
        cached=format_tokens(cost.cached),
    )
    return tokens if cost.cost is None else f"{tokens} · ≈ {format_usd(cost.cost)}"


def cost_after_text(cost: RequestCost, forecast: Forecast, ratio: float, info: ModelInfo) -> str:
    """Return what the next request would cost behind the next rewrite; empty if none comes."""
    due = forecast.next
    if due is None:
        return ""
    after = cost_after(cost, round(due.saved * ratio), round(due.resent * ratio), info)
    tokens = tr(
        "Behind that change a request has {total} tokens, {fresh} of them new once.",
        total=format_tokens(after.total),
        fresh=format_tokens(after.fresh),
    )
    return tokens if after.cost is None else f"{tokens} ≈ {format_usd(after.cost)}"


def _rewrite_texts(forecast: Forecast, policy: ContextPolicy, ratio: float) -> list[str]:
    due = forecast.next
    ripe = tr("Ready to be cached: {tokens} tokens.", tokens=format_tokens(round(forecast.ripe * ratio)))
    if due is None:
        none = tr.plural(
            MAX_CALLS,
            "Caching or noting doesn't pay off within the next %n model call.",
            "Caching or noting doesn't pay off within the next %n model calls.",
        )
        return [ripe, none]
    cost = tr(
        "The next change resends {resent} tokens once, and every later request has {saved} tokens less.",
        resent=format_tokens(round(due.resent * ratio)),
        saved=format_tokens(round(due.saved * ratio)),
    )
    if not due.calls:
        return [ripe, cost]
    pause = tr(
        "It comes sooner after a pause of {time}, when the provider's cache has expired.",
        time=_pause(policy.cache_ttl_s),
    )
    return [ripe, cost, pause]


def _pause(seconds: int) -> str:
    if seconds % _MINUTE:
        return format_duration(seconds * 1000)
    return tr("{minutes} min", minutes=seconds // _MINUTE)


def _observation_texts(forecast: Forecast, policy: ContextPolicy, gauge: UsageGauge) -> list[str]:
    if not policy.observe_at:
        return []
    share = forecast.unobserved * gauge.ratio / gauge.window
    return [
        tr(
            "Observations are written when unobserved messages fill {share}; now they fill {used}.",
            share=format_whole_percent(policy.observe_at),
            used=format_whole_percent(share),
        )
    ]
