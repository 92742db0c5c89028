"""Moments in words."""

from __future__ import annotations

from datetime import datetime

import pytest

from helix_desktop.words.times import AGE_STEP_MS, format_moment, format_relative_time, format_short_time


def in_ms(moment: datetime) -> int:
    """A local time in milliseconds since 1970."""
    return round(moment.timestamp() * 1_000)


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (datetime(2026, 11, 25, 0, 5), "00:05"),
        (datetime(2026, 11, 24, 23, 55), "24 Nov 23:55"),
        (datetime(2025, 11, 25, 0, 5), "25 Nov 2025 00:05"),
    ],
)
def test_the_time_stands_alone_only_for_today(moment: datetime, words: str) -> None:
    """However little earlier it was."""
    now_ms = in_ms(datetime(2026, 11, 25, 0, 30))
    assert format_moment(in_ms(moment), now_ms) == words
    assert format_moment(0, now_ms) == "", "not known"


def test_an_age_is_the_same_within_a_step_of_the_clock() -> None:
    """Whenever within it a place is drawn: what is drawn again under the pointer is not ahead of the rest."""
    at = in_ms(datetime(2026, 11, 25, 14, 8, 57))
    before, after = (in_ms(datetime(2026, 11, 25, 14, 18, second)) for second in (50, 57))
    assert {format_relative_time(at, now) for now in (before, after)} == {"9 min ago"}
    assert format_relative_time(at, after + AGE_STEP_MS) == "10 min ago"
    recent = datetime(2026, 11, 25, 14, 9, 58)
    assert format_short_time(at, recent) == format_relative_time(at, in_ms(recent)) == "now"
