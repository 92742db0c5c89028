"""Cards of facts: prepared, in use, part of a later change, undone."""

from __future__ import annotations

from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.domain.events.rewrite import PlacementReason
from helix_desktop.ui.kit.intents import Redo, Undo
from helix_desktop.ui.timeline.summary_cards import PlacedCard
from helix_desktop.ui.timeline.view import Timeline, TimelineState
from tests.support.galleries.panes_samples import NOW_MS, observations_card
from tests.support.intents import performed
from tests.support.timeline_pane import card, names, open_timeline, press, words


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    return open_timeline(qtbot)


def test_observations_wait_for_their_place(pane: Timeline) -> None:
    pane.set_state(TimelineState((observations_card(5),)))
    assert card(pane, 5).accessible_name == "Summary for later · Not sent yet"
    assert not {"undo", "redo"} & set(names(pane, 5))


@pytest.mark.parametrize(
    ("changes", "state", "button"),
    [
        ({}, "", "undo"),
        ({"is_undone": True}, "Undone", "redo"),
        ({"inside": "Summary of 90 messages"}, "Undo a later one first", ""),
    ],
)
def test_observations_are_undone_at_their_placement(
    pane: Timeline, changes: dict[str, Any], state: str, button: str
) -> None:
    """Their card stands there alone, with what they say, and a link to them leads to it."""
    placed = PlacedCard(
        9, NOW_MS, observations_card(5), PlacementReason.MANUAL, **{"before": 4_000, "after": 2_000} | changes
    )
    pane.set_state(TimelineState((placed,)))
    title = "Summary of 46 messages · Context: 4k → 2k · by you"
    assert card(pane, 9).accessible_name == " · ".join(filter(None, (title, state)))
    pane.reveal(5)
    press(pane, 9, "fold:details")
    assert "Finished blocks are frozen; only the open one is rebuilt." in words(pane, 9)
    assert [name for name in names(pane, 9) if name in ("undo", "redo")] == [button] * bool(button)
    if button:
        with performed(pane) as intents:
            press(pane, 9, button)
        assert intents == [Redo((9,)) if button == "redo" else Undo((9,))]


def test_facts_that_came_into_the_context_are_not_said_to_be_in_it_still(pane: Timeline) -> None:
    """They may be undone, or part of a handover, by now."""
    placed = PlacedCard(
        468,
        NOW_MS,
        observations_card(5),
        PlacementReason.THRESHOLD,
        before=42_000,
        after=19_100,
        inside="Summary of 90 messages",
    )
    pane.set_state(TimelineState((placed,)))
    assert card(pane, 468).accessible_name.startswith("Summary of 46 messages")
    assert placed.groups == ("summaries",)


def test_facts_that_made_a_handover_needless_say_so(pane: Timeline) -> None:
    """In place of what they wait for usually: at 85 % the user expects a handover, and none follows."""
    placed = PlacedCard(
        468,
        NOW_MS,
        observations_card(5),
        PlacementReason.THRESHOLD,
        before=50_400,
        after=19_200,
        threshold=0.38,
        averted_handover_at=0.85,
    )
    pane.set_state(TimelineState((placed,)))
    assert card(pane, 468).accessible_name.endswith(" · context reached 85 %")
