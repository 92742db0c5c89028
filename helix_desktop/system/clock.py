"""The machine's clock, and waiting by it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

ClockMs: TypeAlias = Callable[[], int]
"""Milliseconds since 1970."""
WaitSeconds: TypeAlias = Callable[[float], Awaitable[object]]
"""Waits for so many seconds."""


def wall_clock_ms() -> int:
    """Return the current time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
