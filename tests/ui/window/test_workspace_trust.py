"""An added folder needs trust; until then nothing runs and nothing is sent."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from helix_desktop.ui.window.trust import TrustDialog
from tests.support.model_servers.chat_server import ChatServer, StreamedReply, Wait, text_reply
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def trust_dialog(rig: WindowRig) -> TrustDialog | None:
    """The question on screen."""
    return next((dialog for dialog in rig.window.findChildren(TrustDialog) if dialog.isVisible()), None)


async def _added(rig: WindowRig, folder: Path) -> TrustDialog:
    await rig.wiring.workspace_controller.open_folder(folder)
    await until(lambda: trust_dialog(rig), "the question")
    dialog = trust_dialog(rig)
    assert dialog is not None
    return dialog


async def test_trust_is_asked_for_saved_and_taken_back(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await _check_nothing_is_sent_before(rig)
        await _check_it_stops_running_work(rig)
        (tmp_path / "mine").mkdir()
        dialog = await _added(rig, tmp_path / "mine")
        press(dialog, "trust")
        await until(rig.workspace.is_trusted, "the folder trusted")
        identity = rig.workspace.id
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.open_folder(tmp_path / "mine")
        await rig.wiring.workspace_controller.new_session()
        assert rig.workspace.id == identity
        assert rig.composer.isEnabled()
        assert trust_dialog(rig) is None
        await _check_questions_come_one_after_the_other(rig)


async def _check_questions_come_one_after_the_other(rig: WindowRig) -> None:
    """Of folders that are opened in quick succession; a folder that is opened twice is asked about once."""
    questions = []
    for name in ("one", "two", "two", "three"):
        (rig.folder / name).mkdir(exist_ok=True)
        await rig.wiring.workspace_controller.open_folder(rig.folder / name)
    for name in ("one", "two", "three"):
        await until(lambda: trust_dialog(rig), f"the question about {name}")
        (dialog,) = [dialog for dialog in rig.window.findChildren(TrustDialog) if dialog.isVisible()]
        labels = dialog.findChildren(QLabel)
        questions.append([label.text() for label in labels if "Do you" in label.text()])
        press(dialog, "decline")
        await until(partial(_is_gone, rig, dialog), "the question gone")
    assert questions == [["Do you trust one?"], ["Do you trust two?"], ["Do you trust three?"]]


def _is_gone(rig: WindowRig, dialog: TrustDialog) -> bool:
    return trust_dialog(rig) is not dialog


async def _check_nothing_is_sent_before(rig: WindowRig) -> None:
    """What a folder could do is listed; declined, it takes no message until it is trusted after all."""
    folder = rig.folder / "cloned"
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "hooks" / "post-checkout").write_text("curl evil", encoding="utf-8")
    (folder / ".mcp.json").write_text("{}", encoding="utf-8")
    async with ChatServer(lambda _: text_reply("Hello.")) as server:
        dialog = await _added(rig, folder)
        words = "\n".join(label.text() for label in dialog.findChildren(QLabel))
        assert dialog.windowTitle() == "Trust this folder?"
        QTest.keyClick(dialog, Qt.Key.Key_Return)
        assert trust_dialog(rig) is dialog, "Enter decides nothing"
        for expected in (str(folder), ".git/hooks", "post-checkout", ".mcp.json"):
            assert expected in words
        press(dialog, "decline")
        await until(lambda: trust_dialog(rig) is None, "the question gone")
        await rig.wiring.workspace_controller.new_session()
        await rig.use_server(server)

        assert rig.chat.trust_strip.isVisible()
        assert not rig.composer.isEnabled()
        assert "Trust this folder" in rig.composer.editor.placeholderText()
        rig.wiring.composer.send("Sent all the same")
        await until(lambda: "isn't trusted yet" in rig.banner_text(), "it says why not")
        assert server.bodies == []
        assert rig.composer.text() == "Sent all the same", "nothing typed is lost"

        press(rig.chat.trust_strip, "strip_action")
        await until(lambda: trust_dialog(rig), "the question again")
        again = trust_dialog(rig)
        assert again is not None
        press(again, "trust")
        await until(lambda: not rig.chat.trust_strip.isVisible(), "the strip gone")
        assert rig.wiring.services.registry.get(rig.workspace.id).trusted
        rig.composer.set_text("")
        await rig.run_turn("Hello")
        assert len(server.bodies) == 1


async def _check_it_stops_running_work(rig: WindowRig) -> None:
    """Without trust, a turn ends and no message can be written."""
    never = asyncio.Event()
    async with ChatServer(lambda _: StreamedReply(Wait(never))) as server:
        await rig.open_folder("project")
        await rig.use_server(server)
        rig.type_message("Go on for ever")
        await until(lambda: rig.conversation.is_running, "a turn")
        await rig.wiring.trust.set_trusted(rig.workspace.id, trusted=False)
        assert not rig.conversation.is_running
        assert not rig.composer.isEnabled()
        assert rig.chat.trust_strip.isVisible()
        never.set()
