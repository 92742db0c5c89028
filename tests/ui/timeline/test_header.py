"""Headings of the timeline: the caption of the chart stands whole, and a note has the name that undo uses."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.domain.events.rewrite import FoldKind
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.timeline.card_data import TimelineState
from helix_desktop.ui.timeline.view import Timeline
from tests.support.galleries.panes_samples import NOW_MS, fold_card, timeline_state
from tests.support.timeline_pane import card, find_card, open_timeline, words

CAPTION = "of 24k tokens in context"


@pytest.mark.parametrize("width", [300, 420, 460, 800])
def test_the_caption_of_the_chart_stands_whole(qtbot: QtBot, width: int) -> None:
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.resize(width, 700)
    pane.set_state(timeline_state())
    pane.show()
    qtbot.waitExposed(pane)
    line = next(line for line in pane.findChildren(TextLine) if line.text == CAPTION)
    assert line.width() >= line.sizeHint().width()


def test_how_full_the_context_is_shows_before_the_log_has_been_read(qtbot: QtBot) -> None:
    """On a busy machine the cards take a second; until then no figure may be of another moment."""
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    state = timeline_state()
    pane.set_state(state)
    gauge = UsageGauge(6_577, 9_000, 1_000, 7_650, is_reported=True)
    pane.show_usage(gauge, state.points[-1].seq + 5, NOW_MS)
    shown = {line.text for line in pane.findChildren(TextLine)}
    assert {"of 9k tokens in context"} <= shown
    assert "now 6.6k of 9k" in pane.chart.accessibleName()
    assert "73 %" in card(pane, "preview").accessible_name
    assert find_card(pane, state.cards[0].seq) is not None


@pytest.mark.parametrize(
    ("kind", "heading"),
    [
        ("fold", "28 steps compacted"),
        ("condense", "28 steps compacted further"),
        ("truncate", "Context full: 9 messages compacted"),
    ],
)
def test_a_note_is_called_what_its_undo_calls_it(qtbot: QtBot, kind: FoldKind, heading: str) -> None:
    pane = open_timeline(qtbot, TimelineState((fold_card(497, how=kind, messages="9 messages"),)))
    assert f"{heading} · Context: 23.9k → 14.8k" in words(pane, 497)
