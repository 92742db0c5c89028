"""The timeline in use."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import Literal

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, QRectF, Qt
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.events.summary import Bullet
from helix_desktop.ui.kit.intents import (
    CancelCompaction,
    OpenOutput,
    Redo,
    RedoLast,
    ShowEvent,
    Undo,
    UndoLast,
)
from helix_desktop.ui.kit.wrapped_text import Words
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.ui.timeline.cards import FailureCard, RunningCard, SweepCard, TimelineCard, UndoCard
from helix_desktop.ui.timeline.page import Timeline, TimelineState
from helix_desktop.ui.timeline.usage_chart import downsample, point_text
from helix_desktop.ui.timeline.usage_points import PointKind, UsagePoint
from tests.support.galleries.panes_samples import (
    NOW_MS,
    SWEPT,
    compacted_calls_card,
    handover_card,
    long_timeline_state,
    observations_card,
    timeline_state,
    usage_points,
)
from tests.support.intents import intents_of, performed
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
    unfold_all,
    words,
)
from tests.support.window.buttons import find_button
from tests.support.window.keyboard_focus import focused_widget


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    QCursor.setPos(QPoint(5_000, 5_000))  # on no card that another test has clicked
    return open_timeline(qtbot, timeline_state())


def test_cards_say_what_their_summary_does_not_name_and_what_is_undone(pane: Timeline) -> None:
    """What was added below it; "Undone" in words, not by color alone."""
    missing = handover_card(3, 492).missing
    press(pane, 492, "fold:details")
    press(pane, 492, "fold:missing")
    assert {*chain(*missing.lines)} <= {*words(pane, 492)}
    assert [word in pills(pane, 440) for word in ("In context", "Undone")] == [False, True]
    assert [word in pills(pane, 492) for word in ("In context", "Undone")] == [True, False]
    assert card(pane, 440).accessible_name.endswith("Undone")


def test_older_handovers_are_built_when_opened(pane: Timeline) -> None:
    """A folded card has no sections yet; opening makes them, and the card stays open when it changes."""
    few = len(card(pane, 210).parts)
    press(pane, 210, "fold:details")
    assert len(card(pane, 210).parts) > 2 * few
    state = timeline_state()
    undone = handover_card(1, 210, True)
    cards = tuple(undone if card.seq == 210 else card for card in state.cards)
    pane.set_state(replace(state, cards=cards))
    assert "Undone" in pills(pane, 210)
    assert has(pane, 210, "fold:ledger")


def test_many_cards_are_built_as_they_become_visible(pane: Timeline) -> None:
    """Few at first, more on the way down, a requested one at once."""
    cards = tuple(handover_card(number, number * 10) for number in range(120, 0, -1))
    pane.set_state(TimelineState(cards, usage_points(), 24_000))
    bar = pane.cards.verticalScrollBar()
    few = len(pane.cards.cards._items)
    assert few < 20
    bar.setValue(bar.maximum())
    assert top(pane, 10) is not None
    assert len(pane.cards.cards._items) > few
    assert top(pane, 400) is None
    pane.reveal(400)
    assert top(pane, 400) is not None
    assert len(pane.cards.cards._items) < 60


def test_tab_goes_through_chart_and_cards_and_enter_presses(qtbot: QtBot, pane: Timeline) -> None:
    """Chart, then all of a card in the order that it shows them."""
    with qtbot.waitExposed(pane):
        pane.activateWindow()
    pane.setFocus()
    seen = []
    for _ in range(14):
        QTest.keyClick(focused_widget(), Qt.Key.Key_Tab)
        seen.append(focused_widget().objectName())
        if seen[-1] == "undo":
            break
    assert seen[-3:] == ["compare", "edit", "undo"]
    assert pane.cards.rows.widget_pool.focused_widget()
    assert intents_of(pane, lambda: QTest.keyClick(focused_widget(), Qt.Key.Key_Return)) == [Undo((492,))]


def test_tips_and_words_of_a_card(pane: Timeline) -> None:
    source = next(area for area in card(pane, 492).hit_areas if area.name.startswith("source:"))
    assert card(pane, 492).tip_at(source.rect.center().x(), source.rect.center().y()) == "Show in chat"
    pane.cards.select_all()
    pane.cards.copy()
    assert "Highlighting inside an open fence still lexes the whole fence." in QApplication.clipboard().text()


def place_of_undo(pane: Timeline, seq: int, name: str = "undo") -> QPoint:
    index = pane.cards.cards.index_of(seq)
    area = card(pane, seq).hit_area(name)
    assert area is not None
    assert index is not None
    return pane.cards.rows.place_of(index, area).center()


def test_a_click_counts_for_what_was_pressed_though_rows_move_in_between(pane: Timeline) -> None:
    viewport = pane.cards.viewport()
    left = Qt.MouseButton.LeftButton
    place = place_of_undo(pane, 492)
    with performed(pane) as intents:
        QTest.mousePress(viewport, left, pos=place)
        pane.cards.rows.scroll_by(60)
        assert place_of_undo(pane, 492) != place
        QTest.mouseRelease(viewport, left, pos=place)
        QTest.mousePress(viewport, left, pos=place_of_undo(pane, 492))
        QTest.mouseRelease(viewport, left, pos=place)
    assert intents == [Undo((492,))], "away from what was pressed nothing is clicked"


def test_a_double_click_undoes_one_change_though_rows_move_in_between(pane: Timeline) -> None:
    """The Undo of the next change came below the mouse."""
    viewport = pane.cards.viewport()
    left = Qt.MouseButton.LeftButton
    place = place_of_undo(pane, 492)
    with performed(pane) as intents:
        QTest.mouseClick(viewport, left, pos=place)
        pane.cards.rows.scroll_by(place_of_undo(pane, 470).y() - place.y())
        assert place_of_undo(pane, 470).y() == place.y()
        QTest.mouseDClick(viewport, left, pos=place)
        QTest.mouseRelease(viewport, left, pos=place)
    assert intents == [Undo((492,))]


def test_what_the_mouse_points_at_stays_there_when_rows_come_on_top(pane: Timeline) -> None:
    pane.resize(pane.width(), 420)
    before = place_of_undo(pane, 492)
    QTest.mouseMove(pane.cards.viewport(), before)
    pane.set_running(RunningCard("summarize", "Summarizing older messages…", "word " * 400))
    assert place_of_undo(pane, 492) == before


def test_what_was_clicked_stays_though_the_chart_above_grows(qtbot: QtBot, pane: Timeline) -> None:
    """It is higher once the context no longer fits; also where a notice has come over the mouse meanwhile."""
    pane.resize(800, 900)
    place = place_of_undo(pane, 492)
    viewport = pane.cards.viewport()
    low = pane.chart.height()
    QTest.mouseMove(viewport, place)
    with performed(pane):
        QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=place)
    QApplication.sendEvent(viewport, QEvent(QEvent.Type.Leave))
    pane.show_usage(UsageGauge(30_000, 24_000, 24_000, 2_000, 20_400, is_reported=False), 500, NOW_MS)
    qtbot.waitUntil(lambda: pane.chart.height() > low)
    assert place_of_undo(pane, 492).y() == place.y()


@pytest.mark.parametrize(("width", "height"), [(520, 420), (800, 1_600)])
def test_a_click_on_undo_leaves_redo_under_the_mouse(pane: Timeline, width: int, height: int) -> None:
    """Also in a list that is shorter than the page, in a row that becomes higher or lower, and at the end."""
    cards = tuple(
        SweepCard(seq, NOW_MS, 2, SWEPT, before=24_000 + seq, after=9_000 - seq) for seq in range(19, 10, -1)
    )
    for seq in (19, 15, 11):
        pane.resize(width, height)
        pane.set_state(TimelineState(cards, usage_points(), 24_000))
        pane.cards.rows.go_to_end()
        if (at := top(pane, seq)) is None:
            continue
        pane.cards.rows.scroll_by(at - 200)
        for _ in range(10):  # rounds, not a time: the chart above asks for its height in some of them
            QTest.qWait(0)
        place = place_of_undo(pane, seq)
        marks = list[TimelineCard]()
        QTest.mouseMove(pane.cards.viewport(), place)
        kinds: tuple[Literal["undo", "redo"], ...] = ("undo", "redo")
        for number, name in enumerate(kinds * 3):
            assert abs(place_of_undo(pane, seq, name).y() - place.y()) <= 1, (seq, number)
            place += QPoint(1 - 2 * (number % 2), 0)  # a button that came under a mouse that rests waits
            QTest.mouseMove(pane.cards.viewport(), place)
            with performed(pane) as intents:
                QTest.mouseClick(pane.cards.viewport(), Qt.MouseButton.LeftButton, pos=place)
            intent = Undo if name == "undo" else Redo
            assert intents == [intent((seq,))]
            marks.insert(0, UndoCard(100 + number, NOW_MS, name, (seq,), "Cached 2 outputs"))
            changed = (replace(one, is_undone=name == "undo") if one.seq == seq else one for one in cards)
            pane.set_state(TimelineState((*marks, *changed), usage_points(), 24_000))


def test_the_last_change_is_undone_and_redone_with_the_usual_keys(pane: Timeline) -> None:
    pane.setFocus()
    assert intents_of(pane, lambda: QTest.keySequence(focused_widget(), "Ctrl+Z")) == [UndoLast()]
    assert intents_of(pane, lambda: QTest.keySequence(focused_widget(), "Ctrl+Shift+Z")) == [RedoLast()]


def test_a_running_compaction_displays_its_phase_and_can_be_canceled(pane: Timeline) -> None:
    """Phase and streamed text; cancel is one click; then it is gone."""
    pane.set_running(RunningCard("summarize", "Summarizing older messages…", "word " * 400))
    said = words(pane, "running")
    assert "Write, step 2 of 4" in said
    assert any(text.startswith("… word") for text in said)
    assert intents_of(pane, lambda: press(pane, "running", "stop")) == [CancelCompaction()]
    pane.set_running(None)
    assert find_card(pane, "running") is None


def test_a_session_that_is_not_read_yet_is_not_said_to_be_empty(pane: Timeline) -> None:
    pane.clear()
    pane.set_running(None)
    assert not pane.empty.isVisible()


def test_the_focus_stays_when_the_first_card_arrives(qtbot: QtBot, pane: Timeline) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    other = QPushButton("Other")
    column = QVBoxLayout(parent)
    column.addWidget(pane)
    column.addWidget(other)
    parent.show()
    parent.activateWindow()
    qtbot.waitUntil(parent.isActiveWindow)
    pane.set_state(TimelineState())
    pane.setFocus()
    assert pane.empty.button.hasFocus()
    pane.set_state(timeline_state())
    focused = focused_widget()
    assert pane.isAncestorOf(focused)
    pane.setParent(None)


def test_a_sweep_expands_to_what_was_cached_by_name(pane: Timeline) -> None:
    unfold_all(pane)
    press(pane, 470, "unfold")
    area = card(pane, 470).hit_area("unfold")
    assert area is not None
    assert area.tip == area.label == "Hide details"
    sweep = timeline_state().cards[1]
    assert isinstance(sweep, SweepCard)
    digest, name = sweep.contents[3]
    assert name in pills(pane, 470)
    assert intents_of(pane, lambda: press(pane, 470, f"output:{digest[:12]}")) == [OpenOutput(digest)]


def test_a_click_on_the_curve_selects_the_event(pane: Timeline) -> None:
    with performed(pane) as blocker:
        QTest.mouseClick(pane.chart, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint(2, 40))
    assert blocker == [ShowEvent(1)]


def test_thinning_keeps_peaks_and_drops() -> None:
    """A long session's curve has few points, but every rewrite and failure is on it."""
    kinds: dict[int, PointKind] = {0: "sweep", 7: "failure"}
    many = [UsagePoint(seq, seq % 997, kinds.get(seq % 5_000, "turn")) for seq in range(1, 50_001)]
    few = downsample(many, 1_000)
    assert len(few) < 1_100
    assert [sum(point.kind == kind for point in few) for kind in kinds.values()] == [10, 10]
    assert max(point.used for point in few) == 996
    assert few[-1] is many[-1]  # the curve ends at the current usage


