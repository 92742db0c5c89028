"""The timeline as a person uses it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.elements import Pill
from helix_desktop.ui.theme import DARK
from helix_desktop.ui.timeline.cards import SweepView
from helix_desktop.ui.timeline.handover_view import HandoverView, duration_text
from helix_desktop.ui.timeline.rows import Point, RunningCard, SweepCard, TimelineState
from helix_desktop.ui.timeline.sparkline import thinned
from helix_desktop.ui.timeline.view import Timeline
from tests.support.panes_samples import NOW_MS, handover, points, timeline


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    """A timeline with the sample session."""
    made = Timeline(lambda: NOW_MS)
    qtbot.addWidget(made)
    made.resize(800, 700)
    made.set_state(timeline())
    made.show()
    return made


def card(pane: Timeline, seq: int) -> QWidget:
    """A card that must be there."""
    found = pane.card_widget(seq)
    assert found is not None
    return found


def button(root: QWidget, words: str) -> QAbstractButton:
    """The visible button of that name."""
    found = [one for one in root.findChildren(QAbstractButton) if words in one.text() and not one.isHidden()]
    assert found, f"no button {words!r}"
    return found[0]


def test_undo_and_redo_stand_on_their_cards(qtbot: QtBot, pane: Timeline) -> None:
    """What holds offers Undo, what is undone Redo, sweeps and handovers alike."""
    with qtbot.waitSignal(pane.undo_requested) as undo:
        button(card(pane, 492), "Undo").click()
    assert undo.args == [492]
    with qtbot.waitSignal(pane.redo_requested) as redo:
        button(card(pane, 440), "Redo").click()
    assert redo.args == [440]
    with qtbot.waitSignal(pane.redo_requested) as sweep:
        button(card(pane, 380), "Redo").click()
    assert sweep.args == [380]


def test_undone_cards_say_so(pane: Timeline) -> None:
    """Not by colour alone."""
    assert [pill.text() for pill in card(pane, 440).findChildren(Pill) if pill.text() == "undone"]
    assert not [pill for pill in card(pane, 492).findChildren(Pill) if pill.text() == "undone"]
    assert card(pane, 440).accessibleName().endswith("undone")


def test_the_newest_handover_is_open_and_sources_lead_to_events(qtbot: QtBot, pane: Timeline) -> None:
    """Six sections with source chips; a sentence without source is flagged; the index leads to the cache."""
    view = card(pane, 492)
    assert isinstance(view, HandoverView)
    assert [fold.head.text() for fold in view.folds][-1] == "Ledger"
    assert len(view.folds) == 7
    with qtbot.waitSignal(pane.source_clicked) as source:
        button(view, "e31").click()
    assert source.args == [31]
    assert button(view, "unsupported")
    index = handover(3, 492).index
    with qtbot.waitSignal(pane.digest_clicked) as digest:
        button(view, index[:8]).click()
    assert digest.args == [index]


def test_older_handovers_are_built_when_opened(pane: Timeline) -> None:
    """A folded card has no sections yet; opening makes them, and the card stays open when it changes."""
    view = card(pane, 210)
    assert isinstance(view, HandoverView)
    assert not view.folds
    view.fold_head.click()
    assert len(view.folds) == 7
    state = timeline()
    undone = handover(1, 210, True)
    cards = tuple(undone if one.seq == 210 else one for one in state.cards)
    pane.set_state(replace(state, cards=cards))
    again = card(pane, 210)
    assert isinstance(again, HandoverView)
    assert again is not view
    assert again.fold_head.isChecked()


def test_cards_that_did_not_change_are_kept(pane: Timeline) -> None:
    """A new card on top builds one widget, not all."""
    before = {seq: pane.card_widget(seq) for seq in (470, 431, 120)}
    state = timeline()
    pane.set_state(replace(state, cards=(SweepCard(500, NOW_MS, 2, 900), *state.cards)))
    assert {seq: pane.card_widget(seq) for seq in before} == before
    assert pane.card_widget(500) is not None


def test_five_hundred_cards_are_built_as_they_come_into_sight(qtbot: QtBot, pane: Timeline) -> None:
    """Few at first, more on the way down, the wanted one at once."""
    cards = tuple(handover(number, number * 10) for number in range(500, 0, -1))
    pane.set_state(TimelineState(cards, points(), 14_600, 24_000))
    bar = pane._scroll.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    few = pane.built
    assert few < 80

    def more() -> bool:
        bar.setValue(bar.maximum())
        return pane.built > few

    qtbot.waitUntil(more)
    pane.reveal(1_000)
    assert pane.card_widget(1_000) is not None
    qtbot.waitUntil(lambda: card(pane, 1_000).mapTo(pane, QPoint(0, 0)).y() < pane.height())


def test_page_keys_scroll_when_the_page_has_the_keyboard(qtbot: QtBot, pane: Timeline) -> None:
    qtbot.waitExposed(pane)
    pane.activateWindow()
    bar = pane._scroll.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    pane.setFocus()

    focused = QApplication.focusWidget()
    assert focused is not None
    QTest.keyClick(focused, Qt.Key.Key_PageDown)

    assert bar.value() > 0


def test_a_running_compaction_shows_its_phase_and_can_be_cancelled(qtbot: QtBot, pane: Timeline) -> None:
    """Phase and streamed text; cancel is one click; then it is gone."""
    pane.set_running(RunningCard("Summarise", "word " * 400))
    assert pane.running.isVisible()
    assert "Summarise" in pane.running.steps.accessibleName()
    assert pane.running.text.text().startswith("…")
    with qtbot.waitSignal(pane.cancel_requested):
        button(pane.running, "Cancel").click()
    pane.set_running(None)
    assert not pane.running.isVisible()


def test_the_empty_state_tells_when_the_first_comes(qtbot: QtBot, pane: Timeline) -> None:
    """One sentence with true numbers and one button."""
    pane.set_state(TimelineState((), (), 14_640, 24_000))
    assert pane.empty.isVisible()
    assert pane.empty.sentence == "No handover yet. 61 % used; the first comes at 85 %."
    with qtbot.waitSignal(pane.compact_requested):
        pane.empty.button.click()


def test_a_sweep_unfolds_to_its_hashes(qtbot: QtBot, pane: Timeline) -> None:
    """Each hash leads to the cache browser."""
    view = card(pane, 470)
    assert isinstance(view, SweepView)
    view.unfold()
    digest = timeline().cards[1]
    assert isinstance(digest, SweepCard)
    with qtbot.waitSignal(pane.digest_clicked) as clicked:
        button(view, digest.digests[3][:8]).click()
    assert clicked.args == [digest.digests[3]]


def test_a_click_on_the_curve_leads_to_the_event(qtbot: QtBot, pane: Timeline) -> None:
    """The nearest point's event is asked for."""
    with qtbot.waitSignal(pane.show_in_chat) as shown:
        QTest.mouseClick(pane.spark, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint(2, 40))
    assert shown.args == [1]


def test_thinning_keeps_peaks_and_drops() -> None:
    """A long session's curve has few points, but every rewrite is on it."""
    many = [Point(seq, seq % 997, "sweep" if seq % 5_000 == 0 else "turn") for seq in range(1, 50_001)]
    few = thinned(many, 1_000)
    assert len(few) < 1_100
    assert sum(point.kind == "sweep" for point in few) == 10
    assert max(point.used for point in few) == 996


def test_dark_theme_reaches_cards_built_later(qtbot: QtBot, pane: Timeline) -> None:
    """A card made after the switch is dark as well."""
    pane.set_theme(DARK)
    state = timeline()
    pane.set_state(replace(state, cards=(SweepCard(500, NOW_MS, 2, 900), *state.cards)))
    picture = card(pane, 500).grab().toImage()
    assert picture.pixelColor(picture.width() // 2, 4).lightness() < 70


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(340, "340 ms"), (1_240, "1.2 s"), (190_000, "3 min 10 s")]
)
def test_durations(milliseconds: int, text: str) -> None:
    """Short ones exact, long ones readable."""
    assert duration_text(milliseconds) == text
