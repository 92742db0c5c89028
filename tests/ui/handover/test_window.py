"""The window of the handovers in use, over a session that stands still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from PySide6.QtCore import QCoreApplication, Qt, QTimer
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QPushButton,
    QScrollArea,
    QStyleOptionViewItem,
    QWidget,
)
from pytestqt.qtbot import QtBot

from helix_desktop.agent.compaction.handover_writer import HandoverScope
from helix_desktop.context.summaries.handover_revision import fields_to_markdown, markdown_to_fields
from helix_desktop.context.summaries.legal_ranges import HandoverRange, legal_ranges
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.ui.design.cards import Disclosure, Pill
from helix_desktop.ui.design.focus import tab_stops
from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.handover.drafts import sweep_note
from helix_desktop.ui.handover.range_choice import RangeItem, range_items
from helix_desktop.ui.handover.versions import DRAFT, FORMER_DRAFT, NOW
from helix_desktop.ui.handover.window import HandoverWindow
from helix_desktop.ui.kit.intents import ContinueSession, CopyText, Intent
from helix_desktop.words.times import format_moment
from tests.support.galleries.handover_gallery import (
    RULE,
    SampleConversation,
    Stage,
    handover_window,
    sample_draft,
)
from tests.support.histories import SessionSimulator, build_history, histories
from tests.support.window.buttons import press
from tests.support.window.handover_window import choose_version, compare_with, section, shown_text


class Opener(QWidget):
    """What the window was opened from: it keeps the intents that go up."""

    def __init__(self) -> None:
        super().__init__()
        self.intents: list[Intent] = []

    def perform(self, intent: Intent) -> None:
        self.intents.append(intent)


@pytest.fixture
def opener(qtbot: QtBot) -> Opener:
    widget = Opener()
    qtbot.addWidget(widget)
    return widget


@pytest.fixture
def sample() -> SampleConversation:
    return SampleConversation()


@pytest.fixture
def window(
    request: pytest.FixtureRequest, qtbot: QtBot, opener: Opener, sample: SampleConversation
) -> Iterator[HandoverWindow]:
    """The window at a stage, "draft" unless the test names another one."""
    stage: Stage = getattr(request, "param", "draft")
    handovers = handover_window(opener, stage, sample=sample)
    with qtbot.waitExposed(handovers):
        handovers.show()
    yield handovers
    handovers.done(0)


def at(stage: Stage) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("window", [stage], indirect=True)


def buttons(window: HandoverWindow) -> list[str]:
    """Return the labels of the buttons at the bottom; the highlighted one has a star."""
    parts = (
        window.close_button, window.stop_button, window.write_button, window.save_button,
        window.session_button, window.use_button,
    )  # fmt: skip
    return [
        part.text().partition(" of ")[0] + "*" * (part.property("kind") == "primary")
        for part in parts
        if not part.isHidden()
    ]


def words(window: HandoverWindow, name: str) -> list[str]:
    return [part.text() for part in window.findChildren(QLabel, name) if part.isVisible()]


def pills(window: HandoverWindow) -> list[str]:
    return [pill.text() for pill in window.findChildren(Pill) if pill.isVisible() and pill.text()]


@at("now")
def test_versions_are_listed_with_their_states_and_chosen_by_arrows(
    window: HandoverWindow, sample: SampleConversation
) -> None:
    listed = [(version.seq, version.title, version.state) for version in window.versions.versions]
    assert listed == [
        (NOW, "If you compact now", ""),
        (sample.undone.seq, "Handover summary of 8 tool calls of turn 1 (2)", "Undone"),
        (sample.revised.seq, "Handover summary of 8 tool calls of turn 1, edited", "In context"),
        (sample.first.seq, "Handover summary of 8 tool calls of turn 1", ""),
    ]
    window.versions.setFocus()
    for _ in range(2):
        QTest.keyClick(window.versions, Qt.Key.Key_Down)
    revised = (sample.revised.seq, "Handover summary of 8 tool calls of turn 1, edited")
    assert (window.seq, window.title.text()) == revised
    assert window.comparison.other_box.currentData() == sample.first.seq, "the one before it"


@pytest.mark.parametrize(
    ("window", "labels"),
    [
        ("now", ["Close", "Have the model write it", "New session", "Compact*"]),
        ("writing", ["Close", "Stop"]),
        ("draft", ["Close", "Write again", "Compact*"]),
        ("draft for a new session", ["Close", "Write again", "Start new session*"]),
        ("draft again", ["Close", "Write again", "Replace*"]),
        ("edited", ["Close", "Write again", "Save changes*", "New session from this"]),
        ("replaced", ["Close", "New session from this*"]),
        ("undone", ["Close", "New session from this*"]),
    ],
    indirect=["window"],
)
def test_each_version_offers_what_can_be_done_with_it(window: HandoverWindow, labels: list[str]) -> None:
    assert buttons(window) == labels


@at("replaced")
def test_what_is_replaced_is_read_and_leads_to_the_one_that_is_active(
    window: HandoverWindow, sample: SampleConversation
) -> None:
    assert window.fields == []
    note = words(window, "version-note")[0]
    assert note.startswith("“Handover summary of 8 tool calls of turn 1, edited” replaces this one")
    press(window, "edit-action")
    assert window.seq == sample.revised.seq
    assert {field.title for field in window.fields} == {*TITLES}


@at("replaced")
def test_what_was_open_then_is_said_to_be_of_then(window: HandoverWindow, sample: SampleConversation) -> None:
    """To read and to edit, as messages came since; of what is done it isn't said."""
    known = sample.transcript.messages.item(sample.event.upto)
    assert known is not None
    as_of = f"as of {format_moment(known.at_ms)}"

    def titled() -> list[str]:
        times = [part for part in window.findChildren(QLabel) if part.text() == as_of and part.isVisible()]
        parents = [parent for time in times if (parent := time.parentWidget()) is not None]
        return sorted(
            part.text() for parent in parents for part in parent.findChildren(QLabel) if part.text() in TITLES
        )

    assert titled() == ["Current Issues"]
    choose_version(window, sample.revised.seq)
    assert titled() == ["Current Issues", "TODO Items"]


