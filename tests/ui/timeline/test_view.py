"""The timeline in use."""

from __future__ import annotations

from itertools import chain

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QApplication,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.events.summary import Bullet
from helix_desktop.ui.design.labels import SelectableText, TextLine
from helix_desktop.ui.design.layout.disclosure import DisclosureHead
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.design.style.theme import DARK
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.design.viewer.content_viewer import ContentViewer
from helix_desktop.ui.kit.intents import (
    CancelCompaction,
    OpenCacheEntry,
    Redo,
    RedoLast,
    ShowEvent,
    Undo,
    UndoLast,
)
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.ui.timeline.card_data import (
    HandoverCard,
    RunningCard,
    SweepCard,
    TimelineState,
    UsagePoint,
    card_groups,
)
from helix_desktop.ui.timeline.cards import SweepView
from helix_desktop.ui.timeline.chart.usage_chart import downsample, point_text
from helix_desktop.ui.timeline.handover_view import HandoverView
from helix_desktop.ui.timeline.observations_view import ObservationsView
from helix_desktop.ui.timeline.view import FoldView, Timeline
from helix_desktop.words.times import format_exact_duration
from tests.support.galleries.panes_samples import (
    NOW_MS,
    fold_card,
    handover_card,
    long_timeline_state,
    observations_card,
    timeline_state,
    usage_points,
)
from tests.support.intents import performed
from tests.support.timeline_pane import card, open_timeline
from tests.support.window.buttons import find_button, find_buttons
from tests.support.window.keyboard_focus import focused_widget

VERTICAL = Qt.Orientation.Vertical


@pytest.fixture
def pane(qtbot: QtBot) -> Timeline:
    """A timeline with the sample session."""
    return open_timeline(qtbot, timeline_state())


def source_link(root: QWidget, seq: int) -> QAbstractButton:
    """Return a visible link to the message of an event."""
    links = root.findChildren(QAbstractButton, f"source:{seq}")
    return next(link for link in links if not link.isHidden())


def chip(root: QWidget, words: str) -> QAbstractButton:
    """Return the visible chip that links to a source or an output, by its text."""
    buttons = [
        button
        for button in root.findChildren(QAbstractButton)
        if words in button.text() and not button.isHidden()
    ]
    assert buttons, f"no chip {words!r}"
    return buttons[0]


def test_undo_and_redo_are_on_their_cards(qtbot: QtBot, pane: Timeline) -> None:
    """An active rewrite offers Undo, an undone one Redo, sweeps and handovers alike."""
    with performed(pane) as undo:
        find_button(card(pane, 492), "undo").click()
    assert undo == [Undo((492,))]
    with performed(pane) as redo:
        find_button(card(pane, 440), "redo").click()
    assert redo == [Redo((440,))]
    with performed(pane) as sweep:
        find_button(card(pane, 380), "redo").click()
    assert sweep == [Redo((380,))]


def test_cards_say_what_their_summary_does_not_name_and_what_is_undone(pane: Timeline) -> None:
    """What was added below it; "Undone" in words, not by color alone."""
    missing = handover_card(3, 492).missing
    newest = card(pane, 492)
    assert isinstance(newest, HandoverView)
    newest.opener.click()
    (head,) = [
        head for head in card(pane, 492).findChildren(DisclosureHead) if head.text() == missing.heading
    ]
    head.click()
    texts = [text.text() for text in card(pane, 492).findChildren(SelectableText)]
    assert {*chain(*missing.lines)} <= {*texts}
    assert [pill.text() for pill in card(pane, 440).findChildren(Pill) if pill.text() == "Undone"]
    assert not [pill for pill in card(pane, 492).findChildren(Pill) if pill.text() == "Undone"]
    assert card(pane, 440).accessibleName().endswith("Undone")


def test_a_handover_shows_what_is_open_first_and_sources_link_to_events(qtbot: QtBot, pane: Timeline) -> None:
    """Current issues and to-do items before the rest, with source chips; the index links to the cache."""
    view = card(pane, 492)
    assert isinstance(view, HandoverView)
    titles = [line.text for line in view.findChildren(TextLine)]
    assert [title for title in titles if title in TITLES] == ["Current Issues", "TODO Items"]
    assert "In context" in [pill.text() for pill in view.findChildren(Pill)]
    assert "In context" not in [pill.text() for pill in card(pane, 440).findChildren(Pill)]
    view.opener.click()
    assert [fold.head.text() for fold in view.parts][-1] == "Files, commands and errors"
    assert {"Completed Work", "Technical Details"} < {fold.head.text() for fold in view.parts}
    with performed(pane) as source:
        source_link(view, 31).click()
    assert source == [ShowEvent(31)]
    assert chip(view, "No source")
    index = handover_card(3, 492).event.index
    with performed(pane) as digest:
        chip(view, "List of").click()
    assert digest == [OpenCacheEntry(index)]


