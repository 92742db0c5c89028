"""The agent's access, set in the real window: it applies from the next call on."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.tools.shell.sandbox_detect import find_sandbox
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.settings.permissions_page import PermissionsPage
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import find_button, press
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


async def test_the_user_changes_what_commands_see_of_the_home_folder(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        page = await opened(rig)
        press(page, "open:home_names")
        area = lines(page, "home_names")
        names = area.toPlainText().splitlines()
        assert ".pyenv" in names
        area.setPlainText("\n".join([*(name for name in names if name != ".pyenv"), "~/tools/", "../x"]))
        press(page, "save:home_names")
        services = rig.wiring.services
        await until(lambda: services.settings.home_shown == ("tools",), "it is saved")
        assert services.settings.home_hidden == (".pyenv",)
        assert "tools" in services.settings.home_names
        await until(lambda: "tools" in area.toPlainText().splitlines(), "as it was understood")
        press(page, "reset:home_names")
        press(page, "save:home_names")
        await until(
            lambda: services.settings.home_shown == services.settings.home_hidden == (), "the defaults"
        )


async def test_the_user_changes_the_list_of_reading_commands(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        page, services = await opened(rig), rig.wiring.services
        press(page, "open:reading_lines")
        area, form = lines(page, "reading_lines"), page.reading
        before = area.toPlainText().splitlines()
        assert any(line.startswith("git status ") for line in before)
        area.setPlainText("\n".join([*before, "bash FILES"]))
        press(page, "save:reading_lines")
        await until(
            lambda: "runs other programs" in form.errors().get("reading_lines", ""), "why it cannot be"
        )
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
        assert "no network" in page.status_text
        flip(page, "network")
        await until(lambda: "network allowed" in page.status_text, "the network open")
        flip(page, "sandbox")
        await until(lambda: page.status_text.startswith("Not sandboxed"), "the sandbox off")
        await until(lambda: not find_button(page, "network").isEnabled(), "nothing to allow")
        record = rig.wiring.services.registry.get(identity)
        assert (record.sandbox, record.network) == (False, True)
        rig.window.leave_settings()
        rig.type_message("Run it")
        approval = (await rig.answer_approval("once")).request
        assert "Not sandboxed" in approval.effect
        await rig.wait_for_turn_end()
        assert rig.last_output("run_command").text.startswith("exit code 0 (not sandboxed)")