def test_a_fold_displays_its_savings_and_its_note(pane: Timeline) -> None:
    """Steps, tokens before and after, the note word for word, the way to the index and to the first event."""
    pane.set_state(long_timeline_state())
    assert card(pane, 497).accessible_name.startswith("Compacted turns 1–9 · Context: 23.9k → 14.8k")
    assert compacted_calls_card(497).event.text not in words(pane, 497)
    assert any(text.startswith("Shorter form") for text in words(pane, 497))
    press(pane, 497, "fold:note")
    assert compacted_calls_card(497).event.text in words(pane, 497)
    assert {"List of 31 outputs", "Show in chat"} <= {*pills(pane, 497)}
    for name, intent in (
        ("index", OpenOutput(compacted_calls_card(497).event.index)),
        ("covers", ShowEvent(12)),
        ("undo", Undo((497,))),
    ):
        assert intents_of(pane, partial(press, pane, 497, name)) == [intent]
    pane.set_state(TimelineState((compacted_calls_card(497, is_undone=True),), usage_points(), 24_000))
    assert card(pane, 497).accessible_name.endswith("Undone")
    assert has(pane, 497, "redo")
    assert compacted_calls_card(497).event.text in words(pane, 497), "it stays open"


def test_a_long_note_is_shown_in_part_until_all_of_it_is_asked_for(pane: Timeline) -> None:
    text = "\n".join(f"did: read_file part{n}.txt" for n in range(900))
    pane.set_state(TimelineState((compacted_calls_card(5, text=text),), usage_points(), 24_000))
    press(pane, 5, "fold:note")
    assert max(map(len, words(pane, 5))) < 3_100
    press(pane, 5, "all:note")
    pane.cards.select_all()
    pane.cards.copy()
    assert text in QApplication.clipboard().text()


