"""Tools that turn to the user: questions, the to-do list, and what the agent shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.domain.events.conversation import MessageQueued, ToolAnswered, UserSpoke
from helix_desktop.domain.question import QuestionReply
from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.items.tool_card import ToolCard
from helix_desktop.ui.chat.rows.row_texts import accessible_name, text_of_row
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, QuestionRow, ToolRow
from helix_desktop.ui.design.labels import TextLine
from tests.support.image_bytes import png
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.chat_geometry import click_area
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

OPTIONS = [{"label": "SQLite", "description": "One file"}, {"label": "Postgres"}, {"label": "DuckDB"}]
COLORS = [{"label": "Red"}, {"label": "Blue"}, {"label": "Green"}]
SCRIPT: dict[str, list[Call]] = {
    "one": [Call("ask_user", json.dumps({"question": "Which database?", "options": OPTIONS}), id="q1")],
    "then one": [Call("run_command", '{"command": "echo x > x.txt"}', id="r0")],
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
    if message.get("tool_call_id") == "r0":
        calls = SCRIPT["one"]
    return StreamedReply(*calls) if calls else text_reply("Ended.")


async def begin(rig: WindowRig, server: ChatServer) -> None:
    await rig.open_folder("project", {"a.txt": "words"})
    await rig.use_server(server)


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


async def test_questions_are_answered_by_keyboard_by_mouse_and_after_a_restart(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Each step has a session of its own. After a restart, a question stands as not answered.

    The answer is a message then. What was typed elsewhere stays where it is.
    """
    async with ChatServer(asking_model) as server:
        async with open_window(qapp, tmp_path) as rig:
            await _check_the_keyboard(rig)
            await _check_several_questions(rig)
            await begin(rig, server)
            rig.type_message("one")
            rig.type_message("my own draft", send=False)
            (card,) = await cards(rig, 1)
            assert has_keyboard(rig.composer.editor), "whoever types is not interrupted"
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            (card,) = await cards(rig, 1)
            assert accessible_name(rig.rows(ToolRow)[0]) == "Question, not answered: Which database?"
            assert rig.composer.text() == "my own draft"
            assert places(rig, card) == ["option:1", "option:2", "option:3", "answer:message"]
            click(rig, card, "option:2")
            assert chosen(rig, card) == ("Postgres",), "what is typed may belong to it: so it is not sent yet"
            await press_until(rig, lambda: click(rig, card, "answer"), 0)
            await until(lambda: len(rig.events(UserSpoke)) == 2, "the answer begins a turn")
            await rig.wait_for_turn_end()
            assert rig.events(UserSpoke)[1].text == "Your question: Which database?\n\nMy answer: Postgres"
            assert rig.rows(QuestionRow) == []
            assert rig.composer.text() == "my own draft"


async def _check_the_keyboard(rig: WindowRig) -> None:
    """Numbers, arrows and Enter answer it; the composer gets the keyboard back; all is on record."""
    async with ChatServer(asking_model) as server:
        await begin(rig, server)
        rig.type_message("one")
        (card,) = await cards(rig, 1)
        status = rig.window.top_bar.status
        await until(lambda: status().startswith("Waiting for you"), "the top bar says so")
        assert has_keyboard(rig.composer.editor)
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Backtab)
        assert focused() == "option:1", "as on the card of an approval"
        press_key(Qt.Key.Key_Down)
        assert focused() == "option:2"
        press_key(Qt.Key.Key_3)
        assert (focused(), chosen(rig, card)) == ("option:3", ("DuckDB",))
        press_key(Qt.Key.Key_Backspace)
        press_key(Qt.Key.Key_Up)
        assert (focused(), chosen(rig, card)) == ("option:2", ())
        rig.type_message("with pgvector 2", send=False)
        click(rig, card, "option:1")
        click(rig, card, "option:2")
        assert chosen(rig, card) == ("Postgres",), "one is an answer"
        assert places(rig, card)[3:] == ["skip", "answer", "answer:message"]
        await press_until(rig, lambda: click(rig, card, "answer:message"), 0)
        await rig.wait_for_turn_end()
        assert replies(rig) == [QuestionReply(("Postgres",), "with pgvector 2")]
        assert has_keyboard(rig.composer.editor)
        assert rig.composer.text() == ""
        (row,) = rig.rows(ToolRow)
        assert accessible_name(row) == "Question, answered: Which database?"
        assert text_of_row(row) == "Which database?\nPostgres\nwith pgvector 2"
        assert rig.rows(QuestionRow) == []