@at("edited")
def test_what_was_typed_stays_while_other_versions_are_read(
    window: HandoverWindow, sample: SampleConversation
) -> None:
    typed = shown_text(window)
    for seq in (sample.first.seq, NOW, sample.revised.seq):
        choose_version(window, seq)
    assert shown_text(window) == typed
    choose_version(window, NOW)
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert window.isVisible()
    assert (window.seq, "aren't saved" in window.problem) == (sample.revised.seq, True)
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert not window.isVisible()


@at("edited")
def test_items_are_put_back_into_their_section_and_the_keyboard_goes_to_the_next(
    window: HandoverWindow, sample: SampleConversation
) -> None:
    dropped = [button.accessibleName() for button in window.comparison.buttons]
    assert len(dropped) == 2
    first = window.comparison.buttons[1]
    assert "pytest" in dropped[1]
    first.setFocus()
    first.click()
    assert section(window, "Technical Details").text.endswith("\n- Tests run with pytest -q -n 3. [e14]")
    (left,) = window.comparison.buttons
    assert left.accessibleName() in dropped
    assert left.hasFocus()
    left.click()
    assert window.comparison.buttons == []
    assert window.comparison.other_box.hasFocus()
    QTest.keyClick(
        section(window, "Technical Details").editor, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier
    )
    compare_with(window, sample.first.seq)
    assert len(window.comparison.buttons) == 1, "the field's own undo takes it out again"
    press(window, "compare")
    assert not window.comparison.isVisible()
    press(window, "compare")
    assert window.comparison.other_box.currentData() == sample.first.seq, "the one before it"


@at("edited")
def test_an_error_is_displayed_in_place_and_goes_once_something_is_typed(window: HandoverWindow) -> None:
    assert window.problem.startswith("The edited handover summary can't be read.")
    before = shown_text(window)
    QTest.keyClicks(window.fields[0].editor, "x")
    assert (window.problem, "x" in shown_text(window), len(before)) == ("", True, len(shown_text(window)) - 1)


@at("now")
def test_now_says_what_would_be_replaced_and_compares_on_request(
    window: HandoverWindow, sample: SampleConversation
) -> None:
    note = words(window, "version-note")[0]
    assert note.startswith("Replaces 8 messages, 8 tool calls. Context: 104k → 31.4k tokens.")
    assert window.fields == []
    assert not window.comparison.isVisible()
    press(window, "compare")
    assert window.comparison.other_box.currentData() == sample.revised.seq, "the one in the context"
    window.ranges.focus.setText("the renderer")
    assert window.write_button.property("kind") == "primary", "a focus is for the model"
    window.ranges.focus.clear()
    window.ranges.box.setCurrentIndex(1)
    assert not window.use_button.isEnabled(), "the text is of another range"
    assert window.use_button.property("kind") == "primary"