def test_older_handovers_are_built_when_opened(pane: Timeline) -> None:
    """A folded card has no sections yet; opening makes them, and the card stays open when it changes."""
    view = card(pane, 210)
    assert isinstance(view, HandoverView)
    assert not view.parts
    view.opener.click()
    assert len(view.parts) == 5, "four sections behind the open points, and the list of files"
    state = timeline_state()
    undone = handover_card(1, 210, True)
    cards = tuple(undone if card.seq == 210 else card for card in state.cards)
    pane.set_state(replace(state, cards=cards))
    again = card(pane, 210)
    assert isinstance(again, HandoverView)
    assert again is not view
    assert again.opener.isChecked()


def test_unchanged_cards_are_reused(pane: Timeline) -> None:
    """A new card on top builds one widget, not all."""
    before = {seq: pane.card_widget(seq) for seq in (470, 431, 120)}
    state = timeline_state()
    pane.set_state(replace(state, cards=(SweepCard(500, NOW_MS, 2, 9_900, 9_000), *state.cards)))
    assert {seq: pane.card_widget(seq) for seq in before} == before
    assert pane.card_widget(500) is not None


def test_many_cards_are_built_as_they_become_visible(qtbot: QtBot, pane: Timeline) -> None:
    """Few at first, more on the way down, a requested one at once."""
    cards = tuple(handover_card(number, number * 10) for number in range(120, 0, -1))
    pane.set_state(TimelineState(cards, usage_points(), 14_600, 24_000))
    bar = pane._scroll.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    few = len(pane._card_list._rows)
    assert few < 80

    def more() -> bool:
        bar.setValue(bar.maximum())
        return len(pane._card_list._rows) > few

    qtbot.waitUntil(more)
    pane.reveal(400)
    assert pane.card_widget(400) is not None
    qtbot.waitUntil(lambda: card(pane, 400).mapTo(pane, QPoint(0, 0)).y() < pane.height())


def test_page_keys_scroll_when_the_page_has_the_keyboard(qtbot: QtBot, pane: Timeline) -> None:
    with qtbot.waitExposed(pane):
        pane.activateWindow()
    bar = pane._scroll.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    pane.setFocus()

    focused = focused_widget()
    QTest.keyClick(focused, Qt.Key.Key_PageDown)

    assert bar.value() > 0


def test_the_last_change_is_undone_and_redone_with_the_usual_keys(qtbot: QtBot, pane: Timeline) -> None:
    pane.setFocus()
    with performed(pane) as intents:
        QTest.keySequence(focused_widget(), "Ctrl+Z")
    assert intents == [UndoLast()]
    with performed(pane) as intents:
        QTest.keySequence(focused_widget(), "Ctrl+Shift+Z")
    assert intents == [RedoLast()]


def test_a_running_compaction_displays_its_phase_and_can_be_canceled(qtbot: QtBot, pane: Timeline) -> None:
    """Phase and streamed text; cancel is one click; then it is gone."""
    pane.set_running(RunningCard("summarize", "word " * 400))
    assert pane.running.isVisible()
    assert "Write" in pane.running.steps.accessibleName()
    assert pane.running.text.text().startswith("…")
    with performed(pane) as intents:
        find_button(pane.running, "stop").click()
    assert intents == [CancelCompaction()]
    pane.set_running(None)
    assert not pane.running.isVisible()


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


def test_a_sweep_expands_to_what_was_cached_by_name(qtbot: QtBot, pane: Timeline) -> None:
    view = card(pane, 470)
    assert isinstance(view, SweepView)
    view.unfold()
    assert view.unfold_button.toolTip() == "Hide outputs"
    sweep = timeline_state().cards[1]
    assert isinstance(sweep, SweepCard)
    digest, name = sweep.contents[3]
    with performed(pane) as clicked:
        chip(view, name).click()
    assert clicked == [OpenCacheEntry(digest)]


