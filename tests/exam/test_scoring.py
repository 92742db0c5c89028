"""Scores: which forms of a key point an answer says, and the interval of a share."""

from __future__ import annotations

import pytest

from tests.exam.questions import KeyPoint
from tests.exam.scoring import MAX_SCORED_CHARS, score, wilson_interval
from tests.support.tables import for_each


@for_each(
    ("answer", "form"),
    [
        ("It runs `HandleTurnEnd`.", "handleturnend"),
        ("$1,074 were charged", "1074"),
        ("lines 1100–1110", "1100-1110"),
        ("the “easy   fix”", "easy fix"),
        ("in cli/setup.go:479", "setup.go"),
        ("color #8ABEB7", "8abeb7"),
        ("the flag %LMQ% marks it", "%lmq%"),
        ("it took 22.036.", "22.036"),
        ("it took 22.036s", "22.036"),
        ("64KB", "64"),
    ],
)
def test_an_answer_says_a_form(answer: str, form: str) -> None:
    assert score(answer, KeyPoint((form,), (1,)))
    assert score(answer, KeyPoint(("something else", form), (1,)))


@for_each(
    ("answer", "form"),
    [
        ("line 1181", "181"),
        ("0.12 seconds", "12"),
        ("12.5 hours", "12"),
        ("45ffe0a", "0"),
        ("12sec0a", "12"),
        ("sessionid", "session"),
        ("tool_use_id", "tool_use"),
        ("", "181"),
        ("x" * MAX_SCORED_CHARS + " 181", "181"),
    ],
)
def test_an_answer_does_not_say_a_form(answer: str, form: str) -> None:
    assert not score(answer, KeyPoint((form,), (1,)))


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.2775), (7, 10, 0.3968, 0.8922), (79, 79, 0.9536, 1.0)],
)
def test_intervals_are_those_of_the_literature(successes: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(successes, total) == pytest.approx((low, high), abs=5e-5)
