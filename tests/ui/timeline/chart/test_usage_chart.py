"""The chart of the timeline: its axis, and the scrubber that looks at an earlier step."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.context.log.steps import Step
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.design.plot import axis_ticks
from helix_desktop.ui.timeline.usage_chart import Scrubber, UsageChart, UsagePoint, point_text
from helix_desktop.words.steps import step_figures
from helix_desktop.words.times import format_day, local_time
from tests.support.galleries.panes_samples import steps, usage_points

KEYS, SHIFT = Qt.Key, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def chart(qtbot: QtBot) -> UsageChart:
    """A chart of 119 steps, four to a turn."""
    chart = UsageChart()
    qtbot.addWidget(chart)
    chart.resize(760, 140)
    chart.set_points(usage_points(), 24_000, 0.85)
    chart.scrubber.set_steps(steps())
    chart.show()
    return chart


def place(scrubber: Scrubber) -> tuple[int, int] | None:
    """Return the turn and the step that is looked at; None: now."""
    return (scrubber.step.turn, scrubber.step.number) if scrubber.step is not None else None


def test_keys_go_by_steps_and_by_turns_and_esc_comes_back_to_now(chart: UsageChart) -> None:
    scrubber = chart.scrubber
    for key, modifier, there in (
        (KEYS.Key_Left, Qt.KeyboardModifier.NoModifier, (30, 3)),
        (KEYS.Key_Left, Qt.KeyboardModifier.NoModifier, (30, 2)),
        (KEYS.Key_Left, SHIFT, (30, 1)),
        (KEYS.Key_PageDown, Qt.KeyboardModifier.NoModifier, (29, 1)),
        (KEYS.Key_Right, Qt.KeyboardModifier.NoModifier, (29, 2)),
        (KEYS.Key_PageUp, Qt.KeyboardModifier.NoModifier, (30, 1)),
        (KEYS.Key_Right, SHIFT, None),
        (KEYS.Key_Home, Qt.KeyboardModifier.NoModifier, (1, 1)),
        (KEYS.Key_Left, Qt.KeyboardModifier.NoModifier, (1, 1)),
        (KEYS.Key_Escape, Qt.KeyboardModifier.NoModifier, None),
    ):
        QTest.keyClick(scrubber, key, modifier)
        assert place(scrubber) == there


def test_a_drag_looks_at_what_is_under_it_and_its_right_end_is_now(qtbot: QtBot, chart: UsageChart) -> None:
    target = steps()[40]
    with qtbot.waitSignal(chart.scrubber.step_chosen) as chosen, qtbot.assertNotEmitted(chart.point_clicked):
        QTest.mousePress(chart, Qt.MouseButton.LeftButton, pos=QPoint(730, 40))
        QTest.mouseMove(chart, QPoint(round(chart.x_of_event(target.seq)), 45))
    assert chosen.args == [target.seq]
    with qtbot.waitSignal(chart.scrubber.step_chosen) as chosen:
        QTest.mouseMove(chart, QPoint(758, 45))
    QTest.mouseRelease(chart, Qt.MouseButton.LeftButton, pos=QPoint(758, 45))
    assert chosen.args == [0]


def test_enter_leads_to_the_place_in_the_chat(qtbot: QtBot, chart: UsageChart) -> None:
    chart.scrubber.choose(steps()[40].seq)
    with qtbot.waitSignal(chart.point_clicked) as click:
        QTest.keyClick(chart.scrubber, KEYS.Key_Return)
    assert click.args == [steps()[40].seq]


def test_a_screen_reader_reads_the_step_as_a_slider(chart: UsageChart) -> None:
    chart.scrubber.choose(steps()[40].seq)
    interface = QAccessible.queryAccessibleInterface(chart.scrubber)
    assert interface.role() == QAccessible.Role.Slider
    words = interface.text(QAccessible.Text.Description)
    assert words.startswith("Turn 11, request 1 · ")
    assert words.endswith(" tokens in the request")
    assert interface.valueInterface().currentValue() == 40


def test_new_steps_leave_the_look_where_it_is_and_now_stays_now(chart: UsageChart) -> None:
    some, scrubber = steps(), chart.scrubber
    scrubber.set_steps(some[:60])
    assert scrubber.step is None
    scrubber.choose(some[12].seq)
    scrubber.set_steps(some)
    assert scrubber.step == some[12]


@pytest.mark.parametrize(("top", "ticks"), [(24_000, (0, 10_000, 20_000)), (1, (0, 1)), (200, (0, 100, 200))])
def test_the_axis_has_round_numbers(top: int, ticks: tuple[int, ...]) -> None:
    assert axis_ticks(top, 3) == ticks


def test_a_point_of_another_day_and_its_step_name_the_day() -> None:
    """A session is looked at days later, too."""
    earlier = wall_clock_ms() - 3 * 86_400_000
    day = format_day(local_time(earlier), local_time(wall_clock_ms()))
    assert f" · {day} " in point_text(UsagePoint(2, 9, at_ms=earlier), 100)
    assert step_figures(Step(2, 1, 1, earlier)).startswith(f"{day} ")
