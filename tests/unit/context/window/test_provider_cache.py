"""The provider's cache: layers, lifetime, and what the next request costs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import PinnedCopy, WindowEntry
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.rewrites import sweep_plans
from helix_desktop.context.window.provider_cache import (
    CachePrices,
    CallGap,
    cache_prices,
    layer_ends,
    measured_gaps,
    next_request_cost,
    prefers_long,
    priced_request,
)
from helix_desktop.context.window.used_tokens import measure_usage
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import SweepReason
from helix_desktop.domain.messages import Message, ModelInfo, Usage
from tests.support.histories import MODEL, SessionSimulator, build_history, histories

SWEEPS_ONLY = msgspec.structs.replace(
    PROFILES["balanced"], least_saving=1, protect_steps=2, protect_tokens=0, protect_argument_steps=2,
    fold_after_steps=0, observe_at=0.0, observe_place_at=0.0, user_text_tokens=60, ledger_tokens=80,
)  # fmt: skip


def play_turn(simulator: SessionSimulator, user_text: str, steps: int, lines: int = 3) -> None:
    """Play a turn: the user's message, some steps, and the agent's last answer."""
    simulator.send_message(user_text)
    for number in range(steps):
        simulator.step(f"{user_text} Step {number}.", 1)
        simulator.answer_call(0, f"{user_text} {number}, a line of the output\n" * lines)
    simulator.step(f"{user_text} Done.", 0)


@given(histories())
def test_a_layer_that_ends_in_a_request_is_in_the_one_before(simulator: SessionSimulator) -> None:
    for previous, sent in pairwise(simulator.sent_requests):
        between = simulator.log[previous.seq : sent.seq]
        if sum(isinstance(recorded.event, AssistantSpoke) for recorded in between) != 1:
            continue  # an answer that broke off came from a request that is not among these
        transcript = Transcript(simulator.log[: sent.seq])
        ends = layer_ends(sent.window, transcript, simulator.policy)
        changed_from = transcript.changed_from
        same = 1 if changed_from else int(sent.request.messages[0] == previous.request.messages[0])
        for entry in sent.window.entries:
            if _upto(entry) >= changed_from:
                break
            same += 1
        messages = sent.request.messages
        before = previous.request.messages
        assert messages[:same] == before[:same]
        assert (
            same <= 1
            or any(  # what only begins alike ends with the system prompt, which has its own
                0 <= block_count(messages[same:end]) <= 20 and same <= end for end in (*ends, len(messages))
            )
        )
        assert len(ends) <= 2
        if transcript.window.last_rewrite_seq <= previous.seq:
            assert same == len(before)


def block_count(messages: Sequence[Message]) -> int:
    """Return how many blocks messages have in Anthropic's form."""
    return sum(max(1, bool(m.text) + len(m.calls) + len(m.images)) for m in messages)


def _upto(entry: WindowEntry) -> int:
    return entry.item.upto if isinstance(entry, PinnedCopy) else entry.upto


def test_the_layers_end_with_the_notes_and_where_the_next_sweep_begins() -> None:
    """After the system prompt: the user's message, and all before the first output that a sweep may take."""
    simulator = SessionSimulator(SWEEPS_ONLY)
    play_turn(simulator, "Read.", 3, lines=40)
    simulator.send_message("Go on.")
    window = simulator.window()
    assert layer_ends(window, simulator.transcript, simulator.policy) == (2, 3)
    simulator.record_sweep(sweep_plans.sweep_now(simulator.transcript, simulator.policy), SweepReason.MANUAL)
    last = max(simulator.transcript.window.swept)
    place = next(n for n, entry in enumerate(window.entries, 2) if _upto(entry) == last)
    assert layer_ends(simulator.window(), simulator.transcript, simulator.policy) == (2, place + 1)


def test_what_the_request_before_had_is_found_from_far_away() -> None:
    """After a step of many calls no other breakpoint is near enough to it."""
    simulator = SessionSimulator(SWEEPS_ONLY)
    play_turn(simulator, "Read.", 1)
    simulator.send_message("Go on.")
    before = len(simulator.window().request.messages)
    simulator.step("All at once.", 12)
    simulator.answer_all_calls("an output of one line")
    assert before in layer_ends(simulator.window(), simulator.transcript, simulator.policy)


ANTHROPIC = CachePrices(0.1, 1.25, 2.0)
FREE_WRITES = CachePrices(0.1, 1.0, 1.0)
QUICK = 20.0
PAUSE = 420.0
AWAY = 7_200.0


def gaps(*seconds: float, prefix: int = 30_000, added: int = 1_000) -> list[CallGap]:
    return [CallGap(length, prefix, added) for length in seconds]


