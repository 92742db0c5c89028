"""The conversation next to the composer: typing over it, suggestions below it, the seconds until a retry."""

from __future__ import annotations

import re
import time

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.domain.messages import QueuedMessage, RetryScheduled
from helix_desktop.ui.chat.composer.strips import NextMessages
from helix_desktop.ui.chat.items.assistant_message import waiting_text
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.chat.presenter import ArrivingAnswer
from helix_desktop.ui.chat.rows.row_types import (
    AssistantRow,
    ChatModel,
    NoticeRow,
    QuestionRow,
    Row,
    ToolRow,
    ToolState,
    UserRow,
)
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.focus import TabsInReadingOrder
from helix_desktop.ui.design.labels import ElidedLabel, TextLine
from helix_desktop.ui.design.layout import column
from tests.support.galleries.chat_gallery import QUESTION
from tests.support.manual_clock import ManualClock
from tests.support.window.chat_geometry import row_key, tool_row
from tests.support.window.keyboard_focus import focused_widget


def _pairs(count: int) -> list[Row]:
    questions: list[Row] = [UserRow(row_key(f"u{number}"), f"question {number}") for number in range(count)]
    answers: list[Row] = [AssistantRow(row_key(f"a{number}"), "Some words. " * 40) for number in range(count)]
    return [row for pair in zip(questions, answers, strict=True) for row in pair]


def test_nothing_is_proposed_in_the_past(qtbot: QtBot) -> None:
    """A message proposed meanwhile is offered once now is shown again."""
    messages = NextMessages()
    qtbot.addWidget(messages)
    messages.show_suggestion("Go on")
    messages.show_past(True)
    assert (list(messages.lines), messages.isHidden()) == ([], True)
    messages.show_suggestion("Go further", "cache")
    assert list(messages.lines) == []
    messages.show_past(False)
    assert "Then open Outputs" in messages.findChildren(QLabel)[-1].text()
    assert (list(messages.lines), messages.isHidden()) == (["Go further"], False)


def test_a_queued_message_names_its_attachments(qtbot: QtBot) -> None:
    messages = NextMessages()
    qtbot.addWidget(messages)
    messages.show_queued(
        [QueuedMessage(3, "Fix  it"), QueuedMessage(4, "")],
        attached={3: ["app.py:4-9", "Pasted text"], 4: ["a.png"]},
    )
    lines = [messages.line(seq) for seq in (3, 4)]
    texts = [label.full_text() for line in lines for label in line.findChildren(ElidedLabel)]
    assert texts == ["app.py:4-9 · Pasted text · Fix it", "a.png"]


class _Window(TabsInReadingOrder, QWidget):
    def __init__(self, page: ChatPage) -> None:
        super().__init__()
        self.setLayout(column(page))


def _press_tab(key: Qt.Key = Qt.Key.Key_Tab) -> str:
    """Press it where the keyboard is; the name of where that goes."""
    QTest.keyClick(focused_widget(), key)
    return focused_widget().objectName()


def test_code_in_a_question_is_shown_as_code(view: ChatView) -> None:
    for text, shown in (("Keep `-m almanac`?", "Keep -m almanac?"), ("Keep the ` sign?", "Keep the ` sign?")):
        view.chat_viewport.model.reset([QuestionRow(row_key("q"), replace(QUESTION, text=text))])
        assert shown in view.chat_viewport.item(0).accessible_text()


def test_tab_leaves_a_conversation_that_asks_something(qtbot: QtBot) -> None:
    """Through all places of the question to the message, and back into it."""
    page = ChatPage()
    window = _Window(page)
    qtbot.addWidget(window)
    window.resize(800, 700)
    page.model.reset([QuestionRow(row_key("q"), QUESTION)])
    with qtbot.waitActive(window):
        window.show()
    page.view.setFocus()
    assert [_press_tab() for _ in range(3)] == ["option:1", "option:2", "skip"]
    _press_tab()
    assert page.composer.editor.hasFocus()
    assert _press_tab(Qt.Key.Key_Backtab) == "option:1", "the first one, as of an approval"


def test_tasks_are_copied_verbatim(view: ChatView) -> None:
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), "- [ ] open\n- [x] done\n- plain")])
    view.select_all()
    assert view.selected_text() == "- [ ] open\n- [x] done\n- plain"


def test_typing_on_the_page_goes_to_the_composer(view: ChatView) -> None:
    typed: list[str] = []
    view.typed.connect(typed.append)
    view.chat_viewport.model.reset(_pairs(3))
    view.setFocus()
    QTest.keyClicks(view, "Hi ß!")
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(view, Qt.Key.Key_F, Qt.KeyboardModifier.AltModifier)
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Down, Qt.Key.Key_Escape):
        QTest.keyClick(view, key)
    assert "".join(typed) == "Hiß!"


def test_a_session_that_takes_long_to_read_says_so(qtbot: QtBot) -> None:
    page = ChatPage()
    qtbot.addWidget(page)
    page.show()
    page.model.reset([], is_loading=True)
    assert not page.loading.isVisible(), "most are there at once"
    qtbot.waitUntil(page.loading.isVisible)
    page.model.reset(_pairs(2))
    assert page.view.isVisible()
    page.model.reset([], is_loading=True)
    page.model.reset([])
    assert page.empty_state.isVisible()


