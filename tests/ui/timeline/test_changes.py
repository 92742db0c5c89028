"""All that became of the context before a request is one row, with one Undo, and what was cached with it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from helix_desktop.context.log.steps import Step
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    FormChosen,
    HandoverTrigger,
    PlacementReason,
    Redone,
    SweepMade,
    SweepReason,
    Undone,
)
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced
from helix_desktop.domain.messages import ToolCall
from helix_desktop.ui.kit.intents import Redo, Undo
from helix_desktop.ui.timeline.cards import SweepCard, TimelineCard, UndoCard
from helix_desktop.ui.timeline.cards_from_events import build_cards, merge_changes
from helix_desktop.ui.timeline.page import Timeline, TimelineState
from helix_desktop.ui.timeline.summary_cards import (
    ChangeCard,
    ChangePart,
    CompactedMessagesCard,
    HandoverCard,
)
from helix_desktop.ui.window.rewrite_controller import also_changed
from tests.support.galleries.panes_samples import (
    NOW_MS,
    SWEPT,
    compacted_calls_card,
    handover_card,
    observations_card,
)
from tests.support.intents import intents_of
from tests.support.timeline_pane import card, has, names, open_timeline, pills, press, shown_seqs, top

_STEPS = (Step(10, 1, 1, NOW_MS), Step(20, 1, 2, NOW_MS))

_KEY = ("change", 12)

_TITLE = "Compacted turns 1–46 · Compacted turns 1–9 · Cached 3 outputs"


def _parts(*, is_undone: bool = False) -> tuple[ChangePart, ...]:
    """Return what one request brought, newest first: facts, a fold with its sweep, a sweep of its own."""
    return (
        CompactedMessagesCard(
            *(16, NOW_MS, observations_card(5), ObservationsPlaced(5, PlacementReason.REWRITE, 0)),
            before=13_000,
            after=9_900,
            is_undone=is_undone,
        ),
        SweepCard(
            15,
            NOW_MS,
            1,
            SweepMade((), 0, SweepReason.FOLD),
            before=13_500,
            after=13_000,
            is_undone=is_undone,
        ),
        compacted_calls_card(14, before=14_000, after=13_500, is_undone=is_undone),
        SweepCard(
            12,
            NOW_MS,
            2,
            SWEPT,
            before=15_000,
            after=14_000,
            is_undone=is_undone,
            contents=(("aa", "read a.py"),),
        ),
    )


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    return open_timeline(qtbot, TimelineState(_parts(), steps=_STEPS, window=24_000))


def test_one_request_is_one_row_with_one_undo(pane: Timeline) -> None:
    """What the sweep with a fold became of is not undone by itself; facts don't stand beside it."""
    row = card(pane, _KEY)
    press(pane, _KEY, "unfold")
    assert not any(has(pane, seq, "undo") for seq in shown_seqs(pane))
    press(pane, _KEY, "unfold")
    assert row.accessible_name == f"{_TITLE} · Context: 15k → 9.9k · to save tokens"
    assert shown_seqs(pane) == []
    assert intents_of(pane, lambda: press(pane, _KEY, "undo")) == [Undo((16, 14, 12))]


def test_an_undo_between_two_parts_is_in_no_size_of_the_row() -> None:
    parts = [SweepCard(12, NOW_MS, 2, SWEPT, before=16_100, after=16_000)]
    parts.append(SweepCard(11, NOW_MS, 2, SWEPT, before=5_300, after=4_000))
    (row,) = merge_changes(parts, _STEPS)
    assert isinstance(row, ChangeCard)
    assert (row.before, row.after) == (17_400, 16_000)


def test_a_summary_says_of_all_at_the_same_time_what_the_user_had_restored() -> None:
    """As the line in the chat does, which says the same sizes: it said 12 of 15 messages."""
    sweep = SweepCard(12, NOW_MS, 2, SWEPT, before=18_400, after=14_000, retaken=3)
    handover = replace(handover_card(1, 14), before=14_000, after=6_900, retaken=12)
    (row,) = merge_changes((handover, sweep), _STEPS)
    assert isinstance(row, HandoverCard)
    assert (row.before, row.after, row.retaken) == (18_400, 6_900, 15)


