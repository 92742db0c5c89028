"""Texts cut and cleaned for one line."""

from __future__ import annotations

import pytest

from helix_desktop.domain.text_format import ellipsize_title, plain_line, utc_day, utc_minute


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("- **`summary`:** new module `tidewatch/summary.py`", "summary: new module tidewatch/summary.py"),
        ("## What is left", "What is left"),
        ("1. __Run__ the tests", "Run the tests"),
        ("__Run all__ of __the tests__", "Run all of the tests"),
        ("my x__y and a-b", "my x__y and a-b"),
        ("Read src/__init__.py", "Read src/__init__.py"),
    ],
)
def test_line_without_marks(line: str, plain: str) -> None:
    assert plain_line(line) == plain


def test_an_escaped_sign_is_one_and_code_keeps_its_own() -> None:
    """A pattern that the agent quoted had each backslash twice in the list of found messages."""
    assert plain_line(r"No match for '0\\.40', see \*a\* and `5\\.30` or `a**b`") == (
        r"No match for '0\.40', see *a* and 5\\.30 or a**b"
    )


@pytest.mark.parametrize(
    ("title", "short"),
    [
        ("Fix the tests (2)", "Fix the tests (2)"),
        ("Fix all the failing tests (12)", "Fix all the f… (12)"),
        ("Fix all the failing tests", "Fix all the failin…"),
    ],
)
def test_a_title_that_is_cut_keeps_its_number(title: str, short: str) -> None:
    assert ellipsize_title(title, 19) == short


@pytest.mark.parametrize(
    ("at_ms", "minute", "day"),
    [
        (0, "1 Jan 1970 00:00", "1970-01-01"),
        (1_795_703_579_999, "26 Nov 2026 14:32", "2026-11-26"),
        (1_798_761_599_999, "31 Dec 2026 23:59", "2026-12-31"),
    ],
)
def test_a_time_is_named_by_its_minute_and_its_day_in_utc(at_ms: int, minute: str, day: str) -> None:
    assert utc_minute(at_ms, with_year=True) == minute
    assert utc_minute(at_ms) == minute.replace(f" {day[:4]}", "")
    assert utc_day(at_ms) == day
