"""Questions of the agent, answered on their card, by a message, and after a restart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.domain.events.conversation import MessageQueued, ToolAnswered, UserSpoke
from helix_desktop.domain.question import QuestionReply
from helix_desktop.ui.chat.rows.row_texts import accessible_name, text_of_row
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, QuestionRow, ToolRow
from tests.support.model_servers.chat_server import Call, ChatServer, Reply, StreamedReply, text_reply
from tests.support.window.chat_geometry import click_area
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

OPTIONS = [{"label": "SQLite", "description": "One file"}, {"label": "Postgres"}, {"label": "DuckDB"}]
COLORS = [{"label": "Red"}, {"label": "Blue"}, {"label": "Green"}]
SCRIPT: dict[str, list[Call]] = {
    "one": [Call("ask_user", json.dumps({"question": "Which database?", "options": OPTIONS}), id="q1")],
    "several": [
        Call("run_command", '{"command": "echo x > y.txt"}', id="r1"),
        Call(
            "ask_user",
            json.dumps({"question": "Which colors?", "options": COLORS, "multiple": True}),
            id="q2",
        ),
        Call("ask_user", '{"question": "What name?"}', id="q3"),
    ],
}


def asking_model(request: dict[str, Any]) -> Reply:
    """A model that asks what the user's message names, then is done."""
    message = request["messages"][-1]
    calls = SCRIPT.get(str(message["content"])) if message["role"] == "user" else None
    return StreamedReply(*calls) if calls else text_reply("Ended.")


async def cards(rig: WindowRig, count: int) -> list[QuestionRow]:
    """Return the questions that wait, once there are so many."""
    await until(lambda: len(rig.rows(QuestionRow)) == count, "the questions")
    return rig.rows(QuestionRow)


def chosen(rig: WindowRig, card: QuestionRow) -> tuple[str, ...]:
    return rig.chat.view.chat_viewport.item_cache.chosen(card)


def places(rig: WindowRig, card: QuestionRow) -> list[str]:
    """Return what can be pressed on a card."""
    index = rig.chat.model.index_of(card.key)
    assert index is not None
    return [area.name for area in rig.chat.view.chat_viewport.item(index).hit_areas]


def click(rig: WindowRig, card: QuestionRow, name: str) -> None:
    """Click a place of a card, unless it is on its way already."""
    if name in places(rig, card):
        click_area(rig.chat.view, card.key, name)


def focused() -> str:
    widget = QApplication.focusWidget()
    return widget.objectName() if widget is not None else ""


def press_key(key: Qt.Key) -> None:
    widget = QApplication.focusWidget()
    assert widget is not None
    QTest.keyClick(widget, key)


def replies(rig: WindowRig) -> list[QuestionReply | None]:
    return [answer.reply for answer in rig.events(ToolAnswered) if answer.name == "ask_user"]


async def press_until(rig: WindowRig, press: Callable[[], None], left: int) -> None:
    """Press until so many questions are left: a card that just came takes no answer yet."""

    def is_answered() -> bool:
        if len(rig.rows(QuestionRow)) > left:
            press()
        return len(rig.rows(QuestionRow)) == left

    await until(is_answered, "the question is answered")


def has_keyboard(widget: QWidget) -> bool:
    return QApplication.focusWidget() is widget