@pytest.mark.parametrize(
    ("undone", "name"),
    [((12, 14, 16), _TITLE), ((15,), "Part 15"), ((14, 16), "Part 14 · Part 16")],
)
def test_an_undo_names_the_row_where_all_of_it_was_undone(undone: tuple[int, ...], name: str) -> None:
    """Undo caching of one output, in the panel, was said to have undone the compaction beside it."""
    undos = [UndoCard(40 - seq, NOW_MS, "undo", (seq,), f"Part {seq}") for seq in undone]
    merged = merge_changes((*undos, *_parts()), _STEPS)
    assert [card.title for card in merged if isinstance(card, UndoCard)] == [f"Undone: {name}"]


def test_a_later_redo_of_a_part_is_not_named_as_the_row() -> None:
    """Redo of the caching of one output was said to have redone the compaction, which an earlier one had."""
    redo = UndoCard(42, NOW_MS + 5, "redo", (15,), "Cached 1 output")
    earlier = [UndoCard(40 - seq, NOW_MS, "redo", (seq,), f"Part {seq}") for seq in (12, 14, 16)]
    merged = merge_changes((redo, *earlier, *_parts()), _STEPS)
    titles = [card.title for card in merged if isinstance(card, UndoCard)]
    assert titles == ["Redone: Cached 1 output", f"Redone: {_TITLE}"]


def test_a_row_says_which_part_of_it_was_undone() -> None:
    parts = [replace(part, is_undone=part.seq == 12) for part in _parts()]
    (row,) = merge_changes(parts, _STEPS)
    expected = "Compacted turns 1–46 · Compacted turns 1–9 · Cached 1 output · undone: Cached 2 outputs"
    assert row.title == expected


def test_one_click_on_several_rows_is_one_undo() -> None:
    """A summary of the panel stands for the compactions of several requests."""
    rows = (*_parts(), SweepCard(8, NOW_MS, 3, SWEPT))
    undos = [UndoCard(40 - seq, NOW_MS, "undo", (seq,), "Cached 3 outputs") for seq in (8, 12, 14, 16)]
    undo, *others = merge_changes((*undos, *rows), _STEPS)
    assert isinstance(undo, UndoCard)
    assert undo.title == f"Undone: Cached 3 outputs · {_TITLE}"
    assert not any(isinstance(other, UndoCard) for other in others)


@pytest.mark.parametrize(
    ("before", "words"),
    [((), "Redone: Cached 2 outputs"), ((FormChosen(4, "full", "all", 9),), "Redone: Cached 1 output")],
)
def test_an_undo_or_redo_counts_what_it_changed(
    bare_pane: Timeline, before: Sequence[Event], words: str
) -> None:
    """What the user had restored by itself stays as it is."""
    calls = tuple(ToolCall(name, "read_file", '{"path": "a.md"}') for name in "cd")
    outputs = (ToolAnswered(it.id, "read_file", "words " * 90, "d" * 64, 540, 90, 1) for it in calls)
    swept: tuple[Event, ...] = (
        UserSpoke("Read both.", 3),
        AssistantSpoke("", "lab/m", 9, calls),
        *outputs,
        AssistantSpoke("Read.", "lab/m", 2),
        SweepMade((3, 4), 60, SweepReason.BATCH),
    )
    cards, _ = _show_log(bare_pane, (*swept, *before, Undone(6), Redone(6)))
    assert cards[0].title == words
    assert next(card for card in cards if isinstance(card, SweepCard)).title == "Cached 2 outputs"


def test_a_link_to_it_or_to_a_part_opens_that(pane: Timeline) -> None:
    """A second link leaves it open."""
    pane.reveal(14)
    assert top(pane, 14) is not None
    for _ in range(2):
        pane.reveal(12)
        assert shown_seqs(pane) == [12, 14, 15, 16]
        assert "output:aa" in names(pane, 12)