def test_observations_show_facts_by_day_with_sources(pane: Timeline) -> None:
    """Dates as in the window, sources as chips, quotes verbatim, the ledger."""
    pane.set_state(long_timeline_state())
    pane.filter_bar.choose("compacted")
    assert any(text.startswith("Shorter form") for text in words(pane, 498))
    press(pane, 498, "fold:details")
    said = words(pane, 498)
    assert said.count("No longer true") == 1
    days = [text for text in said if text.startswith("20") and len(text) == 10]
    assert len(days) == 2
    assert days == sorted(days)
    assert "Tests must stay green; pytest -q is the check that counts." in said
    with performed(pane) as source:
        press(pane, 498, "source:17")
    assert source == [ShowEvent(17)]
    assert "No source" in pills(pane, 498)
    assert observations_card(498).quotes[0].text not in said
    press(pane, 498, "fold:quotes")
    assert observations_card(498).quotes[0].text in words(pane, 498)
    assert has(pane, 498, "fold:ledger")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Open *Settings → Providers* first", "Open Settings → Providers first"),
        ("**Never** run `a*b` (*slow*), 2 * 3 * 4", "Never run a*b (slow), 2 * 3 * 4"),
        ("Look in src/*.py, tests/*.py and *.md or *.rst", "Look in src/*.py, tests/*.py and *.md or *.rst"),
    ],
)
def test_a_sentence_shows_emphasis_and_keeps_patterns(qtbot: QtBot, written: str, shown: str) -> None:
    sentence = Words(written, is_marked_up=True)
    sentence.height(400)
    assert sentence.text() == shown
    view = BulletView(Bullet(written))
    qtbot.addWidget(view)
    assert view.accessibleName() == shown


