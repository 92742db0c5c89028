"""The gauge tells the truth in few words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.frame.rows import GaugeDetail, GaugeState, gauge_text
from helix_desktop.ui.usage_bar import Pressure

CALM = GaugeState(14_600, 24_000, True, "estimated", 0.85, "calm")


@pytest.mark.parametrize(
    ("detail", "text"),
    [
        ("share", "≈ 61 %"),
        ("tokens", "≈ 61 % · 14.6k / 24k"),
        ("way", "≈ 61 % · 14.6k / 24k · compacts in ~5.8k"),
    ],
)
def test_less_room_means_fewer_words(detail: GaugeDetail, text: str) -> None:
    assert gauge_text(CALM, detail) == text


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("near", "83 % · 19.9k / 24k · compacts in ~500"),
        ("over", "83 % · 19.9k / 24k · compacts now"),
        ("off", "83 % · 19.9k / 24k · compaction off"),
    ],
)
def test_a_reported_number_is_not_called_an_estimate(state: Pressure, text: str) -> None:
    assert gauge_text(GaugeState(19_900, 24_000, False, "reported", 0.85, state)) == text


def test_without_a_window_nothing_is_claimed() -> None:
    assert gauge_text(GaugeState(10, 0, True, "", 0.85, "off")) == "Window unknown"


@given(st.integers(min_value=0, max_value=99_000_000))
def test_token_counts_stay_short(tokens: int) -> None:
    assert len(tokens_text(tokens)) <= 6


@given(st.integers(min_value=0, max_value=10**8), st.integers(min_value=1, max_value=10**8))
def test_what_is_left_is_never_negative(used: int, window: int) -> None:
    assert GaugeState(used, window, False, "", 0.85, "calm").left >= 0
