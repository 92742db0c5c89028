"""When a call is made again, and after how long."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.providers.retry import Retries, is_transient, retry_after_s

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": formatdate(NOW + 20, usegmt=True)}, 20.0),
        ({"retry-after": formatdate(NOW - 20, usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_what_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds


@given(st.text())
def test_no_header_is_too_strange(text: str) -> None:
    asked = retry_after_s({"retry-after": text}, NOW)
    assert asked is None or asked >= 0


@given(st.integers(1, 12), st.floats(0, 1))
def test_unasked_waits_double_with_jitter_up_to_a_cap(failed: int, chance: float) -> None:
    retries = Retries(chance=lambda: chance)
    full = min(retries.longest_wait_s, retries.first_wait_s * 2 ** (failed - 1))
    assert 0.75 * full <= retries.wait_s(failed, None) <= full


def test_what_was_asked_is_honoured_up_to_a_minute() -> None:
    assert Retries().wait_s(1, 12.0) == 12.0
    assert Retries().wait_s(1, 0.0) == 0.0
    assert Retries().wait_s(3, 3600.0) == 60.0


def test_which_statuses_may_pass() -> None:
    assert [s for s in range(200, 600) if is_transient(s)] == [408, 409, 429, *range(500, 600)]