def test_a_click_beside_its_buttons_opens_and_closes_it(qtbot: QtBot, pane: Timeline) -> None:
    """One that selects words does not."""
    viewport = pane.cards.viewport()
    with qtbot.waitExposed(pane):
        pane.activateWindow()

    def place(x: int) -> QPoint:
        index = pane.cards.cards.index_of(_KEY)
        area = card(pane, _KEY).hit_area("unfold")
        assert index is not None
        assert area is not None
        return QPoint(x, pane.cards.rows.place_of(index, area).center().y())

    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=place(200))
    assert shown_seqs(pane) == [12, 14, 15, 16]
    qtbot.wait(QApplication.doubleClickInterval() + 50)
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=place(200))
    assert shown_seqs(pane) == []
    qtbot.wait(QApplication.doubleClickInterval() + 50)
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=place(100))
    QTest.mouseMove(viewport, place(300))
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=place(300))
    assert shown_seqs(pane) == []


def test_its_undo_is_one_line_and_becomes_redo(qtbot: QtBot) -> None:
    undone = _parts(is_undone=True)
    marks = tuple(UndoCard(23 - at, NOW_MS, "undo", (seq,), "") for at, seq in enumerate((12, 14, 16)))
    pane = open_timeline(qtbot, TimelineState((*marks, *undone), steps=_STEPS, window=24_000))
    assert shown_seqs(pane) == [23]
    assert card(pane, 23).accessible_name == f"Undone: {_TITLE}"
    assert intents_of(pane, lambda: press(pane, _KEY, "redo")) == [Redo((16, 14, 12))]


def test_changes_beside_a_handover_are_parts_of_its_card(qtbot: QtBot) -> None:
    """They are undone with it, unless it covers them."""
    sweep = SweepCard(12, NOW_MS, 2, SWEPT, before=15_000, after=14_000)
    covered = compacted_calls_card(13, inside="Compacted turns 1–9")
    cards = (handover_card(1, 14), covered, sweep)
    (merged,) = merge_changes(cards, _STEPS)
    assert isinstance(merged, HandoverCard)
    assert merged.parts == (covered, sweep)
    assert merged.undo_seqs == (14, 12)
    pane = open_timeline(qtbot, TimelineState(cards, steps=_STEPS, window=24_000))
    press(pane, 14, "fold:rewrites")
    assert shown_seqs(pane) == [14, 12, 13]


def test_each_request_has_its_own_row() -> None:
    """A change that came alone keeps its card."""
    cards = (
        SweepCard(25, NOW_MS, 1, SWEPT, before=5_000, after=4_000),
        *_parts(),
        SweepCard(8, NOW_MS, 1, SWEPT, before=900, after=800),
    )
    alone, merged, first = merge_changes(cards, _STEPS)
    assert (alone, first) == (cards[0], cards[-1])
    assert isinstance(merged, ChangeCard)
    assert merged.title.startswith("Compacted turns 1–46")


@pytest.fixture
def bare_pane(qtbot: QtBot) -> Timeline:
    return open_timeline(qtbot)


def _show_log(pane: Timeline, events: Sequence[Event]) -> tuple[tuple[TimelineCard, ...], Transcript]:
    log = [RecordedEvent(seq, 0, recorded) for seq, recorded in enumerate(events, 1)]
    transcript = Transcript(log)
    cards = build_cards(log, transcript)
    pane.set_state(TimelineState(cards))
    return cards, transcript


