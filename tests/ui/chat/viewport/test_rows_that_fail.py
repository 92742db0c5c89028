"""Rows that can't be shown as they are: their words, below a line that says so, and no other row suffers."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.domain.messages import ToolCall
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.chat.items.assistant_message import AssistantMessageItem
from helix_desktop.ui.chat.items.tool_card import ToolCard
from helix_desktop.ui.chat.rows.row_types import AssistantRow, Row, ToolRow, UserRow
from helix_desktop.ui.chat.viewport.view import ChatView

_NOTE = "Shown as plain text, because it could not be laid out."
ROWS: tuple[Row, ...] = (
    UserRow(RowKey(1), "A question"),
    ToolRow(RowKey(2, "c1"), ToolCall("c1", "read_file", '{"path": "notes.txt"}'), "ok"),
    AssistantRow(RowKey(3), "An *answer*", model="m"),
)


def _fail(*_: object, **__: object) -> None:
    raise RecursionError("nested too deep")


def _words(view: ChatView, index: int) -> str:
    return view.chat_viewport.item(index).accessible_text()


def _show(view: ChatView, qtbot: QtBot) -> None:
    view.chat_viewport.model.reset(ROWS)
    qtbot.waitUntil(lambda: len(view.chat_viewport.widget_pool.visible) == len(ROWS))
    view.viewport().grab()  # paints all rows


@pytest.mark.expect_errors("A row can't be shown as it is")
@pytest.mark.parametrize("method", ["__init__", "_arrange", "paint", "build", "read_ahead"])
def test_a_row_that_fails_is_shown_as_its_words(
    method: str,
    view: ChatView,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(ToolCard, method, _fail)
    _show(view, qtbot)
    qtbot.waitUntil(lambda: _NOTE in _words(view, 1))
    assert "notes.txt" in _words(view, 1)
    assert _words(view, 0) == "A question"
    assert _words(view, 2) == "An answer"
    assert [record.levelname for record in caplog.records] == ["ERROR"], "said once, not at each painting"
    view.viewport().grab()


@pytest.mark.expect_errors("A row can't be shown as it is")
def test_an_answer_that_fails_while_it_arrives_is_whole_in_the_end(
    view: ChatView, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = view.chat_viewport.model
    model.reset([AssistantRow(RowKey(1), "", model="m", streaming=True)])
    with monkeypatch.context() as patch:
        patch.setattr(AssistantMessageItem, "try_update", _fail)
        model.stream(RowKey(1), "The first words")
        view.chat_viewport.flush()
    assert _NOTE in _words(view, 0)
    model.stream(RowKey(1), " and the last")
    model.replace(RowKey(1), AssistantRow(RowKey(1), "The first words and the last", model="m"))
    view.chat_viewport.flush()
    assert "The first words and the last" in _words(view, 0)


@pytest.mark.parametrize(
    "text",
    ["[^a]: " * 400, "[^a]: - " * 400, "[^a]: > " * 400, "> " * 3_000, "![" * 3_000, "|" * 3_000 + "\n|-|-"],
)
def test_hostile_answers_leave_the_rows_around_them_as_they_are(
    text: str, view: ChatView, qtbot: QtBot
) -> None:
    view.chat_viewport.model.reset([*ROWS, AssistantRow(RowKey(4), text, model="m")])
    qtbot.waitUntil(lambda: len(view.chat_viewport.widget_pool.visible) > 0)
    view.chat_viewport.show_row(0)
    view.viewport().grab()
    assert _words(view, 0) == "A question"
    assert _words(view, 3)


@pytest.mark.expect_errors("A row can't be shown as it is")
@pytest.mark.parametrize("method", ["__init__", "paint"])
def test_words_of_a_row_that_failed_are_found_and_copied(
    method: str, view: ChatView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToolCard, method, _fail)
    _show(view, qtbot)
    qtbot.waitUntil(lambda: _NOTE in _words(view, 1))
    finder = view.finder
    for words, row in (("notes.txt", 1), ("question", 0), ("answer", 2), ("Read", 1)):
        with qtbot.waitSignal(finder.finished, timeout=10_000) as found:
            finder.find(words, 1)
        assert found.args == [True], words
        assert finder.current is not None
        assert finder.current[0].row == row
    view.viewport().grab()
    view.select_all()
    assert "notes.txt" in view.selected_text()
    assert "A question" in view.selected_text()
