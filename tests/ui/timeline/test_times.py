"""The times on the cards of the timeline."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.ui.timeline.view import Timeline
from tests.support.galleries.panes_samples import NOW_MS, timeline_state
from tests.support.timeline_pane import shown_seqs, words


def test_how_long_ago_is_said_anew(qtbot: QtBot) -> None:
    now = [NOW_MS]
    timeline = Timeline(lambda: now[0])
    qtbot.addWidget(timeline)
    timeline.resize(800, 700)
    timeline.set_state(timeline_state())
    timeline.show()
    seqs = shown_seqs(timeline)
    before = [words(timeline, seq) for seq in seqs]
    now[0] += 24 * 3_600_000
    timeline.hide()
    timeline.show()
    after = [words(timeline, seq) for seq in seqs]
    assert before
    assert all(len(old) == len(new) and old != new for old, new in zip(before, after, strict=True))
