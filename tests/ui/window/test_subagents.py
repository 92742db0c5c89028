"""Subagents in the real window: a line while they work, their session to look at, and the way back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.chat.rows.row_types import AssistantRow, UserRow
from helix_desktop.ui.kit.intents import OpenSession
from tests.support.model_servers.chat_server import ChatServer, Reply, StreamedReply, Text, Wait, text_reply
from tests.support.window.buttons import press
from tests.support.window.window_rig import open_window, until

pytestmark = pytest.mark.qt_loop


async def test_a_subagent_is_displayed_while_it_works_and_its_session_links_back(
    qapp: QApplication, tmp_path: Path
) -> None:
    go, scope = asyncio.Event(), TaskScope()

    def model(request: dict[str, Any]) -> Reply:
        if request["messages"][-1]["content"] == "Count them":
            return StreamedReply(Text("Fourteen "), Wait(go), Text("it is."))
        return text_reply("Hello.")

    async with ChatServer(model) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"a.txt": "words"})
        await rig.use_server(server)
        await rig.run_turn("Hi")
        parent = rig.conversation
        work = scope.start(parent.subagents.run("Count them", title="Count"), "a subagent")
        await until(lambda: len(rig.window.jobs.job_ids()) == 1, "the subagent's line")
        child = rig.window.jobs.job_ids()[0]
        go.set()
        result = await work
        assert (result.session_id, result.text) == (child, "Fourteen it is.")
        await until(lambda: not rig.window.jobs.job_ids(), "the line gone")

        rig.perform(OpenSession(child))
        await until(lambda: rig.app_window.shown_session.session_id == child, "the subagent's session")
        await until(lambda: [row.text for row in rig.rows(UserRow)] == ["Count them"], "its task")
        assert [row.text for row in rig.rows(AssistantRow)] == ["Fourteen it is."]
        await until(lambda: "Subagent session." in rig.banner_text(), "whose session it is")
        press(rig.window.notices, "back")
        await until(lambda: rig.conversation is parent, "back in the session")
        await until(lambda: "Subagent session." not in rig.banner_text(), "no banner")
        await scope.close()
