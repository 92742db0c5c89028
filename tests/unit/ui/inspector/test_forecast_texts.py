"""What the inspector foretells: figures of a later time say so, and add up with those of now."""

from __future__ import annotations

from helix_desktop.context.policy import PROFILES
from helix_desktop.context.rewrites.forecast import Forecast, NextRewrite, SummaryForecast
from helix_desktop.context.window.request_cost import RequestCost
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.domain.cost import CostEstimate
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.ui.inspector.forecast_texts import with_forecast
from helix_desktop.ui.inspector.rows import InspectorState

_GAUGE = UsageGauge(3_100, 20_000, 1_000, 17_000, True)
_WARM = RequestCost(3_000, 100, None)


def shown(forecast: Forecast, cost: RequestCost = _WARM) -> InspectorState:
    """Return what the inspector shows of a forecast, at 3.1k tokens."""
    state = InspectorState(3_100, 20_000, False, "", 0.85, 1_000)
    info, writing = ModelInfo("test", "small", 20_000), CostEstimate(9_000)
    return with_forecast(state, forecast, PROFILES["balanced"], _GAUGE, cost, info, writing)


def test_a_change_that_comes_later_is_told_of_the_context_of_then() -> None:
    """It saves more than what the request has now only because that grows."""
    state = shown(
        Forecast(
            next=NextRewrite(24, 3_200, 900, True, grown=4_900),
            summary=SummaryForecast("handover", 17_000, 6_000, 2_000, 9_000),
        )
    )
    change = "\N{MINUS SIGN}3.2k tokens of about 8k by then"
    assert state.next_text == f"A note replaces old steps in about 24 model calls ({change})"
    due = " ".join(state.due_texts)
    assert "By then, the request has about 8k tokens; the change leaves about 4.8k" in due
    assert "When the request has grown to about 17k tokens, compaction leaves about 6k" in due


def test_after_a_pause_a_later_change_finds_the_cache_filled_again() -> None:
    """The next request is all new; the ones until then store it. Without a cache, each is all new."""
    later = Forecast(next=NextRewrite(4, 2_000, 900, True, grown=1_600))
    due = [
        " ".join(shown(later, RequestCost(0, 3_100, None, warms_cache=warms)).due_texts)
        for warms in (True, False)
    ]
    assert "the change leaves about 2.7k, 900 of them new" in due[0]
    assert "the change leaves about 2.7k, 2.7k of them new" in due[1]


def test_a_change_with_the_next_request_is_told_of_the_one_of_now() -> None:
    """Then it can save no more than what the request has."""
    state = shown(Forecast(next=NextRewrite(0, 900, 500, True)))
    assert state.next_text == "A note replaces old steps with the next request (\N{MINUS SIGN}900 tokens)"
    assert "After that change, the request has about 2.2k tokens" in " ".join(state.due_texts)


def test_what_comes_only_after_a_summary_is_not_announced() -> None:
    """It named a size of the request beyond the window."""
    for calls, until in ((0, "is compacted."), (1, "in about 1 model call."), (3, "in about 3 model calls.")):
        state = shown(Forecast(calls=calls))
        assert not state.next_text
        assert state.due_texts[0].endswith(until)
    assert shown(Forecast()).due_texts[0].endswith("within the next 24 model calls.")
