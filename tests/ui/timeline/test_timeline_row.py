"""The rail at the left of the timeline's cards."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.ui.timeline.rows import CardItem
from tests.support.galleries.panes_samples import timeline_state
from tests.support.timeline_pane import open_timeline


def test_the_node_of_each_card_stands_beside_its_first_line(qtbot: QtBot) -> None:
    """Also of an undone card, which has the small gray node."""
    pane = open_timeline(qtbot, timeline_state())
    every = (pane.cards.rows.item(index) for index in range(pane.cards.cards.count()))
    items = [item for item in every if isinstance(item, CardItem) and item.node]
    assert {item.node for item in items} >= {"live", "mark", "sweep"}
    for item in items:
        tops = [part.rect for part in item.parts if part.accessible_text]
        first = min(tops, key=lambda rect: rect.y())
        assert abs(item.node_y - first.center().y()) <= 4, item.row
