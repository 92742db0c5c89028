"""Headings of the timeline: the chart, the ways to the handovers and to other sessions, a note's name."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.domain.events.rewrite import FoldKind
from helix_desktop.ui.design.labels import SelectableText, TextLine
from helix_desktop.ui.kit.intents import FocusComposer, OpenSession, ShowHandovers
from helix_desktop.ui.timeline.view import Timeline, TimelineState
from tests.support.galleries.panes_samples import (
    NOW_MS,
    fold_card,
    quiet_timeline_state,
    steps,
    timeline_state,
    usage_points,
)
from tests.support.intents import performed
from tests.support.timeline_pane import card, find_card, open_timeline, pills, press, words

CAPTION = "of 24k tokens in context"


def shown_texts(pane: Timeline) -> list[str]:
    return [text.text() for text in pane.findChildren(SelectableText) if text.isVisible()]


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
    assert find_card(pane, state.cards[0].seq) is not None


def test_the_empty_state_leads_to_the_first_message(qtbot: QtBot) -> None:
    """Without a message there is nothing to hand on, and one button."""
    pane = open_timeline(qtbot, TimelineState())
    assert pane.empty.isVisible()
    assert not pane.handovers_button.isVisible()
    with performed(pane) as intents:
        pane.empty.button.click()
    assert intents == [FocusComposer()]


def test_a_button_leads_to_the_handovers_as_soon_as_there_is_a_message(qtbot: QtBot) -> None:
    """Not while the past is looked at: the window shows what would be written now."""
    pane = open_timeline(qtbot, TimelineState((), usage_points(), 14_600, 24_000))
    assert not pane.empty.isVisible()
    assert "Nothing has left the context yet." in shown_texts(pane)
    assert pane.handovers_button.isVisible()
    with performed(pane) as intents:
        pane.handovers_button.click()
    assert intents == [ShowHandovers()]
    pane.show_past(steps()[70])
    assert not pane.handovers_button.isVisible()
    pane.show_past(None)
    assert pane.handovers_button.isVisible()


def test_sessions_that_continue_each_other_are_linked_both_ways(qtbot: QtBot) -> None:
    """From the handover that this one began with to its session, and on to those that continue this one."""
    pane = open_timeline(qtbot, quiet_timeline_state())
    assert "No source" not in pills(pane, 2)
    assert any("From “Flush" in words for words in pills(pane, 2))
    with performed(pane) as back:
        press(pane, 2, "session:s-1")
    assert back == [OpenSession("s-1")]
    links = ["Continued in “Flush the stream (3)”", "Continued in “Flush the stream (4)”"]
    assert [*pills(pane, "continued")] == links
    assert card(pane, "continued").accessible_name == " · ".join(links)
    with performed(pane) as on:
        press(pane, "continued", "session:s-3")
    assert on == [OpenSession("s-3")]


def test_with_the_policy_off_the_chart_has_no_threshold(qtbot: QtBot) -> None:
    """Nothing is compacted there; with a policy the line stands at its height."""
    pane = open_timeline(qtbot)
    state = TimelineState((), usage_points(), 14_600, 24_000)

    def drawn(threshold: float, *, is_managed: bool) -> QImage:
        pane.set_state(replace(state, threshold=threshold, is_managed=is_managed))
        return pane.chart.grab().toImage()

    assert drawn(0.85, is_managed=False) == drawn(0.5, is_managed=False)
    assert drawn(0.85, is_managed=True) != drawn(0.5, is_managed=True)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("fold", " · early, saves tokens"),
        ("condense", " · early, saves tokens"),
        ("truncate", " · context was full"),
    ],
)
def test_a_summary_without_a_model_says_why_it_was_made(qtbot: QtBot, kind: FoldKind, why: str) -> None:
    pane = open_timeline(qtbot, TimelineState((fold_card(497, how=kind),)))
    assert f"Summary of 9 messages · Context: 23.9k → 14.8k{why}" in words(pane, 497)