def test_what_happened_between_two_handovers_is_one_line_that_opens(pane: Timeline) -> None:
    sweeps = tuple(
        SweepCard(seq, NOW_MS, 2, SWEPT, before=40_000 - seq * 100, after=39_000 - seq * 100)
        for seq in (40, 30, 20)
    )
    newest = SweepCard(60, NOW_MS, 1, SWEPT, before=9_900, after=9_000)
    failure = FailureCard(35, NOW_MS, TurnEnded("failed", "It failed."), retry="turn")
    cards: tuple[TimelineCard, ...] = (
        newest,
        handover_card(2, 50),
        *sweeps,
        handover_card(1, 10),
        SweepCard(5, NOW_MS, 1, SWEPT, before=900, after=800),
    )
    pane.set_state(TimelineState(cards, usage_points(), 24_000))
    assert shown_seqs(pane) == [60, 50, 10, 5]
    key = ("folded", 20)
    assert card(pane, key).accessible_name == "3 context changes · 38k → 35k tokens"
    press(pane, key, "fold:rewrites")
    assert shown_seqs(pane) == [60, 50, 40, 30, 20, 10, 5]
    press(pane, key, "fold:rewrites")
    pane.reveal(30)
    assert top(pane, 30) is not None
    cards = (*cards[:2], sweeps[0], failure, *sweeps[1:], *cards[-2:])
    pane.set_state(TimelineState(cards, usage_points(), 24_000))
    assert 35 in shown_seqs(pane), "what can be tried again stays in sight"


