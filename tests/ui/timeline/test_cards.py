"""Cards of the timeline: which are built, what they say and offer, and what models took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from helix_desktop.context.log.steps import Step
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    Excluded,
    FormChosen,
    HandoverTrigger,
    Pinned,
    PlacementReason,
    Redone,
    SummaryProblem,
    SweepMade,
    SweepReason,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import HoldSet, SessionBranched
from helix_desktop.domain.events.summary import (
    Bullet,
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsPlaced,
    Section,
)
from helix_desktop.domain.file_history.line_match import Span
from helix_desktop.domain.messages import ToolCall
from helix_desktop.ui.chat.rows.row_types import DividerRow, NoticeRow
from helix_desktop.ui.chat.rows.rows_from_events import rows_from_log
from helix_desktop.ui.kit.intents import Pin, Redo, RetryFailed, SendAll, ShowEvent, Undo
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.ui.timeline.card_list import NODE_COLORS, CardItem, card_menu
from helix_desktop.ui.timeline.cards import (
    FailureCard,
    FormCard,
    ManualActionCard,
    SweepCard,
    TimelineCard,
)
from helix_desktop.ui.timeline.cards_from_events import build_cards
from helix_desktop.ui.timeline.page import Timeline, TimelineState
from helix_desktop.ui.timeline.summary_cards import (
    CompactedMessagesCard,
    HandoverCard,
    ObservationsCard,
    PreparedCard,
)
from helix_desktop.ui.timeline.usage_points import UsagePoint
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.times import format_moment
from tests.support import session_rewrites
from tests.support.galleries.panes_samples import (
    NOW_MS,
    SWEPT,
    checkpoint_card,
    handover_card,
    long_timeline_state,
    observations_card,
    timeline_state,
    usage_points,
)
from tests.support.histories import SessionSimulator, conversation_of, conversation_with
from tests.support.intents import intents_of, performed
from tests.support.tables import for_each
from tests.support.timeline_pane import (
    card,
    find_card,
    has,
    names,
    open_timeline,
    pills,
    press,
    shown_seqs,
    top,
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
    assert [form.line for form in sorted(forms, key=lambda form: form.seq)] == [
        "Large output: only the part that the agent asked for · Read build.log · 41.2k → 1.3k tokens",
        "Large output: only first and last lines · Ran make test · 66.9k → 532 tokens",
    ]
    assert {NODE_COLORS[form.node(0)] for form in forms} == {STATE_WORDS["in_part"].color}
    pane.filter_bar.choose("cached")
    press(pane, 459, "unfold")
    assert intents_of(pane, lambda: press(pane, 459, "send-all")) == [SendAll(459)]
    assert find_card(pane, 453) is None
    pane.filter_bar.choose(None)
    assert intents_of(pane, lambda: press(pane, 453, "timeline-try-again-453")) == [RetryFailed("turn")]


def test_an_output_inside_a_handover_is_not_offered_to_be_sent(qtbot: QtBot) -> None:
    """Its card says what it is part of; after an undo, or pinned beside the handover, it can be sent."""
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
    for later, inside in (((), "Handover summary of turn 1"), ((Pinned(3),), ""), ((Undone(5),), "")):
        log = [RecordedEvent(seq, 0, event) for seq, event in enumerate((*events, *later), 1)]
        cards = build_cards(log, Transcript(log))
        assert [form.inside for form in cards if isinstance(form, FormCard)] == [inside]
        pane.set_state(TimelineState(cards))
        if not later:
            press(pane, 3, "unfold")
        assert has(pane, 3, "send-all") == (not inside)
        assert ("send all of it" in card(pane, 3).accessible_name) == (not inside)
        assert not pills(pane, 3), "it has no undo of its own"


def test_the_cards_of_a_log_are_called_by_what_they_cover() -> None:
    simulator = conversation_with(3)
    first = session_rewrites.write_checkpoint(simulator)
    second = session_rewrites.write_checkpoint(simulator)
    assert simulator.hand_over(100) is not None
    cards = {one.seq: one for one in build_cards(simulator.log, Transcript(simulator.log))}
    made = max(simulator.transcript.rewrites.handovers)
    titles = [one.title for one in cards.values() if isinstance(one, HandoverCard)]
    assert titles == [
        "Handover summary of turns 1–2",
        "Handover summary of turns 1–3, prepared (2)",
        "Handover summary of turns 1–3, prepared",
    ]
    checkpoint = cards[second]
    handover = cards[made]
    assert isinstance(checkpoint, HandoverCard)
    assert isinstance(handover, HandoverCard)
    assert checkpoint.size_text == "Not in context"
    assert (checkpoint.is_checkpoint, checkpoint.read, checkpoint.checkpoint) == (
        True,
        880,
        "Handover summary of turns 1–3, prepared",
    )
    assert not handover.is_checkpoint
    updated = cards[first]
    assert isinstance(updated, HandoverCard)
    assert updated.size_text == "Used in “Handover summary of turns 1–3, prepared (2)”"


def test_a_card_says_as_of_when_something_was_open_once_messages_came_since(qtbot: QtBot) -> None:
    simulator = conversation_of("Mend the parser.")
    titles = ("Completed Work", "Current Issues")
    sections = tuple(Section(title, (Bullet("The tests fail."),)) for title in titles)

    def card_now() -> HandoverCard:
        (now,) = build_cards(simulator.log, simulator.transcript)
        assert isinstance(now, HandoverCard)
        return now

    upto = simulator.transcript.last_seq
    simulator.record(replace(handover_card(1, 9).event, upto=upto, sections=sections))
    assert card_now().as_of == ""
    known = simulator.transcript.messages.items[-1]
    simulator.step("Done.", 0)
    assert card_now().as_of == f"as of {format_moment(known.at_ms)}"
    pane = open_timeline(qtbot, TimelineState((card_now(),)))
    said = words(pane, card_now().seq)
    assert said[said.index("Current Issues") + 1] == card_now().as_of
    assert said.count(card_now().as_of) == 1, "what is done stays done"


def test_a_summary_is_to_come_until_a_compaction_comes_without_it_or_its_messages_left() -> None:
    """What a pause or an unmanaged context keeps out is not to come either; an undo restores each state."""
    simulator = conversation_with(6)

    def states(*, is_managed: bool = True) -> dict[int, str]:
        cards = build_cards(simulator.log, Transcript(simulator.log), is_managed=is_managed)
        return {
            one.seq: one.unsent
            for one in cards
            if isinstance(one, ObservationsCard) or (isinstance(one, HandoverCard) and one.is_checkpoint)
        }

    checkpoint = session_rewrites.write_checkpoint(simulator)
    assert states() == {checkpoint: "Not in context yet"}
    assert states(is_managed=False) == {checkpoint: "Not in context"}
    assert session_rewrites.fold_all(simulator)
    assert states() == {checkpoint: "Not in context"}
    observations = session_rewrites.prepare_observations(simulator)
    both = {checkpoint: "Not in context", observations: "Not in context yet"}
    assert states() == both
    simulator.record(HoldSet(True))
    assert states() == {checkpoint: "Not in context", observations: "Not in context"}
    simulator.record(HoldSet(False))
    simulator.send_message("And now?")
    simulator.step("Done.", 0)
    assert simulator.hand_over(0) is not None
    assert states() == {checkpoint: "", observations: ""}
    simulator.record(Undone(max(simulator.transcript.rewrites.handovers)))
    assert states() == both


def test_a_summary_that_a_shorter_compaction_was_made_from_is_used() -> None:
    """It reaches further than that one, so that the next can begin with it, too."""
    simulator = conversation_with(3)
    checkpoint = session_rewrites.write_checkpoint(simulator)
    made = simulator.hand_over(100)
    assert made is not None
    simulator.record(Undone(max(simulator.transcript.rewrites.handovers)))
    simulator.record(replace(made, checkpoint=checkpoint))

    def state() -> str:
        cards = build_cards(simulator.log, Transcript(simulator.log))
        return next(one.size_text for one in cards if one.seq == checkpoint and isinstance(one, HandoverCard))

    assert state() == "Used in “Handover summary of turns 1–2 (2)”"
    simulator.record(Undone(max(simulator.transcript.rewrites.handovers)))
    assert state() == "Not in context yet"


@pytest.fixture
def long_pane(qtbot: QtBot) -> Timeline:
    """A timeline on screen with every kind of card."""
    return open_timeline(qtbot, long_timeline_state())


def test_each_links_to_its_output_and_can_be_taken_back(qtbot: QtBot, long_pane: Timeline) -> None:
    assert intents_of(long_pane, lambda: press(long_pane, 495, "show")) == [ShowEvent(37)]
    with performed(long_pane) as undo:
        press(long_pane, 494, "undo")
    assert undo == [Undo((494,))]
    assert not has(long_pane, 495, "undo")
    assert intents_of(long_pane, lambda: press(long_pane, 495, "unpin")) == [Pin(37, is_pinned=False)]


def test_a_change_names_the_context_only_where_its_size_is_known() -> None:
    """Its undo names the change without its sizes, as if that had happened again."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("I do.", 1)
    output = simulator.transcript.messages.items[-1].seq
    simulator.record(Excluded((output,), "Left out.", 7, "0" * 64, saved=93))
    excluded = simulator.transcript.last_seq
    measured = UsagePoint(excluded, 907, before=1_000, after=907)

    def size_text(points: Sequence[UsagePoint] = ()) -> str:
        (card,) = build_cards(simulator.log, simulator.transcript, points=points)
        assert isinstance(card, ManualActionCard)
        return card.size_text

    assert size_text() == ""
    assert size_text((measured,)) == "Context: 1k → 907"
    simulator.record(Undone(excluded))
    undone, change = build_cards(simulator.log, simulator.transcript, points=(measured,))
    assert undone.title == f"Undone: {change.title}"
    assert "1k" not in undone.title


