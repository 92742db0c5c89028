"""Moments in words."""

from __future__ import annotations

from datetime import datetime

import pytest

from helix_desktop.words.times import format_moment


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
