"""The rail at the left of the timeline's cards."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.timeline.card_list import TimelineRow
from helix_desktop.ui.timeline.view import Timeline
from tests.support.galleries.panes_samples import NOW_MS, timeline_state


def _lines(row: TimelineRow) -> list[QWidget]:
    return [*row.findChildren(TextLine), *row.findChildren(QLabel)]


def test_the_node_of_each_card_stands_beside_its_first_line(qtbot: QtBot) -> None:
    """Also of an undone card, which has the small gray node."""
    timeline = Timeline(lambda: NOW_MS)
    qtbot.addWidget(timeline)
    timeline.resize(800, 700)
    timeline.set_state(timeline_state())
    timeline.show()
    rows = [row for row in timeline.findChildren(TimelineRow) if row.isVisible()]
    assert {row.node for row in rows} >= {"live", "mark", "sweep"}
    for row in rows:
        first = min(
            (part for part in _lines(row) if part.isVisible()),
            key=lambda part: part.mapTo(row, QPoint(0, 0)).y(),
        )
        middle = first.mapTo(row, first.rect().center()).y()
        assert abs(row.node_y - middle) <= 4, row.card
