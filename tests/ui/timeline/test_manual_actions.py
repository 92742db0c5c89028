"""What the user did by hand, as lines of the timeline that take it back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.rewrite import Excluded, Pinned, Unpinned
from helix_desktop.domain.events.session import HoldSet, SessionBranched
from helix_desktop.ui.kit.intents import ShowEvent, Undo, Unpin
from helix_desktop.ui.timeline.cards import ManualActionCard
from helix_desktop.ui.timeline.from_events import build_cards
from helix_desktop.ui.timeline.usage_chart import UsagePoint
from helix_desktop.ui.timeline.view import Timeline
from tests.support.galleries.panes_samples import long_timeline_state
from tests.support.histories import SessionSimulator
from tests.support.intents import performed
from tests.support.timeline_pane import has, open_timeline, press


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    """A timeline on screen with every kind of card."""
    return open_timeline(qtbot, long_timeline_state())


def test_each_links_to_its_output_and_can_be_taken_back(qtbot: QtBot, pane: Timeline) -> None:
    with performed(pane) as source:
        press(pane, 495, "show")
    assert source == [ShowEvent(37)]
    with performed(pane) as undo:
        press(pane, 494, "undo")
    assert undo == [Undo((494,))]
    assert not has(pane, 495, "undo")
    with performed(pane) as pin:
        press(pane, 495, "unpin")
    assert pin == [Unpin(37)]


def test_only_the_newest_pin_of_an_output_is_taken_back() -> None:
    """An earlier one is no more what keeps it, or lets it go."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("I do.", 1)
    output = simulator.transcript.messages.items[-1].seq

    def reversals() -> list[str]:
        cards = build_cards(simulator.log, simulator.transcript)
        return [found.reversal for found in cards if isinstance(found, ManualActionCard)]

    simulator.record(Pinned(output))
    assert reversals() == ["unpin"]
    simulator.record(Unpinned(output))
    assert reversals() == ["pin", ""]
    simulator.record(Pinned(output))
    assert reversals() == ["unpin", "", ""]


def test_a_change_names_the_context_only_where_its_size_is_known() -> None:
    """The notice after Undo names the same card without the measured sizes: it said "Context: 0 → 0"."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("I do.", 1)
    output = simulator.transcript.messages.items[-1].seq
    simulator.record(Excluded((output,), "Left out.", 7, "0" * 64, saved=93))
    excluded = simulator.transcript.last_seq
    measured = UsagePoint(excluded, 907, before=1_000, after=907)

    def text(points: Sequence[UsagePoint] = ()) -> str:
        (card,) = build_cards(simulator.log, simulator.transcript, points=points)
        assert isinstance(card, ManualActionCard)
        return card.text

    assert "Context" not in text()
    assert text((measured,)) == f"{text()} · Context: 1k → 907"


def test_a_resumed_compaction_is_no_pause() -> None:
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.record(HoldSet(True))
    simulator.record(HoldSet(False))
    cards = build_cards(simulator.log, simulator.transcript)
    assert [found.kind for found in cards if isinstance(found, ManualActionCard)] == ["resume", "hold"]


def test_a_branch_says_where_it_begins() -> None:
    """What stands above is its own, what stands below its parent's; nothing told them apart."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("I did.", 0)
    simulator.record(SessionBranched("p" * 32, simulator.transcript.last_seq, "Read it (2)", "edit"))
    (branch,) = build_cards(simulator.log, simulator.transcript)
    assert isinstance(branch, ManualActionCard)
    assert (branch.kind, branch.text) == ("branch", "Version begins here: message edited")
