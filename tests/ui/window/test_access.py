"""The agent's access: the mode of a session, rules of the workspace, trust in an added folder."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from helix_desktop.domain.events.session import ModeChanged
from helix_desktop.tools.shell.sandbox_detect import find_sandbox
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, DividerRow, ToolRow
from helix_desktop.ui.settings.permissions_page import PermissionsPage
from helix_desktop.ui.window.trust import TrustDialog
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    Wait,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop


async def opened(rig: WindowRig) -> PermissionsPage:
    await rig.wiring.settings.show("permissions")
    return rig.settings.permissions


def flip(page: PermissionsPage, name: str) -> None:
    """Click a switch."""
    QTest.mouseClick(find_button(page, name), Qt.MouseButton.LeftButton, pos=QPoint(15, 13))


def tools(server: ChatServer) -> list[str]:
    """Return the tools in the newest request."""
    return [tool["function"]["name"] for tool in server.bodies[-1]["tools"]]


async def _check_the_page_of_permissions(rig: WindowRig) -> None:
    """What it allows holds from the next request on."""
    call = StreamedReply(Call("run_command", '{"command": "true"}'))
    async with rig.answered_by(replies_in_order(text_reply("Hi."), call, text_reply("Ran."))) as server:
        page = await opened(rig)
        await rig.run_turn("Hello")
        assert "fetch_url" not in tools(server)
        assert "no network" in page._status.text()
        flip(page, "fetch")
        flip(page, "network")
        await until(lambda: "network allowed" in page._status.text(), "the network open")
        flip(page, "sandbox")
        await until(lambda: page._status.text().startswith("Not sandboxed"), "the sandbox off")
        await until(lambda: not find_button(page, "network").isEnabled(), "nothing to allow")
        record = rig.wiring.services.registry.get(rig.workspace.id)
        assert (record.sandbox, record.network, record.fetch) == (False, True, True)
        rig.window.leave_settings()
        rig.type_message("Run it")
        approval = (await rig.answer_approval("once")).request
        assert "Not sandboxed" in approval.effect
        await rig.wait_for_turn_end()
        assert rig.last_output("run_command").text.startswith("exit code 0 (not sandboxed)")
        assert "fetch_url" in tools(server)


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


async def test_modes_permissions_and_trust_decide_what_runs_and_is_sent(rig: WindowRig) -> None:
    """Trust comes last: without it nothing is sent from the workspace of the steps before."""
    await _check_modes(rig)
    if find_sandbox().kind != "none":
        await _check_the_page_of_permissions(rig)
    await _check_it_stops_running_work(rig)
    await _check_nothing_is_sent_before(rig)
    await rig.wiring.workspace_controller.open_folder(rig.folder / "cloned")
    assert rig.composer.isEnabled()
    assert trust_dialog(rig) is None, "it is trusted by now"
    await _check_questions_come_one_after_the_other(rig)


async def _check_modes(rig: WindowRig) -> None:
    """A mode is of its session."""
    async with rig.answered_by(writes, "project") as server:
        assert mode_text(rig) == "Mode: Ask first"
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: mode_text(rig) == "Mode: Plan", "mode plan")
        await until(rig.window.commands.mode_plan.isChecked, "the menu says so")
        await rig.run_turn("Go")
        assert [row.state for row in rig.rows(ToolRow)] == ["denied"]
        assert not list((rig.folder / "project").iterdir())
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
        assert mode_text(rig) == "Mode: Ask first", "it is the session's"
        await _check_questions_that_wait(rig)
        await rig.wiring.workspace_controller.open_session(auto)
        assert mode_text(rig) == "Mode: Auto"


async def _check_questions_that_wait(rig: WindowRig) -> None:
    """Auto answers them."""
    rig.type_message("Go")
    await until(lambda: rig.rows(ApprovalRow), "a question")
    rig.window.commands.mode_auto.trigger()
    await rig.wait_for_turn_end()
    assert rig.rows(ApprovalRow) == []
    assert [row.state for row in rig.rows(ToolRow)] == ["ok"]


def trust_dialog(rig: WindowRig) -> TrustDialog | None:
    """The question on screen."""
    return next((dialog for dialog in rig.window.findChildren(TrustDialog) if dialog.isVisible()), None)


async def _added(rig: WindowRig, folder: Path) -> TrustDialog:
    await rig.wiring.workspace_controller.open_folder(folder)
    await until(lambda: trust_dialog(rig), "the question")
    dialog = trust_dialog(rig)
    assert dialog is not None
    return dialog


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
        assert not rig.chat.trust_strip.isVisible(), "the dialog asks already"
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
        registry = rig.wiring.services.registry
        await until(lambda: registry.get(rig.workspace.id).trusted, "the answer saved")
        assert not rig.chat.trust_strip.isVisible()
        rig.composer.set_text("")
        await rig.run_turn("Hello")
        assert len(server.bodies) == 1


async def _check_it_stops_running_work(rig: WindowRig) -> None:
    """Without trust, a turn ends and no message can be written."""
    never = asyncio.Event()
    async with ChatServer(lambda _: StreamedReply(Wait(never))) as server:
        await rig.use_server(server)
        rig.type_message("Go on for ever")
        await until(lambda: rig.conversation.is_running, "a turn")
        await rig.wiring.trust.set_trusted(rig.workspace.id, trusted=False)
        assert not rig.conversation.is_running
        assert not rig.composer.isEnabled()
        assert rig.chat.trust_strip.isVisible()
        never.set()
