"""The times on the cards of the timeline."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.ui.timeline.cards import TimeLabel
from helix_desktop.ui.timeline.view import Timeline
from tests.support.galleries.panes_samples import NOW_MS, timeline_state


def test_how_long_ago_is_said_anew(qtbot: QtBot) -> None:
    now = [NOW_MS]
    timeline = Timeline(lambda: now[0])
    qtbot.addWidget(timeline)
    timeline.set_state(timeline_state())
    timeline.show()
    before = [label.text for label in timeline.findChildren(TimeLabel)]
    now[0] += 24 * 3_600_000
    timeline.hide()
    timeline.show()
    after = [label.text for label in timeline.findChildren(TimeLabel)]
    assert before
    assert not set(before) & set(after)


def test_a_shorter_time_moves_nothing(qtbot: QtBot) -> None:
    label = TimeLabel(NOW_MS, NOW_MS + 59 * 60_000)
    qtbot.addWidget(label)
    former = label.text, label.sizeHint()
    label.update_time(NOW_MS + 2 * 60_000)
    assert len(label.text) < len(former[0])
    assert label.sizeHint() == former[1]
