"""Where the number of a context gauge comes from, as text."""

from __future__ import annotations

from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.translation import Translator, current_language

tr = Translator("Context")

_SAME = 0.05  # of the total: no eye adds the rows up more exactly


def gauge_source_text(gauge: UsageGauge) -> str:
    """Return who counted the tokens: the provider, or Helix from what the provider reported before."""
    if gauge.is_reported:
        return tr("By the provider's count")
    if gauge.report_count:
        return tr("Estimated from the provider's last report")
    ratio = current_language().show_decimal(gauge.ratio, 2)
    if ratio == current_language().show_decimal(1, 2):
        return tr("Estimated")
    return tr("Estimated: {ratio} × Helix's count, from earlier sessions", ratio=ratio)


def own_count_text(gauge: UsageGauge, counted: int) -> str:
    """Return how the total differs from what the items of a request add up to; empty if hardly."""
    if abs(counted - gauge.used) <= _SAME * gauge.used:
        return ""
    about = "" if gauge.is_reported else "≈ "
    if counted < gauge.used:
        return tr("The provider counts {tokens} more.", tokens=about + format_tokens(gauge.used - counted))
    return tr("The provider counts {tokens} less.", tokens=about + format_tokens(counted - gauge.used))
