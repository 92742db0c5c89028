"""The list of cards: which are built, and that they are as the log says."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.timeline.card_data import SweepCard
from helix_desktop.ui.timeline.view import Timeline
from tests.support.galleries.panes_samples import NOW_MS, timeline_state


def _card(pane: Timeline, seq: int) -> QWidget:
    """Return a card that must be there."""
    widget = pane.card_widget(seq)
    assert widget is not None
    return widget


def test_cards_that_move_down_are_updated(qtbot: QtBot) -> None:
    """Cards that come on top push others below the number of those built so far: they change too."""
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    cards = tuple(SweepCard(number, NOW_MS, 2, 900, inside="Handover 1") for number in range(40, 0, -1))
    pane.set_state(replace(timeline_state(), cards=cards))
    lowest = [old.seq for old in cards if pane.card_widget(old.seq) is not None][-1]
    newer = tuple(SweepCard(number, NOW_MS, 2, 900) for number in (52, 51))
    changed = tuple(replace(old, inside="Handover 2") for old in cards)
    pane.set_state(replace(timeline_state(), cards=(*newer, *changed)))
    labels = [pill.text() for pill in _card(pane, lowest).findChildren(Pill)]
    assert any("Handover 2" in label for label in labels), labels


def test_the_card_that_a_click_leads_to_stands_out(qtbot: QtBot) -> None:
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.resize(800, 700)
    pane.set_state(timeline_state())
    pane.show()
    seq = timeline_state().cards[0].seq
    before = _card(pane, seq).grab().toImage()
    assert _card(pane, seq).grab().toImage() == before
    pane.reveal(seq)
    assert _card(pane, seq).grab().toImage() != before