def test_a_sweep_falls_and_returns_with_what_it_was_recorded_with(bare_pane: Timeline) -> None:
    """Undo says so before the click; undone by itself, the sweep says no more than that."""
    handover = 3
    sweep = 4
    events: tuple[Event, ...] = (
        UserSpoke("Do this.", 3),
        AssistantSpoke("Done.", "lab/m", 2),
        HandoverMade(2, 0, (), "", "", 0, 50, 521, 554, 2, "m", HandoverTrigger.MANUAL),
        SweepMade((), 0, SweepReason.HANDOVER),
    )
    for later, button, tip, said in (
        ((), "undo", "Undo also takes back: Cached 0 outputs", []),
        (
            (Undone(handover),),
            "redo",
            "Redo also repeats: Cached 0 outputs",
            ["Undone with “Handover summary of turn 1”"],
        ),
        ((Undone(sweep),), "undo", "", ["Undone"]),
    ):
        _show_log(bare_pane, (*events, *later))
        area = card(bare_pane, handover).hit_area(button)
        assert area is not None
        assert area.tip == tip
        assert list(pills(bare_pane, sweep)) == said


def test_what_was_undone_inside_a_later_rewrite_did_not_come_back(bare_pane: Timeline) -> None:
    """The sweep is undone with the handover, and its output is in the note all the same."""
    events: tuple[Event, ...] = (
        UserSpoke("Do this.", 3),
        AssistantSpoke("Done.", "lab/m", 2),
        UserSpoke("Read it.", 3),
        AssistantSpoke("", "lab/m", 9, (ToolCall("c", "read_file", '{"path": "a.md"}'),)),
        ToolAnswered("c", "read_file", "words " * 90, "d" * 64, 540, 90, 1, target="a.md"),
        AssistantSpoke("Read.", "lab/m", 2),
        HandoverMade(2, 0, (), "", "", 0, 50, 521, 554, 2, "m", HandoverTrigger.MANUAL),
        SweepMade((5,), 60, SweepReason.HANDOVER),
        FoldMade(3, 6, "It was read.", 4, "e" * 64, 1, 1, 50),
    )
    sweep = 8
    fold = 9
    for event, expected, changed in (
        (Undone(7), ["Undone with “Handover summary of turn 1”"], ""),
        (Undone(fold), ["Undone with “Handover summary of turn 1”"], "Together with it: Cached 1 output."),
    ):
        events = (*events, event)
        cards, transcript = _show_log(bare_pane, events)
        assert list(pills(bare_pane, sweep)) == expected
        assert also_changed(cards, transcript, (7,), (7,)) == changed


_OBSERVED = ObservationsMade(1, 4, (), (), "", "e" * 64, 1, 50, 500, 4, "m")


@pytest.mark.parametrize(
    "rewrite",
    [
        (FoldMade(1, 4, "It was read.", 4, "e" * 64, 1, 1, 50),),
        (_OBSERVED, ObservationsPlaced(5, PlacementReason.MANUAL, 450)),
    ],
    ids=["fold", "observations"],
)
@pytest.mark.parametrize("upto", [4, 3], ids=["whole", "in part"])
def test_what_was_undone_under_a_later_rewrite_is_redone_after_it(
    bare_pane: Timeline, rewrite: tuple[Event, ...], upto: int
) -> None:
    """Redoing it now would change no request: it is not offered until the later one is undone."""
    events: tuple[Event, ...] = (
        UserSpoke("Read it.", 3),
        AssistantSpoke("", "lab/m", 9, (ToolCall("c", "read_file", '{"path": "a.md"}'),)),
        ToolAnswered("c", "read_file", "words " * 90, "d" * 64, 540, 90, 1, target="a.md"),
        AssistantSpoke("Read.", "lab/m", 2),
        *rewrite,
        Undone(placed := 4 + len(rewrite)),
        HandoverMade(upto, 0, (), "", "", 0, 50, 521, 554, 2, "m", HandoverTrigger.MANUAL),
    )
    covering = "Handover summary of turn 1"
    if upto != 4:
        covering = "Handover summary of 1 tool call of turn 1"
    for event, buttons, tip in (
        (None, False, f"Can be redone when “{covering}” is undone"),
        (Undone(placed + 2), True, ""),
    ):
        events = (*events, event) if event is not None else events
        _show_log(bare_pane, events)
        assert has(bare_pane, placed, "redo") is buttons
        assert pills(bare_pane, placed)["Undone"] == tip
