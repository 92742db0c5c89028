"""Cards of the timeline: outputs, failures, checkpoints, facts, and what the user did by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    Excluded,
    HandoverTrigger,
    Pinned,
    PlacementReason,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import HoldSet, SessionBranched
from helix_desktop.domain.events.summary import Bullet, HandoverMade, ObservationsPlaced
from helix_desktop.domain.file_history.line_match import Span
from helix_desktop.domain.messages import ToolCall
from helix_desktop.ui.kit.intents import ChooseForm, Redo, RetryFailed, ShowEvent, Undo, Unpin
from helix_desktop.ui.timeline.bullet_view import BulletView, source_text
from helix_desktop.ui.timeline.card_list import CardItem, card_menu
from helix_desktop.ui.timeline.cards import FormCard, ManualActionCard
from helix_desktop.ui.timeline.cards_from_events import build_cards
from helix_desktop.ui.timeline.page import Timeline, TimelineState
from helix_desktop.ui.timeline.summary_cards import HandoverCard, PlacedCard
from helix_desktop.ui.timeline.usage_points import UsagePoint
from tests.support import session_rewrites
from tests.support.galleries.panes_samples import (
    NOW_MS,
    checkpoint_card,
    handover_card,
    long_timeline_state,
    observations_card,
    quiet_timeline_state,
    timeline_state,
)
from tests.support.histories import SessionSimulator, conversation_with
from tests.support.intents import performed
from tests.support.timeline_pane import (
    card,
    find_card,
    has,
    names,
    open_timeline,
    pills,
    press,
    shown_seqs,
    words,
)

_TEXT = "Run `make test` for **every**  block."


@pytest.mark.parametrize(
    ("marks", "shown", "marked"),
    [
        (((30, 35),), "Run make test for every block.", ["block"]),
        (((5, 9), (20, 29)), "Run make test for every block.", ["make", "every"]),
        (((4, 5), (14, 15)), "Run `make test` for **every** block.", ["`", "`"]),
    ],
    ids=["behind", "inside", "only markup differs"],
)
def test_marks_stay_on_their_words_where_markup_is_drawn(
    qtbot: QtBot, marks: tuple[Span, ...], shown: str, marked: list[str]
) -> None:
    view = BulletView(Bullet(_TEXT), marks=marks)
    qtbot.addWidget(view)
    view.resize(600, view.heightForWidth(600))
    assert view.accessibleName() == shown
    layout = view.words._layout
    assert layout is not None
    underlined = [part for part in layout.formats() if part.format.fontUnderline()]
    assert [shown[part.start : part.start + part.length] for part in underlined] == marked


def test_the_node_of_each_card_stands_beside_its_first_line(qtbot: QtBot) -> None:
    """Also of an undone card, which has the small gray node."""
    pane = open_timeline(qtbot, timeline_state())
    every = (pane.cards.rows.item(index) for index in range(pane.cards.cards.count()))
    items = [item for item in every if isinstance(item, CardItem) and item.node]
    assert {item.node for item in items} >= {"live", "mark", "sweep"}
    for item in items:
        tops = [part.rect for part in item.parts if part.accessible_text]
        first = min(tops, key=lambda rect: rect.y())
        assert abs(item.node_y - first.center().y()) <= 4, item.row


def test_how_long_ago_is_said_anew(qtbot: QtBot) -> None:
    now = [NOW_MS]
    timeline = Timeline(lambda: now[0])
    qtbot.addWidget(timeline)
    timeline.resize(800, 700)
    timeline.set_state(timeline_state())
    timeline.show()
    seqs = shown_seqs(timeline)
    before = [words(timeline, seq) for seq in seqs]
    now[0] += 24 * 3_600_000
    timeline.hide()
    timeline.show()
    after = [words(timeline, seq) for seq in seqs]
    assert before
    assert all(len(old) == len(new) and old != new for old, new in zip(before, after, strict=True))


def test_large_outputs_and_failures_can_be_acted_on(qtbot: QtBot) -> None:
    """Large outputs are found with what was cached; what failed is found with all else alone."""
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.set_state(long_timeline_state())
    pane.show()
    cards = long_timeline_state().cards
    forms = [form for form in cards if isinstance(form, FormCard)]
    assert {form.seq for form in forms} == {454, 459}
    assert {form.filters for form in forms} == {("cached",)}
    pane.filter_bar.choose("cached")
    actions = card_menu(card(pane, 459).row, pane).actions()
    assert [action.text() for action in actions] == ["Send all of it", "Send another part…"]
    with performed(pane) as form:
        actions[0].trigger()
    assert form == [ChooseForm(459, "full", "")]
    assert find_card(pane, 453) is None
    pane.filter_bar.choose(None)
    with performed(pane) as retried:
        press(pane, 453, "timeline-try-again-453")
    assert retried == [RetryFailed("turn")]


def test_the_form_of_an_output_inside_a_handover_is_not_offered_for_change(qtbot: QtBot) -> None:
    """Its card says what it is part of; after an undo, or pinned beside the handover, it can be changed."""
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.show()
    output = ToolAnswered(
        "c", "read_file", "Extract.", "0" * 64, 9_000, 40, 12, form="preview", chosen="timeout"
    )
    events: tuple[Event, ...] = (
        UserSpoke("Read it.", 3),
        AssistantSpoke("", "lab/m", 9, (ToolCall("c", "read_file", "{}"),)),
        output,
        AssistantSpoke("Done.", "lab/m", 2),
        HandoverMade(4, 0, (), "", "", 0, 50, 521, 554, 4, "m", HandoverTrigger.MANUAL),
    )
    for later, inside in (((), "Compacted turn 1"), ((Pinned(3),), ""), ((Undone(5),), "")):
        log = [RecordedEvent(seq, 0, event) for seq, event in enumerate((*events, *later), 1)]
        cards = build_cards(log, Transcript(log))
        assert [form.inside for form in cards if isinstance(form, FormCard)] == [inside]
        pane.set_state(TimelineState(cards))
        if not later:
            press(pane, 3, "unfold")
        assert has(pane, 3, "change-form") == (not inside)
        assert ("send more of it" in card(pane, 3).accessible_name) == (not inside)
        assert list(pills(pane, 3)) == ([f"Undo “{inside}” first"] if inside else [])


def test_a_card_says_what_is_open_before_what_it_took(qtbot: QtBot) -> None:
    checkpoint = checkpoint_card(2, 431, checkpoint="Compacted turns 1–10")
    pane = open_timeline(qtbot, TimelineState((checkpoint,)))
    pane.reveal(431)
    assert "Read 5.4k tokens" not in pills(pane, 431), "it is not the one that the context has"
    press(pane, 431, "fold:details")
    said = words(pane, 431)
    titles = [said.index(title) for title in ("Current Issues", "TODO Items")]
    assert titles == sorted(titles)
    assert titles[-1] < said.index("Read 5.4k tokens")
    sources = ("No source", "Source", "Sources: 1", "2", "3", "4")
    assert [text for text in pills(pane, 431) if text not in sources] == [
        "For the next compaction",
        "acme/swift",
        "Read 5.4k tokens",
        "Updates “Compacted turns 1–10”",
        "Used 6.3k tokens · $0.0071",
        "1.2 s",
    ]
    assert "Prepared summary" in card(pane, 431).accessible_name
    assert "Of 12 messages, 41 tool calls" in said


def test_it_changes_nothing_yet_and_stands_among_the_handovers_only(qtbot: QtBot) -> None:
    pane = open_timeline(qtbot, TimelineState((checkpoint_card(2, 431),)))
    assert shown_seqs(pane) == []
    pane.reveal(431)
    assert (pane.filter_bar.group, shown_seqs(pane)) == ("handovers", [431])


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
    pane = open_timeline(qtbot, TimelineState((handover_card(1, 200, checkpoint="Compacted turns 1–10"),)))
    press(pane, 200, "fold:details")
    assert "Updates “Compacted turns 1–10”" in pills(pane, 200)


def test_checkpoints_are_found_with_handovers() -> None:
    state = quiet_timeline_state()
    groups = [one.filters for one in state.cards]
    assert [group for group in groups if "compacted" in group]


def test_the_cards_of_a_log_are_called_by_what_they_cover() -> None:
    simulator = conversation_with(3)
    first = session_rewrites.write_checkpoint(simulator)
    second = session_rewrites.write_checkpoint(simulator)
    assert simulator.hand_over(100) is not None
    cards = {one.seq: one for one in build_cards(simulator.log, Transcript(simulator.log))}
    made = max(simulator.transcript.rewrites.handovers)
    titles = [one.title for one in cards.values() if isinstance(one, HandoverCard)]
    assert titles == [
        "Compacted turns 1–2",
        "Prepared summary of turns 1–3 (2)",
        "Prepared summary of turns 1–3",
    ]
    checkpoint, handover = cards[second], cards[made]
    assert isinstance(checkpoint, HandoverCard)
    assert isinstance(handover, HandoverCard)
    assert (checkpoint.size_text, checkpoint.is_next) == ("Never sent", False)
    assert (checkpoint.is_checkpoint, checkpoint.read, checkpoint.checkpoint) == (
        True,
        880,
        "Prepared summary of turns 1–3",
    )
    assert not handover.is_checkpoint
    assert first in cards


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    return open_timeline(qtbot)


def test_observations_wait_for_their_place(pane: Timeline) -> None:
    pane.set_state(TimelineState((observations_card(5),)))
    assert card(pane, 5).accessible_name == "Prepared summary · For the next compaction"
    assert not {"undo", "redo"} & set(names(pane, 5))


@pytest.mark.parametrize(
    ("changes", "state", "button"),
    [
        ({}, "", "undo"),
        ({"is_undone": True}, "Undone", "redo"),
        ({"inside": "Compacted turns 1–90"}, "Undo “Compacted turns 1–90” first", ""),
    ],
)
def test_observations_are_undone_at_their_placement(
    pane: Timeline, changes: dict[str, Any], state: str, button: str
) -> None:
    """Their card stands there alone, with what they say, and a link to them leads to it."""
    placed = PlacedCard(
        9,
        NOW_MS,
        observations_card(5),
        ObservationsPlaced(5, PlacementReason.MANUAL, 0),
        **{"before": 4_000, "after": 2_000} | changes,
    )
    pane.set_state(TimelineState((placed,)))
    title = "Compacted turns 1–46 · Context: 4k → 2k · by you"
    assert card(pane, 9).accessible_name == " · ".join(filter(None, (title, state)))
    pane.reveal(5)
    press(pane, 9, "fold:details")
    assert "Finished blocks are frozen; only the open one is rebuilt." in words(pane, 9)
    assert [name for name in names(pane, 9) if name in ("undo", "redo")] == [button] * bool(button)
    if button:
        with performed(pane) as intents:
            press(pane, 9, button)
        assert intents == [Redo((9,)) if button == "redo" else Undo((9,))]


def test_facts_that_came_into_the_context_are_not_said_to_be_in_it_still(pane: Timeline) -> None:
    """They may be undone, or part of a handover, by now."""
    placed = PlacedCard(
        468,
        NOW_MS,
        observations_card(5),
        ObservationsPlaced(5, PlacementReason.THRESHOLD, 0),
        before=42_000,
        after=19_100,
        inside="Compacted turns 1–90",
    )
    pane.set_state(TimelineState((placed,)))
    assert card(pane, 468).accessible_name.startswith("Compacted turns 1–46")
    assert placed.filters == ("compacted",)


def test_facts_that_made_a_handover_needless_say_so(pane: Timeline) -> None:
    """In place of what they wait for usually: at 85 % the user expects a handover, and none follows."""
    placed = PlacedCard(
        468,
        NOW_MS,
        observations_card(5),
        ObservationsPlaced(5, PlacementReason.THRESHOLD, 0, 0.38, averted_handover_at=0.85),
        before=50_400,
        after=19_200,
    )
    pane.set_state(TimelineState((placed,)))
    assert card(pane, 468).accessible_name.endswith(" · context reached 85 %")


@pytest.fixture
def long_pane(qtbot: QtBot) -> Timeline:
    """A timeline on screen with every kind of card."""
    return open_timeline(qtbot, long_timeline_state())


def test_each_links_to_its_output_and_can_be_taken_back(qtbot: QtBot, long_pane: Timeline) -> None:
    with performed(long_pane) as source:
        press(long_pane, 495, "show")
    assert source == [ShowEvent(37)]
    with performed(long_pane) as undo:
        press(long_pane, 494, "undo")
    assert undo == [Undo((494,))]
    assert not has(long_pane, 495, "undo")
    with performed(long_pane) as pin:
        press(long_pane, 495, "unpin")
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


def test_the_links_to_what_a_sentence_comes_from_say_so() -> None:
    """Bubbles without a word were behind each sentence."""
    assert [source_text(1, 1)] == ["Source"]
    assert [source_text(place, 3) for place in (1, 2, 3)] == ["Sources: 1", "2", "3"]
