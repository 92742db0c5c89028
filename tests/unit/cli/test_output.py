"""What a command without a window says of what it spends."""

from __future__ import annotations

import pytest

from helix_desktop.agent.session_updates import SpendDecided
from helix_desktop.cli.output import TurnPrinter
from helix_desktop.domain.cost import CostEstimate, SpendRequest


@pytest.mark.parametrize("as_json", [False, True])
def test_it_says_what_background_work_the_budget_did_not_cover(
    as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tokens, money, what happens instead and what to do, beside the answer."""
    ask = SpendRequest("handover", CostEstimate(312_000, None, model="box/small"), 100_000)
    TurnPrinter(as_json, on_output_error=list).on_update("s", SpendDecided(ask, allowed=False))
    said = capsys.readouterr()
    assert said.out == ""
    for words in ("312,000 tokens", "price unknown", "without a model", "--budget-tokens"):
        assert words in said.err


def test_it_says_what_the_budget_covered(capsys: pytest.CaptureFixture[str]) -> None:
    """With its price."""
    ask = SpendRequest("observations", CostEstimate(120_000, 0.36, model="box/small"), 100_000)
    TurnPrinter(as_json=False, on_output_error=list).on_update("s", SpendDecided(ask, allowed=True))
    assert "120,000 tokens with box/small (≈ $0.36), within the budget" in capsys.readouterr().err
