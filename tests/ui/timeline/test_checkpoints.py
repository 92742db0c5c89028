"""Checkpoints on the timeline: what is open first, what each read and cost, and what can be done with it."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.ui.timeline.from_events import build_cards
from helix_desktop.ui.timeline.rows import card_menu
from helix_desktop.ui.timeline.summary_cards import HandoverCard
from helix_desktop.ui.timeline.view import TimelineState
from tests.support import session_rewrites
from tests.support.galleries.panes_samples import checkpoint_card, handover_card, quiet_timeline_state
from tests.support.histories import conversation_with
from tests.support.timeline_pane import card, has, names, open_timeline, pills, press, shown_seqs, words


def test_a_card_says_what_is_open_before_what_it_took(qtbot: QtBot) -> None:
    checkpoint = checkpoint_card(2, 431, checkpoint="Summary of 10 messages")
    pane = open_timeline(qtbot, TimelineState((checkpoint,)))
    pane.reveal(431)
    assert "Read 5.4k tokens" not in pills(pane, 431), "it is not the one that the context has"
    press(pane, 431, "fold:details")
    said = words(pane, 431)
    titles = [said.index(title) for title in ("Current Issues", "TODO Items")]
    assert titles == sorted(titles)
    assert titles[-1] < said.index("Read 5.4k tokens")
    assert [text for text in pills(pane, 431) if text not in ("No source", "")] == [
        "Not sent yet",
        "acme/swift",
        "Read 5.4k tokens",
        "Updates Summary of 10 messages",
        "Used 6.3k tokens · $0.0071",
        "1.2 s",
    ]
    assert "Summary for later" in card(pane, 431).accessible_name
    assert "Is to replace 12 messages, 41 tool calls" in said


def test_it_changes_nothing_yet_and_stands_among_the_handovers_only(qtbot: QtBot) -> None:
    pane = open_timeline(qtbot, TimelineState((checkpoint_card(2, 431),)))
    assert shown_seqs(pane) == []
    pane.reveal(431)
    assert (pane.filter_bar.group, shown_seqs(pane)) == ("summaries", [431])


def test_it_can_be_compared_edited_and_started_from_and_there_is_nothing_to_undo(qtbot: QtBot) -> None:
    pane = open_timeline(qtbot, TimelineState((checkpoint_card(1, 118),)))
    pane.reveal(118)
    assert {"compare", "edit", "more"} <= set(names(pane, 118))
    assert not has(pane, 118, "undo")
    menu = card_menu(card(pane, 118).row, pane)
    enabled = {action.text(): action.isEnabled() for action in menu.actions()}
    assert enabled["Start new session"]
    assert enabled["Share document…"]
    assert not enabled["Run again…"]


def test_a_handover_says_which_checkpoint_it_was_made_from(qtbot: QtBot) -> None:
    pane = open_timeline(qtbot, TimelineState((handover_card(1, 200, checkpoint="Summary of 10 messages"),)))
    press(pane, 200, "fold:details")
    assert "Updates Summary of 10 messages" in pills(pane, 200)


def test_checkpoints_are_found_with_handovers() -> None:
    state = quiet_timeline_state()
    groups = [one.groups for one in state.cards]
    assert [group for group in groups if "summaries" in group]


def test_the_cards_of_a_log_are_called_by_what_they_cover() -> None:
    simulator = conversation_with(3)
    first = session_rewrites.write_checkpoint(simulator)
    second = session_rewrites.write_checkpoint(simulator)
    assert simulator.hand_over(100) is not None
    cards = {one.seq: one for one in build_cards(simulator.log, Transcript(simulator.log))}
    made = max(simulator.transcript.rewrites.handovers)
    titles = [one.title for one in cards.values() if isinstance(one, HandoverCard)]
    assert titles == [
        "Summary of 10 messages",
        "Summary of 15 messages (2)",
        "Summary of 15 messages",
    ]
    checkpoint, handover = cards[second], cards[made]
    assert isinstance(checkpoint, HandoverCard)
    assert isinstance(handover, HandoverCard)
    assert (checkpoint.is_checkpoint, checkpoint.read, checkpoint.checkpoint) == (
        True,
        880,
        "Summary of 15 messages",
    )
    assert not handover.is_checkpoint
    assert first in cards