def test_a_click_on_the_curve_selects_the_event(qtbot: QtBot, pane: Timeline) -> None:
    with performed(pane) as blocker:
        QTest.mouseClick(pane.chart, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint(2, 40))
    assert blocker == [ShowEvent(1)]


def test_thinning_keeps_peaks_and_drops() -> None:
    """A long session's curve has few points, but every rewrite is on it."""
    many = [UsagePoint(seq, seq % 997, "sweep" if seq % 5_000 == 0 else "turn") for seq in range(1, 50_001)]
    few = downsample(many, 1_000)
    assert len(few) < 1_100
    assert sum(point.kind == "sweep" for point in few) == 10
    assert max(point.used for point in few) == 996
    assert few[-1] is many[-1]  # the curve ends at the current usage


def test_dark_theme_reaches_cards_built_later(qtbot: QtBot, pane: Timeline) -> None:
    """A card made after the switch is dark as well."""
    retint(pane, DARK)
    state = timeline_state()
    pane.set_state(replace(state, cards=(SweepCard(500, NOW_MS, 2, 9_900, 9_000), *state.cards)))
    picture = card(pane, 500).grab().toImage()
    assert picture.pixelColor(picture.width() // 2, 4).lightness() < 70


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(340, "340 ms"), (1_240, "1.2 s"), (190_000, "3 min 10 s")]
)
def test_short_durations_are_exact_and_long_ones_readable(milliseconds: int, text: str) -> None:
    """Short durations are exact, long ones readable."""
    assert format_exact_duration(milliseconds) == text


def test_a_fold_displays_its_savings_and_its_note(qtbot: QtBot, pane: Timeline) -> None:
    """Steps, tokens before and after, the note word for word, the way to the index and to the first event."""
    pane.set_state(long_timeline_state())
    view = card(pane, 497)
    assert isinstance(view, FoldView)
    assert view.accessibleName().startswith("28 steps compacted · Context: 23.9k → 14.8k")
    assert fold_card(497).event.text not in [label.text() for label in view.findChildren(SelectableText)]
    view.note.head.click()
    assert [label.text() for label in view.findChildren(SelectableText)][1:] == [fold_card(497).event.text]
    with performed(pane) as digest:
        chip(view, "List of 31 cached outputs").click()
    assert digest == [OpenCacheEntry(fold_card(497).event.index)]
    with performed(pane) as source:
        chip(view, "e12–e148").click()
    assert source == [ShowEvent(12)]
    with performed(pane) as undo:
        find_button(view, "undo").click()
    assert undo == [Undo((497,))]
    pane.set_state(TimelineState((fold_card(497, is_undone=True),), usage_points(), 14_600, 24_000))
    assert card(pane, 497).accessibleName().endswith("Undone")
    assert find_button(card(pane, 497), "redo")
    assert isinstance(again := card(pane, 497), FoldView)
    assert again.note.head.isChecked()


def test_a_long_note_scrolls_in_a_frame_and_is_complete(pane: Timeline) -> None:
    text = "\n".join(f"did: read_file part{n}.txt" for n in range(900))
    pane.set_state(TimelineState((fold_card(5, text=text),), usage_points(), 14_600, 24_000))
    view = card(pane, 5)
    assert isinstance(view, FoldView)
    view.note.head.click()
    frame = view.findChildren(ContentViewer)[0]
    assert frame.height() < 500
    frame.copy_content()
    assert QApplication.clipboard().text() == text


