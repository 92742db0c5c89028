"""Copying messages of the chat as Markdown: those that the selection touches, or all."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication

from helix_desktop.ui.chat.rows.row_types import AssistantRow, UserRow
from tests.support.model_servers.chat_server import replies_in_order, text_reply
from tests.support.window.window_rig import WindowRig

pytestmark = pytest.mark.qt_loop


async def test_the_messages_of_a_selection_are_copied_exactly(rig: WindowRig) -> None:
    key = "sk-live-0123456789abcdef0123456789abcdef"
    replies = replies_in_order(text_reply("# First\n\n- one"), text_reply(f"The key is `{key}`"))
    async with rig.answered_by(replies, "first"):
        await rig.run_turn("Say it")
        await rig.run_turn("And the key?")
        view, copy = rig.chat.view, rig.window.commands.copy_markdown
        copy.trigger()
        copied = QGuiApplication.clipboard().text()
        assert copied.startswith("## You · ")
        assert all(part in copied for part in ("Say it", "# First\n\n- one", "And the key?", key))
        model = view.chat_viewport.model
        kinds = [type(model.row(index)) for index in range(len(model))]
        asked = len(kinds) - 1 - kinds[::-1].index(UserRow)
        view._selection.select_row(asked)
        copy.trigger()
        assert QGuiApplication.clipboard().text().splitlines()[1:] == ["", "And the key?"]
        answered = len(kinds) - 1 - kinds[::-1].index(AssistantRow)
        view._selection.select_row(answered)
        copy.trigger()
        assert QGuiApplication.clipboard().text().endswith(f"The key is `{key}`\n")
