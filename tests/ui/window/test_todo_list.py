"""The agent's list in the real window: its cards, and the line above the composer while it works."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.chat.items.todo import TodoCard
from helix_desktop.ui.chat.rows.row_texts import accessible_name, text_of_row
from helix_desktop.ui.chat.rows.row_types import ToolRow
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop
STEPS = ("Read it", "Write it", "Run it")


def listed(done: int) -> StreamedReply:
    """A call that writes the list with so many items done."""
    status = ["done" if at < done else "in_progress" if at == done else "pending" for at in range(len(STEPS))]
    items = [{"content": words, "status": state} for words, state in zip(STEPS, status, strict=True)]
    return StreamedReply(Call("todo", json.dumps({"items": items}), id=f"t{done}"))


def waits() -> StreamedReply:
    """Return a call that needs the user's approval."""
    return StreamedReply(Call("run_command", '{"command": "sleep 0"}', id="w"))


async def test_the_newest_list_is_in_sight_and_lists_open_with_a_click(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Each step has a session of its own."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_the_newest_list(rig)
        await _check_a_click(rig)
        await _check_a_refused_list(rig)
        await _check_an_unfinished_list(rig)


async def _check_the_newest_list(rig: WindowRig) -> None:
    """The newest list is open and stays in sight."""
    script = replies_in_order(listed(0), listed(1), waits(), listed(3), text_reply("Done."))
    async with ChatServer(script) as server:
        await rig.open_folder("project")
        await rig.use_server(server)
        panel = rig.chat.todo_panel
        rig.type_message("Do it")
        await until(lambda: len(rig.rows(ToolRow)) == 3, "three calls")
        await until(panel.isVisible, "the list above the composer")
        assert [item.status for item in panel.items] == ["done", "in_progress", "pending"]
        old, new = rig.rows(ToolRow)[:2]
        assert (old.is_newest, new.is_newest) == (False, True)
        assert [len(rig.call_card(number, TodoCard).texts) for number in (0, 1)] == [0, 3]
        assert accessible_name(new) == "To do: 1 of 3 done"
        assert text_of_row(new).splitlines()[1:] == list(STEPS)
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()
        assert not panel.isVisible()
        assert [row.is_newest for row in rig.rows(ToolRow) if row.todo] == [False, False, True]


async def _check_a_click(rig: WindowRig) -> None:
    """A list opens with a click and so does the line."""
    script = replies_in_order(listed(0), listed(1), waits(), text_reply("Done."))
    async with ChatServer(script) as server:
        await rig.wiring.workspace_controller.new_session()
        await rig.use_server(server)
        rig.type_message("Do it")
        await until(rig.chat.todo_panel.isVisible, "the list above the composer")
        await until(lambda: len(rig.rows(ToolRow)) == 3, "three calls")
        viewport = rig.chat.view.chat_viewport
        placed = next(
            placed
            for placed in viewport.scroll_layout.placed
            if placed.row_index == viewport.model.index_of(rig.rows(ToolRow)[0].key)
        )
        point = QPointF(
            viewport.column.left + 40, placed.y + viewport.item_cache.gap(placed.row_index) + 20
        ).toPoint()
        QTest.mouseClick(rig.chat.view.viewport(), Qt.MouseButton.LeftButton, pos=point)
        assert len(rig.call_card(0, TodoCard).texts) == 3
        closed = rig.chat.todo_panel.height()
        line = rig.chat.todo_panel.childAt(60, 20)
        assert line is not None
        QTest.mouseClick(line, Qt.MouseButton.LeftButton)
        await until(lambda: rig.chat.todo_panel.height() > closed, "the whole list above the composer")
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()


async def _check_a_refused_list(rig: WindowRig) -> None:
    """A list that was refused is a call that failed."""
    items = [{"content": "both", "status": "in_progress"}] * 2
    script = replies_in_order(StreamedReply(Call("todo", json.dumps({"items": items}))), text_reply("Oh."))
    async with ChatServer(script) as server:
        await rig.wiring.workspace_controller.new_session()
        await rig.use_server(server)
        await rig.run_turn("Do it")
        viewport = rig.chat.view.chat_viewport
        index = viewport.model.index_of(rig.rows(ToolRow)[0].key)
        assert index is not None
        assert not isinstance(viewport.item(index), TodoCard)


async def _check_an_unfinished_list(rig: WindowRig) -> None:
    """A list with open items stays when the turn is stopped, and is there again in another look at it."""
    refused = StreamedReply(
        Call("todo", json.dumps({"items": [{"content": "both", "status": "in_progress"}] * 2}), id="r")
    )
    script = replies_in_order(
        listed(1), refused, waits(), text_reply("Three."), listed(3), text_reply("Done.")
    )
    async with ChatServer(script) as server:
        await rig.wiring.workspace_controller.new_session()
        await rig.use_server(server)
        panel, session_id = rig.chat.todo_panel, rig.conversation.session.id
        rig.type_message("Do it")
        await until(lambda: len(rig.rows(ToolRow)) == 3, "three calls")
        await rig.conversation.stop()
        await rig.wait_for_turn_end()
        assert [item.status for item in panel.items] == ["done", "in_progress", "pending"]
        assert panel.isVisible()
        await rig.wiring.workspace_controller.new_session()
        await until(lambda: not panel.isVisible(), "no list of another session")
        await rig.wiring.workspace_controller.session_opener.open_session(session_id)
        await until(panel.isVisible, "the list of the session")
        await rig.run_turn("How many files are there?")
        assert not panel.isVisible()  # what the user does now is something else
        await rig.run_turn("Go on")
        assert not panel.isVisible()
