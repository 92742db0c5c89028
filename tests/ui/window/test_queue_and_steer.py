"""Messages and side questions while the agent works."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.conversation import SideQuestionAnswered, ToolAnswered, TurnEnded, UserSpoke
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
from tests.support.window.buttons import press
from tests.support.window.chat_geometry import action_names, press_action
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


class SlowModel:
    """A model that delays its first answer until `go`, then reads a file, then answers."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    def __call__(self, request: dict[str, Any]) -> Reply:
        steps = sum(message["role"] == "assistant" for message in request["messages"])
        if steps == 0:
            return StreamedReply(
                Text("I look."), Wait(self.go), Call("read_file", '{"path": "a.txt"}', id="r1")
            )
        return text_reply(f"Answer {steps}.")


async def at_work(rig: WindowRig, server: ChatServer) -> None:
    """A turn whose first answer is under way."""
    await rig.open_folder("project", {"a.txt": "words"})
    await rig.use_server(server)
    rig.type_message("One")
    await until(lambda: rig.conversation.response.text, "a part of the answer")


def line(rig: WindowRig, text: str) -> QueueLine:
    queue = rig.chat.next_messages
    return next(queue.line(message.seq) for message in queue.waiting if message.text == text)


def field(inside: QueueLine) -> Editor:
    return next(editor for editor in inside.findChildren(Editor) if not editor.isHidden())


def user_messages(rig: WindowRig) -> list[tuple[str, bool]]:
    return [(row.text, row.steered) for row in rig.rows(UserRow)]


async def test_messages_typed_meanwhile_are_queued_edited_and_steer(rig: WindowRig) -> None:
    """Each step has a session of its own."""
    await _check_the_key(rig)
    await _check_the_list(rig)
    await _check_an_edit_in_progress(rig)
    await _check_the_buttons(rig)


async def _check_the_key(rig: WindowRig) -> None:
    """Enter queues, Ctrl+Shift+Enter steers; a steering one follows the tool's answer, a queued one later."""
    slow = SlowModel()
    async with ChatServer(slow) as server:
        await at_work(rig, server)
        rig.type_message("Later")
        rig.type_message("Only a.txt", send=False)
        both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return, both)
        await until(lambda: len(rig.next_message_lines()) == 2, "both wait in sight")
        assert [message.steer for message in rig.chat.next_messages.waiting] == [False, True]
        slow.go.set()
        await until(lambda: len(rig.events(TurnEnded)) == 2, "both turns ended")
        await rig.wait_for_turn_end()
        assert user_messages(rig) == [("One", False), ("Only a.txt", True), ("Later", False)]
        messages = server.bodies[1]["messages"]
        assert [message["role"] for message in messages[-3:]] == ["assistant", "tool", "user"]
        assert messages[-1]["content"] == "Only a.txt"
        assert rig.next_message_lines() == ()


async def _check_the_list(rig: WindowRig) -> None:
    """Text, order, purpose and removal, each by its button."""
    slow = SlowModel()
    async with ChatServer(slow) as server:
        await at_work(rig, server)
        for text in ("Two", "Three", "Four", "Five"):
            rig.type_message(text)
        await until(lambda: len(rig.next_message_lines()) == 4, "all wait in sight")
        press(line(rig, "Two"), "edit")
        QTest.keyClicks(field(line(rig, "Two")), ", better")
        QTest.keyClick(field(line(rig, "Two")), Qt.Key.Key_Return)
        await until(lambda: "Two, better" in rig.next_message_lines(), "other words")
        press(line(rig, "Five"), "earlier")
        await until(
            lambda: [message.text for message in rig.conversation.queue.pending][2] == "Five", "another order"
        )
        press(line(rig, "Three"), "remove")
        press(line(rig, "Four"), "steer")
        await until(
            lambda: line(rig, "Four").message.steer and len(rig.next_message_lines()) == 3, "another purpose"
        )
        slow.go.set()
        await until(lambda: len(rig.events(TurnEnded)) == 3, "all turns ended")
        await rig.wait_for_turn_end()
        assert user_messages(rig) == [("One", False), ("Four", True), ("Two, better", False), ("Five", False)]


async def _check_an_edit_in_progress(rig: WindowRig) -> None:
    """The text returns to the composer, in front of its content."""
    slow = SlowModel()
    async with ChatServer(slow) as server:
        await at_work(rig, server)
        rig.type_message("Two")
        await until(rig.next_message_lines, "it waits in sight")
        rig.type_message("a draft", send=False)
        press(line(rig, "Two"), "edit")
        QTest.keyClicks(field(line(rig, "Two")), ", better")
        slow.go.set()
        await until(lambda: len(rig.events(TurnEnded)) == 2, "both turns ended")
        await rig.wait_for_turn_end()
        assert [event.text for event in rig.events(UserSpoke)] == ["One", "Two"]
        assert rig.composer.text() == "Two, better\na draft"


async def _check_the_buttons(rig: WindowRig) -> None:
    """Queue and Steer are there while the agent works and something is typed; Steer does."""
    slow = SlowModel()
    async with ChatServer(slow) as server:
        await at_work(rig, server)
        rig.type_message("Only a.txt", send=False)
        press(rig.composer, "steer")
        await until(rig.next_message_lines, "it waits in sight")
        assert rig.chat.next_messages.waiting[0].steer
        assert rig.composer.text() == ""
        slow.go.set()
        await rig.wait_for_turn_end()
        await until(lambda: user_messages(rig) == [("One", False), ("Only a.txt", True)], "it steered")
        assert len(rig.events(TurnEnded)) == 1