async def test_numbers_mark_an_option_after_a_click_and_a_message_is_the_answer(rig: WindowRig) -> None:
    """After Allow was clicked the conversation has the keyboard, not the composer.

    A number and a further character are the text of a message, and that is the answer.
    """
    async with ChatServer(asking_model) as server:
        await begin(rig, server)
        rig.type_message("then one")
        await until(lambda: rig.rows(ApprovalRow), "the command asks")
        QTest.mouseClick(rig.chat.view.viewport(), Qt.MouseButton.LeftButton)
        assert has_keyboard(rig.chat.view)
        await rig.answer_approval("once")
        (card,) = await cards(rig, 1)
        QTest.keyClick(rig.chat.view, Qt.Key.Key_2)
        assert (chosen(rig, card), rig.composer.text()) == (("Postgres",), "")
        QTest.keyClick(rig.chat.view, Qt.Key.Key_Escape)
        assert chosen(rig, card) == ()
        QTest.keyClick(rig.chat.view, Qt.Key.Key_3)
        await press_until(rig, lambda: QTest.keyClick(rig.chat.view, Qt.Key.Key_Return), 0)
        await rig.wait_for_turn_end()
        assert replies(rig) == [QuestionReply(("DuckDB",))]

        rig.type_message("one")
        (card,) = await cards(rig, 1)
        editor = rig.composer.editor
        editor.setFocus()
        QTest.keyClick(editor, Qt.Key.Key_2)
        assert (chosen(rig, card), rig.composer.text()) == (("Postgres",), "")
        QTest.keyClicks(editor, " of them")
        assert (chosen(rig, card), rig.composer.text()) == ((), "2 of them")
        QTest.keyClick(editor, Qt.Key.Key_Return)
        await rig.wait_for_turn_end()
        assert replies(rig)[1:] == [QuestionReply((), "2 of them")]
        assert (rig.composer.text(), rig.events(MessageQueued)) == ("", [])
        assert [event.text for event in rig.events(UserSpoke)] == ["then one", "one"]


async def _check_several_questions(rig: WindowRig) -> None:
    """Several questions stand in order with approvals."""
    async with ChatServer(asking_model) as server:
        await begin(rig, server)
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


STEPS = ("Read it", "Write it", "Run it")


def listed(done: int) -> StreamedReply:
    """A call that writes the list with so many items done."""
    status = ["done" if at < done else "in_progress" if at == done else "pending" for at in range(len(STEPS))]
    items = [{"content": words, "status": state} for words, state in zip(STEPS, status, strict=True)]
    return StreamedReply(Call("todo", json.dumps({"items": items}), id=f"t{done}"))


def waits() -> StreamedReply:
    """Return a call that needs the user's approval."""
    return StreamedReply(Call("run_command", '{"command": "sleep 0"}', id="w"))


async def test_the_newest_list_is_pinned_while_its_turn_runs(rig: WindowRig) -> None:
    """Each step has a session of its own."""
    await _check_the_newest_list(rig)
    await _check_a_list_that_is_left(rig)


async def _check_the_newest_list(rig: WindowRig) -> None:
    """It stands above the message field; a call that wrote one is a line, which opens onto what it wrote."""
    script = replies_in_order(listed(0), listed(1), waits(), listed(3), text_reply("Done."))
    async with rig.answered_by(script, "project"):
        panel = rig.chat.todo_panel
        rig.type_message("Do it")
        await until(lambda: len(rig.rows(ToolRow)) == 3, "three calls")
        await until(panel.isVisible, "the list above the composer")
        assert [item.status for item in panel.items] == ["done", "in_progress", "pending"]
        assert [line.text for line in panel.findChildren(TextLine)] == list(STEPS)
        first = rig.rows(ToolRow)[0]
        assert accessible_name(first).startswith("Tool To-do list 0 of 3 done: ")
        assert not rig.call_card(0, ToolCard).texts
        click_area(rig.chat.view, first.key, "open:card")
        assert [text.text().splitlines()[1:] for text in rig.call_card(0, ToolCard).texts][-1] == [
            "[>] Read it",
            "[ ] Write it",
            "[ ] Run it",
        ]
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()
        assert not panel.isVisible()


