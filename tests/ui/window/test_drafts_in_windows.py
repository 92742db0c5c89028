"""What is still under way in one window when its session goes to another one comes to that one's draft."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.chat.composer.attachment_chips import AttachmentChip, AttachText
from helix_desktop.ui.kit.intents import OpenListedSession
from helix_desktop.ui.window.controlled_window import ControlledWindow
from tests.support.model_servers.chat_server import ChatServer, text_reply
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def _second_window(rig: WindowRig) -> ControlledWindow:
    windows = rig.wiring.windows
    await windows.open_window(rig.workspace.id)
    second = windows.current
    assert isinstance(second, ControlledWindow)
    return second


async def _move(rig: WindowRig, second: ControlledWindow, session_id: str) -> None:
    """Let the first window go on with another session, and show its session in the second one."""
    await rig.wiring.workspace_controller.new_session()
    loaded: list[str] = []
    second.session.loaded.connect(lambda: loaded.append(second.shown_session.session_id))
    second.window.perform(OpenListedSession(session_id))
    await until(lambda: session_id in loaded, "the session with its draft")


def _chips(second: ControlledWindow) -> list[str]:
    composer = second.composer.widget
    return [chip.label for chip in composer.findChildren(AttachmentChip) if not chip.isHidden()]


@pytest.mark.parametrize("typed", ["", "Written there"])
async def test_a_message_that_was_not_sent_comes_to_the_window_that_shows_its_session(
    qapp: QApplication, tmp_path: Path, typed: str
) -> None:
    """Nothing is stored over it: it stands in front of what is written there, with what goes along."""
    async with ChatServer(lambda _: text_reply("Hello.")) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.use_server(server)
        second = await _second_window(rig)
        session_id = rig.app_window.shown_session.session_id
        await rig.run_turn("Said first.")
        composer = second.composer
        async with rig.wiring.windows.drafts.attaching_lock:
            rig.perform(AttachText("words\n" * 50))
            rig.wiring.composer.send("Not sent. ")
            await _move(rig, second, session_id)
            composer.widget.editor.insertPlainText(typed)
        await until(lambda: composer.widget.text() == f"Not sent. {typed}", "the message and what was typed")
        assert len(_chips(second)) == 1
        assert await composer.drafts.save_all() == []
        draft = await rig.workspace.store.draft(session_id)
        assert (draft.text, len(draft.attachments)) == (f"Not sent. {typed}", 1)


async def test_what_is_attached_meanwhile_is_on_screen_where_its_session_is(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with ChatServer(lambda _: text_reply("Hello.")) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.use_server(server)
        second = await _second_window(rig)
        session_id = rig.app_window.shown_session.session_id
        await rig.run_turn("Said first.")
        async with rig.wiring.windows.drafts.attaching_lock:
            rig.perform(AttachText("words\n" * 50))
            await _move(rig, second, session_id)
            second.composer.widget.editor.insertPlainText("Written there")
        await until(lambda: len(_chips(second)) == 1, "what was attached in the other window")
        assert await second.composer.drafts.save_all() == []
        draft = await rig.workspace.store.draft(session_id)
        assert (draft.text, len(draft.attachments)) == ("Written there", 1)
