"""The list of cards: which are built, and that they are as the log says."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QAbstractSlider
from pytestqt.qtbot import QtBot

from helix_desktop.context.log.steps import Step
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.layout.disclosure import DisclosureHead
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.timeline.card_data import HandoverCard, SweepCard, TimelineCard, TimelineState, UndoCard
from helix_desktop.ui.timeline.card_list import TimelineRow
from helix_desktop.ui.timeline.view import Timeline
from tests.support.galleries.panes_samples import (
    NOW_MS,
    handover_card,
    long_timeline_state,
    timeline_state,
    usage_points,
)
from tests.support.timeline_pane import card, open_timeline


def test_cards_that_move_down_are_updated(qtbot: QtBot) -> None:
    """Cards that come on top push others below the number of those built so far: they change too."""
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    cards = tuple(
        SweepCard(number, NOW_MS, 2, 9_900, 9_000, inside="Handover 1") for number in range(40, 0, -1)
    )
    pane.set_state(replace(timeline_state(), cards=cards))
    lowest = [old.seq for old in cards if pane.card_widget(old.seq) is not None][-1]
    newer = tuple(SweepCard(number, NOW_MS, 2, 9_900, 9_000) for number in (52, 51))
    changed = tuple(replace(old, inside="Handover 2") for old in cards)
    pane.set_state(replace(timeline_state(), cards=(*newer, *changed)))
    tips = [pill.toolTip() for pill in card(pane, lowest).findChildren(Pill)]
    assert any("Handover 2" in tip for tip in tips), tips


def test_the_card_that_a_click_leads_to_stands_out(qtbot: QtBot) -> None:
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.resize(800, 700)
    pane.set_state(timeline_state())
    pane.show()
    seq = timeline_state().cards[0].seq
    before = card(pane, seq).grab().toImage()
    assert card(pane, seq).grab().toImage() == before
    pane.reveal(seq)
    assert card(pane, seq).grab().toImage() != before


def test_cards_are_never_drawn_squeezed(qtbot: QtBot) -> None:
    """They have their height at once: a frame may be drawn before the next event."""
    pane = open_timeline(qtbot, _state(is_undone=False))
    pane.set_state(_state(True, UndoCard(200, NOW_MS, "undo", 100, "Handover 1")))
    assert card(pane, 200).isVisible()
    for seq in (200, 40, 39):
        widget = card(pane, seq)
        needed = widget.heightForWidth(widget.width()) if widget.hasHeightForWidth() else 0
        assert widget.height() >= max(needed, widget.minimumSizeHint().height()), seq


def _y(pane: Timeline, seq: int) -> int:
    return card(pane, seq).mapTo(pane, QPoint(0, 0)).y()


def _state(is_undone: bool, *newer: TimelineCard) -> TimelineState:
    """Return a long timeline with a handover, event 100, in the middle."""
    sweeps = [SweepCard(number, NOW_MS, 2, 9_900, 9_000) for number in range(40, 0, -1)]
    cards = (*newer, *sweeps[:20], handover_card(1, 100, is_undone), *sweeps[20:])
    return TimelineState(cards, usage_points(), 14_600, 24_000)


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    """Return a timeline on screen that shows the event 100, and is lower than its card."""
    timeline = Timeline(lambda: NOW_MS)
    qtbot.addWidget(timeline)
    timeline.resize(800, 420)
    timeline.set_state(_state(False))
    timeline.show()
    timeline.reveal(100)
    qtbot.waitUntil(lambda: not timeline._card_list._target_seq)  # the layout has settled
    return timeline


def test_a_card_taller_than_the_page_is_revealed_from_its_top(qtbot: QtBot, pane: Timeline) -> None:
    card(pane, 100).findChildren(DisclosureHead)[0].click()
    qtbot.waitUntil(lambda: card(pane, 100).height() > pane.height())
    pane.reveal(100)
    qtbot.waitUntil(lambda: 0 <= _y(pane, 100) < 100)


def test_a_card_stays_under_the_mouse_when_it_is_undone_and_redone(qtbot: QtBot, pane: Timeline) -> None:
    """A line about it comes on top of the list, and it changes itself."""
    bar = pane._scroll.verticalScrollBar()
    bar.setSliderPosition(bar.value() + _y(pane, 100) - 60)
    bar.triggerAction(QAbstractSlider.SliderAction.SliderMove)  # as a user scrolls: no place is kept any more
    before = _y(pane, 100)
    undone = UndoCard(200, NOW_MS, "undo", 100, "Handover 1")
    redone = UndoCard(201, NOW_MS, "redo", 100, "Handover 1")
    for state in (_state(True, undone), _state(False, redone, undone)):
        pane.set_state(state)
        qtbot.waitUntil(lambda: pane._card_list._anchor is None)  # the layout has settled
        assert _y(pane, 100) == before


def test_cards_of_later_than_what_is_looked_at_are_pale(qtbot: QtBot) -> None:
    """The newest handover stood on top as if it held at that step, with its Undo."""
    pane = open_timeline(qtbot, long_timeline_state())
    cards = long_timeline_state().cards
    seqs = [shown.seq for shown in cards if pane.card_widget(shown.seq) is not None]

    def pale() -> list[int]:
        rows = {row.card: row for row in pane.findChildren(TimelineRow)}
        return [seq for seq in seqs if rows[card(pane, seq)].is_dimmed]

    middle = seqs[len(seqs) // 2]
    pane.show_past(Step(middle, 3, 1, 0))
    assert pale() == [seq for seq in seqs if seq > middle] != []
    pane.set_state(replace(long_timeline_state(), cards=(*cards[:1], *cards[2:])))
    seqs.remove(cards[1].seq)
    assert pale() == [seq for seq in seqs if seq > middle], "also those that are built anew"
    pane.show_past(None)
    assert pale() == []


def test_cards_of_later_than_what_is_looked_at_have_no_actions(qtbot: QtBot) -> None:
    """They did not hold at that step, and yet they could be undone and edited."""
    pane = open_timeline(qtbot, long_timeline_state())
    handover = next(shown for shown in long_timeline_state().cards if isinstance(shown, HandoverCard))

    def actions() -> list[str]:
        view = card(pane, handover.seq)
        buttons = (*view.findChildren(PushButton), *view.findChildren(IconButton))
        return sorted(button.objectName() for button in buttons if button.isVisible())

    shown = actions()
    assert {"compare", "edit", "more", "undo"} <= set(shown)
    pane.show_past(Step(handover.seq - 1, 3, 1, 0))
    assert actions() == []
    pane.show_past(Step(handover.seq, 3, 1, 0))
    assert actions() == shown
