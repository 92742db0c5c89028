"""Reported figures that can't be true are no base of the gauge, and true ones of any tokenizer are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.used_tokens import (
    estimate_next_request,
    is_plausible,
    latest_report,
    measure_next_request,
    tokenizer_ratio,
)
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.messages import ModelInfo, Usage
from tests.support.tables import for_each

INFO = ModelInfo("openai", "liar", window=128_000, reserve=4_096)
FRAME = PromptFrame(INFO, "You are an agent.", system_tokens=3_000)
BALANCED = PROFILES["balanced"]
TURN_TOKENS = 100


def answered(number: int, figure: int) -> AssistantSpoke:
    """Return the `number`th answer of a session, to whose request the provider gives a figure."""
    estimate = 3_000 + TURN_TOKENS * number
    usage = Usage(figure, 5)
    return AssistantSpoke("Done.", INFO.label, tokens=20, usage=usage, estimate=estimate, window=INFO.window)


def session(figures: Sequence[int]) -> Transcript:
    events: list[Event] = []
    for number, figure in enumerate(figures):
        events += [UserSpoke("Go on.", TURN_TOKENS - 20), answered(number, figure), TurnEnded("done")]
    return Transcript([RecordedEvent(seq, seq, event) for seq, event in enumerate(events, 1)])


def base(figures: Sequence[int]) -> int | None:
    """Return the reported input that the next request is counted from; None where none is."""
    report = latest_report(session(figures), INFO.label)
    return report.input if report is not None else None


@for_each(
    ("figures", "expected"),
    [
        ([11_000], 11_000),  # three times our count of 3,000, and 2,000
        ([11_001], None),
        ([300_000], None),
        ([2**63], None),
        ([3_100, 300_000], 3_100),
        ([3_100, 300_000, 3_200], 3_200),
        ([300_000, 300_000, 300_000], None),  # one number for three requests
        ([300_000, 310_000], None),  # above the window: it answered, so they had room
        ([30_000, 31_000], 31_000),  # ten times our count, twice
        ([30_000, 3_100], 3_100),
        ([30_000, 3_100, 32_000], 3_100),
        ([30_000, 45_000], None),  # they don't agree
    ],
)
def test_a_figure_that_can_not_be_true_counts_once_a_second_confirms_it(
    figures: list[int], expected: int | None
) -> None:
    assert base(figures) == expected


def test_a_figure_above_the_window_that_our_count_allows_is_confirmed_by_the_next() -> None:
    """A server may hold more than what is set for it: what is set counts."""
    log = session([])
    for seq, reported in enumerate((150_000, 151_000), 1):
        event = AssistantSpoke(
            "Done.", INFO.label, 20, usage=Usage(reported, 5), estimate=reported // 2, window=INFO.window
        )
        assert not is_plausible(event)
        log.apply(RecordedEvent(seq, seq, event))
        report = latest_report(log, INFO.label)
        assert (report.input if report else 0) == (0 if seq == 1 else 151_000)


LIES = st.one_of(
    st.integers(128_001, 2**63),
    st.sampled_from((300_000, 10**6, 2**31, 2**63)),
    st.integers(13_000, 120_000),
)


@given(st.lists(st.one_of(LIES, st.none()), min_size=1, max_size=12))
def test_no_lie_that_stands_alone_changes_the_gauge(figures: list[int | None]) -> None:
    """Between true figures any number may stand: the next request counts as if it had not come."""
    reported: list[int] = []
    for number, figure in enumerate(figures):
        reported += [figure or 3_000 + 200 * number, 3_000 + 100 * (2 * number + 1)]
    honest = [
        figure if figure <= 3 * (3_000 + 100 * at) + 2_000 else 3_000 + 100 * at
        for at, figure in enumerate(reported)
    ]
    transcript = session(reported)
    gauge = measure_next_request(transcript, BALANCED, FRAME)
    assert gauge.fits
    assert gauge.used == measure_next_request(session(honest), BALANCED, FRAME).used
    assert tokenizer_ratio(transcript, INFO.label) <= 1.1


@given(st.floats(0.6, 3.0), st.integers(1, 30))
def test_a_tokenizer_of_up_to_three_tokens_for_one_of_ours_is_counted_from_its_first_report(
    factor: float, turns: int
) -> None:
    """So nothing overflows: the next request is never taken for smaller than it is."""
    figures = [round((3_000 + TURN_TOKENS * number) * factor) for number in range(turns)]
    transcript = session(figures)
    gauge = measure_next_request(transcript, BALANCED, FRAME)
    true = estimate_next_request(transcript, BALANCED, FRAME) * factor
    assert gauge.report_count == min(turns, 5)
    assert gauge.used == pytest.approx(true, rel=0.02, abs=40)
