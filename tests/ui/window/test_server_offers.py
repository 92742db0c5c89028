"""Prompts of MCP servers as slash commands, and their resources through `@`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.ui.chat.composer.completer import CompletionItem
from helix_desktop.ui.design.dialogs import TextInputDialog
from tests.support.mcp.mcp_rig import sdk_server
from tests.support.model_servers.chat_server import ChatServer, text_reply
from tests.support.window.window_rig import WindowRig, open_window, until
from tests.ui.window.test_mcp_notices import use_mcp_servers

pytestmark = pytest.mark.qt_loop


def rows(rig: WindowRig) -> list[CompletionItem]:
    """The rows of the popup; none while it is closed."""
    popup = rig.composer.completer.popup
    return list(popup.completions) if popup is not None and popup.isVisible() else []


def _is_said(rig: WindowRig, words: str) -> bool:
    """Return True if a notice has these words."""
    return words in rig.banner_text()


async def begin(rig: WindowRig, server: ChatServer) -> None:
    """Open a project with a running server."""
    await rig.open_folder("project", {"notes.txt": "words"})
    await rig.use_server(server)
    use_mcp_servers(rig, sdk_server())
    servers = rig.wiring.services.mcp_servers
    await until(lambda: servers.resources(rig.workspace.id), "what the server offers")


async def test_a_prompt_is_a_command_whose_text_is_read_before_it_is_sent(
    qapp: QApplication, tmp_path: Path
) -> None:
    """With its arguments typed, or asked for; a text of a server is never run as a command."""
    async with ChatServer(lambda _: text_reply("Done.")) as server, open_window(qapp, tmp_path) as rig:
        await begin(rig, server)
        rig.type_message("/made:rev", send=False)
        await until(lambda: rows(rig), "the command")
        assert rows(rig)[0].title == "/made:review"
        assert rows(rig)[0].detail == "FILE [TONE] · Reviews a change."
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Tab)
        rig.type_message("a.py very strict")
        await until(lambda: rig.composer.text() == "Review a.py. Be very strict.", "the text")
        assert "made wrote this message" in rig.banner_text()
        assert rig.events(UserSpoke) == []
        rig.composer.editor.clear()
        assert "made wrote" not in rig.banner_text()
        rig.type_message("/made:review")
        await until(lambda: rig.window.findChildren(TextInputDialog), "the argument")
        (dialog,) = rig.window.findChildren(TextInputDialog)
        QTest.keyClicks(dialog.field, "b.py")
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)
        await until(lambda: rig.composer.text() == "Review b.py. Be kind.", "the text")
        await rig.run_turn("")
        assert rig.events(UserSpoke)[-1].text == "Review b.py. Be kind."
        assert "made wrote" not in rig.banner_text()
        rig.type_message("/made:menu")
        await until(lambda: rig.composer.text() == " /quit", "a text")
        await rig.run_turn("")
        assert rig.events(UserSpoke)[-1].text.strip() == "/quit"


async def test_a_resource_is_attached_as_a_file_is(qapp: QApplication, tmp_path: Path) -> None:
    """Its text goes along with the message; what can't be attached is said."""
    async with ChatServer(lambda _: text_reply("Done.")) as server, open_window(qapp, tmp_path) as rig:
        await begin(rig, server)
        rig.type_message("Sum up @notes", send=False)
        await until(lambda: len(rows(rig)) == 2, "a file and a resource")
        assert [row.title for row in rows(rig)] == ["notes.txt", "Notes of today"]
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Down)
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
        await until(rig.attachment_labels, "the chip")
        assert rig.composer.text() == "Sum up "
        assert rig.attachment_labels()[0].startswith("made: Notes of today · 1 line")
        await rig.run_turn("")
        (attachment,) = rig.events(UserSpoke)[-1].attachments
        assert await rig.workspace.store.get(attachment.digest) == b"Buy milk."
        assert "Buy milk." in str(server.bodies[-1]["messages"])
        for typed, why in (("@blob", "It isn't text"), ("@gone", "made didn't answer")):
            rig.composer.set_text("")
            rig.type_message(typed, send=False)
            await until(lambda: len(rows(rig)) == 1, "the resource")
            QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
            await until(partial(_is_said, rig, why), "why it can't be attached")
            assert rig.attachment_labels() == []
