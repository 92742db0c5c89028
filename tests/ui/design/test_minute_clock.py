"""Ages are updated everywhere at once."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.minute_clock import MinuteClock
from helix_desktop.words.times import AGE_STEP_MS


@pytest.mark.parametrize("now_ms", [0, 1, AGE_STEP_MS - 20, 7 * AGE_STEP_MS + 300])
def test_the_next_tick_is_at_the_next_step_of_the_clock(qtbot: QtBot, now_ms: int) -> None:
    """However long ago the widget appeared."""
    widget = QWidget()
    qtbot.addWidget(widget)
    clock = MinuteClock(widget, lambda: now_ms)
    assert (now_ms + clock.wait_ms) % AGE_STEP_MS == 0
    assert 0 < clock.wait_ms <= AGE_STEP_MS


def test_it_ticks_while_its_widget_is_on_screen(qtbot: QtBot) -> None:
    """At once when it appears, and as soon as an age can change."""
    widget = QWidget()
    qtbot.addWidget(widget)
    clock = MinuteClock(widget, lambda: AGE_STEP_MS - 20)
    ticks: list[None] = []
    clock.ticked.connect(lambda: ticks.append(None))
    widget.show()
    assert len(ticks) == 1
    qtbot.waitUntil(lambda: len(ticks) > 2)
    widget.hide()
    count = len(ticks)
    qtbot.wait(60)
    assert len(ticks) == count