def test_observations_show_facts_by_day_with_priority_and_sources(qtbot: QtBot, pane: Timeline) -> None:
    """Priorities in words, dates as in the window, sources as chips, quotes verbatim, the ledger."""
    pane.set_state(long_timeline_state())
    view = card(pane, 498)
    assert isinstance(view, ObservationsView)
    view.parts[0].head.click()
    pills = [pill.text() for pill in view.findChildren(Pill)]
    priorities = [text for text in pills if text in ("Important", "Useful", "Minor", "Past")]
    assert priorities == ["Important", "Past"], "the usual priority is not named"
    days = [line.text for line in view.findChildren(TextLine) if line.text.startswith("20")]
    assert len(days) == 2
    assert days == sorted(days)
    facts = [bullet.accessibleName() for bullet in view.findChildren(BulletView)]
    assert facts[0] == "Tests must stay green; pytest -q is the check that counts."
    with performed(pane) as source:
        source_link(view, 17).click()
    assert source == [ShowEvent(17)]
    assert chip(view, "No source")
    view.parts[1].head.click()
    assert [label.text() for label in view.findChildren(SelectableText)] == [
        observations_card(498).quotes[0].text
    ]
    assert [part.head.text() for part in view.parts][-1] == "Files, commands and errors"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Open *Settings → Providers* first", "Open Settings → Providers first"),
        ("**Never** run `a*b` (*slow*), 2 * 3 * 4", "Never run a*b (slow), 2 * 3 * 4"),
        ("Look in src/*.py, tests/*.py and *.md or *.rst", "Look in src/*.py, tests/*.py and *.md or *.rst"),
    ],
)
def test_a_sentence_shows_emphasis_and_keeps_patterns(qtbot: QtBot, written: str, shown: str) -> None:
    view = BulletView(Bullet(written))
    qtbot.addWidget(view)
    assert view.accessibleName() == shown


def test_rewrites_inside_a_later_one_are_labeled_and_have_no_undo(pane: Timeline) -> None:
    pane.set_state(long_timeline_state())
    assert [
        pill.text() for pill in card(pane, 464).findChildren(Pill) if pill.text() == "Compacted later"
    ] == ["Compacted later"]
    assert not find_buttons(card(pane, 464), "undo"), "the later one is undone first"


def test_an_overfull_window_is_drawn_to_scale(pane: Timeline) -> None:
    """2.05M, 322k and 38k in a window of 128k: each at its height, each with its value."""
    small = UsagePoint(1, 38_000, "handover", 32_000)
    points = (small, UsagePoint(2, 2_050_000, "turn", 128_000), UsagePoint(3, 322_000, "sweep", 128_000))
    height = pane.chart.sizeHint().height()
    drop, current = UsagePoint(4, 38_000, "handover", 128_000), UsagePoint(4, 61_000, window=128_000)
    pane.set_state(TimelineState((), (*points, drop, current), 61_000, 128_000))
    assert pane.chart.is_overfull
    assert pane.chart.sizeHint().height() > height
    floor = pane.chart.y_of(0)
    largest = floor - pane.chart.y_of(2_050_000)
    drawn = [(floor - pane.chart.y_of(tokens)) / largest for tokens in (322_000, 128_000)]
    assert drawn == pytest.approx([322 / 2_050, 128 / 2_050])
    assert point_text(points[1], 128_000) == "2,050,000 tokens in context · 1,602 % of 128k · e2"
    about = UsagePoint(2, 64_000, window=128_000, is_estimated=True)
    assert point_text(about, 128_000) == "≈ 64,000 tokens in context · ≈ 50 % of 128k · e2"
    words = point_text(small, 128_000)
    assert (
        words == "38,000 tokens in context · 119 % of 32k · after messages were compacted as a handover · e1"
    )
    assert "now 61k of 128k, at most 2.05M, reduced 3 times" in pane.chart.accessibleName()
    pane.set_state(TimelineState((), usage_points(), 14_600, 24_000))
    assert not pane.chart.is_overfull


def test_the_filter_narrows_and_is_cleared_for_a_jump(qtbot: QtBot, pane: Timeline) -> None:
    """Only in a long timeline; each of the five chips shows some cards; a requested card is shown."""
    assert pane.filter_bar.isHidden()
    state = long_timeline_state()
    pane.set_state(state)
    pane.reveal(state.cards[-1].seq)  # builds every card
    assert pane.filter_bar.isVisible()
    chips = pane.filter_bar.findChildren(QAbstractButton)
    assert [chip.text() for chip in chips] == ["All", "Handovers", "Compacted", "Cached", "Yours"]
    for chip in chips:
        chip.click()
        visible_cards = [card_state for card_state in state.cards if pane.card_widget(card_state.seq)]
        group = pane.filter_bar.group
        assert visible_cards == [one for one in state.cards if group is None or group in card_groups(one)]
        assert visible_cards
    handovers_button = pane.filter_bar.findChild(QAbstractButton, "timeline-filter-handovers")
    assert handovers_button is not None
    handovers_button.click()
    visible_cards = [card_state for card_state in state.cards if pane.card_widget(card_state.seq)]
    assert [type(card_state) for card_state in visible_cards] == [HandoverCard] * 3  # no undo of one
    pane.reveal(497)
    assert pane.card_widget(497) is not None
    assert pane.filter_bar.group is None
    find_button(pane.filter_bar, "timeline-filter-yours").click()
    pane.set_state(
        replace(
            state,
            cards=tuple(card_state for card_state in state.cards if "yours" not in card_groups(card_state)),
        )
    )
    assert pane.filter_bar.group is None
    assert pane.card_widget(497) is not None


