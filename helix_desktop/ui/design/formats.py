"""The time of day, and moments in the words of the window."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeAlias

ClockMs: TypeAlias = Callable[[], int]
"""Milliseconds since 1970."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def wall_clock_ms() -> int:
    """Milliseconds since 1970, now."""
    return time.time_ns() // 1_000_000


def format_relative_time(at_ms: int, now_ms: int, with_time: bool = False) -> str:
    """When something was, in local time: `now`, `2 min ago`, `14:18`, `Yesterday`, `12 Nov`.

    With `with_time`, days before today carry their time of day.
    """
    minutes = (now_ms - at_ms) // 60_000
    if minutes < 1:
        return "now"
    if minutes < 60:  # noqa: PLR2004 - minutes of an hour
        return f"{minutes} min ago"
    at, now = datetime.fromtimestamp(at_ms / 1000), datetime.fromtimestamp(now_ms / 1000)
    if at.date() == now.date():
        return f"{at:%H:%M}"
    day = "Yesterday" if at.date() == now.date() - timedelta(days=1) else format_day(at, now)
    return f"{day} {at:%H:%M}" if with_time else day


def format_day(moment: datetime, now: datetime) -> str:
    """Return a day: `12 Nov`, and the year where it is another than that of `now`."""
    day = f"{moment.day} {_MONTHS[moment.month - 1]}"
    return day if moment.year == now.year else f"{day} {moment.year}"
