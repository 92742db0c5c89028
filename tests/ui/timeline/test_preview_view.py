"""The handover as it would be now, on top of the timeline."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.window.usage_gauge import CompactionTrigger
from helix_desktop.domain.events.rewrite import HandoverTrigger, PlacementReason
from helix_desktop.ui.kit.intents import ContinueSession, CopyText, FocusComposer, OpenSession, WriteHandover
from helix_desktop.ui.timeline.card_data import PlacedCard, TimelineState
from helix_desktop.ui.timeline.view import Timeline, preview_status_text
from tests.support.galleries.panes_samples import (
    fold_card,
    handover_card,
    quiet_timeline_state,
    timeline_state,
    usage_points,
)
from tests.support.intents import performed
from tests.support.timeline_pane import card, names, open_timeline, pills, press, words
from tests.support.window.keyboard_focus import focused_widget

NEXT = "At 85 %, a handover like this replaces older messages."


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    """A timeline of a session that notes keep small."""
    return open_timeline(qtbot, quiet_timeline_state())


def test_the_empty_state_leads_to_the_first_message(qtbot: QtBot, pane: Timeline) -> None:
    """Without a message there is nothing to hand on, and one button."""
    pane.set_state(TimelineState())
    assert pane.empty.isVisible()
    with performed(pane) as intents:
        pane.empty.button.click()
    assert intents == [FocusComposer()]


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (
            quiet_timeline_state(),
            "No handover yet: compaction and caching keep the context at 14 %. "
            f"With every message whole, it would be ≈ 61 %. {NEXT}",
        ),
        (
            replace(quiet_timeline_state(), saved=1_336_000),
            "No handover yet: compaction and caching keep the context at 14 %. All messages would "
            f"take ≈ 1.34M tokens; the context window has room for 24k. {NEXT}",
        ),
        (
            replace(quiet_timeline_state(), cards=(fold_card(4),), saved=0, is_managed=False),
            "No handover yet: compaction keeps the context at 14 %. Context management is off.",
        ),
        (
            replace(quiet_timeline_state(), cards=(fold_card(4, is_undone=True),), saved=0),
            f"Everything was undone. The context is 14 % full. {NEXT}",
        ),
        (
            replace(
                quiet_timeline_state(),
                cards=(PlacedCard(9, 0, "", 9_400, 9_000, PlacementReason.THRESHOLD),),
                saved=0,
            ),
            f"No handover yet: compaction keeps the context at 14 %. {NEXT}",
        ),
        (
            timeline_state(),
            f"The context is 61 % full. {NEXT}",
        ),
        (
            replace(timeline_state(), is_estimated=True),
            f"The context is ≈ 61 % full. {NEXT}",
        ),
        (
            replace(quiet_timeline_state(), cards=(handover_card(1, 4, undone=True), fold_card(3)), saved=0),
            f"The context is 14 % full. {NEXT}",
        ),
    ],
)
def test_it_says_what_keeps_the_context_small(state: TimelineState, text: str) -> None:
    """With the real figures; what was undone keeps nothing small."""
    assert preview_status_text(state) == text


def test_the_handover_as_it_would_be_now_is_on_top(qtbot: QtBot, pane: Timeline) -> None:
    """Without a handover too: its gist, all of it on demand, and what can be done with it."""
    assert card(pane, "preview").accessible_name.startswith("Handover as it would be now · ")
    assert _folds(pane) == ["details"]
    press(pane, "preview", "fold:details")
    sections = _folds(pane)[1:]
    assert sections[:2] == ["Current Issues", "TODO Items"], "what is open comes first"
    assert {*sections, "ledger"} <= {*TITLES, "ledger"}
    first = words(pane, "preview")
    press(pane, "preview", f"fold:{sections[0]}")
    pane.cards._interactions.focus.focus_area("preview", f"fold:{sections[0]}")
    state = quiet_timeline_state()
    assert state.preview is not None
    pane.set_state(replace(state, preview=replace(state.preview, messages="97 messages")))
    assert "97 messages" in words(pane, "preview")
    assert len(words(pane, "preview")) < len(first), "what was closed stays so"
    assert _folds(pane)[1:] == sections
    assert focused_widget().objectName() == f"fold:{sections[0]}"
    with performed(pane) as copied:
        press(pane, "preview", "present-copy")
        assert copied == [CopyText("# Handover")]
        assert "Copied" in words(pane, "preview")
    qtbot.waitUntil(lambda: "Copy" in words(pane, "preview"))
    pane.set_state(timeline_state())
    with performed(pane) as intents:
        press(pane, "preview", "present-write")
    assert intents == [WriteHandover()]


def _folds(pane: Timeline) -> list[str]:
    return [name.removeprefix("fold:") for name in names(pane, "preview") if name.startswith("fold:")]


def test_sessions_that_continue_each_other_are_linked_both_ways(qtbot: QtBot, pane: Timeline) -> None:
    """From the handover that this one began with to its session, and on to those that continue this one."""
    assert "No source" not in pills(pane, 2)
    assert any("From “Flush" in words for words in pills(pane, 2))
    with performed(pane) as back:
        press(pane, 2, "session:s-1")
    assert back == [OpenSession("s-1")]
    assert any("Continued in" in words for words in pills(pane, "preview"))
    with performed(pane) as on:
        press(pane, "preview", "session:s-3")
    assert on == [OpenSession("s-3")]
    with performed(pane) as requested:
        press(pane, "preview", "present-session")
    assert requested == [ContinueSession(0)]


def test_with_the_policy_off_the_chart_has_no_threshold(pane: Timeline) -> None:
    """Nothing is compacted there; with a policy the line stands at its height."""
    state = TimelineState((), usage_points(), 14_600, 24_000)

    def drawn(threshold: float, *, is_managed: bool) -> QImage:
        trigger = CompactionTrigger(HandoverTrigger.THRESHOLD, 1, threshold)
        pane.set_state(replace(state, trigger=trigger, is_managed=is_managed))
        return pane.chart.grab().toImage()

    assert drawn(0.85, is_managed=False) == drawn(0.5, is_managed=False)
    assert drawn(0.85, is_managed=True) != drawn(0.5, is_managed=True)
