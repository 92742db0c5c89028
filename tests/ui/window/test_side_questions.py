"""Side questions in the window: asked by command, answered while a turn runs, canceled, and shown again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.conversation import SideQuestionAnswered, UserSpoke
from helix_desktop.ui.chat.rows.row_texts import accessible_name
from helix_desktop.ui.chat.rows.row_types import AssistantRow, UserRow
from helix_desktop.ui.design.dialogs import TextInputDialog
from tests.support.model_servers.chat_server import Call, ChatServer, Reply, StreamedReply, Text, Wait
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


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
            await until(lambda: rig.window.findChildren(TextInputDialog), "the field")
            (dialog,) = rig.window.findChildren(TextInputDialog)
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
