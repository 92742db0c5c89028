"""The bill of a replay with other caches: gaps between requests as published, sums checked by hand."""

from __future__ import annotations

from statistics import quantiles

import pytest

from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.replay.token_counters import MessageTokenCounter
from tests.benchmarks.replay.request_bills import GENERATION, TOOLS, USER, Durations, RequestBills, draw_gaps
from tests.support.replay_fakes import assistant_message, file_read_step, user_message


@pytest.mark.parametrize("durations", [GENERATION, TOOLS, USER])
def test_the_percentiles_are_those_of_the_source(durations: Durations) -> None:
    assert [durations.quantile(share) for share in (0.5, 0.9, 0.99)] == pytest.approx(list(durations))
    assert durations.quantile(0.1) < durations.p50
    assert durations.quantile(0.999) > durations.p99


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


SYSTEM = Message("system", "s" * 6)  # 10 tokens with its framing
USER_MESSAGE = Message("user", "u" * 16)  # 20
CALLED = Message("assistant", "", (ToolCall("c", "read", "{}"),))  # 4 + 4 + 4 + 2 = 14
OUTPUT = Message("tool", "o" * 96, call_id="c", name="read")  # 100
MARKED = Message("tool", "oooo" + "m" * 22, call_id="c", name="read")  # 30, of them 4 as before


def test_a_cache_of_whole_messages() -> None:
    bills = RequestBills(MessageTokenCounter(len), 140)
    bills.add([SYSTEM, USER_MESSAGE, CALLED, OUTPUT])  # 144 new
    bills.add([SYSTEM, USER_MESSAGE, CALLED, MARKED, USER_MESSAGE])  # 44 known by message, 4 more by text
    sent = bills.result([50, 7])
    assert sent.billed == pytest.approx(1.25 * (144 + 46) + 0.1 * 48 + 57)
    assert sent.billed_by_message == pytest.approx(1.25 * (144 + 50) + 0.1 * 44 + 57)
    assert (sent.requests, sent.rewrites, sent.over_window) == (2, 1, 1)


def test_a_cache_that_forgets_and_none_at_all() -> None:
    bills = RequestBills(MessageTokenCounter(len), 140)
    bills.add([SYSTEM, USER_MESSAGE])  # 30 new
    bills.add([SYSTEM, USER_MESSAGE, CALLED], gap_s=300.0)  # 30 known, 14 new
    bills.add([SYSTEM, USER_MESSAGE, CALLED, OUTPUT], gap_s=300.5)  # 144 forgotten
    sent = bills.result([10])
    assert sent.billed == pytest.approx(1.25 * (30 + 14 + 100) + 0.1 * (30 + 44) + 10)
    assert sent.billed_5_minutes == pytest.approx(1.25 * (30 + 14 + 144) + 0.1 * 30 + 10)
    assert sent.billed_uncached == 30 + 44 + 144 + 10
