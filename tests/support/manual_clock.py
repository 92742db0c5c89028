"""A clock that only a test moves on."""

from __future__ import annotations


class ManualClock:
    """Seconds that only a test moves on."""

    now = 100.0

    def __call__(self) -> float:
        return self.now
