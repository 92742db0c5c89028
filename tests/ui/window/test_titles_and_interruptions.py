"""The list of sessions: titles that a model gives, and turns that ended with the app."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.window.sidebar.rail import WorkspaceButton
from tests.support.model_servers.chat_server import ChatServer, Reply, StreamedReply, Text, Wait, text_reply
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def titles(rig: WindowRig) -> list[str]:
    return [row.title for row in rig.window.sidebar.session_list.sessions()]


def answer(request: dict[str, object]) -> Reply:
    messages = request["messages"]
    assert isinstance(messages, list)
    is_title = str(messages[-1]["content"]).startswith("Name this conversation.")
    return text_reply("Port range check" if is_title else "Done.")


async def test_a_turn_that_ended_with_the_app_is_marked_until_somebody_looks(
    qapp: QApplication, tmp_path: Path
) -> None:
    """In the list, and on the square of the workspace, also while that is closed."""
    more = asyncio.Event()
    script = lambda _: StreamedReply(Text("Look"), Wait(more))  # noqa: E731 - a script
    async with ChatServer(script) as server:
        async with open_window(qapp, tmp_path) as rig:
            await rig.open_folder("first")
            await rig.use_server(server)
            rig.type_message("Work on this.")
            await server.waiting.wait()
            cut_off = rig.conversation.session.id
            rig.window.commands.new_session.trigger()
            await until(lambda: rig.conversation.session.id != cut_off, "another session")
            await until(lambda: badges(rig) == {"first": "running"}, "it runs")
            await rig.open_folder("second")
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await until(lambda: badges(rig) == {"first": "interrupted", "second": ""}, "marked while closed")
            await rig.open_folder("first")
            await until(lambda: interrupted(rig) == [cut_off], "the session is marked")
            assert badges(rig)["first"] == "interrupted"
            await rig.wiring.workspace_controller.open_session(cut_off)
            await until(lambda: interrupted(rig) == [], "it was looked at")
            await until(lambda: badges(rig) == {"first": "", "second": ""}, "no mark is left")
        more.set()


def badges(rig: WindowRig) -> dict[str, str]:
    """Return the badges of the workspaces by name."""
    buttons = rig.window.rail.findChildren(WorkspaceButton)
    return {button.workspace.name: button.workspace.badge for button in buttons}


def interrupted(rig: WindowRig) -> list[str]:
    """Return the sessions of the list that are marked."""
    return [row.id for row in rig.window.sidebar.session_list.sessions() if row.interrupted]
