"""The lines below a replay's figures say what these figures show, and nothing else."""

from __future__ import annotations

from msgspec.structs import replace

from helix_desktop.replay.policy.policy_replay import PolicyReplay, WindowPoint
from helix_desktop.ui.settings.policy.replay_card import PolicyComparison, replay_notes

NAMES = {"plain": "Plain", "off": "Off"}
POINTS = tuple(WindowPoint(seq, seq, 4_000 * seq) for seq in range(1, 5))
OFF = PolicyReplay(POINTS, (), 20_000, 17_000, 40_000, 9_000.0, 1.0, is_exact=True)
PLAIN = replace(OFF, points=(*POINTS[:3], WindowPoint(4, 4, 9_000)), sent=33_000, billed=11_000.0)


def compared(mine: PolicyReplay, other: PolicyReplay) -> tuple[str, ...]:
    """Return the lines of two replays."""
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