@at("edited")
def test_reset_brings_the_first_text_back(window: HandoverWindow) -> None:
    details = section(window, "Technical Details")
    assert details.pill.isVisible()
    details.reset_button.click()
    assert details.text.count("\n") == 2
    assert not details.pill.isVisible()
    assert details.editor.hasFocus()


def test_a_draft_has_its_figures_and_what_comes_with_it(window: HandoverWindow) -> None:
    assert {"local/gpt-oss:20b", "13.4 s"} <= {*pills(window)}
    notes = words(window, "version-note")
    assert any("Context: 104k → 31.4k tokens." in note for note in notes)
    assert any("31.4k tokens are older outputs" in note for note in notes)
    assert any("the live model was asked" in note for note in notes)
    assert words(window, "draft-warning")[0].startswith("This draft may say too little. It is shorter")
    assert sweep_note(0) == ""


def test_all_that_the_model_gets_can_be_read_with_the_edits(window: HandoverWindow) -> None:
    window.fields[0].editor.appendPlainText("- Mine.")
    below = next(
        part for part in window.findChildren(Disclosure) if part.head.text() == "What the model gets"
    )
    assert below.head.full_text().endswith("400 tokens: sections 330, files, commands and errors 70")
    below.head.click()
    (sent,) = (part.text() for part in below.findChildren(SelectableText))
    assert "- Mine." in sent
    assert sent.endswith("$ pytest -q (exit 0)")


def test_an_instruction_that_the_draft_does_not_say_is_quoted_and_added_with_one_click(
    window: HandoverWindow,
) -> None:
    assert words(window, "missing-rule") == [f"Not in the text: “{RULE.text}”"]
    press(window, "add-rule:7")
    assert section(window, "User Preferences").text == f"- {RULE.text} [e7]"
    assert words(window, "missing-rule") == []


def test_a_draft_that_is_written_again_leaves_its_text_to_be_put_back(
    window: HandoverWindow, sample: SampleConversation
) -> None:
    """So nothing that was typed into the former one is lost."""
    assert window.comparison.other_box.currentData() == sample.revised.seq
    window.fields[0].editor.setPlainText("- My own sentence.")
    window.keep_former_draft()
    window.show_draft(*sample_draft(sample.event), HandoverScope())
    assert "My own" not in shown_text(window)
    assert window.comparison.other_box.currentData() == FORMER_DRAFT
    (button,) = window.comparison.buttons
    button.click()
    assert window.fields[0].text == "- My own sentence."


@at("writing")
def test_the_writing_streams_while_another_version_is_read(
    qtbot: QtBot, window: HandoverWindow, sample: SampleConversation
) -> None:
    text = window.model_output.toPlainText()
    window.show_phase("summarize", text + "- One more.")
    assert window.model_output.toPlainText() == text + "- One more."
    window.show_phase("summarize", "## Begun anew")
    assert window.model_output.toPlainText() == "## Begun anew"
    assert window.phase_steps.accessibleName() == "Write, step 2 of 4"
    choose_version(window, sample.revised.seq)
    assert not window.model_output.isVisible()
    assert not window.write_button.isEnabled(), "one is written at a time"
    choose_version(window, DRAFT)
    assert window.model_output.isVisible()
    said = window.model_output.placeholderText()
    assert said.startswith("The model reads the messages.")
    qtbot.waitUntil(lambda: window.model_output.placeholderText() != said)
    window.show_draft(*sample_draft(sample.event), HandoverScope())
    assert not any(timer.isActive() for timer in window.findChildren(QTimer) if timer.interval() == 1_000)


def test_a_draft_is_used_for_its_own_range_alone(window: HandoverWindow) -> None:
    window.ranges.box.setCurrentIndex(1)
    assert words(window, "draft-range")[0].startswith(
        "This draft and its figures are for another range: As far"
    )
    assert not window.use_button.isEnabled()
    assert window.write_button.property("kind") == "primary"
    press(window, "draft-range-back")
    assert (words(window, "draft-range"), window.use_button.isEnabled()) == ([], True)


def test_the_ranges_are_whole_in_their_list(qapp: QApplication, window: HandoverWindow) -> None:
    Appearance(qapp).apply_stylesheet()
    name = "Up to “Edit /Users/someone/Work/a-folder…” (e11739) · 2,963 messages, 5,137 tool calls"
    box = window.ranges.box
    box.setFixedWidth(200)
    window.ranges.show_ranges(0, [RangeItem(n, f"{name}{n}") for n in range(10, 50)])
    box.showPopup()
    view = box.view()
    index = box.model().index(0, 0)
    row = QStyleOptionViewItem()
    view.initViewItemOption(row)
    bar = view.verticalScrollBar()
    room = view.viewport().width() - (0 if bar.isVisible() else bar.sizeHint().width())
    assert view.itemDelegate().sizeHint(row, index).width() <= room
    box.hidePopup()


