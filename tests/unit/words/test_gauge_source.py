"""Where a gauge's number comes from: a ratio is named only where it says something."""

from __future__ import annotations

import pytest

from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.words.gauge_source import gauge_source_text, ratio_text


@pytest.mark.parametrize(
    ("ratio", "reports", "words"),
    [
        (1.004, 1, "The provider counts as many tokens as Helix (1 report)"),
        (0.997, 5, "The provider counts as many tokens as Helix (median of 5 reports)"),
        (1.25, 5, "The provider counts about 1.25 × Helix's count (median of 5 reports)"),
        (1.25, 0, ""),
    ],
)
def test_what_the_provider_counts(ratio: float, reports: int, words: str) -> None:
    gauge = UsageGauge(3_600, 32_000, 4_000, 27_000, False, ratio, report_count=reports)
    assert ratio_text(gauge) == words


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.0, "Estimated"),
        (1.004, "Estimated"),
        (1.3, "Estimated: 1.30 × Helix's count, from earlier sessions"),
    ],
)
def test_an_estimate_names_the_ratio_of_earlier_sessions(ratio: float, words: str) -> None:
    assert gauge_source_text(UsageGauge(3_600, 32_000, 4_000, 27_000, False, ratio)) == words