def test_words_are_found_in_the_next_session_too_and_those_of_one_message_only_there(qtbot: QtBot) -> None:
    page = ChatPage()
    qtbot.addWidget(page)
    page.resize(700, 600)
    page.show()
    page.model.reset(_pairs(3))
    page.find_bar.open_bar()
    page.find_bar.field.setText("question")
    qtbot.waitUntil(lambda: page.find_bar.count.text == "3 of 3")
    page.model.reset(_pairs(5))
    qtbot.waitUntil(lambda: page.find_bar.count.text == "5")
    QTest.keyClick(page.find_bar.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.find_bar.count.text.endswith("of 5"))
    page.find_bar.mark("question")
    page.model.reset(_pairs(2))
    assert page.find_bar.isHidden()


@pytest.mark.parametrize("place", ["conversation", "message"])
def test_numbers_mark_an_option_unless_they_begin_a_text(qtbot: QtBot, place: str) -> None:
    page = ChatPage()
    qtbot.addWidget(page)
    page.resize(800, 700)
    page.model.reset([QuestionRow(row_key("q"), QUESTION)])
    with qtbot.waitActive(page):
        page.show()
    takes_keys = page.view if place == "conversation" else page.composer.editor
    takes_keys.setFocus()
    marked = page.view.chat_viewport.item_cache.chosen
    (card,) = page.model.asks()
    assert isinstance(card, QuestionRow)
    for key in (Qt.Key.Key_Escape, Qt.Key.Key_Backspace):
        QTest.keyClick(takes_keys, Qt.Key.Key_2)
        assert (marked(card), page.composer.text()) == (("A server",), "")
        QTest.keyClick(takes_keys, key)
        assert marked(card) == ()
    for letter in "2 of":
        QTest.keyClicks(focused_widget(), letter)
    assert (marked(card), page.composer.text()) == ((), "2 of")


def test_the_newest_list_of_the_turn_that_runs_stands_above_the_message(qtbot: QtBot) -> None:
    """None of a turn before, and none that was refused."""
    page = ChatPage()
    qtbot.addWidget(page)
    page.show()

    def write(name: str, *statuses: str, state: ToolState = "ok") -> ToolRow:
        items = [{"content": f"step {at}", "status": status} for at, status in enumerate(statuses)]
        return tool_row(name, "todo", arguments={"items": items}, state=state)

    panel = page.todo_panel
    page.model.reset([UserRow(row_key("u0"), "Go"), write("t0", "in_progress", "pending")])
    page.model.append(write("t1", "done", "in_progress"))
    assert not panel.isVisible(), "no turn runs"
    panel.set_running(True)
    page.model.append(write("t2", "pending", "pending", state="failed"))
    assert (panel.isVisible(), [item.status for item in panel.items]) == (True, ["done", "in_progress"])
    assert [line.text for line in panel.findChildren(TextLine)] == ["step 0", "step 1"]
    two_lines = panel.frame.height()
    page.model.append(write("t3", "done", "in_progress", "pending", "pending"))
    assert panel.frame.height() > 1.7 * two_lines, "a list that changes in sight has room for all lines"
    page.model.append(UserRow(row_key("u1"), "And now?"))
    assert not panel.isVisible()
    panel.set_running(False)
    assert not panel.isVisible()


class _Chat:
    """A chat that notes what each new state of its notice counts, and when the request was sent."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.model = ChatModel()
        self.words = list[str]()
        self.answer = ArrivingAnswer(self.model, lambda: self.words.append("sent"), self.clock)
        self.model.row_added.connect(self._note)
        self.model.rows_changed.connect(lambda indexes: self._note(indexes[0]))

    def _note(self, index: int) -> None:
        row = self.model.row(index)
        assert isinstance(row, NoticeRow)
        self.words += re.findall(r"in (\d+) s|(now)", row.what)[0]

    def retry(self, wait_s: float) -> None:
        self.answer.show_retry(RetryScheduled(2, wait_s, "Overloaded."))

    @property
    def states(self) -> list[str]:
        return [word for word in self.words if word]


@pytest.fixture
def chat(qtbot: QtBot) -> _Chat:
    return _Chat()


def test_it_reports_each_second_once_and_ends(chat: _Chat) -> None:
    chat.retry(2.4)
    for _ in range(17):
        chat.clock.now += 0.3
        chat.answer.tick()
    assert chat.states[:4] == ["3", "2", "1", "now"]
    assert chat.states[-1] == "sent"
    assert not len(chat.model)


def test_a_new_countdown_replaces_the_previous_one(chat: _Chat) -> None:
    chat.retry(5)
    chat.retry(0.5)
    chat.clock.now += 1
    chat.answer.tick()
    assert chat.states == ["5", "1", "now"]
    chat.answer.drop()
    assert not len(chat.model)


def test_it_ticks_on_its_own(qtbot: QtBot, chat: _Chat) -> None:
    chat.retry(0.05)
    chat.clock.now += 60
    qtbot.waitUntil(lambda: chat.states == ["1", "sent"])


def test_a_long_wait_for_the_first_text_says_what_can_be_done() -> None:
    now_ms = int(time.time() * 1_000)
    assert waiting_text(0) == ""
    assert waiting_text(now_ms - 5_000).startswith("Waiting for the model… 0:0")
    assert waiting_text(now_ms - 90_000).startswith("No answer from the model for 1:3")