@at("edited")
def test_a_copy_has_the_files_and_commands_too(
    window: HandoverWindow, opener: Opener, sample: SampleConversation
) -> None:
    press(window, "copy")
    (copied,) = opener.intents
    assert isinstance(copied, CopyText)
    assert copied.text.startswith("## ")
    assert "A sentence more." in copied.text
    assert sample.event.ledger
    assert copied.text.endswith(f"```\n{sample.event.ledger}\n```\n")
    assert window.isVisible()


@at("now")
def test_what_shows_something_behind_the_window_closes_it(window: HandoverWindow, opener: Opener) -> None:
    press(window, "start_session")
    assert not window.isVisible()
    assert opener.intents == [ContinueSession(0)]


@at("edited")
def test_esc_cancels_what_is_composed_in_a_section_and_leaves_the_window_open(
    window: HandoverWindow,
) -> None:
    for field in window.fields:
        before = field.text
        QCoreApplication.sendEvent(field.editor, QInputMethodEvent("hao", []))
        assert field.editor.composition == "hao"
        QTest.keyClick(field.editor, Qt.Key.Key_Escape)
        assert (field.editor.composition, field.text) == ("", before)
    assert window.isVisible()


@at("edited")
def test_tab_goes_to_everything_in_reading_order_and_everything_has_a_name(window: HandoverWindow) -> None:
    """The area around the fields is no stop: its ring would cut through the text."""
    window.resize(820, 480)
    stops = list(tab_stops(window))
    editors = [field.editor for field in window.fields]
    assert [stop for stop in stops if stop in editors] == editors
    assert {window.versions, window.comparison.other_box, window.ranges.box, window.ranges.focus} <= {*stops}
    assert not [
        stop for stop in stops if isinstance(stop, QScrollArea) and stop.accessibleName() == "Sections"
    ]
    names = [
        stop.accessibleName() or (stop.text() if isinstance(stop, QPushButton | Pill) else "")
        for stop in stops
        if not isinstance(stop.parent(), Disclosure)
    ]
    assert all(names), names
    QTest.keyClick(editors[0], Qt.Key.Key_Tab)
    assert "\t" not in editors[0].toPlainText()


def test_a_field_is_as_high_as_its_lines(qtbot: QtBot, window: HandoverWindow) -> None:
    details = section(window, "Technical Details").editor
    details.appendPlainText("\n".join(f"- `code_{number}` in a line. [e4]" for number in range(40)))
    qtbot.waitUntil(lambda: details.verticalScrollBar().maximum() == 0)
    assert details.height() > 40 * details.fontMetrics().lineSpacing()


def test_sections_become_markdown_and_back() -> None:
    fields = dict.fromkeys(TITLES, "") | {TITLES[0]: "- A. [e2]\n- B.", TITLES[5]: "- C."}
    assert markdown_to_fields(fields_to_markdown(fields)) == fields
    left = markdown_to_fields("before\n## Nonsense\n- D.\n## TODO Items\n- (nothing recorded)\n- E.")
    assert (left[TITLES[0]], left["TODO Items"]) == ("before\n## Nonsense\n- D.", "- E.")


def test_ranges_state_their_end_and_size() -> None:
    simulator = build_history(4)
    upto = simulator.transcript.messages.items[4].seq
    last = simulator.transcript.messages.items[-1].seq
    ranges = list(
        range_items(
            [HandoverRange(last, 0, 9, 8_200), HandoverRange(upto, 0, 1, 1_800)], simulator.transcript
        )
    )
    every = simulator.transcript.messages.counts().text
    assert ranges[0] == RangeItem(last, f"As far as possible · {every}")
    assert ranges[1].upto == upto
    assert f"” (e{upto}) · " in ranges[1].text
    assert ranges[1].text.endswith("messages, 2 tool calls")
    (again,) = range_items([HandoverRange(last, 0, 5, 1_800)], simulator.transcript, is_same_first=True)
    assert again.text.startswith("The same messages · ")


@given(histories())
def test_ranges_count_the_same_messages_as_the_card_afterwards(simulator: SessionSimulator) -> None:
    """Also behind an earlier handover, and inside a turn whose message stays."""
    legal = legal_ranges(simulator.transcript, 0)
    for cut, range_ in zip(legal, range_items(legal, simulator.transcript), strict=True):
        handover = simulator.handover_at(cut)
        assert f" · {handover.messages:,} message" in range_.text
