"""What a call costs by its reported reads and writes: known prices, known dollars."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.domain.cost import Spending, call_cost, spending_of
from helix_desktop.domain.events.session import AssistantSpoke
from helix_desktop.domain.messages import ModelInfo, Usage

PRICED = ModelInfo(
    "vendor",
    "m",
    price_in=4.0,
    price_cached=0.2,
    price_cache_write=5.0,
    price_cache_write_1h=8.0,
    price_out=20.0,
)
MILLION = 1_000_000


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(MILLION, 0), 4.0),
        (Usage(MILLION, 0, MILLION), 0.2),
        (Usage(MILLION, 0, 0, MILLION), 5.0),
        (Usage(MILLION, 0, 0, MILLION, MILLION), 8.0),
        (Usage(4 * MILLION, MILLION, MILLION, 2 * MILLION, MILLION), 0.2 + 5.0 + 8.0 + 4.0 + 20.0),
        (Usage(MILLION, 0, MILLION, MILLION, MILLION), 0.2),  # more than was sent is not billed
    ],
)
def test_reads_and_writes_have_their_own_prices(usage: Usage, dollars: float) -> None:
    assert call_cost(PRICED, usage) == pytest.approx(dollars)


def test_without_a_price_of_their_own_they_cost_what_other_input_does() -> None:
    usage = Usage(4 * MILLION, 0, MILLION, 2 * MILLION, MILLION)
    plain = ModelInfo("vendor", "m", price_in=4.0)
    assert call_cost(plain, usage) == pytest.approx(16.0)
    only_short = msgspec.structs.replace(plain, price_cache_write=5.0)
    assert call_cost(only_short, usage) == pytest.approx(4.0 + 4.0 + 5.0 + 5.0)


def test_the_bill_splits_what_was_reported() -> None:
    """A step without a report adds its estimate; one without a report on the cache only its tokens."""

    def spent(usage: Usage | None) -> Spending:
        return spending_of(AssistantSpoke("ok", "vendor/m", 7, usage=usage, estimate=500, cost=0.5))

    reported = spent(Usage(1_000, 20, 600, 300, reports_cache=True, reports_writes=True))
    assert reported == Spending(1_020, 0.5, False, 600, 300, 100)
    assert spent(Usage(1_000, 20)) == Spending(1_020, 0.5)
    assert spent(None) == Spending(507, 0.5, estimated=True)
    assert reported + spent(None) == Spending(1_527, 1.0, True, 600, 300, 100)