def test_what_undoing_a_caching_brought_back_was_restored() -> None:
    """It was called “You chose to send all of …”, beside a link that undoes the caching."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("I do.", 2)
    simulator.answer_all_calls("words")
    first, second = (item.seq for item in simulator.transcript.messages.items[-2:])
    simulator.record(SweepMade((first,), 900, SweepReason.BATCH))
    simulator.record(FormChosen(first, "full", "all", 9))
    simulator.record(FormChosen(second, "full", "all", 9))
    cards = build_cards(simulator.log, simulator.transcript)
    texts = [
        card.text.partition(" ")[2].split(" ")[0] for card in cards if isinstance(card, ManualActionCard)
    ]
    assert texts == ["chose", "restored"]
    (sweep,) = (card for card in cards if isinstance(card, SweepCard))
    assert (sweep.title, sweep.note) == ("Cached 1 output", "restored: 1 output")
    restored_seq = simulator.transcript.last_seq - 1
    for change, name in ((Undone(restored_seq), "Cached again: "), (Redone(restored_seq), "Restored: ")):
        simulator.record(change)
        newest, *_ = build_cards(simulator.log, simulator.transcript)
        assert newest.title.startswith(name), "whether it is cached now, without two negations"
    simulator.record(Undone(restored_seq - 1))
    newest, *_ = build_cards(simulator.log, simulator.transcript)
    assert newest.title == "Undone: Cached 1 output", "what its line is called"
    simulator.record(FormChosen(first, "full", "more", 12))
    newest, *_ = build_cards(simulator.log, simulator.transcript)
    assert newest.title.startswith("You chose"), "it was cached no more"


def test_a_branch_says_where_it_begins() -> None:
    """What stands above is its own, what stands below its parent's; nothing told them apart."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("I did.", 0)
    simulator.record(SessionBranched("p" * 32, simulator.transcript.last_seq, "Read it (2)", "edit"))
    (branch,) = build_cards(simulator.log, simulator.transcript)
    assert isinstance(branch, ManualActionCard)
    assert (branch.kind, branch.text) == ("branch", "Version begins here: message edited")