@pytest.mark.parametrize(
    ("measured", "prices", "long"),
    [
        ([], ANTHROPIC, False),
        (gaps(*[QUICK] * 40), ANTHROPIC, False),  # 170k tokens of fresh input, or 200k
        (gaps(*[QUICK] * 3, PAUSE), ANTHROPIC, True),  # 51.5k or 20k
        (gaps(*[QUICK] * 25, PAUSE), ANTHROPIC, False),  # 145k or 130k: not clear enough
        (gaps(QUICK, AWAY), ANTHROPIC, False),  # an hour does not help
        (gaps(QUICK, QUICK), FREE_WRITES, False),  # nothing to gain
        (gaps(QUICK, PAUSE), FREE_WRITES, True),
    ],
)
def test_the_cheaper_lifetime_for_the_measured_gaps_is_chosen(
    measured: list[CallGap], prices: CachePrices, long: bool
) -> None:
    assert prefers_long(measured, prices) is long


def test_prices_of_a_model_are_multiples_of_its_input_price() -> None:
    """What is not priced costs what fresh input does; of a model without prices the usual ratios hold."""
    info = ModelInfo(
        "a", "m", price_in=4.0, price_cached=0.2, price_cache_write=5.0, price_cache_write_1h=8.0
    )
    assert cache_prices(info) == CachePrices(0.05, 1.25, 2.0)
    assert cache_prices(ModelInfo("a", "m", price_in=2.0)) == CachePrices(1.0, 1.0, 1.0)
    assert cache_prices(ModelInfo("a", "m")) == CachePrices()


def test_gaps_are_measured_from_call_to_call_of_one_model() -> None:
    """From the start of a call to that of the next, the one about to be made included."""
    calls = [(1_000, 1_000, 10_000, 0), (61_000, 10_000, 12_000, 0), (281_000, 2_000, 11_000, 6_000)]
    transcript = Transcript(
        RecordedEvent(seq, at_ms, answer(duration_ms, tokens, cached))
        for seq, (at_ms, duration_ms, tokens, cached) in enumerate(calls, 1)
    )
    assert measured_gaps(transcript, "a/m", 900_000, 13_000) == [
        CallGap(51.0, 10_000, 2_000),
        CallGap(228.0, 6_000, 5_000),
        CallGap(621.0, 11_000, 2_000),
    ]
    assert measured_gaps(transcript, "another/model", 900_000, 13_000) == []


def answer(duration_ms: int, tokens: int, cached: int) -> AssistantSpoke:
    usage = Usage(tokens, 10, cached)
    return AssistantSpoke("ok", "a/m", 2, usage=usage, estimate=tokens, duration_ms=duration_ms)


@pytest.mark.parametrize("usage_ratio", [1.0, 0.0], ids=["no cache", "no usage"])
def test_nothing_is_cached_by_a_provider_that_reports_nothing_of_it(usage_ratio: float) -> None:
    simulator = build_history(2)
    simulator.step("Reading.", 1, usage_ratio=usage_ratio, reports_cache=False)
    simulator.answer_call(0, "output " * 300)
    window = simulator.window()
    gauge = measure_usage(window, simulator.transcript, simulator.policy, simulator.frame)
    cost = next_request_cost(window, gauge, simulator.transcript, MODEL, is_cold=False)
    assert (cost.cached, cost.fresh) == (0, gauge.used)


def test_nothing_is_cached_by_a_provider_that_had_nothing_of_long_requests() -> None:
    simulator = build_history(2)
    cached = []
    for _ in range(5):
        simulator.step("Reading.", 1, usage_ratio=1.0)
        simulator.answer_call(0, "output " * 2_000)
        window = simulator.window()
        gauge = measure_usage(window, simulator.transcript, simulator.policy, simulator.frame)
        cost = next_request_cost(window, gauge, simulator.transcript, MODEL, is_cold=False)
        cached.append(cost.cached > 0)
    assert cached == [True, True, False, False, False], "the first one was short"


@pytest.mark.parametrize("earlier_ratio", [0.5, 0.9])
def test_what_the_provider_reported_last_is_cached(earlier_ratio: float) -> None:
    """Although earlier reports differ from our count by another ratio; what came since is new."""
    simulator = build_history(2)
    simulator.step("Reading.", 1, usage_ratio=earlier_ratio)
    simulator.answer_call(0, "first output " * 300)
    simulator.step("Reading on.", 1, usage_ratio=1.0)
    sent = simulator.sent_requests[-1].window.estimate
    simulator.answer_call(0, "second output " * 300)
    window = simulator.window()
    gauge = measure_usage(window, simulator.transcript, simulator.policy, simulator.frame)
    assert gauge.ratio == pytest.approx((earlier_ratio + 1.0) / 2, abs=0.01)
    cost = next_request_cost(window, gauge, simulator.transcript, MODEL, is_cold=False)
    assert cost.total == gauge.used
    assert cost.cached == pytest.approx(sent, abs=2)
    assert cost.fresh == pytest.approx((window.estimate - sent) * gauge.ratio, abs=2)


@pytest.mark.parametrize(("is_stored_long", "dollars"), [(False, 0.0413), (True, 0.0653)])
def test_what_is_new_costs_the_price_of_storing_it(is_stored_long: bool, dollars: float) -> None:
    info = ModelInfo(
        "test", "m", price_in=4.0, price_cached=0.4, price_cache_write=5.0, price_cache_write_1h=8.0
    )
    cost = priced_request(info, 11_250, 3_250, is_stored_long)
    assert cost.cost == pytest.approx(dollars)
