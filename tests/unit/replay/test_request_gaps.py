"""Gaps between requests: the published percentiles, the same each time."""

from __future__ import annotations

from statistics import quantiles

import pytest

from helix_desktop.replay.request_gaps import GENERATION, TOOLS, USER, Durations, draw_gaps
from tests.support.replay_fakes import assistant_message, file_read_step, user_message


@pytest.mark.parametrize("durations", [GENERATION, TOOLS, USER])
def test_the_percentiles_are_those_of_the_source(durations: Durations) -> None:
    assert [durations.quantile(share) for share in (0.5, 0.9, 0.99)] == pytest.approx(list(durations))
    assert durations.quantile(0.1) < durations.p50
    assert durations.quantile(0.999) > durations.p99


def test_the_share_of_waits_over_five_minutes() -> None:
    """Between the median and the 90th percentile of waits for the user; hardly ever after a tool."""
    assert USER.quantile(0.72) < 300 < USER.quantile(0.74)
    assert TOOLS.quantile(0.992) < 300


def session(turns: int, reply: str = "done") -> list[dict[str, object]]:
    messages = []
    for turn in range(turns):
        messages += [user_message("Go"), *file_read_step(str(turn), "a", "A"), assistant_message(reply)]
    return messages


def test_each_model_call_has_a_gap_and_a_turn_begins_after_a_wait() -> None:
    gaps = draw_gaps(session(1_000))
    assert len(gaps) == 2_000
    assert gaps[0] == 0
    turns, steps = gaps[2::2], gaps[1::2]
    assert 84 < quantiles(turns, n=100)[49] < 110
    assert 4.9 < quantiles(steps, n=100)[49] < 12
    assert 0.24 < sum(gap > 300 for gap in turns) / len(turns) < 0.32
    assert sum(gap > 300 for gap in steps) / len(steps) < 0.02
    assert draw_gaps(session(1_000)) == gaps
    assert draw_gaps(session(1_000, "Done")) != gaps
