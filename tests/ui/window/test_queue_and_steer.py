"""Messages and side questions while the agent works."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.conversation import SideQuestionAnswered, TurnEnded, UserSpoke
from helix_desktop.ui.chat.composer.editor import Editor
from helix_desktop.ui.chat.composer.strips import QueueLine
from helix_desktop.ui.chat.rows.row_texts import accessible_name
from helix_desktop.ui.chat.rows.row_types import AssistantRow, DividerRow, UserRow
from helix_desktop.ui.design.dialogs import TextInputDialog
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    Wait,
    text_reply,
)
from tests.support.window.buttons import find_button, press
from tests.support.window.chat_geometry import action_names, press_action
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def line(rig: WindowRig, text: str) -> QueueLine:
    queue = rig.chat.next_messages
    return next(queue.line(message.seq) for message in queue.waiting if message.text == text)


def type_into(inside: QueueLine, text: str) -> Editor:
    field = next(editor for editor in inside.findChildren(Editor) if not editor.isHidden())
    QTest.keyClicks(field, text)
    return field


def user_messages(rig: WindowRig) -> list[tuple[str, bool]]:
    return [(row.text, row.steered) for row in rig.rows(UserRow)]


async def test_messages_typed_meanwhile_are_changed_steer_and_survive_a_restart(
    qapp: QApplication, tmp_path: Path
) -> None:
    """A steering one follows the tool's answer, a queued one later; an edit in progress is not lost."""
    go = {"One": asyncio.Event(), "Again": asyncio.Event()}

    def reply(request: dict[str, Any]) -> Reply:
        wait = go.get(str(request["messages"][-1]["content"]))
        if wait is None:
            return text_reply("Fine.")
        return StreamedReply(Text("I look."), Wait(wait), Call("read_file", '{"path": "a.txt"}'))

    async with ChatServer(reply) as server:
        async with open_window(qapp, tmp_path) as rig:
            await rig.open_folder("project", {"a.txt": "words"})
            await rig.use_server(server)
            rig.type_message("One")
            await until(lambda: rig.conversation.response.text, "a part of the answer")
            rig.type_message("Two")
            rig.type_message("Only a.txt", send=False)
            both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
            QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return, both)
            await until(lambda: len(rig.next_message_lines()) == 2, "both wait in sight")
            assert [message.steer for message in rig.chat.next_messages.waiting] == [False, True]
            in_both: list[str] = []

            def note_sent(sent: UserSpoke) -> None:
                waiting = [message.text for message in rig.chat.next_messages.waiting]
                in_both.extend(text for text in waiting if text == sent.text)

            rig.conversation.session.on(UserSpoke, note_sent)
            rig.type_message("a draft", send=False)
            press(line(rig, "Two"), "edit")
            type_into(line(rig, "Two"), ", better")
            go["One"].set()
            await until(lambda: len(rig.events(TurnEnded)) == 2, "both turns ended")
            await rig.wait_for_turn_end()
            assert user_messages(rig) == [("One", False), ("Only a.txt", True), ("Two", False)]
            messages = server.bodies[1]["messages"]
            assert [message["role"] for message in messages[-3:]] == ["assistant", "tool", "user"]
            assert rig.composer.text() == "Two, better\na draft"
            assert not in_both, "what is sent waits no longer"

            rig.composer.set_text("")
            rig.type_message("Again")
            await until(lambda: rig.conversation.response.text, "a part of the answer")
            for text in ("Three", "Four", "Five", "Six"):
                rig.type_message(text)
            await until(lambda: len(rig.next_message_lines()) == 4, "all wait in sight")
            press(line(rig, "Three"), "edit")
            QTest.keyClick(type_into(line(rig, "Three"), ", better"), Qt.Key.Key_Return)
            await until(lambda: "Three, better" in rig.next_message_lines(), "other words")
            press(line(rig, "Six"), "earlier")
            pending = rig.conversation.queue
            await until(lambda: [message.text for message in pending.pending][2] == "Six", "another order")
            press(line(rig, "Five"), "remove")
            find_button(line(rig, "Four"), "steer").setFocus()
            press(line(rig, "Four"), "steer")
            await until(
                lambda: line(rig, "Four").message.steer and len(rig.next_message_lines()) == 3, "both changes"
            )
            assert find_button(line(rig, "Four"), "unsteer").hasFocus(), "it can be taken back"
        go["Again"].set()
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await until(lambda: len(rig.next_message_lines()) == 3, "all wait in sight")
            (cut,) = [row for row in rig.rows(DividerRow) if row.kind == "interrupted"]
            assert action_names(cut) == ("continue", "retry")
            press_action(rig.chat.view, cut, "continue")
            await until(lambda: len(rig.events(TurnEnded)) == 6, "all turns ended")
            await rig.wait_for_turn_end()
            after = [
                ("Again", False),
                ("Continue.", False),
                ("Four", True),
                ("Three, better", False),
                ("Six", False),
            ]
            assert user_messages(rig)[3:] == after
            assert rig.events(TurnEnded)[2].cause == "closed"


