"""The mode of a session: set by mouse or keys, saved, displayed, and sent to the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from helix_desktop.domain.events.session import ModeChanged
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, DividerRow, ToolRow
from helix_desktop.ui.window.controlled_window import ControlledWindow
from tests.support.model_servers.chat_server import Call, ChatServer, Reply, StreamedReply, text_reply
from tests.support.window.buttons import press
from tests.support.window.several_windows import new_window
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def writes(request: dict[str, object]) -> Reply:
    """A model that writes one file for each message, then says so."""
    messages = request["messages"]
    assert isinstance(messages, list)
    if messages[-1]["role"] == "user":
        arguments = f'{{"path": "f{len(messages)}.txt", "content": "made"}}'
        return StreamedReply(Call("write_file", arguments, id=f"call{len(messages)}"))
    return text_reply("Ended.")


def mode_text(rig: WindowRig) -> str:
    """Return the mode as read by a screen reader."""
    return rig.composer.mode_button.accessibleName()


def _mode_of(window: ControlledWindow) -> str:
    return window.window.pages.chat.composer.mode_button.accessibleName()


async def test_a_mode_is_selected_displayed_and_saved(qapp: QApplication, tmp_path: Path) -> None:
    async with ChatServer(writes) as server:
        async with open_window(qapp, tmp_path) as rig:
            await rig.open_folder("project")
            await rig.use_server(server)
            assert mode_text(rig) == "Mode: Ask"
            QTest.keyClick(rig.composer.editor, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
            await until(lambda: mode_text(rig) == "Mode: Plan", "mode plan")
            await until(rig.window.commands.mode_plan.isChecked, "the menu says so")
            await rig.run_turn("Go")
            assert [row.state for row in rig.rows(ToolRow)] == ["denied"]
            assert not list((tmp_path / "project").iterdir())
            contents = [
                message["content"] for message in server.bodies[0]["messages"] if message["role"] == "user"
            ]
            assert contents[0].startswith("[Mode: plan]")
            assert [row.text for row in rig.rows(DividerRow)] == ["Plan mode: the agent only reads and plans"]

            rig.window.commands.mode_auto.trigger()
            await until(lambda: mode_text(rig) == "Mode: Auto", "mode auto")
            await rig.run_turn("Go on")
            assert rig.rows(ToolRow)[-1].state == "ok"
            assert rig.rows(ApprovalRow) == []
            assert [event.mode for event in rig.events(ModeChanged)] == ["plan", "auto"]

            auto = rig.conversation.session.id
            await rig.wiring.workspace_controller.new_session()
            assert mode_text(rig) == "Mode: Ask", "it is the session's"
            await rig.wiring.workspace_controller.open_session(auto)
            assert mode_text(rig) == "Mode: Auto"
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            assert mode_text(rig) == "Mode: Auto", "and stays with it"
            second = await new_window(rig)
            await rig.conversation.set_mode("plan")
            assert mode_text(rig) == "Mode: Plan", "whoever changes it"
            assert _mode_of(second) == "Mode: Ask", "its session is another"
            await rig.conversation.set_mode("auto")
            assert mode_text(rig) == "Mode: Auto"

            await rig.open_folder("waiting")
            await rig.use_server(server)
            await _check_questions_that_wait(rig)


async def _check_questions_that_wait(rig: WindowRig) -> None:
    """Auto answers them."""
    rig.type_message("Go")
    await until(lambda: rig.rows(ApprovalRow), "a question")
    rig.window.commands.mode_auto.trigger()
    await rig.wait_for_turn_end()
    assert rig.rows(ApprovalRow) == []
    assert [row.state for row in rig.rows(ToolRow)] == ["ok"]


async def test_other_windows_of_a_sample_say_at_once_that_demo_calls_run(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Their sessions are others, and get no update; the empty one says it, too."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.open_sample()
        await until(rig.next_message_lines, "a message is proposed")
        second = await new_window(rig)
        empty = second.window.pages.chat.empty_state
        assert _mode_of(second) == "Mode: Ask"
        assert not any("Demo calls" in label.text() for label in empty.findChildren(QLabel))
        press(rig.window, "send_suggestion")
        await rig.answer_approval("demo")
        await until(lambda: mode_text(rig) == "Mode: Ask, except demo calls", "the mode is shown")
        assert _mode_of(second) == "Mode: Ask, except demo calls"
        assert any("Demo calls run" in label.text() for label in empty.findChildren(QLabel))
        await rig.conversation.stop()
        await rig.wait_for_turn_end()
