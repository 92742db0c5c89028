"""How far the agent reaches, set in the real window: it holds from the next call on."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.tools.shell.sandbox_detect import find_sandbox
from helix_desktop.ui.settings.permissions.sandbox_group import SandboxGroup
from tests.support.chat_server import Call, ChatServer, Stream, in_turn, say
from tests.support.window_rig import Rig, opened_window, until

pytestmark = pytest.mark.qt_loop


async def opened(rig: Rig) -> SandboxGroup:
    """The switches, on the page of permissions."""
    await rig.opened.settings.show("permissions")
    return rig.opened.settings.dialog.permissions.sandbox


def flip(group: SandboxGroup, name: str) -> None:
    """Click a switch."""
    QTest.mouseClick(group.switches[name], Qt.MouseButton.LeftButton, pos=QPoint(15, 13))


def tools(server: ChatServer) -> list[str]:
    """What the model was told of in the newest request."""
    return [one["function"]["name"] for one in server.bodies[-1]["tools"]]


async def test_pages_are_fetched_only_once_that_is_switched_on(qapp: QApplication, tmp_path: Path) -> None:
    async with ChatServer(in_turn(say("Hi."), say("Ho."))) as server, opened_window(qapp, tmp_path) as rig:
        identity = await rig.open_folder("project")
        await rig.use_server(server)
        group = await opened(rig)
        await rig.say("Hello")
        assert "fetch_url" not in tools(server)
        flip(group, "fetch")
        await until(lambda: rig.opened.services.registry.get(identity).fetch, "it is on")
        rig.opened.settings.dialog.close()
        await rig.say("Hello again")
        assert "fetch_url" in tools(server)


@pytest.mark.skipif(find_sandbox().kind == "none", reason="there is no sandbox to switch off")
async def test_the_sandbox_and_its_network_are_switches(qapp: QApplication, tmp_path: Path) -> None:
    call = Stream(Call("run_command", '{"command": "true"}'))
    async with ChatServer(in_turn(call, say("Ran."))) as server, opened_window(qapp, tmp_path) as rig:
        identity = await rig.open_folder("project")
        await rig.use_server(server)
        group = await opened(rig)
        assert "no network" in group.status_text
        flip(group, "network")
        await until(lambda: "the network is open" in group.status_text, "the network open")
        flip(group, "sandbox")
        await until(lambda: group.status_text.startswith("Not sandboxed"), "the sandbox off")
        assert not group.switches["network"].isVisible()
        record = rig.opened.services.registry.get(identity)
        assert (record.sandbox, record.network) == (False, True)
        rig.opened.settings.dialog.close()
        rig.typed("Run it")
        asked = await rig.decide("once")
        assert "Not sandboxed" in asked.summary
        await rig.turn_over()
        assert rig.output("run_command").text.startswith("exit code 0 (not sandboxed)")