def visible_texts(rig: WindowRig) -> list[str]:
    """Return the texts of the conversation, those beside it in parentheses."""
    rows = [row for row in rig.chat.model.raw_rows() if isinstance(row, UserRow | AssistantRow)]
    sides = [row.is_side if isinstance(row, UserRow) else bool(row.side_note) for row in rows]
    return [f"({row.text})" if side else row.text for row, side in zip(rows, sides, strict=True)]


async def test_a_side_question_stands_beside_the_turn(rig: WindowRig) -> None:
    """Asked by its slash command and by its dialog; canceled by its job; what failed leaves nothing."""
    turn, side = asyncio.Event(), asyncio.Event()

    def reply(request: dict[str, Any]) -> Reply:
        if "Why?" in request["messages"][-1]["content"]:
            return StreamedReply(Call("read_file", "{}"))
        if "beside your work" in request["messages"][-1]["content"]:
            return StreamedReply(Text("It was "), Wait(side), Text("a.txt."))
        return StreamedReply(Wait(turn), Text("Done."))

    async with rig.answered_by(reply, "project") as server:
        rig.type_message("Go")
        await until(lambda: len(server.bodies) == 1, "the turn runs")
        await until(lambda: any(row.waiting_since_ms for row in rig.rows(AssistantRow)), "silence")
        rig.type_message("/btw Which file was it?")
        await until(lambda: rig.conversation.side_questions.progress.answer, "words come")
        assert rig.composer.text() == ""
        side.set()
        await until(lambda: rig.events(SideQuestionAnswered), "the answer is on record")
        assert rig.conversation.is_running
        turn.set()
        await rig.wait_for_turn_end()
        texts = ["Go", "(Which file was it?)", "(It was a.txt.)", "Done."]
        assert visible_texts(rig) == texts
        answer = next(row for row in rig.rows(AssistantRow) if row.side_note)
        assert accessible_name(answer).startswith("small, not in context · ")

        side.clear()
        rig.window.commands.side_question.trigger()
        dialog = await rig.dialog(TextInputDialog)
        QTest.keyClicks(dialog.field, "And the other?")
        press(dialog, "accept")
        await until(lambda: rig.conversation.side_questions.progress.answer, "words come")
        await until(lambda: rig.window.jobs.job_ids() == ("side_question",), "a job to cancel")
        press(rig.window.jobs, "stop_job")
        await until(lambda: len(rig.events(SideQuestionAnswered)) == 2, "what came is on record")
        texts += ["(And the other?)", "(It was )"]
        rig.type_message("/btw Why?")
        await until(lambda: "didn't answer the side question" in rig.banner_text(), "a plain reason")
        assert visible_texts(rig) == texts
        assert [event.text for event in rig.events(UserSpoke)] == ["Go"]
        await rig.wiring.chat.load()
        assert visible_texts(rig) == texts, "the log shows them"