async def test_a_queued_message_stops_the_command_and_goes_at_once(rig: WindowRig) -> None:
    """One click: the call ends as stopped, the one after it doesn't run, and the message follows."""

    def reply(request: dict[str, Any]) -> Reply:
        if any(message["role"] == "tool" for message in request["messages"]):
            return text_reply("Right.")
        wait, later = '{"command": "sleep 60"}', '{"command": "touch later"}'
        return StreamedReply(Call("run_command", wait, id="r1"), Call("run_command", later, id="r2"))

    async with rig.answered_by(reply, "project", {"a.txt": "words"}) as server:
        commands = rig.window.commands
        turn_commands = (commands.stop, commands.steer)
        assert [command.isEnabled() for command in turn_commands] == [False, False]
        rig.type_message("One")
        await until(lambda: len(rig.conversation.asks) == 2, "two questions")
        for ask in rig.conversation.asks:
            rig.conversation.decide(ask.call_id, "once")
        await until(lambda: rig.conversation.running_calls.running, "it runs")
        assert [command.isEnabled() for command in turn_commands] == [True, True]
        assert not commands.stop_and_send.isEnabled()
        rig.type_message("Only a.txt")
        await until(commands.stop_and_send.isEnabled, "it waits in sight")
        await until(rig.next_message_lines, "its line")
        press(line(rig, "Only a.txt"), "stop_and_send")
        await rig.wait_for_turn_end()
        assert user_messages(rig) == [("One", False), ("Only a.txt", True)]
        assert [event.outcome for event in rig.events(ToolAnswered)] == ["stopped", "stopped"]
        assert [message["role"] for message in server.bodies[-1]["messages"][-3:]] == ["tool", "tool", "user"]
        assert not commands.stop.isEnabled()


async def test_an_interrupted_turn_continues_with_one_click(qapp: QApplication, tmp_path: Path) -> None:
    """After a restart it is marked, queued messages are still queued, and Continue goes first."""
    slow = SlowModel()
    async with ChatServer(slow) as server:
        async with open_window(qapp, tmp_path) as rig:
            await at_work(rig, server)
            await rig.conversation.send("Later")
            await rig.conversation.send("Only a.txt", steer=True)
        slow.go.set()
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await until(lambda: len(rig.next_message_lines()) == 2, "both wait in sight")
            (cut,) = [row for row in rig.rows(DividerRow) if row.kind == "interrupted"]
            assert action_names(cut) == ("continue", "retry")
            press_action(rig.chat.view, cut, "continue")
            await until(lambda: len(rig.events(TurnEnded)) == 3, "both turns ended")
            await rig.wait_for_turn_end()
            assert user_messages(rig) == [
                ("One", False),
                ("Continue.", False),
                ("Only a.txt", True),
                ("Later", False),
            ]
            assert [(event.how, event.cause) for event in rig.events(TurnEnded)] == [
                ("interrupted", "closed"),
                ("done", ""),
                ("done", ""),
            ]


def visible_texts(rig: WindowRig) -> list[str]:
    """Return the texts of the conversation, those beside it in parentheses."""
    rows = [row for row in rig.chat.model.raw_rows() if isinstance(row, UserRow | AssistantRow)]
    sides = [row.is_side if isinstance(row, UserRow) else bool(row.side_note) for row in rows]
    return [f"({row.text})" if side else row.text for row, side in zip(rows, sides, strict=True)]


async def test_a_side_question_stands_beside_the_turn(qapp: QApplication, tmp_path: Path) -> None:
    turn, side = asyncio.Event(), asyncio.Event()

    def reply(request: dict[str, Any]) -> Reply:
        if "Why?" in request["messages"][-1]["content"]:
            return StreamedReply(Call("read_file", "{}"))
        if "beside your work" in request["messages"][-1]["content"]:
            return StreamedReply(Text("It was "), Wait(side), Text("a.txt."))
        return StreamedReply(Wait(turn), Text("Done."))

    async with ChatServer(reply) as server:
        async with open_window(qapp, tmp_path) as rig:
            await rig.open_folder("project", {"a.txt": "words"})
            await rig.use_server(server)
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

            rig.window.commands.side_question.trigger()
            dialog = await rig.dialog(TextInputDialog)
            QTest.keyClicks(dialog.field, "And the other?")
            side.clear()
            press(dialog, "accept")
            await until(lambda: rig.conversation.side_questions.progress.answer, "words come")
            await until(lambda: rig.window.jobs.job_ids() == ("side_question",), "a job to cancel")
            press(rig.window.jobs, "stop_job")
            await until(lambda: len(rig.events(SideQuestionAnswered)) == 2, "what came is on record")
            texts += ["(And the other?)", "(It was )"]
            assert visible_texts(rig) == texts
            rig.type_message("/btw Why?")
            await until(lambda: "didn't answer the side question" in rig.banner_text(), "a plain reason")
            assert visible_texts(rig) == texts, "what failed leaves nothing"
            assert [event.text for event in rig.events(UserSpoke)] == ["Go"]
            side.set()
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await until(lambda: len(visible_texts(rig)) == len(texts), "the log shows them")
            assert visible_texts(rig) == texts
            await rig.run_turn("And now?")
            assert not any("Which file" in str(message) for message in server.bodies[-1]["messages"])
