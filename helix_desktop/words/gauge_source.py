"""Where the number of a context gauge comes from, as text."""

from __future__ import annotations

from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.words.translation import Translator, current_language

tr = Translator("Context")


def gauge_source_text(gauge: UsageGauge) -> str:
    """Return who counted the tokens: the provider, or Helix from what the provider reported before."""
    if gauge.is_reported:
        return tr("Reported by the provider")
    if gauge.report_count:
        return tr("Estimated from the provider's last report")
    ratio = current_language().show_decimal(gauge.ratio, 2)
    if ratio == current_language().show_decimal(1, 2):
        return tr("Estimated")
    return tr("Estimated: {ratio} × Helix's count, from earlier sessions", ratio=ratio)


def ratio_text(gauge: UsageGauge) -> str:
    """Return how the provider's count relates to Helix's own; empty without a report."""
    if not gauge.report_count:
        return ""
    ratio = current_language().show_decimal(gauge.ratio, 2)
    if gauge.is_ratio_at_bound:
        return _bound_text(gauge, ratio)
    if ratio == current_language().show_decimal(1, 2):
        return tr.plural(
            gauge.report_count,
            "The provider counts as many tokens as Helix (%n report)",
            "The provider counts as many tokens as Helix (median of %n reports)",
        )
    return tr.plural(
        gauge.report_count,
        "The provider counts about {ratio} × Helix's count (%n report)",
        "The provider counts about {ratio} × Helix's count (median of %n reports)",
        ratio=ratio,
    )


def _bound_text(gauge: UsageGauge, ratio: str) -> str:
    """Return the same where the reports differ from our count by more than the gauge goes along with."""
    if gauge.ratio < 1:
        return tr.plural(
            gauge.report_count,
            "The provider counts {ratio} × Helix's count or less (%n report). Estimates use {ratio}.",
            "The provider counts {ratio} × Helix's count or less (median of %n reports). "
            "Estimates use {ratio}.",
            ratio=ratio,
        )
    return tr.plural(
        gauge.report_count,
        "The provider counts {ratio} × Helix's count or more (%n report). Estimates use {ratio}.",
        "The provider counts {ratio} × Helix's count or more (median of %n reports). Estimates use {ratio}.",
        ratio=ratio,
    )
