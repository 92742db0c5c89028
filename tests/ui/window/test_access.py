"""The agent's access: the mode of a session, rules of the workspace, trust in an added folder."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from helix_desktop.domain.events.session import ModeChanged
from helix_desktop.services.app_services import AppServices
from helix_desktop.tools.shell.sandbox_detect import find_sandbox
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, DividerRow, ToolRow
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.settings.permissions_page import PermissionsPage
from helix_desktop.ui.window.controlled_window import ControlledWindow
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
from tests.support.window.several_windows import new_window
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def opened(rig: WindowRig) -> PermissionsPage:
    await rig.wiring.settings.show("permissions")
    return rig.settings.permissions


def lines(page: PermissionsPage, name: str) -> TextArea:
    """The text of a list that a link opened."""
    area = page.findChild(TextArea, f"lines:{name}")
    assert isinstance(area, TextArea)
    return area


def flip(page: PermissionsPage, name: str) -> None:
    """Click a switch."""
    QTest.mouseClick(find_button(page, name), Qt.MouseButton.LeftButton, pos=QPoint(15, 13))


def tools(server: ChatServer) -> list[str]:
    """Return the tools in the newest request."""
    return [tool["function"]["name"] for tool in server.bodies[-1]["tools"]]


async def test_pages_are_fetched_only_once_that_is_switched_on(qapp: QApplication, tmp_path: Path) -> None:
    async with (
        ChatServer(replies_in_order(text_reply("Hi."), text_reply("Ho."))) as server,
        open_window(qapp, tmp_path) as rig,
    ):
        identity = await rig.open_folder("project")
        await rig.use_server(server)
        page = await opened(rig)
        await rig.run_turn("Hello")
        assert "fetch_url" not in tools(server)
        flip(page, "fetch")
        await until(lambda: rig.wiring.services.registry.get(identity).fetch, "it is on")
        rig.window.leave_settings()
        await rig.run_turn("Hello again")
        assert "fetch_url" in tools(server)


async def test_lists_are_changed_refused_and_reset(qapp: QApplication, tmp_path: Path) -> None:
    """What commands see of the home folder, and the commands that only read."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        page = await opened(rig)
        assert not rig.settings.is_built("providers"), "no page but that"
        await check_the_list_of_the_home_folder(page, rig.wiring.services)
        await check_the_list_of_reading_commands(page, rig.wiring.services)


async def check_the_list_of_the_home_folder(page: PermissionsPage, services: AppServices) -> None:
    press(page, "open:home_names")
    area = lines(page, "home_names")
    names = area.toPlainText().splitlines()
    assert ".pyenv" in names
    area.setPlainText("\n".join([*(name for name in names if name != ".pyenv"), "~/tools/", "../x"]))
    press(page, "save:home_names")
    await until(lambda: services.settings.home_shown == ("tools",), "it is saved")
    assert services.settings.home_hidden == (".pyenv",)
    assert "tools" in services.settings.home_names
    await until(lambda: "tools" in area.toPlainText().splitlines(), "as it was understood")
    press(page, "reset:home_names")
    press(page, "save:home_names")
    await until(lambda: services.settings.home_shown == services.settings.home_hidden == (), "the defaults")


async def check_the_list_of_reading_commands(page: PermissionsPage, services: AppServices) -> None:
    press(page, "open:reading_lines")
    area, form = lines(page, "reading_lines"), page.reading
    before = area.toPlainText().splitlines()
    assert any(line.startswith("git status ") for line in before)
    area.setPlainText("\n".join([*before, "bash FILES"]))
    press(page, "save:reading_lines")
    await until(lambda: "runs other programs" in form.errors().get("reading_lines", ""), "why it cannot be")
    assert services.settings.reading_added == ()
    assert area.toPlainText().endswith("bash FILES"), "what was typed stays"
    kept = [line for line in before if not line.startswith("cat ")]
    area.setPlainText("\n".join([*kept, "mytool list FILES --json"]))
    assert not form.errors()
    press(page, "save:reading_lines")
    await until(lambda: services.settings.reading_added == ("mytool list FILES --json",), "it is saved")
    assert services.settings.reading_removed == ("cat",)
    assert "mytool list FILES --json" in services.settings.reading_lines
    press(page, "reset:reading_lines")
    press(page, "save:reading_lines")
    await until(
        lambda: services.settings.reading_added == services.settings.reading_removed == (), "the defaults"
    )
    flip(page, "reading_commands")
    await until(lambda: not services.settings.reading_commands, "it is off")
    assert services.settings.reading_lines == ()
    assert not find_button(page, "open:reading_lines").isEnabled()


@pytest.mark.skipif(find_sandbox().kind == "none", reason="there is no sandbox to switch off")
async def test_sandbox_and_network_can_be_switched(qapp: QApplication, tmp_path: Path) -> None:
    call = StreamedReply(Call("run_command", '{"command": "true"}'))
    async with (
        ChatServer(replies_in_order(call, text_reply("Ran."))) as server,
        open_window(qapp, tmp_path) as rig,
    ):
        identity = await rig.open_folder("project")
        await rig.use_server(server)
        page = await opened(rig)
        assert "no network" in page._status.text()
        flip(page, "network")
        await until(lambda: "network allowed" in page._status.text(), "the network open")
        flip(page, "sandbox")
        await until(lambda: page._status.text().startswith("Not sandboxed"), "the sandbox off")
        await until(lambda: not find_button(page, "network").isEnabled(), "nothing to allow")
        record = rig.wiring.services.registry.get(identity)
        assert (record.sandbox, record.network) == (False, True)
        rig.window.leave_settings()
        rig.type_message("Run it")
        approval = (await rig.answer_approval("once")).request
        assert "Not sandboxed" in approval.effect
        await rig.wait_for_turn_end()
        assert rig.last_output("run_command").text.startswith("exit code 0 (not sandboxed)")


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
