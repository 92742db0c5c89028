"""Where a gauge's number comes from: a ratio is named only where it says something."""

from __future__ import annotations

import pytest

from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.words.gauge_source import gauge_source_text, own_count_text


@pytest.mark.parametrize(
    ("counted", "words"),
    [
        (3_600, ""),
        (3_780, ""),
        (3_790, "The rows are 3.8k by Helix's count; the total is the provider's."),
        (3_400, "The rows are 3.4k by Helix's count; the total is the provider's."),
    ],
)
def test_our_own_count_is_named_where_the_total_is_another(counted: int, words: str) -> None:
    gauge = UsageGauge(3_600, 32_000, 4_000, 27_000, True, 0.7, report_count=5)
    assert own_count_text(gauge, counted) == words


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
