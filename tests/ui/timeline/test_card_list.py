"""The list of cards: which are built, and that they are as the log says."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from helix_desktop.context.log.steps import Step
from helix_desktop.ui.timeline.cards import SweepCard, TimelineCard, UndoCard
from helix_desktop.ui.timeline.page import Timeline, TimelineState
from helix_desktop.ui.timeline.summary_cards import HandoverCard
from tests.support.galleries.panes_samples import (
    NOW_MS,
    SWEPT,
    handover_card,
    long_timeline_state,
    timeline_state,
    usage_points,
)
from tests.support.timeline_pane import card, names, open_timeline, pills, press, shown_seqs, top


def test_cards_that_move_down_are_updated(qtbot: QtBot) -> None:
    """Cards that come on top push others out of sight: they change too."""
    pane = open_timeline(qtbot)
    cards = tuple(
        SweepCard(number, NOW_MS, 2, SWEPT, before=9_900, after=9_000, inside="Compacted turns 1–31")
        for number in range(40, 0, -1)
    )
    pane.set_state(replace(timeline_state(), cards=cards))
    newer = tuple(SweepCard(number, NOW_MS, 2, SWEPT, before=9_900, after=9_000) for number in (52, 51))
    changed = tuple(replace(old, inside="Compacted turns 1–62") for old in cards)
    pane.set_state(replace(timeline_state(), cards=(*newer, *changed)))
    assert all("Undo “Compacted turns 1–62” first" in pills(pane, old.seq) for old in cards)


def test_the_card_that_a_click_leads_to_stands_out(qtbot: QtBot) -> None:
    pane = open_timeline(qtbot, timeline_state())
    seq = timeline_state().cards[0].seq

    def picture() -> QImage:
        return pane.cards.rows.widget_pool.visible[seq].grab().toImage()

    before = picture()
    assert picture() == before
    pane.reveal(seq)
    assert picture() != before


def _state(is_undone: bool, *newer: TimelineCard) -> TimelineState:
    """Return a long timeline with a handover, event 100, in the middle."""
    sweeps = [SweepCard(number, NOW_MS, 2, SWEPT, before=9_900, after=9_000) for number in range(40, 0, -1)]
    cards = (*newer, *sweeps[:20], handover_card(1, 100, is_undone), *sweeps[20:])
    return TimelineState(cards, usage_points(), 24_000)


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    """Return a timeline on screen that shows the event 100, and is lower than its card."""
    timeline = open_timeline(qtbot, _state(False))
    timeline.resize(800, 420)
    timeline.reveal(100)
    return timeline


def test_a_card_taller_than_the_page_is_revealed_from_its_top(qtbot: QtBot, pane: Timeline) -> None:
    press(pane, 100, "fold:details")
    assert card(pane, 100).height > pane.height()
    pane.reveal(100)
    place = top(pane, 100)
    assert place is not None
    assert -1 <= place < 100


def test_a_card_stays_under_the_mouse_when_it_is_undone_and_redone(qtbot: QtBot, pane: Timeline) -> None:
    """A line about it comes on top of the list, and it changes itself."""
    bar, place = pane.cards.verticalScrollBar(), top(pane, 100)
    assert place is not None
    bar.setValue(round(bar.value() + place - 60))
    before = top(pane, 100)
    undone = UndoCard(200, NOW_MS, "undo", 100, "Compacted turns 1–31")
    redone = UndoCard(201, NOW_MS, "redo", 100, "Compacted turns 1–31")
    for state in (_state(True, undone), _state(False, redone, undone)):
        pane.set_state(state)
        assert top(pane, 100) == before


def test_a_card_that_opens_stays_under_the_mouse(pane: Timeline) -> None:
    before = top(pane, 100)
    for _ in range(2):
        press(pane, 100, "fold:details")
        assert top(pane, 100) == before


def _later(pane: Timeline) -> list[int]:
    return [seq for seq in shown_seqs(pane) if card(pane, seq).look.is_later]


def test_cards_of_later_than_what_is_looked_at_are_pale(qtbot: QtBot) -> None:
    """The newest handover stood on top as if it held at that step, with its Undo."""
    pane = open_timeline(qtbot, long_timeline_state())
    cards, seqs = long_timeline_state().cards, shown_seqs(pane)
    middle = seqs[len(seqs) // 2]
    pane.show_past(Step(middle, 3, 1, 0))
    assert _later(pane) == [seq for seq in seqs if seq > middle] != []
    pane.set_state(replace(long_timeline_state(), cards=(*cards[:1], *cards[2:])))
    seqs.remove(cards[1].seq)
    assert _later(pane) == [seq for seq in seqs if seq > middle], "also those that are made anew"
    pane.show_past(None)
    assert _later(pane) == []


def test_cards_of_later_than_what_is_looked_at_have_no_actions(qtbot: QtBot) -> None:
    """They did not hold at that step, and yet they could be undone and edited."""
    pane = open_timeline(qtbot, long_timeline_state())
    handover = next(shown for shown in long_timeline_state().cards if isinstance(shown, HandoverCard))
    actions, seq = {"compare", "edit", "more", "undo"}, handover.seq
    assert actions <= {*names(pane, seq)}
    pane.show_past(Step(seq - 1, 3, 1, 0))
    assert not actions & {*names(pane, seq)}
    pane.show_past(Step(seq, 3, 1, 0))
    assert actions <= {*names(pane, seq)}
