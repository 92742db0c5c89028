"""The session's use of the provider's cache as the inspector shows it: a pure translation."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.provider_cache import MissCause, RequestCacheUse, newest_cache_uses
from helix_desktop.domain.cost import Spending
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.ui.inspector.inspector_data import ProviderCacheRow, ProviderCacheState
from helix_desktop.words.costs import CostState
from helix_desktop.words.direction import dotted
from helix_desktop.words.numbers import format_token_count, format_tokens, format_whole_percent
from helix_desktop.words.provider_cache import lifetime_text, miss_text, usage_text
from helix_desktop.words.times import format_date_and_time, format_moment
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")

_NEWEST, _ALL = 6, 1_000
_LINE = 36  # characters that the inspector shows of a line at its usual width


def provider_cache_state(
    log: Sequence[RecordedEvent],
    spent: Spending,
    policy: ContextPolicy,
    lifetime_s: int = 0,
    is_demo: bool = False,
) -> ProviderCacheState | None:
    """Return the bill as reported and the newest requests; None while no tokens were reported."""
    uses = newest_cache_uses(log, _NEWEST, policy.cache_ttl_s)
    if not uses:
        return None
    total = spent.cached + spent.cache_writes + spent.fresh
    unreported = () if any(map(_is_reported, uses)) else (MissCause("unreported"),)
    return ProviderCacheState(
        share=format_whole_percent(spent.cached / total) if total else "",
        has_hits=spent.cached > 0,
        read=format_tokens(spent.cached) if total else "",
        cache_writes=format_tokens(spent.cache_writes) if spent.cache_writes else "",
        fresh=format_tokens(spent.fresh) if total else "",
        cost=CostState(spent, is_demo=is_demo).cost_text,
        lifetime=lifetime_text(lifetime_s) if lifetime_s and not unreported else "",
        note=" ".join(map(miss_text, unreported)),
        rows=tuple(_row(use, unreported) for use in uses),
    )


def cache_uses_text(log: Sequence[RecordedEvent], policy: ContextPolicy) -> str:
    """Return what the newest requests read, newest first, a paragraph of short lines each."""
    return "\n\n".join(_paragraph(use) for use in newest_cache_uses(log, _ALL, policy.cache_ttl_s))


def _paragraph(use: RequestCacheUse) -> str:
    head = format_date_and_time(use.at_ms)
    return "\n".join((head, *wrap(_tokens_text(use), _LINE), *wrap(_reason_text(use.causes), _LINE)))


def _row(use: RequestCacheUse, noted: Sequence[MissCause]) -> ProviderCacheRow:
    causes = [cause for cause in use.causes if cause not in noted]
    return ProviderCacheRow(
        use.seq, dotted((format_moment(use.at_ms), _tokens_text(use))), _reason_text(causes)
    )


def _is_reported(use: RequestCacheUse) -> bool:
    return use.usage.reports_cache or use.usage.cached > 0


def _tokens_text(use: RequestCacheUse) -> str:
    if _is_reported(use):
        return usage_text(use.usage)
    return tr("{tokens} sent", tokens=format_token_count(use.usage.input))


def _reason_text(causes: Sequence[MissCause]) -> str:
    return " ".join(map(miss_text, causes))
