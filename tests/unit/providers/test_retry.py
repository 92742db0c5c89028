"""When a call is retried, and after how long."""

from __future__ import annotations

import asyncio
from email.utils import formatdate
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import ModelUnreachable
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.providers.retry import (
    PATIENCE_S,
    QUICK_RETRY_POLICY,
    RetryPolicy,
    RetryState,
    is_transient,
    retry_after_s,
    wait_or_skip,
)
from tests.support.tables import for_each

NOW = 1_700_000_000.0


@for_each(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": formatdate(NOW + 20, usegmt=True)}, 20.0),
        ({"retry-after": formatdate(NOW - 20, usegmt=True)}, 0.0),
        ({"retry-after": "7s"}, 7.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_a_server_s_requested_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds


def test_google_says_the_wait_in_the_body() -> None:
    body = '[{"error": {"details": [{"retryDelay": "31.5s"}]}}]'
    assert retry_after_s({}, NOW, body) == 31.5
    assert retry_after_s({"retry-after": "7"}, NOW, body) == 7.0


@given(st.text())
def test_no_header_crashes_it(text: str) -> None:
    requested_wait = retry_after_s({"retry-after": text}, NOW)
    assert requested_wait is None or requested_wait >= 0


@given(st.integers(1, 12), st.floats(0, 1))
def test_default_waits_double_with_jitter_up_to_a_cap(failed: int, chance: float) -> None:
    retries = RetryPolicy(jitter=lambda: chance)
    full = min(retries.max_wait_s, retries.first_wait_s * 2 ** (failed - 1))
    assert 0.75 * full <= retries.wait_s(failed, None) <= full


def test_a_requested_wait_is_respected() -> None:
    retries = RetryPolicy(jitter=lambda: 0.0)
    assert retries.wait_s(1, 12.0) == 12.0
    assert retries.wait_s(3, 300.0) == 300.0
    assert retries.wait_s(1, 0.0) == retries.first_wait_s, "no hot loop, whatever a server asks for"
    assert retries.wait_s(5_000, None) == retries.max_wait_s


def waits(outage: RetryState, requested_s: float | None = None) -> list[float]:
    return list(iter(partial(outage.next_wait_s, requested_s), None))


def test_a_server_is_retried_for_minutes() -> None:
    """Growing pauses, half a minute at most, ten minutes in all."""
    pauses = waits(RetryState(RetryPolicy(jitter=lambda: 0.0, clock=lambda: 0.0)))
    assert pauses[:8] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert PATIENCE_S - 30.0 < sum(pauses) <= PATIENCE_S
    assert len(waits(RetryState(QUICK_RETRY_POLICY))) == 3


def test_the_duration_of_attempts_counts() -> None:
    """A server that is silent for five minutes is not asked twenty times."""
    minutes = iter(range(0, 10_000, 240))
    outage = RetryState(RetryPolicy(jitter=lambda: 0.0, clock=lambda: float(next(minutes))))
    assert len(waits(outage)) == 3


def test_a_silent_server_is_said_to_have_cost_the_time_of_its_attempts() -> None:
    """Not only of the pauses between them."""
    now_s = [0.0]
    outage = RetryState(RetryPolicy(clock=lambda: now_s[0]))
    for now_s[0] in (1_200.0, 2_400.0):
        outage.next_wait_s(None)
    error = outage.final_error(ModelUnreachable(verbatim("It could not answer.")), None)
    assert error.why == "Tried 2 times in 40 min."


def test_a_call_is_never_retried_earlier_than_requested() -> None:
    """If that is longer than the limit the call ends at once with the reason."""
    outage = RetryState(RetryPolicy(clock=lambda: 0.0))
    assert outage.next_wait_s(3_600.0) is None
    error = outage.final_error(
        ModelUnreachable(verbatim("It could not answer."), verbatim("slow down")), 3_600.0
    )
    assert error.why == "slow down. The server asks to wait 60 min."


@pytest.mark.parametrize(
    ("seconds", "words"), [(86_400.0, "24 h."), (700_000.0, "8 days."), (9e15, "more than 365 days.")]
)
def test_a_long_wait_is_told_in_a_unit_that_fits(seconds: float, words: str) -> None:
    outage = RetryState(RetryPolicy(clock=lambda: 0.0))
    assert outage.next_wait_s(seconds) is None
    error = outage.final_error(ModelUnreachable(verbatim("It could not answer.")), seconds)
    assert error.why.endswith(words)


async def test_a_pause_can_be_skipped() -> None:
    """At once, also when it was skipped before it started."""
    skip = asyncio.Event()
    skip.set()
    async with asyncio.timeout(300):
        await wait_or_skip(3_600.0, skip)
    await wait_or_skip(0.0, asyncio.Event())


def test_timeouts_rate_limits_and_server_errors_are_tried_again() -> None:
    assert [s for s in range(200, 600) if is_transient(s)] == [
        *(408, 409, 429, 500, 502, 503, 504, 506, 507, 509),
        *range(511, 600),
    ], "not what a server will never do: 501, 505, 508, 510"
