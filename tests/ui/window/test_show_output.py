"""What the agent puts before the user: a card with the content, while the model holds one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.rows.row_texts import accessible_name, text_of_row
from helix_desktop.ui.chat.rows.row_types import ToolRow
from tests.support.image_bytes import png
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop
LINES = [f"row {number}" for number in range(1, 301)]


def call(tool: str, number: int, **arguments: object) -> Call:
    """A call as the model writes it."""
    return Call(tool, json.dumps(arguments), id=f"c{number}")


def press(rig: WindowRig, number: int, area: str) -> None:
    """Press a place of a card."""
    viewport = rig.chat.view.chat_viewport
    key = rig.rows(ToolRow)[number].key
    index = viewport.model.index_of(key)
    assert index is not None
    viewport.show_row(index)
    viewport.widget_pool.visible[key].trigger(area)


async def test_the_user_sees_the_content_and_the_model_one_line(qapp: QApplication, tmp_path: Path) -> None:
    """Pinned to the bytes that were read; long content is shown in part, whole on a click, and copied."""
    script = replies_in_order(
        StreamedReply(call("read_file", 1, path="rows.txt"), call("read_file", 2, path="shot.png")),
        StreamedReply(
            call("show_output", 3, hash="rows.txt", start_line=2, caption="The rows"),
            call("show_output", 4, hash="shot.png"),
        ),
        text_reply("There they are."),
    )
    async with ChatServer(script) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"rows.txt": "\n".join(LINES) + "\n"})
        (tmp_path / "project" / "shot.png").write_bytes(png(60, 40))
        await rig.use_server(server)
        await rig.run_turn("Show me the rows")
        (tmp_path / "project" / "rows.txt").write_text("changed since\n", encoding="utf-8")
        rows = rig.rows(ToolRow)
        await until(lambda: rig.rows(ToolRow)[2].excerpt_content is not None, "the content")
        assert rig.call_card(2, RowItem).accessible_text() == "\n".join(LINES[1:81])
        assert accessible_name(rows[2]) == "The rows: read_file rows.txt, lines 2–300"
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
