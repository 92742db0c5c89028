"""Rows of figures of a model, and notes of a replay."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from helix_desktop.replay.policy.policy_replay import FieldEffect, PolicyReplay, WindowPoint
from helix_desktop.ui.settings.policy.replay_card import (
    PolicyComparison,
    field_effect_text,
    figure_rows,
    replay_notes,
)


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
    assert (
        field_effect_text(effect) == "This session: saves 2k billed, still in context \N{MINUS SIGN}3 points"
    )


NAMES = {"plain": "Plain", "off": "Off"}
POINTS = tuple(WindowPoint(seq, seq, 4_000 * seq) for seq in range(1, 5))
OFF = PolicyReplay(POINTS, (), 20_000, 17_000, 40_000, 9_000.0, 1.0, is_exact=True)
PLAIN = replace(OFF, points=(*POINTS[:3], WindowPoint(4, 4, 9_000)), sent=33_000, billed=11_000.0)


def compared(mine: PolicyReplay, other: PolicyReplay) -> tuple[str, ...]:
    return replay_notes(PolicyComparison(NAMES, "plain", "off", mine, other, "ready", is_one=False))


def test_they_say_from_where_two_policies_differ_and_why_sending_less_can_cost_more() -> None:
    differ, dearer, *_ = compared(PLAIN, OFF)
    assert "request 4 of 4" in differ
    assert "16k" in differ
    assert dearer.startswith("Plain sends less but is billed more")
    assert not any("billed more" in note for note in compared(replace(PLAIN, billed=7_000.0), OFF))
    assert compared(OFF, OFF)[0] == "Both policies send the same requests in this session."
    assert not any("differ" in note for note in compared(replace(PLAIN, is_exact=False), OFF))


def test_figures_with_requests_that_would_be_stopped_say_so_even_of_one_policy() -> None:
    """Also beside itself: a session that had room under another policy has none under the one in use."""
    assert not any("doesn't fit" in note for note in compared(PLAIN, OFF))
    stopped = replace(OFF, first_too_large=3)
    (note,) = [note for note in compared(PLAIN, stopped) if "doesn't fit" in note]
    assert note.startswith("Off: request 3 of 4 is the first")
    assert "Tokens sent and billed count all requests" in note
    one = PolicyComparison(NAMES, "off", "off", stopped, stopped, "ready", is_one=True)
    assert [line for line in replay_notes(one) if "doesn't fit" in line] == [note]


def test_the_model_is_named_only_where_others_answered_too() -> None:
    own = PolicyComparison(NAMES, "plain", "off", PLAIN, OFF, "ready", is_one=False, model="lab/new")
    others = PolicyComparison(
        NAMES, "plain", "off", PLAIN, OFF, "ready", is_one=False, model="lab/new", other_models=True
    )
    assert not any("lab/new" in note for note in replay_notes(own))
    assert "lab/new" in replay_notes(others)[-1]


def test_what_a_replay_leaves_out_and_who_counted_is_said() -> None:
    both = PolicyComparison(NAMES, "plain", "off", PLAIN, OFF, "ready", is_one=False)
    by_helix = replace(both, is_reported=False, has_user_rewrites=True)
    said = {
        "The model reported no token counts: all are Helix's own.",
        "Compactions and undos by you aren't replayed.",
    }
    assert set(replay_notes(by_helix)) - set(replay_notes(both)) == said
    (note,) = set(replay_notes(replace(both, always=3 * POINTS[0].tokens))) - set(replay_notes(both))
    assert note.startswith("The model reports fewer tokens than Helix counts for system prompt and tools")
