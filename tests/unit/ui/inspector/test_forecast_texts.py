"""What the inspector foretells: figures of a later time say so, and add up with those of now."""

from __future__ import annotations

import pytest

from helix_desktop.context.policy import PROFILES
from helix_desktop.context.rewrites.forecast import Forecast, NextRewrite, SummaryForecast
from helix_desktop.context.window.request_cost import RequestCost
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.domain.cost import CostEstimate
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.ui.inspector.forecast_texts import with_forecast
from helix_desktop.ui.inspector.inspector_data import InspectorState

_GAUGE = UsageGauge(3_100, 20_000, 1_000, 17_000, True)
_WARM = RequestCost(3_000, 100, None)


def state_with(forecast: Forecast, cost: RequestCost = _WARM) -> InspectorState:
    """Return what the inspector shows of a forecast, at 3.1k tokens."""
    state = InspectorState(3_100, 20_000, False, "", 0.85, 1_000)
    is_known = forecast.summary is not None and forecast.summary.read is not None
    info, writing = ModelInfo("test", "small", 20_000), CostEstimate(9_000) if is_known else None
    return with_forecast(state, forecast, PROFILES["balanced"], _GAUGE, cost, info, writing)


def figures(state: InspectorState, title: str) -> dict[str, str]:
    """Return the figures of a part of the forecast, by name."""
    (part,) = (part for part in state.forecast if part.title == title)
    return dict(part.figures)


def test_a_change_that_comes_later_is_told_of_the_context_of_then() -> None:
    """It saves more than what the request has now only because that grows."""
    state = state_with(
        Forecast(
            next=NextRewrite(24, 3_200, 900, True, grown=4_900),
            summary=SummaryForecast("handover", 17_000, 6_000, 2_000, 9_000),
        )
    )
    change = "\N{MINUS SIGN}3.2k tokens of about 8k by then"
    assert state.next_text == f"A note replaces old steps in about 24 model calls ({change})"
    assert figures(state, "Noting old steps")["Request then"] == "8k → 4.8k"
    assert figures(state, "Compaction")["Request then"] == "17k → 6k"


def test_what_a_summary_reads_has_a_figure_only_where_it_is_known() -> None:
    for read, text in ((9_000, "up to 9k"), (None, "the original messages")):
        forecast = Forecast(summary=SummaryForecast("handover", 17_000, 6_000, 2_000, read))
        compaction = figures(state_with(forecast), "Compaction")
        assert compaction["Writing reads"].startswith(text)
        assert compaction["Request then"] == "17k → 6k"


def test_after_a_pause_a_later_change_finds_the_cache_filled_again() -> None:
    """The next request is all new; the ones until then store it. Without a cache, each is all new."""
    later = Forecast(next=NextRewrite(4, 2_000, 900, True, grown=1_600))
    for warms, new in ((True, "900"), (False, "2.7k")):
        due = figures(state_with(later, RequestCost(0, 3_100, None, warms_cache=warms)), "Noting old steps")
        assert due["Request then"].endswith("→ 2.7k")
        assert due["New of these"] == new


def test_a_change_with_the_next_request_is_told_of_the_one_of_now() -> None:
    """Then it can save no more than what the request has."""
    state = state_with(Forecast(next=NextRewrite(0, 900, 500, True)))
    assert state.next_text == "A note replaces old steps with the next request (\N{MINUS SIGN}900 tokens)"
    due = figures(state, "Noting old steps")
    assert (due["Comes"], due["Request then"]) == ("with the next request", "3.1k → 2.2k")


def test_a_request_that_does_not_fit_is_not_announced_with_its_size() -> None:
    """It is made to fit before it is sent; one that is small enough by then has its own size."""
    large = RequestCost(0, 20_100, None)
    assert state_with(Forecast(), large).cost_text == "Next request: at most 19k tokens, once room is made"
    fitting = state_with(Forecast(next=NextRewrite(0, 2_000, 500, True)), large)
    assert fitting.cost_text == "Next request: 18.1k tokens, all counted as new"


def test_what_comes_only_after_a_summary_is_not_announced() -> None:
    """It named a size of the request beyond the window."""
    for calls, until in ((0, "is compacted."), (1, "in about 1 model call."), (3, "in about 3 model calls.")):
        state = state_with(Forecast(calls=calls))
        assert not state.next_text
        assert state.forecast[0].note.endswith(until)
    assert state_with(Forecast()).forecast[0].note.endswith("within the next 24 model calls.")


def test_facts_are_not_said_to_be_due_before_they_are() -> None:
    """29.6 % was rounded to 30 %, where they are noted."""
    due = figures(state_with(Forecast(unobserved=5_920)), "Noting facts")
    assert due == {"Not noted yet": "29 %", "Noted after a turn from": "30 %"}


@pytest.mark.parametrize(
    ("failures", "note"),
    [
        (0, ""),
        (1, "The last try failed. Helix tries again later."),
        (2, "The last 2 tries failed. Helix tries again later."),
        (3, "Noted only when you start it: the last 3 tries failed."),
    ],
)
def test_facts_that_could_not_be_noted_are_not_announced_as_if_nothing_was(failures: int, note: str) -> None:
    parts = state_with(Forecast(unobserved=9_000, failed_observations=failures)).forecast
    assert [part.note for part in parts if part.title == "Noting facts"] == [note]
