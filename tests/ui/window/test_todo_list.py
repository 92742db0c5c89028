"""The agent's to-do list in the real window: above the message field while its turn runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.chat.items.tool_card import ToolCard
from helix_desktop.ui.chat.rows.row_texts import accessible_name
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, ToolRow
from helix_desktop.ui.design.labels import TextLine
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.chat_geometry import click_area
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


async def test_the_newest_list_is_pinned_while_its_turn_runs(qapp: QApplication, tmp_path: Path) -> None:
    """Each step has a session of its own."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_the_newest_list(rig)
        await _check_a_list_that_is_left(rig)


async def _check_the_newest_list(rig: WindowRig) -> None:
    """It stands above the message field; a call that wrote one is a line, which opens onto what it wrote."""
    script = replies_in_order(listed(0), listed(1), waits(), listed(3), text_reply("Done."))
    async with ChatServer(script) as server:
        await rig.open_folder("project")
        await rig.use_server(server)
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
    async with ChatServer(script) as server:
        await rig.wiring.workspace_controller.new_session()
        await rig.use_server(server)
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