async def test_questions_are_answered_on_their_card_by_a_message_and_after_a_restart(
    qapp: QApplication, tmp_path: Path
) -> None:
    """After a restart the answer is a message. What was typed elsewhere stays where it is."""
    async with ChatServer(asking_model) as server:
        async with open_window(qapp, tmp_path) as rig:
            await rig.open_folder("project", {"a.txt": "words"})
            await rig.use_server(server)
            await _check_several_questions(rig)
            rig.type_message("one")
            (card,) = await cards(rig, 1)
            status = rig.window.top_bar.status
            await until(lambda: status().startswith("Waiting for you"), "the top bar says so")
            assert has_keyboard(rig.composer.editor)
            QTest.keyClick(rig.composer.editor, Qt.Key.Key_Backtab)
            assert focused() == "option:1", "as on the card of an approval"
            press_key(Qt.Key.Key_Down)
            assert focused() == "option:2"
            rig.type_message("with pgvector 2", send=False)
            click(rig, card, "option:2")
            assert chosen(rig, card) == ("Postgres",), "one is an answer"
            assert places(rig, card)[3:] == ["skip", "answer", "answer:message"]
            await press_until(rig, lambda: click(rig, card, "answer:message"), 0)
            await rig.wait_for_turn_end()
            assert replies(rig)[2:] == [QuestionReply(("Postgres",), "with pgvector 2")]
            assert has_keyboard(rig.composer.editor)
            row = rig.rows(ToolRow)[-1]
            assert accessible_name(row) == "Question, answered: Which database?"
            assert text_of_row(row) == "Which database?\nPostgres\nwith pgvector 2"

            rig.type_message("one")
            (card,) = await cards(rig, 1)
            QTest.mouseClick(rig.chat.view.viewport(), Qt.MouseButton.LeftButton)
            QTest.keyClick(rig.chat.view, Qt.Key.Key_3)
            await press_until(rig, lambda: QTest.keyClick(rig.chat.view, Qt.Key.Key_Return), 0)
            await rig.wait_for_turn_end()
            assert replies(rig)[3:] == [QuestionReply(("DuckDB",))]

            rig.type_message("one")
            await cards(rig, 1)
            rig.type_message("2 of them")
            await rig.wait_for_turn_end()
            assert replies(rig)[4:] == [QuestionReply((), "2 of them")]
            assert (rig.composer.text(), rig.events(MessageQueued)) == ("", [])
            rig.type_message("one")
            rig.type_message("my own draft", send=False)
            await cards(rig, 1)
            assert has_keyboard(rig.composer.editor), "whoever types is not interrupted"
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            (card,) = await cards(rig, 1)
            assert accessible_name(rig.rows(ToolRow)[-1]) == "Question, not answered: Which database?"
            assert rig.composer.text() == "my own draft"
            assert places(rig, card) == ["option:1", "option:2", "option:3", "answer:message"]
            click(rig, card, "option:2")
            assert chosen(rig, card) == ("Postgres",), "what is typed may belong to it: so it is not sent yet"
            await press_until(rig, lambda: click(rig, card, "answer"), 0)
            said = "Your question: Which database?\n\nMy answer: Postgres"
            await until(lambda: rig.events(UserSpoke)[-1].text == said, "the answer begins a turn")
            await rig.wait_for_turn_end()
            assert rig.rows(QuestionRow) == []
            assert rig.composer.text() == "my own draft"


async def _check_several_questions(rig: WindowRig) -> None:
    """Several questions stand in order with approvals."""
    rig.type_message("several")
    colors, name = await cards(rig, 2)
    waiting = [row for row in rig.chat.model.raw_rows() if isinstance(row, ApprovalRow | QuestionRow)]
    assert [row.position for row in waiting] == ["1 of 3", "2 of 3", "3 of 3"]
    assert isinstance(waiting[0], ApprovalRow)
    assert places(rig, colors) == ["option:1", "option:2", "option:3", "skip"]
    assert places(rig, name) == ["skip"]
    rig.chat.view.jump_to(colors.key)
    click(rig, colors, "option:1")
    rig.chat.view.focus_area(colors.key, "option:3")
    press_key(Qt.Key.Key_Space)
    assert chosen(rig, colors) == ("Red", "Green")
    assert places(rig, colors)[3:] == ["skip", "answer"]
    await press_until(rig, lambda: press_key(Qt.Key.Key_Return), 1)
    rig.chat.view.jump_to(name.key)
    await press_until(rig, lambda: click(rig, name, "skip"), 0)
    await rig.answer_approval("deny")
    await rig.wait_for_turn_end()
    assert replies(rig) == [QuestionReply(("Red", "Green")), QuestionReply()]
