"""What the next request costs, and what waits for a rewrite now, as text; no Qt."""

from __future__ import annotations

from math import floor

from msgspec.structs import replace

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites.planner import RewriteStatus
from helix_desktop.context.window.provider_cache import RequestCost
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.ui.inspector.inspector_data import InspectorState, StatusPart
from helix_desktop.words.numbers import format_token_count, format_tokens, format_usd, format_whole_percent
from helix_desktop.words.rewrite_reasons import failed_observations_text
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")


def with_rewrite_status(
    state: InspectorState, status: RewriteStatus, policy: ContextPolicy, gauge: UsageGauge, cost: RequestCost
) -> InspectorState:
    if not state.is_managed:
        return replace(state, cost_text=_request_cost_text(cost))
    parts: tuple[StatusPart, ...] = ()
    if not state.is_on_hold:
        cachable = (tr("Ready to be cached"), format_tokens(status.cachable))
        waits = tr("Cached together, once that pays for sending the rest again.") if status.cachable else ""
        parts = (
            StatusPart(tr("Caching"), (cachable,), waits),
            *_observation_parts(status, policy, gauge),
        )
    return replace(state, cost_text=_managed_cost_text(cost, gauge), waiting=parts)


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
            "Next request: {fresh} new, {cached} from the prompt cache",
            fresh=format_token_count(cost.fresh),
            cached=format_tokens(cost.cached),
        )
    else:  # the cache has expired, or the provider does not say what it has
        tokens = tr("Next request: {tokens}, all counted as new", tokens=format_token_count(cost.total))
    if cost.cost is None:
        return tokens
    return f"{tokens} · ≈ {format_usd(cost.cost)}" if cost.cost else tr("{text} · free", text=tokens)


def _observation_parts(
    status: RewriteStatus, policy: ContextPolicy, gauge: UsageGauge
) -> tuple[StatusPart, ...]:
    """Return how much is not noted yet, and from where on facts are noted."""
    if not policy.observe_at:
        return ()
    share = status.unobserved * gauge.ratio / gauge.window
    figures = (
        (tr("Without facts"), format_whole_percent(floor(share * 100) / 100)),  # 29.6 % is not 30 %
        (tr("Written after a turn from"), format_whole_percent(policy.observe_at)),
    )
    return (StatusPart(tr("Facts"), figures, failed_observations_text(status.failed_observations)),)
