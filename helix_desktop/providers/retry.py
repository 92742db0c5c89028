"""When a failed call is made again, and how long to wait before it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from helix_desktop.context.errors import ModelError

SERVER_FAULTS = 500
"""The first status that says the server is at fault."""

RETRY_STATUSES = frozenset({408, 409, 429})
"""Client statuses worth another attempt; so is everything from 500 on (the official clients' own rule)."""


class Transient(Exception):
    """A call failed in a way that may pass; `error` is what a person is told when it does not."""

    def __init__(self, reason: str, error: ModelError, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.error, self.retry_after_s = reason, error, retry_after_s


@dataclass(frozen=True)
class Retries:
    """How often and at what pace a call is made again; times in seconds.

    `sleep`, `now` (seconds since 1970) and `chance` (0 to 1) are the world's, or a test's.
    """

    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    longest_asked_s: float = 60.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random

    def wait_s(self, failed: int, asked_s: float | None) -> float:
        """Seconds to wait after `failed` failed attempts.

        `asked_s` is what the server asked for: honoured, up to `longest_asked_s`. Without it the wait doubles
        from `first_wait_s` on, less up to a quarter, so that clients which failed together return apart.
        """
        if asked_s is not None:
            return min(asked_s, self.longest_asked_s)
        doubled = min(self.longest_wait_s, self.first_wait_s * 2 ** (failed - 1))
        return float(doubled * (1 - self.chance() / 4))


def is_transient(status: int) -> bool:
    """Whether a call that got this HTTP status is worth making again."""
    return status in RETRY_STATUSES or status >= SERVER_FAULTS


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds a server asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date.

    `headers` has lower-case names, `now` is seconds since 1970. None when it asks for nothing readable.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name, ""))
        if seconds is not None:
            return seconds * unit
    try:
        at = parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, at - now)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
