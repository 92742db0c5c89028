"""What the next request costs, before it is sent."""

from __future__ import annotations

import pytest

from helix_desktop.context.window.provider_cache import next_request_cost, priced_request
from helix_desktop.context.window.usage_gauge import measure_usage
from helix_desktop.domain.messages import ModelInfo
from tests.support.histories import MODEL, build_history


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
