"""The seconds until the next model request, as they change."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.ui.chat.presenter import Countdown
from tests.support.manual_clock import ManualClock


@pytest.fixture
def clock(qtbot: QtBot) -> ManualClock:
    return ManualClock()


def test_it_reports_each_second_once_and_ends(clock: ManualClock) -> None:
    seconds: list[int] = []
    countdown = Countdown(clock)
    countdown.start(2.4, seconds.append)
    for _ in range(9):
        clock.now += 0.3
        countdown.tick()
    assert seconds == [3, 2, 1, 0]
    assert not countdown.is_running


def test_a_new_countdown_replaces_the_previous_one(clock: ManualClock) -> None:
    first: list[int] = []
    second: list[int] = []
    countdown = Countdown(clock)
    countdown.start(5, first.append)
    countdown.start(0.5, second.append)
    clock.now += 1
    countdown.tick()
    assert (first, second) == ([5], [1, 0])


def test_a_stopped_countdown_reports_no_more(clock: ManualClock) -> None:
    seconds: list[int] = []
    countdown = Countdown(clock)
    countdown.start(5, seconds.append)
    countdown.stop()
    assert not countdown.is_running
    assert seconds == [5]


def test_it_ticks_on_its_own(qtbot: QtBot) -> None:
    seconds: list[int] = []
    countdown = Countdown()
    countdown.start(0.05, seconds.append)
    qtbot.waitUntil(lambda: seconds == [1, 0])
