"""When to retry a failed call, and how long to wait before it."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

import msgspec

from helix_desktop.domain.errors import ModelError
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, join_sentences

_text = TextContext("Providers")

_RETRY_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"')
_MAX_DAYS = 365  # a longer wait that a server asks for is a mistake
_MAX_DOUBLINGS = 20  # of a wait; more would be no number

FIRST_SERVER_ERROR = 500
"""The first status of server errors."""

_LASTING_SERVER_ERRORS = frozenset({501, 505, 508, 510})
"""Server errors that the same request gets again: not implemented, another version, a loop, an extension."""

RETRY_STATUSES = frozenset({408, 409, 429})
"""Client statuses worth another attempt; so is everything from 500 on (the official clients' own rule)."""


PATIENCE_S = 600.0
"""Seconds a turn waits for a server: restarts, lost networks and limits per minute pass in this time."""


class TransientError(Exception):
    """A call failed in a way that may pass; `error` is shown to the user if it does not."""

    def __init__(
        self, reason: TranslatableText, error: ModelError, retry_after_s: float | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error
        self.retry_after_s = retry_after_s


async def wait_or_skip(wait_s: float, skip: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(wait_s):
            await skip.wait()


class RetryPolicy(msgspec.Struct, frozen=True):
    """The pace and duration of retries; times in seconds.

    `pause`, `clock` (any start), `wall_clock` (since 1970) and `jitter` (0 to 1) can be replaced in tests.
    """

    patience_s: float = PATIENCE_S
    first_wait_s: float = 0.5
    max_wait_s: float = 30.0
    pause: Callable[[float, asyncio.Event], Awaitable[None]] = wait_or_skip
    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], float] = time.time
    jitter: Callable[[], float] = random.random

    def wait_s(self, failures: int, requested_s: float | None) -> float:
        """Return the seconds to wait after `failures` failed attempts.

        `requested_s` is what the server asked for. Without it, or if it is shorter than `first_wait_s`, the
        wait doubles from `first_wait_s`, minus up to a quarter, so that clients do not return simultaneously.
        """
        if requested_s is not None and requested_s >= self.first_wait_s:
            return requested_s
        doubled = min(self.max_wait_s, self.first_wait_s * 2 ** min(failures - 1, _MAX_DOUBLINGS))
        return float(doubled * (1 - self.jitter() / 4))


QUICK_RETRY_POLICY = RetryPolicy(patience_s=5.0)
"""For a user who waits for the result of a check: four attempts."""


class RetryState:
    """The failures of one call, which is made as this is created."""

    def __init__(self, retry_policy: RetryPolicy) -> None:
        self._retry_policy = retry_policy
        self._waited_s = 0.0
        self._called_s = retry_policy.clock()
        self._failed_s = 0.0
        self.failures = 0

    def next_wait_s(self, requested_s: float | None) -> float | None:
        """Count a failure and return the seconds until the next attempt; None if patience is over.

        `requested_s` is what the server asked for; a call is never made earlier than that.
        """
        now = self._retry_policy.clock()
        self._failed_s = self._failed_s if self.failures else now
        self.failures += 1
        wait_s = self._retry_policy.wait_s(self.failures, requested_s)
        if max(self._waited_s, now - self._failed_s) + wait_s > self._retry_policy.patience_s:
            return None
        self._waited_s += wait_s
        return wait_s

    @property
    def patience_s(self) -> float:
        """For how many seconds from the first failure on the call is repeated."""
        return self._retry_policy.patience_s

    def final_error(self, error: ModelError, requested_s: float | None) -> ModelError:
        why = error.why
        if why and not why.endswith((".", "!", "?", "…", ":")):
            why = _text("{sentence}.", sentence=why)
        if requested_s is not None and requested_s > self._retry_policy.patience_s:
            duration = _duration(requested_s)
            why = join_sentences(why, _text("The server asks to wait {duration}.", duration=duration))
        elif self.failures > 1:
            tried = _text.plural(
                self.failures,
                "Tried %n time in {duration}.",
                "Tried %n times in {duration}.",
                duration=_duration(max(self._waited_s, self._retry_policy.clock() - self._called_s)),
            )
            why = join_sentences(why, tried)
        return type(error)(error.what, why, error.fix, remedies=error.remedies, details=error.details)


def is_transient(status: int) -> bool:
    if status in _LASTING_SERVER_ERRORS:
        return False
    return status in RETRY_STATUSES or status >= FIRST_SERVER_ERROR


def retry_after_s(headers: Mapping[str, str], now: float, body: str = "") -> float | None:
    """Return the seconds a server asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date.

    `headers` has lower-case names, `now` is seconds since 1970. Google says it in the body alone. None if
    there is no readable value.
    """
    if delay := _RETRY_DELAY.search(body):
        headers = {"retry-after": delay[1], **headers}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name, "").strip().lower().removesuffix("s"))
        if seconds is not None:
            return seconds * unit
    try:
        retry_at_s = parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, retry_at_s - now)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _duration(seconds: float) -> TranslatableText:
    minutes = round(seconds / 60)
    if minutes > _MAX_DAYS * 24 * 60:
        return _text("more than {number} days", number=_MAX_DAYS)
    if minutes > 48 * 60:
        return _text("{number} days", number=round(minutes / 60 / 24))
    if minutes > 120:  # noqa: PLR2004 - two hours
        return _text("{number} h", number=round(minutes / 60))
    return _text("{number} min", number=minutes) if minutes else _text("{number} s", number=round(seconds))
