"""Headings of the timeline: the chart with its scrubber, ways to handovers and sessions, a note's name."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QImage
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.context.log.steps import Step
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.design.plot import axis_ticks
from helix_desktop.ui.kit.intents import FocusComposer, OpenSession
from helix_desktop.ui.timeline.page import Timeline, TimelineState
from helix_desktop.ui.timeline.usage_chart import Scrubber, UsageChart, point_text
from helix_desktop.ui.timeline.usage_points import UsagePoint
from helix_desktop.words.steps import step_figures
from helix_desktop.words.times import format_day, format_exact_duration, local_time
from tests.support.galleries.panes_samples import (
    NOW_MS,
    handover_card,
    quiet_timeline_state,
    steps,
    timeline_state,
    usage_points,
)
from tests.support.intents import intents_of
from tests.support.timeline_pane import card, find_card, open_timeline, pills, press


def shown_texts(pane: Timeline) -> list[str]:
    return [text.text() for text in pane.findChildren(SelectableText) if text.isVisible()]


def test_the_chart_ends_at_how_full_the_context_is_before_the_log_has_been_read(qtbot: QtBot) -> None:
    """On a busy machine the cards take a second; until then no figure may be of another moment."""
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    state = timeline_state()
    pane.set_state(state)
    gauge = UsageGauge(6_577, 9_000, 9_000, 1_000, 7_650, is_reported=True)
    pane.show_usage(gauge, state.points[-1].seq + 5, NOW_MS)
    assert "now 6.6k of 9k" in pane.chart.accessibleName()
    assert find_card(pane, state.cards[0].seq) is not None


def test_the_empty_state_leads_to_the_first_message(qtbot: QtBot) -> None:
    pane = open_timeline(qtbot, TimelineState())
    assert pane.empty.isVisible()
    assert intents_of(pane, pane.empty.button.click) == [FocusComposer()]


def test_the_words_of_the_cards_are_explained_where_they_stand(qtbot: QtBot) -> None:
    pane = open_timeline(qtbot, TimelineState((), usage_points(), 24_000))
    assert not pane.empty.isVisible()
    assert "Nothing has left the context yet." in shown_texts(pane)
    pane.set_state(replace(pane._state, cards=(handover_card(1, 492),)))
    (meaning,) = [text for text in shown_texts(pane) if text.startswith("Cached outputs are replaced")]
    assert "compacted turns by a shorter form" in meaning


def test_sessions_that_continue_each_other_are_linked_both_ways(qtbot: QtBot) -> None:
    """From the handover that this one began with to its session, and on to those that continue this one."""
    pane = open_timeline(qtbot, quiet_timeline_state())
    assert "No source" not in pills(pane, 2)
    assert any("From “Flush" in words for words in pills(pane, 2))
    assert intents_of(pane, lambda: press(pane, 2, "session:s-1")) == [OpenSession("s-1")]
    links = ["Continued in “Flush the stream (3)”", "Continued in “Flush the stream (4)”"]
    assert [*pills(pane, "continued")] == links
    assert card(pane, "continued").accessible_name == " · ".join(links)
    assert intents_of(pane, lambda: press(pane, "continued", "session:s-3")) == [OpenSession("s-3")]


def test_with_the_policy_off_the_chart_has_no_threshold(qtbot: QtBot) -> None:
    """Nothing is compacted there; with a policy the line stands at its height."""
    pane = open_timeline(qtbot)
    state = TimelineState((), usage_points(), 24_000)

    def drawn(threshold: float, *, is_managed: bool) -> QImage:
        pane.set_state(replace(state, threshold=threshold, is_managed=is_managed))
        return pane.chart.grab().toImage()

    assert drawn(0.85, is_managed=False) == drawn(0.5, is_managed=False)
    assert drawn(0.85, is_managed=True) != drawn(0.5, is_managed=True)


KEYS = Qt.Key
SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def chart(qtbot: QtBot) -> UsageChart:
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


def test_keys_go_by_steps_and_by_turns_and_esc_comes_back_to_now(qtbot: QtBot, chart: UsageChart) -> None:
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
    scrubber.choose(steps()[40].seq)
    with qtbot.waitSignal(chart.point_clicked) as click:
        QTest.keyClick(scrubber, KEYS.Key_Return)
    assert click.args == [steps()[40].seq], "Enter leads to the place in the chat"


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


def test_a_screen_reader_reads_the_step_as_a_slider(chart: UsageChart) -> None:
    chart.scrubber.choose(steps()[40].seq)
    interface = QAccessible.queryAccessibleInterface(chart.scrubber)
    assert interface.role() == QAccessible.Role.Slider
    words = interface.text(QAccessible.Text.Description)
    assert words.startswith("Turn 11, request 1 · ")
    assert words.endswith(" tokens in the request")
    assert interface.valueInterface().currentValue() == 40


def test_new_steps_leave_the_look_where_it_is_and_now_stays_now(chart: UsageChart) -> None:
    some = steps()
    scrubber = chart.scrubber
    scrubber.set_steps(some[:60])
    assert scrubber.step is None
    scrubber.choose(some[12].seq)
    scrubber.set_steps(some)
    assert scrubber.step == some[12]


def test_a_point_of_another_day_and_its_step_name_the_day() -> None:
    """A session is looked at days later, too."""
    earlier = wall_clock_ms() - 3 * 86_400_000
    day = format_day(local_time(earlier), local_time(wall_clock_ms()))
    assert f" · {day} " in point_text(UsagePoint(2, 9, at_ms=earlier), 100)
    assert step_figures(Step(2, 1, 1, earlier)).startswith(f"{day} ")


def test_axes_have_round_numbers_and_short_times_exact_ones() -> None:
    assert [axis_ticks(top, 3) for top in (24_000, 1, 200)] == [(0, 10_000, 20_000), (0, 1), (0, 100, 200)]
    times = [format_exact_duration(milliseconds) for milliseconds in (340, 1_240, 190_000)]
    assert times == ["340 ms", "1.2 s", "3 min 10 s"]
