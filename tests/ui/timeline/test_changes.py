"""All that became of the context before one request is one row, with one Undo."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from helix_desktop.context.log.steps import Step
from helix_desktop.domain.events.rewrite import PlacementReason, SweepReason
from helix_desktop.ui.kit.intents import Redo, Undo
from helix_desktop.ui.timeline.cards import SweepCard, UndoCard
from helix_desktop.ui.timeline.from_events import merge_changes
from helix_desktop.ui.timeline.summary_cards import ChangeCard, ChangePart, HandoverCard, PlacedCard
from helix_desktop.ui.timeline.view import Timeline, TimelineState
from tests.support.galleries.panes_samples import NOW_MS, fold_card, handover_card, observations_card
from tests.support.intents import performed
from tests.support.timeline_pane import card, has, names, open_timeline, press, shown_seqs, top

_STEPS = (Step(10, 1, 1, NOW_MS), Step(20, 1, 2, NOW_MS))
_KEY = ("change", 12)
_TITLE = "Summary of 9 messages · Summary of 46 messages · 3 outputs cached"


def _parts(*, is_undone: bool = False) -> tuple[ChangePart, ...]:
    """Return what one request brought, newest first: facts, a fold with its sweep, a sweep of its own."""
    return (
        PlacedCard(
            *(16, NOW_MS, observations_card(5), PlacementReason.REWRITE),
            before=13_000,
            after=9_900,
            is_undone=is_undone,
        ),
        SweepCard(15, NOW_MS, 1, SweepReason.FOLD, before=13_500, after=13_000, is_undone=is_undone),
        fold_card(14, before=14_000, after=13_500, is_undone=is_undone),
        SweepCard(
            12, NOW_MS, 2, before=15_000, after=14_000, is_undone=is_undone, contents=(("aa", "read a.py"),)
        ),
    )


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    return open_timeline(qtbot, TimelineState(_parts(), steps=_STEPS, window=24_000))


def test_one_request_is_one_row_with_one_undo(pane: Timeline) -> None:
    """What the sweep with a fold became of is not undone by itself; facts don't stand beside it."""
    row = card(pane, _KEY)
    assert row.accessible_name == f"{_TITLE} · Context: 15k → 9.9k"
    assert shown_seqs(pane) == []
    with performed(pane) as intents:
        press(pane, _KEY, "undo")
    assert intents == [Undo((16, 14, 12))]


def test_it_opens_onto_each_part_without_an_undo_of_its_own(pane: Timeline) -> None:
    press(pane, _KEY, "unfold")
    assert shown_seqs(pane) == [12, 14, 15, 16]
    assert not any(has(pane, seq, "undo") for seq in shown_seqs(pane))
    press(pane, _KEY, "unfold")
    assert shown_seqs(pane) == []


def test_a_part_is_brought_into_sight_wherever_it_is(pane: Timeline) -> None:
    pane.reveal(14)
    assert top(pane, 14) is not None


def test_a_link_to_it_or_to_a_part_opens_that(pane: Timeline) -> None:
    """A second link leaves it open."""
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
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=place(150))
    QTest.mouseMove(viewport, place(300))
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=place(300))
    assert shown_seqs(pane) == []


def test_its_undo_is_one_line_and_becomes_redo(qtbot: QtBot) -> None:
    undone = _parts(is_undone=True)
    marks = tuple(UndoCard(23 - at, NOW_MS, "undo", seq, "") for at, seq in enumerate((12, 14, 16)))
    pane = open_timeline(qtbot, TimelineState((*marks, *undone), steps=_STEPS, window=24_000))
    assert shown_seqs(pane) == [23]
    assert card(pane, 23).accessible_name == f"Undone: {_TITLE}"
    with performed(pane) as intents:
        press(pane, _KEY, "redo")
    assert intents == [Redo((16, 14, 12))]


def test_changes_beside_a_handover_are_parts_of_its_card(qtbot: QtBot) -> None:
    """They are undone with it, unless it covers them."""
    sweep, covered = (
        SweepCard(12, NOW_MS, 2, before=15_000, after=14_000),
        fold_card(13, inside="Summary of 9 messages"),
    )
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
        SweepCard(25, NOW_MS, 1, before=5_000, after=4_000),
        *_parts(),
        SweepCard(8, NOW_MS, 1, before=900, after=800),
    )
    alone, merged, first = merge_changes(cards, _STEPS)
    assert (alone, first) == (cards[0], cards[-1])
    assert isinstance(merged, ChangeCard)
    assert merged.title.startswith("Summary of 9 messages")
