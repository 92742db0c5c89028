"""The figures of two replays on the policy page."""

from __future__ import annotations

import pytest

from helix_desktop.replay.policy.policy_replay import FieldEffect, PolicyReplay
from helix_desktop.ui.settings.policy.replay_card import PolicyComparison, field_effect_text, figure_rows


def replay(coverage: float, sent: int = 1_000) -> PolicyReplay:
    """An exact replay that bills what it sends."""
    return PolicyReplay((), (), 128_000, 100_000, sent, float(sent), coverage, is_exact=True)


@pytest.mark.parametrize(
    ("coverage", "reference", "difference"),
    [
        (0.954, 0.956, "\N{MINUS SIGN}1 point"),  # 95 % and 96 % on screen, 0.2 points apart
        (0.946, 0.954, "same"),
        (0.99, 0.84, "+15 points"),
    ],
)
def test_a_difference_of_coverage_is_that_of_what_is_shown(
    coverage: float, reference: float, difference: str
) -> None:
    """In points: percent of percent would be another figure."""
    rows = figure_rows(PolicyComparison(replay=replay(coverage), reference_replay=replay(reference)))
    assert rows[-1].difference == difference


def test_a_difference_of_tokens_is_in_tokens_and_percent() -> None:
    rows = figure_rows(PolicyComparison(replay=replay(0.9, 1_500), reference_replay=replay(0.9)))
    assert (rows[0].value, rows[0].reference) == ("1.5k", "1k")
    assert rows[0].difference == "+500 (+50 %)"


def test_what_a_field_does_is_said_in_tokens_and_points() -> None:
    effect = FieldEffect("protect_steps", -2_000.0, -0.031, 0)
    assert field_effect_text(effect) == "This session: saves 2k billed, coverage \N{MINUS SIGN}3 points"
