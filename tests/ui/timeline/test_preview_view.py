"""The handover as it would be now, on top of the timeline."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.window.usage_gauge import CompactionTrigger
from helix_desktop.domain.events.rewrite import HandoverTrigger, PlacementReason
from helix_desktop.ui.design.layout.disclosure import Disclosure
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.kit.intents import ContinueSession, CopyText, FocusComposer, OpenSession, WriteHandover
from helix_desktop.ui.timeline.card_data import PlacedCard, TimelineState
from helix_desktop.ui.timeline.handover_view import HandoverView
from helix_desktop.ui.timeline.view import Timeline, preview_status_text
from tests.support.galleries.panes_samples import (
    fold_card,
    handover_card,
    quiet_timeline_state,
    timeline_state,
    usage_points,
)
from tests.support.intents import performed
from tests.support.timeline_pane import open_timeline

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
    preview = pane.preview
    assert preview.isVisible()
    assert preview.accessibleName().startswith("Handover as it would be now · ")
    assert not preview.findChildren(Disclosure)
    preview.opener.click()
    heads = [part.head.text() for part in preview.findChildren(Disclosure)]
    assert heads[:2] == ["Current Issues", "TODO Items"], "what is open comes first"
    assert sorted(heads) == sorted([*TITLES, "Files, commands and errors"])
    background = preview.findChildren(Disclosure)[0].head
    background.setChecked(False)
    background.setFocus()
    state = quiet_timeline_state()
    assert state.preview is not None
    pane.set_state(replace(state, preview=replace(state.preview, messages="97 messages")))
    after = [part.head for part in preview.findChildren(Disclosure) if part.isVisible()]
    assert [head.isChecked() for head in after] == [
        False,
        True,
        True,
        True,
        False,
        True,
        False,
    ]  # as it was left
    assert after[0].hasFocus()
    with performed(pane) as copied:
        preview.copy_button.click()
        assert copied == [CopyText("# Handover")]
        assert preview.copy_button.text() == "Copied"
        preview.copy_button.click()  # once more, while it says so
    qtbot.waitUntil(lambda: preview.copy_button.text() == "Copy")
    pane.set_state(timeline_state())
    with performed(pane) as intents:
        preview.write_button.click()
    assert intents == [WriteHandover()]


def test_sessions_that_continue_each_other_are_linked_both_ways(qtbot: QtBot, pane: Timeline) -> None:
    """From the handover that this one began with to its session, and on to those that continue this one."""
    origin = pane.card_widget(2)
    assert isinstance(origin, HandoverView)
    assert not [pill for pill in origin.findChildren(Pill) if pill.text() == "No source"]
    links = [pill for pill in origin.findChildren(Pill) if "From “Flush" in pill.text()]
    with performed(pane) as back:
        links[0].click()
    assert back == [OpenSession("s-1")]
    ahead = [pill for pill in pane.preview.findChildren(Pill) if "Continued in" in pill.text()]
    with performed(pane) as on:
        ahead[1].click()
    assert on == [OpenSession("s-3")]
    with performed(pane) as requested:
        pane.preview.session_button.click()
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
