"""How long a provider is to store what requests begin with: known prices and gaps, known choices."""

from __future__ import annotations

import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.provider_cache import (
    CachePrices,
    CallGap,
    cache_prices,
    measured_gaps,
    prefers_long,
)
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import ModelInfo, Usage

ANTHROPIC = CachePrices(0.1, 1.25, 2.0)
FREE_WRITES = CachePrices(0.1, 1.0, 1.0)
QUICK, PAUSE, AWAY = 20.0, 420.0, 7_200.0


def gaps(*seconds: float, prefix: int = 30_000, added: int = 1_000) -> list[CallGap]:
    """Return gaps of so many seconds."""
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