def test_an_overfull_window_is_drawn_to_scale(pane: Timeline) -> None:
    """2.05M, 322k and 38k in a window of 128k: each at its height, each with its value."""
    small = UsagePoint(1, 38_000, "handover", 32_000)
    points = (small, UsagePoint(2, 2_050_000, "turn", 128_000), UsagePoint(3, 322_000, "sweep", 128_000))
    height = pane.chart.sizeHint().height()
    drop = UsagePoint(4, 38_000, "handover", 128_000)
    current = UsagePoint(4, 61_000, window=128_000)
    pane.set_state(TimelineState((), (*points, drop, current), 128_000))
    assert pane.chart.is_overfull
    assert pane.chart.sizeHint().height() > height
    floor = pane.chart.plot.y_of(0)
    largest = floor - pane.chart.plot.y_of(2_050_000)
    drawn = [(floor - pane.chart.plot.y_of(tokens)) / largest for tokens in (322_000, 128_000)]
    assert drawn == pytest.approx([322 / 2_050, 128 / 2_050])
    assert point_text(points[1], 128_000) == "2,050,000 tokens in context · 1,602 % of 128k · e2"
    about = UsagePoint(2, 64_000, window=128_000, is_estimated=True)
    assert point_text(about, 128_000) == "≈ 64,000 tokens in context · ≈ 50 % of 128k · e2"
    words = point_text(small, 128_000)
    assert words == "38,000 tokens in context · 119 % of 32k · after older messages were compacted · e1"
    assert "now 61k of 128k, at most 2.05M, reduced 3 times" in pane.chart.accessibleName()
    pane.set_state(TimelineState((), usage_points(), 24_000))
    assert not pane.chart.is_overfull


def test_the_filter_narrows_and_is_cleared_for_a_jump(pane: Timeline) -> None:
    """Only in a long timeline; each of the four chips shows some cards; a requested card is shown."""
    assert pane.filter_bar.isHidden()
    state = long_timeline_state()
    pane.set_state(state)
    assert pane.filter_bar.isVisible()
    chips = pane.filter_bar.findChildren(QAbstractButton)
    assert [chip.text() for chip in chips] == ["All", "Compacted", "Cached", "By you"]
    for chip in chips[1:]:
        chip.click()
        group = pane.filter_bar.group
        assert group is not None
        assert shown_seqs(pane) == [one.seq for one in state.cards if group in one.filters] != []
    find_button(pane.filter_bar, "timeline-filter-compacted").click()
    assert not any(isinstance(one, UndoCard) for one in state.cards if one.seq in shown_seqs(pane))
    pane.reveal(470)
    assert top(pane, 470) is not None
    assert pane.filter_bar.group is None
    find_button(pane.filter_bar, "timeline-filter-yours").click()
    pane.set_state(
        replace(
            state,
            cards=tuple(card_state for card_state in state.cards if "yours" not in card_state.filters),
        )
    )
    assert pane.filter_bar.group is None
    assert find_card(pane, 497) is not None


