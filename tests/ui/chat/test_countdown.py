"""The seconds until the next model request, as they change."""

from __future__ import annotations

import re
import time

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.domain.messages import RetryScheduled
from helix_desktop.ui.chat.items.assistant_message import waiting_text
from helix_desktop.ui.chat.presenter import ArrivingAnswer
from helix_desktop.ui.chat.rows.row_types import ChatModel, NoticeRow
from tests.support.manual_clock import ManualClock


class _Chat:
    """A chat that notes what each new state of its notice counts, and when the request was sent."""

    def __init__(self) -> None:
        self.clock, self.model, self.words = ManualClock(), ChatModel(), list[str]()
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
    chat.answer.stop_countdown()


def test_a_countdown_ends_with_the_answer(chat: _Chat) -> None:
    chat.retry(5)
    chat.answer.drop()
    assert chat.states == ["5"]
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
