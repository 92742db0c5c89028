"""What a command without a window reports about its spending."""

from __future__ import annotations

import pytest

from helix_desktop.agent.session_updates import EventRecorded, SpendDecided
from helix_desktop.cli.output import TurnPrinter
from helix_desktop.domain.cost import CostEstimate, SpendRequest
from helix_desktop.domain.events.file_changes import ChangesRecorded
from helix_desktop.domain.events.session import RecordedEvent


@pytest.mark.parametrize("as_json", [False, True])
def test_background_work_beyond_the_budget_is_reported(
    as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Report tokens, money, the fallback and the remedy, next to the answer."""
    spend_request = SpendRequest("handover", CostEstimate(312_000, None, model="box/small"), 100_000)
    TurnPrinter(as_json, on_output_error=list).on_update("s", SpendDecided(spend_request, allowed=False))
    captured = capsys.readouterr()
    assert captured.out == ""
    for text in ("312,000 tokens", "price unknown", "without a model", "--budget-tokens"):
        assert text in captured.err


def test_background_work_within_the_budget_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """Report it with its price."""
    spend_request = SpendRequest("observations", CostEstimate(120_000, 0.36, model="box/small"), 100_000)
    TurnPrinter(as_json=False, on_output_error=list).on_update("s", SpendDecided(spend_request, allowed=True))
    assert "120,000 tokens with box/small (≈ $0.36), within the budget" in capsys.readouterr().err


def test_what_a_call_changed_of_files_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    event = ChangesRecorded("c1", "0" * 64, "command", created=1, changed=2, added_lines=12, removed_lines=4)
    update = EventRecorded(RecordedEvent(9, 1, event))
    TurnPrinter(as_json=False, on_output_error=list).on_update("s", update)
    assert capsys.readouterr().err == "[3 files changed +12 \N{MINUS SIGN}4]\n"