@pytest.mark.parametrize("width", [340, 420, 800])
def test_all_parts_of_cards_stand_inside_of_them(pane: Timeline, width: int) -> None:
    pane.resize(width, 700)
    pane.set_state(long_timeline_state())
    unfold_all(pane)
    for seq in shown_seqs(pane):
        item = card(pane, seq)
        inside = QRectF(0, 0, item.width, item.height).adjusted(0, -1, 1, 1)
        assert all(inside.contains(part.rect) for part in item.parts if part.rect.width()), seq


@pytest.mark.parametrize("seq", [460, 120])
def test_a_card_is_brought_into_sight_wherever_it_is(pane: Timeline, seq: int) -> None:
    pane.set_state(long_timeline_state())
    pane.reveal(seq)
    place = top(pane, seq)
    assert place is not None
    assert 0 <= place < pane.height()
    pane.cards.verticalScrollBar().setValue(0)
    newest = SweepCard(600, NOW_MS, 2, SWEPT, before=9_900, after=9_000)
    pane.set_state(replace(long_timeline_state(), cards=(newest, *long_timeline_state().cards)))
    assert top(pane, 600) is not None
    assert pane.cards.verticalScrollBar().value() == 0


def test_the_author_pill_states_calls_and_prompt(pane: Timeline) -> None:
    """Calls, instructions, the user's own changes; the reason for a fallback."""
    card_5 = handover_card(1, 5, model="gpt-oss:20b", demo=False, calls=3, prompt="handover 2", edited=True)
    card_9 = observations_card(9, calls=2, prompt="observe 1", fallback="The first model said nothing.")
    pane.set_state(TimelineState((card_9, card_5), usage_points(), 24_000))
    pane.filter_bar.choose("compacted")
    press(pane, 5, "fold:details")
    assert pills(pane, 5)["gpt-oss:20b · 3 calls"] == "Prompt version: handover 2"
    assert "Edited by you" in pills(pane, 5)
    press(pane, 9, "fold:details")
    tip = "The first model said nothing.\nPrompt version: observe 1"
    assert pills(pane, 9)["gpt-oss:20b · 2 calls"] == tip


def test_all_that_can_be_pressed_has_a_name_of_its_own(pane: Timeline) -> None:
    pane.set_state(long_timeline_state())
    pane.filter_bar.choose("compacted")
    press(pane, 498, "fold:details")
    for group in ("compacted", None):
        pane.filter_bar.choose(group)
        unfold_all(pane)
        for seq in shown_seqs(pane):
            assert card(pane, seq).accessible_name
            assert len(set(names(pane, seq))) == len(names(pane, seq)), seq
            assert all(area.label.strip() for area in card(pane, seq).hit_areas), seq
    assert any(words.endswith(" first") for words in pills(pane, 464))
    assert not has(pane, 464, "undo"), "the later one is undone first"


def test_the_scroll_position_in_a_long_timeline_is_restored(qtbot: QtBot, pane: Timeline) -> None:
    pane.set_state(long_timeline_state())
    bar = pane.cards.verticalScrollBar()
    bar.setValue(500)
    first = pane.cards.first_visible_seq
    assert first
    again = open_timeline(qtbot, long_timeline_state())
    assert again.cards.first_visible_seq == 0
    again.reveal(first, at_top=True)
    assert again.cards.first_visible_seq == first