def test_a_summary_to_compact_later_is_read_edited_and_started_from_and_there_is_nothing_to_undo(
    qtbot: QtBot,
) -> None:
    """What is open stands before what it took; among all it is one line, as it changes nothing yet."""
    checkpoint = checkpoint_card(2, 431, checkpoint="Compacted turns 1–10")
    pane = open_timeline(qtbot, TimelineState((checkpoint,)))
    assert shown_seqs(pane) == []
    (line,) = [row for row in pane.cards.cards.rows if isinstance(row, PreparedCard)]
    assert line.title == "Handover summary of turns 1–12, prepared"
    assert line.amount == "read 5.4k tokens · used 6.3k tokens · $0.0071"
    pane.reveal(431)
    assert (pane.filter_bar.group, shown_seqs(pane)) == (None, [431])
    assert "Read 5.4k tokens" not in pills(pane, 431), "it is not the one that the context has"
    press(pane, 431, "fold:details")
    said = words(pane, 431)
    assert said.index("Current Issues") < said.index("TODO Items") < said.index("Read 5.4k tokens")
    sources = ("No source", "Source", *(f"Source {number}" for number in range(1, 5)))
    assert [text for text in pills(pane, 431) if text not in sources] == [
        "Not in context yet",
        "acme/swift",
        "Read 5.4k tokens",
        "Updates “Compacted turns 1–10”",
        "Used 6.3k tokens · $0.0071",
        "1.2 s",
    ]
    assert "Handover summary of turns 1–12" in card(pane, 431).accessible_name
    assert "Of 12 messages, 41 tool calls" in said
    assert {"compare", "edit", "more"} <= set(names(pane, 431))
    assert not has(pane, 431, "undo")
    enabled = {action.text(): action.isEnabled() for action in card_menu(checkpoint, pane).actions()}
    assert enabled["Start new session"]
    assert enabled["Export…"]
    assert not enabled["Run again…"]