def test_the_filter_can_be_used_with_keys(qtbot: QtBot, pane: Timeline) -> None:
    pane.set_state(long_timeline_state())
    pane.activateWindow()
    folds = find_button(pane.filter_bar, "timeline-filter-compacted")
    folds.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(folds, Qt.Key.Key_Space)
    assert pane.filter_bar.group == "compacted"
    assert folds.isChecked()


def test_a_narrow_timeline_fits_its_width(pane: Timeline) -> None:
    pane.resize(420, 700)
    pane.set_state(long_timeline_state())
    for card_state in long_timeline_state().cards:
        widget = pane.card_widget(card_state.seq)
        if widget is not None:
            assert widget.minimumSizeHint().width() < 340, type(card_state).__name__


@pytest.mark.parametrize("seq", [498, 460, 120])
def test_a_card_is_brought_into_sight_in_a_timeline_that_was_not_laid_out_yet(
    qtbot: QtBot, pane: Timeline, seq: int
) -> None:
    pane.set_state(long_timeline_state())
    pane.reveal(seq)
    qtbot.waitUntil(lambda: 0 < card(pane, seq).mapTo(pane, QPoint(0, 0)).y() < pane.height())
    bar = pane._scroll.verticalScrollBar()
    bar.triggerAction(QAbstractSlider.SliderAction.SliderToMinimum)
    pane.set_state(
        replace(
            long_timeline_state(),
            cards=(SweepCard(600, NOW_MS, 2, 9_900, 9_000), *long_timeline_state().cards),
        )
    )
    qtbot.waitUntil(lambda: card(pane, 600).isVisible() and card(pane, 600).y() > 0)
    assert bar.value() == 0


def test_the_author_pill_states_calls_and_prompt(pane: Timeline) -> None:
    """Calls, instructions, the user's own changes; the reason for a fallback."""
    card_5 = handover_card(1, 5, model="gpt-oss:20b", demo=False, calls=3, prompt="handover 2", edited=True)
    card_9 = observations_card(9, calls=2, prompt="observe 1", fallback="The first model said nothing.")
    pane.set_state(TimelineState((card_9, card_5), usage_points(), 14_600, 24_000))
    newest = card(pane, 5)
    assert isinstance(newest, HandoverView)
    newest.opener.click()
    pills = {pill.text(): pill.toolTip() for pill in newest.findChildren(Pill)}
    assert pills["gpt-oss:20b · 3 calls"] == "Prompt version: handover 2"
    assert "Edited by you" in pills
    pills = {pill.text(): pill.toolTip() for pill in card(pane, 9).findChildren(Pill)}
    assert pills["gpt-oss:20b · 2 calls"] == "The first model said nothing.\nPrompt version: observe 1"


def test_all_that_can_be_pressed_is_reached_with_tab_and_has_a_name(pane: Timeline) -> None:
    pane.set_state(long_timeline_state())
    for seq in (498, 497, 496, 495, 494, 468, 460):
        view = card(pane, seq)
        assert view.accessibleName()
        for button in view.findChildren(QAbstractButton):
            if button.testAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents) or button.isHidden():
                continue
            assert button.focusPolicy() & Qt.FocusPolicy.TabFocus, (seq, button.text())
            assert button.accessibleName() or button.text().strip(), seq


def test_the_scroll_position_in_a_long_timeline_is_restored(qtbot: QtBot, pane: Timeline) -> None:
    pane.set_state(long_timeline_state())
    bar = next(slider for slider in pane.findChildren(QAbstractSlider) if slider.orientation() == VERTICAL)
    qtbot.waitUntil(lambda: bar.maximum() > 1_000)
    bar.setValue(900)
    first = pane.first_visible_seq
    assert first
    again = Timeline(lambda: NOW_MS)
    qtbot.addWidget(again)
    again.resize(800, 700)
    again.set_state(long_timeline_state())
    again.show()
    assert again.first_visible_seq == 0
    again.reveal(first, at_top=True)
    qtbot.waitUntil(lambda: again.first_visible_seq == first)
