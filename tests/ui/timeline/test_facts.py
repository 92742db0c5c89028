"""Cards of facts: prepared, in use, part of a later change, undone."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.domain.events.rewrite import PlacementReason
from helix_desktop.ui.kit.intents import Redo, Undo
from helix_desktop.ui.timeline.card_data import PlacedCard, TimelineState, card_groups
from helix_desktop.ui.timeline.view import Timeline
from tests.support.galleries.panes_samples import NOW_MS, observations_card
from tests.support.intents import performed
from tests.support.timeline_pane import card, names, open_timeline, press, words


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    return open_timeline(qtbot)


@pytest.mark.parametrize(
    ("changes", "expected", "undo"),
    [
        ({}, "Not sent yet", 0),
        ({"placed_seq": 9}, "In context", 9),
        ({"placed_seq": 9, "is_undone": True}, "Undone", 9),
        ({"placed_seq": 9, "inside": "Handover summary 1"}, "Undo a later one first", 0),
    ],
)
def test_observations_wait_are_placed_or_are_undone(
    qtbot: QtBot, pane: Timeline, changes: dict[str, object], expected: str, undo: int
) -> None:
    """Pending ones and those inside a handover have no undo; others are undone at their placement.

    Only of those that stand in the context by themselves it is said that they are in use.
    """
    pane.set_state(TimelineState((observations_card(5, **changes),)))
    assert card(pane, 5).accessible_name.endswith(expected)
    said = words(pane, 5)
    assert said.count(expected) == 1
    assert ("In context" in said) == (expected == "In context")
    buttons = [name for name in names(pane, 5) if name in ("undo", "redo")]
    assert len(buttons) == bool(undo)
    if undo:
        with performed(pane) as intents:
            press(pane, 5, buttons[0])
        assert intents == [Redo((undo,)) if expected == "Undone" else Undo((undo,))]


def test_facts_that_came_into_the_context_are_not_said_to_be_in_it_still(pane: Timeline) -> None:
    """They may be undone, or part of a handover, by now."""
    placed = PlacedCard(
        468, NOW_MS, "9 messages", 42_000, 19_100, PlacementReason.THRESHOLD, inside="Handover summary 1"
    )
    pane.set_state(TimelineState((placed,)))
    assert card(pane, 468).accessible_name.startswith("9 messages compacted")
    assert card_groups(placed) == ("compacted",)


def test_facts_that_made_a_handover_needless_say_so(pane: Timeline) -> None:
    """In place of what they wait for usually: at 85 % the user expects a handover, and none follows."""
    placed = PlacedCard(
        468,
        NOW_MS,
        "9 messages",
        50_400,
        19_200,
        PlacementReason.THRESHOLD,
        threshold=0.38,
        averted_handover_at=0.85,
    )
    pane.set_state(TimelineState((placed,)))
    assert card(pane, 468).accessible_name.endswith(" · context reached 85 %")