@pytest.mark.parametrize(
    ("changes", "state", "button"),
    [
        ({}, "", "undo"),
        ({"is_undone": True}, "Undone", "redo"),
        ({"inside": "Compacted turns 1–90"}, "Undo “Compacted turns 1–90” first", ""),
    ],
)
def test_observations_are_undone_at_their_placement(
    qtbot: QtBot, changes: dict[str, Any], state: str, button: str
) -> None:
    """Their card stands there alone, with what they say, and a link to them leads to it."""
    pane = open_timeline(qtbot, TimelineState((observations_card(5),)))
    assert not shown_seqs(pane), "it has changed nothing yet"
    pane.filter_bar.choose("compacted")
    assert card(pane, 5).accessible_name == "Compacted turns 1–46, prepared · Not in context yet"
    assert not {"undo", "redo"} & set(names(pane, 5))
    placement = ObservationsPlaced(5, PlacementReason.MANUAL, 0)
    sizes: dict[str, Any] = {"before": 4_000, "after": 2_000}
    placed = CompactedMessagesCard(9, NOW_MS, observations_card(5), placement, **sizes | changes)
    pane.set_state(TimelineState((placed,)))
    title = "Compacted turns 1–46 · Context: 4k → 2k · by you"
    assert card(pane, 9).accessible_name == " · ".join(filter(None, (title, state)))
    assert placed.filters == ("compacted",)
    pane.reveal(5)
    press(pane, 9, "fold:details")
    assert "Finished blocks are frozen; only the open one is rebuilt." in words(pane, 9)
    assert [name for name in names(pane, 9) if name in ("undo", "redo")] == [button] * bool(button)
    if button:
        with performed(pane) as intents:
            press(pane, 9, button)
        assert intents == [Redo((9,)) if button == "redo" else Undo((9,))]
    averted = ObservationsPlaced(5, PlacementReason.THRESHOLD, 0, 0.38, averted_handover_at=0.85)
    pane.set_state(TimelineState((CompactedMessagesCard(9, NOW_MS, observations_card(5), averted, **sizes),)))
    assert card(pane, 9).accessible_name.endswith(" · to make room"), "and no handover follows"


