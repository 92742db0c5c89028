"""The agent's access, set in the real window: it applies from the next call on."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.tools.shell.sandbox_detect import find_sandbox
from helix_desktop.ui.settings.permissions_page import SandboxGroup
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def opened(rig: WindowRig) -> SandboxGroup:
    """The switches, on the page of permissions."""
    await rig.wiring.settings.show("permissions")
    return rig.settings.permissions.sandbox


def flip(group: SandboxGroup, name: str) -> None:
    """Click a switch."""
    QTest.mouseClick(group.switches[name], Qt.MouseButton.LeftButton, pos=QPoint(15, 13))


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
        group = await opened(rig)
        await rig.run_turn("Hello")
        assert "fetch_url" not in tools(server)
        flip(group, "fetch")
        await until(lambda: rig.wiring.services.registry.get(identity).fetch, "it is on")
        rig.window.leave_settings()
        await rig.run_turn("Hello again")
        assert "fetch_url" in tools(server)


async def test_the_user_changes_what_commands_see_of_the_home_folder(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        group = await opened(rig)
        group.home_link.click()
        names = group.home_names.toPlainText().splitlines()
        assert ".pyenv" in names
        group.home_names.setPlainText(
            "\n".join([*(name for name in names if name != ".pyenv"), "~/tools/", "../x"])
        )
        group.home_save.click()
        services = rig.wiring.services
        await until(lambda: services.settings.home_shown == ("tools",), "it is saved")
        assert services.settings.home_hidden == (".pyenv",)
        assert "tools" in services.settings.home_names
        await until(lambda: "tools" in group.home_names.toPlainText().splitlines(), "as it was understood")
        group.home_reset.click()
        group.home_save.click()
        await until(
            lambda: services.settings.home_shown == services.settings.home_hidden == (), "the defaults"
        )


async def test_the_user_changes_the_list_of_reading_commands(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.wiring.settings.show("permissions")
        group, services = rig.settings.permissions.reading, rig.wiring.services
        group.list_link.click()
        lines = group.lines.toPlainText().splitlines()
        assert any(line.startswith("git status ") for line in lines)
        group.lines.setPlainText("\n".join([*lines, "bash FILES"]))
        group.save.click()
        await until(lambda: "runs other programs" in group.error_text, "why it cannot be")
        assert services.settings.reading_added == ()
        assert group.lines.toPlainText().endswith("bash FILES"), "what was typed stays"
        kept = [line for line in lines if not line.startswith("cat ")]
        group.lines.setPlainText("\n".join([*kept, "mytool list FILES --json"]))
        assert group.error_text == ""
        group.save.click()
        await until(lambda: services.settings.reading_added == ("mytool list FILES --json",), "it is saved")
        assert services.settings.reading_removed == ("cat",)
        assert "mytool list FILES --json" in services.settings.reading_lines
        group.reset.click()
        group.save.click()
        await until(
            lambda: services.settings.reading_added == services.settings.reading_removed == (), "the defaults"
        )
        QTest.mouseClick(group.switch, Qt.MouseButton.LeftButton, pos=QPoint(15, 13))
        await until(lambda: not services.settings.reading_commands, "it is off")
        assert services.settings.reading_lines == ()
        await until(lambda: group.list_link.isHidden() or not group.list_link.isVisible(), "no list")


@pytest.mark.skipif(find_sandbox().kind == "none", reason="there is no sandbox to switch off")
async def test_sandbox_and_network_can_be_switched(qapp: QApplication, tmp_path: Path) -> None:
    call = StreamedReply(Call("run_command", '{"command": "true"}'))
    async with (
        ChatServer(replies_in_order(call, text_reply("Ran."))) as server,
        open_window(qapp, tmp_path) as rig,
    ):
        identity = await rig.open_folder("project")
        await rig.use_server(server)
        group = await opened(rig)
        assert "no network" in group.status_text
        flip(group, "network")
        await until(lambda: "network allowed" in group.status_text, "the network open")
        flip(group, "sandbox")
        await until(lambda: group.status_text.startswith("Not sandboxed"), "the sandbox off")
        assert not group.switches["network"].isVisible()
        record = rig.wiring.services.registry.get(identity)
        assert (record.sandbox, record.network) == (False, True)
        rig.window.leave_settings()
        rig.type_message("Run it")
        approval = await rig.answer_approval("once")
        assert "Not sandboxed" in approval.effect
        await rig.wait_for_turn_end()
        assert rig.last_output("run_command").text.startswith("exit code 0 (not sandboxed)")
