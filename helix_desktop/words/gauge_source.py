"""Where the number of a context gauge comes from, as text."""

from __future__ import annotations

from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.words.translation import Translator, current_language

tr = Translator("Context")


def gauge_source_text(gauge: UsageGauge) -> str:
    """Return who counted the tokens: the provider, or Helix by what the provider reported before."""
    if gauge.is_reported:
        return tr("Reported by the provider")
    if gauge.ratio == 1.0:
        return tr("Estimated")
    ratio = current_language().show_decimal(gauge.ratio, 2)
    if gauge.is_from_earlier_sessions:
        return tr("Estimated: {ratio} × Helix's count, from earlier sessions", ratio=ratio)
    return tr("Estimated: {ratio} × Helix's count", ratio=ratio)


def ratio_text(gauge: UsageGauge) -> str:
    """Return how the provider's count relates to Helix's own; empty without a report."""
    if not gauge.report_count:
        return ""
    ratio = current_language().show_decimal(gauge.ratio, 2)
    return tr.plural(
        gauge.report_count,
        "The provider counts {ratio} × Helix's count (%n report)",
        "The provider counts {ratio} × Helix's count (median of %n reports)",
        ratio=ratio,
    )