def test_what_the_user_did_is_taken_back_where_it_still_holds() -> None:
    """Only the newest pin of an output keeps it, or lets it go; compaction goes on after a pause."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("I do.", 1)
    output = simulator.transcript.messages.items[-1].seq

    def actions() -> list[tuple[str, str]]:
        cards = build_cards(simulator.log, simulator.transcript)
        return [(found.kind, found.reversal) for found in cards if isinstance(found, ManualActionCard)]

    for event, expected in (
        (Pinned(output), ["unpin"]),
        (Unpinned(output), ["pin", ""]),
        (Pinned(output), ["unpin", "", ""]),
    ):
        simulator.record(event)
        assert [reversal for _, reversal in actions()] == expected
    simulator.record(HoldSet(True))
    simulator.record(HoldSet(False))
    assert [kind for kind, _ in actions()[:2]] == ["resume", "hold"]


def test_cards_that_move_down_are_updated(qtbot: QtBot) -> None:
    """Cards that come on top push others out of sight: they change too."""
    pane = open_timeline(qtbot)
    cards = tuple(
        SweepCard(number, NOW_MS, 2, SWEPT, before=9_900, after=9_000, inside="Compacted turns 1–31")
        for number in range(40, 0, -1)
    )
    pane.set_state(replace(timeline_state(), cards=cards))
    newer = tuple(SweepCard(number, NOW_MS, 2, SWEPT, before=9_900, after=9_000) for number in (52, 51))
    changed = tuple(replace(old, inside="Compacted turns 1–62") for old in cards)
    pane.set_state(replace(timeline_state(), cards=(*newer, *changed)))
    assert all("Undo “Compacted turns 1–62” first" in pills(pane, old.seq) for old in cards)


def test_the_card_that_a_click_leads_to_stands_out(qtbot: QtBot) -> None:
    pane = open_timeline(qtbot, timeline_state())
    seq = timeline_state().cards[0].seq

    def picture() -> QImage:
        return pane.cards.rows.widget_pool.visible[seq].grab().toImage()

    before = picture()
    assert picture() == before
    pane.reveal(seq)
    assert picture() != before


def _state(is_undone: bool, *newer: TimelineCard) -> TimelineState:
    """Return a long timeline with a handover, event 100, in the middle."""
    sweeps = [SweepCard(number, NOW_MS, 2, SWEPT, before=9_900, after=9_000) for number in range(40, 0, -1)]
    cards = (*newer, *sweeps[:20], handover_card(1, 100, is_undone), *sweeps[20:])
    return TimelineState(cards, usage_points(), 24_000)


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    """Return a timeline on screen that shows the event 100, and is lower than its card."""
    timeline = open_timeline(qtbot, _state(False))
    timeline.resize(800, 420)
    timeline.reveal(100)
    return timeline


def test_a_card_taller_than_the_page_is_revealed_from_its_top(qtbot: QtBot, pane: Timeline) -> None:
    press(pane, 100, "fold:details")
    assert card(pane, 100).height > pane.height()
    pane.reveal(100)
    place = top(pane, 100)
    assert place is not None
    assert -1 <= place < 100


def test_a_card_that_opens_stays_under_the_mouse(pane: Timeline) -> None:
    before = top(pane, 100)
    for _ in range(2):
        press(pane, 100, "fold:details")
        assert top(pane, 100) == before


def test_cards_of_later_than_what_is_looked_at_are_pale_without_actions(qtbot: QtBot) -> None:
    """The newest handover stood on top as if it held at that step, with its Undo."""
    pane = open_timeline(qtbot, long_timeline_state())
    cards = long_timeline_state().cards
    seqs = shown_seqs(pane)

    def later() -> list[int]:
        return [seq for seq in shown_seqs(pane) if card(pane, seq).look.is_later]

    handover = next(shown for shown in cards if isinstance(shown, HandoverCard)).seq
    actions = {"compare", "edit", "more", "undo"}
    assert actions <= {*names(pane, handover)}
    pane.show_past(Step(handover - 1, 3, 1, 0))
    assert later() == [seq for seq in seqs if seq >= handover]
    assert not actions & {*names(pane, handover)}
    pane.set_state(replace(long_timeline_state(), cards=(*cards[:1], *cards[2:])))
    seqs.remove(cards[1].seq)
    assert later() == [seq for seq in seqs if seq >= handover] != [], "also those that are made anew"
    pane.show_past(Step(handover, 3, 1, 0))
    assert actions <= {*names(pane, handover)}
    pane.show_past(None)
    assert later() == []


@pytest.mark.parametrize(("is_demo", "price"), [(True, ""), (False, " · price unknown")])
def test_only_of_a_real_model_a_card_says_that_its_price_is_unknown(is_demo: bool, price: str) -> None:
    """The demo model costs nothing, and nothing is said of it."""
    head = ("c", "read_file", "Extract.", "0" * 64, 9_000, 40, 12)
    output = ToolAnswered(*head, form="compact", chosen="agent", intake_tokens=500)
    events: tuple[Event, ...] = (
        UserSpoke("Read it.", 3),
        AssistantSpoke("", "demo/offline", 9, (ToolCall("c", "read_file", "{}"),), demo=is_demo),
        output,
        HandoverFailed("No summary was made.", spent=900),
    )
    log = [RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)]
    failure, form = build_cards(log, Transcript(log))
    assert isinstance(form, FormCard)
    assert isinstance(failure, FailureCard)
    assert form.cost == f"500 tokens{price}"
    assert failure.cost == f"900 tokens{price}"


@for_each(
    ("event", "cost", "is_limit"),
    [
        (HandoverFailed("No summary.", spent=900, unpriced=0), "900 tokens · free", False),
        (
            HandoverFailed("No summary.", spent=900, cost=0.25, estimated=True),
            "≈ 900 tokens · ≈ $0.25",
            False,
        ),
        (TurnEnded("failed", "It ended.", cause="budget"), "", True),
        (TurnEnded("failed", "It ended."), "", False),
    ],
)
def test_a_failure_says_what_it_cost_and_whether_it_is_a_limit(
    event: Event, cost: str, is_limit: bool
) -> None:
    log = [RecordedEvent(1, 0, UserSpoke("Go.", 1)), RecordedEvent(2, 0, event)]
    (card,) = build_cards(log, Transcript(log))
    assert isinstance(card, FailureCard)
    assert (card.cost, card.is_limit) == (cost, is_limit)


@pytest.mark.parametrize(("problem", "node"), [(None, ""), ("too_short", "failure")])
def test_a_summary_that_came_too_late_is_no_error(problem: SummaryProblem | None, node: str) -> None:
    """What it would replace had become as short by itself: nothing is wrong, and the chat says so calmly."""
    failed = ObservationsFailed("A new summary wasn't used.", "It has 9 tokens.", 900, problem=problem)
    log = [RecordedEvent(1, 0, UserSpoke("Go.", 1)), RecordedEvent(2, 0, failed)]
    (card,) = build_cards(log, Transcript(log))
    assert card.node(0) == node
    _, rows = rows_from_log(log)
    levels = [row.level for row in rows if isinstance(row, NoticeRow)]
    lines = [row.text for row in rows if isinstance(row, DividerRow)]
    assert (levels, lines) == (
        (["warning"], []) if problem else ([], ["A new summary wasn't used. It has 9 tokens."])
    )
