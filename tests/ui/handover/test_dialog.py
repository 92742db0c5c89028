"""The dialog of a manual handover in use."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QPoint, Qt, QTimer
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QScrollArea,
    QStyleOptionComboBox,
    QStyleOptionViewItem,
    QWidget,
)
from pytestqt.qtbot import QtBot

from helix_desktop.agent.window.handover_writer import CountedPart
from helix_desktop.context.summaries.handover import CutPoint, HandoverPart, available_cuts
from helix_desktop.context.summaries.handover_revision import compare_handovers
from helix_desktop.domain.events.summary import Bullet, Section
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.design.tab_order import tab_stops
from helix_desktop.ui.handover.compare_dialog import ComparedPair
from helix_desktop.ui.handover.dialog import (
    DraftRow,
    HandoverDialog,
    HandoverRange,
    SentDraft,
    handover_ranges,
    sent_draft,
    sweep_note,
)
from tests.support.galleries.compare_gallery import compare_dialog, edit_dialog
from tests.support.histories import SessionSimulator, build_history, histories
from tests.support.window.buttons import press

SECTIONS = "## Project Background\n- A thing. [e2]\n"
SENT = SentDraft(f"{SECTIONS}\nr a.py 9f3ac21e e31", "The model gets 1.4k tokens: sections 114, note 90")
DRAFT = DraftRow(SECTIONS, 104_200, 31_400, "46 messages", SENT, "gpt-oss:20b", "", 13_400)


@pytest.fixture
def dialog(qtbot: QtBot) -> Iterator[HandoverDialog]:
    """The dialog over a window, with two ranges."""
    parent = QWidget()
    qtbot.addWidget(parent)
    handover_dialog = HandoverDialog(parent)
    handover_dialog.show_ranges([HandoverRange(148, "As far as possible"), HandoverRange(96, "Up to e96")])
    with qtbot.waitExposed(handover_dialog):
        handover_dialog.show()
    yield handover_dialog
    handover_dialog.blockSignals(True)
    handover_dialog.done(0)


def visible(dialog: HandoverDialog) -> set[str]:
    """Return the labels of the visible buttons at the bottom."""
    return {
        button.text()
        for button in (dialog.cancel_button, dialog.draft_button, dialog.commit_button)
        if not button.isHidden()
    }


def test_the_write_request_has_range_and_focus(qtbot: QtBot, dialog: HandoverDialog) -> None:
    assert visible(dialog) == {"Cancel", "Write draft"}
    dialog.range_box.setCurrentIndex(1)
    QTest.keyClicks(dialog.focus_input, " the open questions ")
    with qtbot.waitSignal(dialog.write_requested) as blocker:
        QTest.keyClick(dialog.focus_input, Qt.Key.Key_Return)
    assert blocker.args == ["the open questions", 96]


def test_it_is_as_high_as_the_choice_and_grows_for_a_draft(dialog: HandoverDialog) -> None:
    hint = next(words for words in dialog.findChildren(QLabel) if words.text().startswith("Write a draft"))
    below = dialog.draft_button.mapTo(dialog, QPoint(0, 0)).y() - hint.mapTo(dialog, QPoint(0, 0)).y()
    assert below < 3 * dialog.draft_button.height()
    free = dialog.screen().availableGeometry()
    dialog.move(0, free.bottom() - dialog.height())
    dialog.show_draft(DRAFT)
    assert dialog.height() == 720
    assert free.contains(dialog.geometry())


def test_in_a_low_window_what_is_said_of_a_draft_scrolls(qtbot: QtBot, dialog: HandoverDialog) -> None:
    rules = tuple(Bullet(" · ".join([f"Never push {seq}."] * 12), (seq,)) for seq in (2, 3, 4, 5))
    draft = replace(DRAFT, missing=rules)
    dialog.show_draft(draft)
    dialog.show_problem("The edited handover can't be read. " * 8)
    (facts,) = (
        area for area in dialog.findChildren(QScrollArea) if area.accessibleName() == "About the draft"
    )
    dialog.resize(780, 1_000)
    bar = facts.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() == 0 and facts.height() > facts.minimumHeight())
    assert facts.focusPolicy() == Qt.FocusPolicy.NoFocus
    dialog.resize(780, dialog.minimumHeight())
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    assert dialog.height() < 640
    assert facts.focusPolicy() == Qt.FocusPolicy.StrongFocus
    bottom = dialog.commit_button.mapTo(dialog, QPoint(0, dialog.commit_button.height())).y()
    assert bottom < dialog.height()


def test_it_is_small_again_after_writing_has_failed(dialog: HandoverDialog) -> None:
    small = dialog.height()
    dialog.show_writing("read")
    assert dialog.height() == 720
    dialog.show_choice()
    dialog.show_problem("The model didn't answer.")
    assert dialog.height() == small


def test_a_draft_that_says_the_same_is_shown_as_text(dialog: HandoverDialog) -> None:
    dialog.show_draft(DRAFT)
    section = Section("Project Background", (Bullet("A thing.", (2,)),))
    dialog.draft_page.show_comparison(compare_handovers([section], []))
    assert dialog.draft_page.is_comparing
    dialog.draft_page.show_comparison(compare_handovers([section], [section]))
    assert dialog.draft_page.counts.text() == "No differences"
    assert not dialog.draft_page.is_comparing
    assert dialog.draft_page.switch_button.isHidden()  # there is nothing to show
    QTest.keyClicks(dialog.draft_page.editor, "x")
    assert dialog.draft_page.counts.text() == "Edited"
    assert not dialog.draft_page.switch_button.isHidden()


def test_the_writing_streams_and_can_be_stopped(qtbot: QtBot, dialog: HandoverDialog) -> None:
    dialog.show_writing("read")
    assert visible(dialog) == {"Stop"}
    assert not dialog.range_box.isEnabled()
    for end in (8, 20, len(SECTIONS)):
        dialog.show_writing("summarize", SECTIONS[:end])
        assert dialog.model_output.toPlainText() == SECTIONS[:end]
    dialog.show_writing("summarize", "## Begun anew")
    assert dialog.model_output.toPlainText() == "## Begun anew"
    assert dialog.phase_steps.accessibleName() == "Write, step 2 of 4"
    with qtbot.waitSignal(dialog.cancel_requested):
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    dialog.show_choice()
    assert dialog.step == "choose"


def test_the_counts_of_a_range_are_whole_in_the_box_and_in_its_list(
    qapp: QApplication, dialog: HandoverDialog
) -> None:
    Appearance(qapp).apply_stylesheet()
    counts = " · 2,963 messages, 5,137 tool calls · 56.9k tokens in context"
    name = "Up to “Edit /Users/someone/Work/a-folder…” (e11739)"
    box = dialog.range_box
    dialog.show_ranges([HandoverRange(n, f"{name}{n}{counts}", f"{n}{counts}") for n in range(10, 50)])
    option = QStyleOptionComboBox()
    box.initStyleOption(option)
    start, dots, end = option.currentText.rpartition("…")
    assert (name.startswith(start), dots, end) == (True, "…", f"10{counts}")
    box.showPopup()
    view, index = box.view(), box.model().index(0, 0)
    row = QStyleOptionViewItem()
    view.initViewItemOption(row)
    bar = view.verticalScrollBar()
    room = view.viewport().width() - (0 if bar.isVisible() else bar.sizeHint().width())
    assert view.itemDelegate().sizeHint(row, index).width() <= room
    box.hidePopup()


def test_a_draft_names_what_is_cached_along_with_it(dialog: HandoverDialog) -> None:
    dialog.show_draft(replace(DRAFT, sweep_note=sweep_note(31_400)))
    assert any("31.4k tokens are old outputs" in words.text() for words in dialog.findChildren(QLabel))
    assert sweep_note(0) == ""


def test_the_parts_of_a_draft_add_up() -> None:
    parts = [CountedPart(HandoverPart(kind, ""), 5) for kind in ("sections", "ledger", "missing")]
    assert sent_draft(parts).sizes == (
        "The model gets 15 tokens: sections 5, files, commands and errors 5, what they leave out 5"
    )


def test_a_draft_can_be_changed_and_handed_over(qtbot: QtBot, dialog: HandoverDialog) -> None:
    dialog.show_draft(DRAFT)
    assert visible(dialog) == {"Cancel", "Write again", "Compact"}
    pills = [pill.text() for pill in dialog.findChildren(Pill) if pill.isVisible()]
    assert pills == ["104k → 31.4k tokens", "46 messages", "gpt-oss:20b", "13.4 s"]
    dialog.editor.appendPlainText("- Mine.")
    with qtbot.waitSignal(dialog.commit_requested) as blocker:
        dialog.commit_button.click()
    assert blocker.args == [dialog.editor.toPlainText()]
    assert blocker.args[0].endswith("- Mine.")
    with qtbot.waitSignal(dialog.commit_requested):
        QTest.keyClick(dialog.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)


def test_all_that_the_model_gets_can_be_read_in_place_of_the_text(dialog: HandoverDialog) -> None:
    """The dialog keeps its size, and the text to edit its room."""
    dialog.show_draft(DRAFT)
    page, size = dialog.draft_page, dialog.size()
    sizes = dialog.findChild(QLabel, "draft-sizes")
    assert sizes is not None
    assert sizes.text() == SENT.sizes
    page.sent_button.click()
    assert (page.sent_view.isVisible(), page.sent_view.toPlainText()) == (True, SENT.text)
    assert (page.sent_view.isReadOnly(), dialog.size()) == (True, size)
    page.sent_button.click()
    dialog.editor.appendPlainText("- Mine.")
    assert sizes.text() == f"{SENT.sizes} · before your edits"
    page.sent_button.click()
    assert page.sent_view.toPlainText() == f"{SECTIONS}\n- Mine.\nr a.py 9f3ac21e e31", "with the edits"


def test_the_reason_for_another_model_is_displayed(dialog: HandoverDialog) -> None:
    note = "The summary model's window is too small; the live model was asked."
    dialog.show_draft(DraftRow(SECTIONS, 9, 3, "1 message", SentDraft(), "gpt-oss:20b", note, 5))
    assert note in [label.text() for label in dialog.findChildren(QLabel) if label.isVisible()]


def test_an_error_is_displayed_in_place_and_no_input_is_lost(dialog: HandoverDialog) -> None:
    dialog.show_draft(DRAFT)
    dialog.editor.setPlainText("## Nonsense")
    dialog.show_problem("The edited handover cannot be read.")
    assert dialog.problem == "The edited handover cannot be read."
    assert dialog.editor.toPlainText() == "## Nonsense"
    QTest.keyClicks(dialog.editor, "x")  # what it said is of the text before
    assert dialog.problem == ""


def test_escape_closes_a_changed_draft_which_is_kept_as_it_stands(
    qtbot: QtBot, dialog: HandoverDialog
) -> None:
    dialog.show_draft(DRAFT)
    dialog.editor.appendPlainText("- Mine.")
    left = dialog.editor.toPlainText()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    dialog.show_saved_draft(DRAFT, 0, left, "the tests")
    assert (dialog.step, dialog.editor.toPlainText()) == ("draft", left)
    assert dialog.focus_input.text() == "the tests"


def test_an_untouched_draft_closes_at_once(dialog: HandoverDialog) -> None:
    dialog.show_draft(DRAFT)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_tab_leaves_the_text_for_the_buttons(dialog: HandoverDialog) -> None:
    dialog.activateWindow()
    dialog.show_draft(DRAFT)
    QTest.keyClick(dialog.editor, Qt.Key.Key_Tab)
    assert "\t" not in dialog.editor.toPlainText()
    names = [widget.accessibleName() for widget in (dialog.editor, dialog.model_output)]
    assert all(names)
    assert dialog.range_box.accessibleName() == "Range"
    assert dialog.focus_input.accessibleName() == "Focus"


def test_ranges_state_their_end_and_size() -> None:
    simulator = build_history(4)
    upto = simulator.transcript.messages.items[4].seq
    last = simulator.transcript.messages.items[-1].seq
    ranges = list(
        handover_ranges([CutPoint(last, 0, 9, 8_200), CutPoint(upto, 0, 1, 1_800)], simulator.transcript)
    )
    every = simulator.transcript.messages.counts().text
    counts = f" · {every} · 8.2k tokens in context"
    assert ranges[0] == HandoverRange(last, f"As far as possible{counts}", counts)
    assert ranges[1].upto == upto
    assert f"” (e{upto}) · " in ranges[1].text
    assert ranges[1].text.endswith("messages, 2 tool calls · 1.8k tokens in context")


def test_a_range_counts_the_handover_that_it_would_replace() -> None:
    """Its messages are counted, so what stands for them is, too."""
    simulator = build_history(9)
    made = simulator.handover_at(available_cuts(simulator.transcript, 0)[0])
    simulator.record(msgspec.structs.replace(made, tokens=1_900))
    cut = CutPoint(simulator.transcript.messages.items[-1].seq, 0, 5, 1_800)
    (compacted,) = handover_ranges([cut], simulator.transcript)
    assert compacted.text.endswith(" · 3.7k tokens in context")
    (again,) = handover_ranges([cut], simulator.transcript, is_same_first=True)
    assert again.text.startswith("The same messages · ")
    assert "in context" not in again.text, "its messages left the context"


@given(histories())
def test_ranges_count_the_same_messages_as_the_card_afterwards(simulator: SessionSimulator) -> None:
    """Also behind an earlier handover, and inside a turn whose message stays."""
    legal = available_cuts(simulator.transcript, 0)
    for cut, handover_range in zip(legal, handover_ranges(legal, simulator.transcript), strict=True):
        handover = simulator.handover_at(cut)
        assert f" · {handover.messages:,} message" in handover_range.text


def test_esc_cancels_what_is_composed_in_any_section_and_leaves_the_editor_open(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    editing = edit_dialog(parent)
    with qtbot.waitExposed(editing):
        editing.show()
    for section in editing.sections:
        before = section.text
        QCoreApplication.sendEvent(section.editor, QInputMethodEvent("hao", []))
        assert section.editor.composition == "hao"
        QTest.keyClick(section.editor, Qt.Key.Key_Escape)
        assert (section.editor.composition, section.text) == ("", before)
    assert editing.isVisible()
    editing.done(0)


def test_tab_goes_from_field_to_field_of_the_editor(qtbot: QtBot) -> None:
    """The area around them was a stop, whose ring cut through the text."""
    parent = QWidget()
    qtbot.addWidget(parent)
    editing = edit_dialog(parent)
    editing.resize(820, 480)
    with qtbot.waitExposed(editing):
        editing.show()
    stops = list(tab_stops(editing))
    assert set(stops) >= {section.editor for section in editing.sections}
    assert not [stop for stop in stops if isinstance(stop, QScrollArea)]
    editing.done(0)


def test_a_comparison_keeps_its_height_when_nothing_differs_any_more(qtbot: QtBot) -> None:
    """The last sentence was put back: what is under the pointer stays there."""
    parent = QWidget()
    qtbot.addWidget(parent)
    comparison = compare_dialog(parent)
    with qtbot.waitExposed(comparison):
        comparison.show()
    height = comparison.height()
    comparison.show_pair(ComparedPair((), "No differences"))
    assert comparison.height() == height


def test_an_instruction_that_the_draft_does_not_say_is_quoted_and_added_with_one_click(
    dialog: HandoverDialog,
) -> None:
    """Nothing is said of conclusions, files or numbers; what is said in other words is no news either."""
    rule = Bullet("Never push to main without a review.", (7,))
    dialog.show_draft(replace(DRAFT, missing=(rule,)))
    quotes = [
        words.text() for words in dialog.findChildren(QLabel) if words.text().startswith("Not in the text")
    ]
    assert quotes == ["Not in the text: “Never push to main without a review.”"]
    press(dialog, "add-rule:7")
    text = dialog.editor.toPlainText()
    assert text.partition("## User Preferences")[2].rstrip().endswith(f"- {rule.text} [e7]")
    assert text.count("## ") == max(1, DRAFT.text.count("## ") + ("## User Preferences" not in DRAFT.text))
    assert not any(words.isVisible() and words.text() in quotes for words in dialog.findChildren(QLabel))


def test_while_the_model_reads_the_page_says_so(dialog: HandoverDialog, qtbot: QtBot) -> None:
    """Else it is empty for as long as the model says nothing."""
    dialog.show_writing("read")
    said = dialog.model_output.placeholderText()
    assert said.startswith("The model reads the messages.")
    assert "Waiting for 0 s. Stop changes nothing." in said
    qtbot.waitUntil(lambda: dialog.model_output.placeholderText() != said)
    dialog.show_draft(DRAFT)
    assert not any(timer.isActive() for timer in dialog.findChildren(QTimer) if timer.interval() == 1_000)
