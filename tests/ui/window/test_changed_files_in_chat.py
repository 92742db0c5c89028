"""What calls changed, in the chat of the real window: on their cards, and outside of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.chat.rows.row_types import DividerRow, ToolRow
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.chat_geometry import click_area
from tests.support.window.window_rig import open_window, until

pytestmark = pytest.mark.qt_loop


async def test_a_card_opens_onto_the_diff_of_its_call_and_leads_to_changes(
    qapp: QApplication, tmp_path: Path
) -> None:
    write = {"path": "notes.txt", "content": "one\nTWO\nthree\n"}
    server = ChatServer(
        replies_in_order(
            StreamedReply(Call("write_file", json.dumps(write), id="c1")),
            text_reply("Done."),
            text_reply("Fine."),
        )
    )
    async with server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"notes.txt": "one\ntwo\nthree\n"})
        await rig.use_server(server)
        await until(lambda: rig.workspace.changes.coverage.is_complete, "the first copy")
        rig.type_message("Shout")
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()
        await until(lambda: rig.rows(ToolRow)[0].changes is not None, "what the call changed")
        click_area(rig.chat.view, rig.rows(ToolRow)[0].key, "open:changes")
        await until(lambda: rig.rows(ToolRow)[0].changed_files is not None, "the diff")
        content = rig.rows(ToolRow)[0].changed_files
        assert content is not None
        assert content.text == "  one\n- two\n+ TWO\n  three"

        (rig.folder / "project" / "by hand.txt").write_text("mine\n")
        rig.type_message("Go on")
        words = "by hand.txt changed outside the agent"
        await until(lambda: words in [row.text for row in rig.rows(DividerRow)], "the user's own change")
        await rig.wait_for_turn_end()
        click_area(rig.chat.view, rig.rows(ToolRow)[0].key, "changes:open")
        assert rig.window.page() == "changes"
