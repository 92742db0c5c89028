"""A timeline on screen, and its cards."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.timeline.card_data import TimelineState
from helix_desktop.ui.timeline.view import Timeline
from tests.support.galleries.panes_samples import NOW_MS


def open_timeline(qtbot: QtBot, state: TimelineState | None = None) -> Timeline:
    """Return a timeline on screen, with these cards."""
    timeline = Timeline(lambda: NOW_MS)
    qtbot.addWidget(timeline)
    timeline.resize(800, 700)
    if state is not None:
        timeline.set_state(state)
    timeline.show()
    return timeline


def card(pane: Timeline, seq: int) -> QWidget:
    """Return a card that must be there."""
    widget = pane.card_widget(seq)
    assert widget is not None
    return widget