async def _check_a_list_that_is_left(rig: WindowRig) -> None:
    """A list with open items goes with its turn; a refused one, or that of another turn, never comes."""
    refused = StreamedReply(
        Call("todo", json.dumps({"items": [{"content": "both", "status": "in_progress"}] * 2}), id="r")
    )
    script = replies_in_order(listed(1), refused, waits(), waits(), text_reply("Done."))
    async with rig.answered_by(script):
        panel = rig.chat.todo_panel
        rig.type_message("Do it")
        await until(lambda: len(rig.rows(ToolRow)) == 3, "three calls")
        await until(panel.isVisible, "the list above the composer")
        assert [item.status for item in panel.items] == ["done", "in_progress", "pending"]
        await rig.conversation.stop()
        await rig.wait_for_turn_end()
        assert not panel.isVisible()
        rig.type_message("And now?")
        await until(lambda: rig.rows(ApprovalRow), "a call that waits")
        assert not panel.isVisible(), "the turn that runs has no list"
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()


LINES = [f"row {number}" for number in range(1, 301)]


def call(tool: str, number: int, **arguments: object) -> Call:
    return Call(tool, json.dumps(arguments), id=f"c{number}")


def press(rig: WindowRig, number: int, area: str) -> None:
    viewport = rig.chat.view.chat_viewport
    key = rig.rows(ToolRow)[number].key
    index = viewport.model.index_of(key)
    assert index is not None
    viewport.show_row(index)
    viewport.widget_pool.visible[key].trigger(area)


async def test_the_user_sees_the_content_and_the_model_one_line(tmp_path: Path, rig: WindowRig) -> None:
    """Pinned to the bytes that were read; long content is shown in part, whole on a click, and copied."""
    script = replies_in_order(
        StreamedReply(call("read_file", 1, path="rows.txt"), call("read_file", 2, path="shot.png")),
        StreamedReply(
            call("show_output", 3, hash="rows.txt", start_line=2, caption="The rows"),
            call("show_output", 4, hash="shot.png"),
        ),
        text_reply("There they are."),
    )
    async with ChatServer(script) as server:
        await rig.open_folder("project", {"rows.txt": "\n".join(LINES) + "\n"})
        (tmp_path / "project" / "shot.png").write_bytes(png(60, 40))
        await rig.use_server(server)
        await rig.run_turn("Show me the rows")
        (tmp_path / "project" / "rows.txt").write_text("changed since\n", encoding="utf-8")
        rows = rig.rows(ToolRow)
        await until(lambda: rig.rows(ToolRow)[2].excerpt_content is not None, "the content")
        assert rig.call_card(2, RowItem).accessible_text() == "\n".join(LINES[1:81])
        assert accessible_name(rows[2]) == "The rows: Read rows.txt, lines 2–300"
        press(rig, 2, "whole:card")
        await until(lambda: "row 300" in text_of_row(rig.rows(ToolRow)[2]), "all lines")
        rig.chat.view.find_text("row 250")
        await until(lambda: rig.chat.view.finder.current is not None, "the hit in the card")
        rig.chat.view.find_text("the rows")  # stands in the caption: what is open stays open
        rig.chat.view.find_text("")
        copy = next(area for area in rig.call_card(2, RowItem).hit_areas if area.name.endswith(":copy"))
        press(rig, 2, copy.name)
        assert QGuiApplication.clipboard().text() == "\n".join(LINES[1:])
        await until(lambda: rig.rows(ToolRow)[3].excerpt_content is not None, "the image")
        content = rig.rows(ToolRow)[3].excerpt_content
        assert content is not None
        assert content.image is not None
        last = [str(message["content"]) for message in server.requests[-1].json["messages"]]
        assert last[-2] == "Shown to the user: read_file rows.txt, lines 2-300, 299 lines\n"
        assert sum("row 150" in text for text in last) == 1  # where it was read, and nowhere else
        session_id = rig.conversation.session.id
        await rig.wiring.workspace_controller.new_session()
        await rig.wiring.workspace_controller.open_session(session_id)
        await until(lambda: rig.rows(ToolRow)[2].excerpt_content is not None, "the content after a restart")
        assert "row 80" in text_of_row(rig.rows(ToolRow)[2])
