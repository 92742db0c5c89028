"""Checkpoints on the timeline: what is open first, what each read and cost, and what can be done with it."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QAbstractButton, QMenu, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.timeline.card_data import HandoverCard, TimelineState, card_groups
from helix_desktop.ui.timeline.from_events import build_cards
from helix_desktop.ui.timeline.handover_view import HandoverView
from helix_desktop.ui.timeline.view import preview_status_text
from tests.support import session_rewrites
from tests.support.galleries.panes_samples import checkpoint_card, handover_card, quiet_timeline_state
from tests.support.histories import conversation_with
from tests.support.timeline_pane import card, open_timeline


def pills(view: QWidget) -> list[str]:
    """Return what the pills of a card say, in their order."""
    return [pill.text() for pill in view.findChildren(Pill)]


def test_a_card_says_what_is_open_before_what_it_took(qtbot: QtBot) -> None:
    checkpoint = checkpoint_card(2, 431, checkpoint="Prepared handover 1")
    pane = open_timeline(qtbot, TimelineState((checkpoint,)))
    view = card(pane, 431)
    assert isinstance(view, HandoverView)
    assert not view.opener.isChecked(), "it is not the one that the context has"
    titles = [line for line in view.findChildren(TextLine) if line.text in ("Current Issues", "TODO Items")]
    assert [line.text for line in titles] == ["Current Issues", "TODO Items"]
    view.opener.click()
    took = next(pill for pill in view.findChildren(Pill) if pill.text() == "Read 5.4k tokens")
    heights = [line.mapTo(view, QPoint(0, 0)).y() for line in titles]
    qtbot.waitUntil(lambda: took.mapTo(view, QPoint(0, 0)).y() > max(heights))
    assert [text for text in pills(view) if text not in ("No source", "")] == [
        "Not sent",
        "Not sent · 1.2k tokens",
        "12 messages, 41 tool calls covered",
        "acme/swift",
        "Read 5.4k tokens",
        "Updates Prepared handover 1",
        "Used 6.3k tokens · $0.0071",
        "1.2 s",
    ]
    assert "Prepared handover 2" in view.accessibleName()


def test_it_can_be_compared_edited_and_started_from_and_there_is_nothing_to_undo(qtbot: QtBot) -> None:
    pane = open_timeline(qtbot, TimelineState((checkpoint_card(1, 118),)))
    view = card(pane, 118)
    assert isinstance(view, HandoverView)
    names = {button.objectName() for button in view.findChildren(QAbstractButton)}
    assert {"compare", "edit", "more"} <= names
    assert "undo" not in names
    menu: QMenu = view._menu()
    enabled = {action.text(): action.isEnabled() for action in menu.actions()}
    assert enabled["Start new session"]
    assert enabled["Share document…"]
    assert not enabled["Run again…"]
    menu.close()


def test_a_handover_says_which_checkpoint_it_was_made_from(qtbot: QtBot) -> None:
    pane = open_timeline(qtbot, TimelineState((handover_card(1, 200, checkpoint="Prepared handover 3"),)))
    view = card(pane, 200)
    assert isinstance(view, HandoverView)
    view.opener.click()
    assert "Updates Prepared handover 3" in pills(view)


def test_checkpoints_are_found_with_handovers_and_compact_nothing() -> None:
    state = quiet_timeline_state()
    groups = [card_groups(one) for one in state.cards]
    assert groups.count(("handovers",)) == 2
    assert preview_status_text(state).startswith("No handover yet")
    handover = handover_card(1, 600)
    assert preview_status_text(replace(state, cards=(handover, *state.cards))).startswith("The context is")


def test_the_cards_of_a_log_are_numbered_by_kind() -> None:
    simulator = conversation_with(3)
    first = session_rewrites.write_checkpoint(simulator)
    second = session_rewrites.write_checkpoint(simulator)
    assert simulator.hand_over(100) is not None
    cards = {one.seq: one for one in build_cards(simulator.log, Transcript(simulator.log))}
    made = max(simulator.transcript.rewrites.handovers)
    titles = [one.title for one in cards.values() if isinstance(one, HandoverCard)]
    assert sorted(titles) == ["Handover 1", "Prepared handover 1", "Prepared handover 2"]
    checkpoint, handover = cards[second], cards[made]
    assert isinstance(checkpoint, HandoverCard)
    assert isinstance(handover, HandoverCard)
    assert (checkpoint.is_checkpoint, checkpoint.read, checkpoint.checkpoint) == (
        True,
        880,
        "Prepared handover 1",
    )
    assert not handover.is_checkpoint
    assert first in cards
