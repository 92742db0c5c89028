"""The first run: a model server of this machine is found when somebody looks, and one click connects it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.domain.events.session import ApprovalGiven
from tests.support.buttons import press
from tests.support.model_servers import LLAMA_CPP, serving
from tests.support.window_rig import opened_window, until

pytestmark = pytest.mark.qt_loop


async def test_a_local_server_is_two_clicks_away(qapp: QApplication, tmp_path: Path) -> None:
    async with serving(LLAMA_CPP) as server, opened_window(qapp, tmp_path) as rig:
        rig.opened.services.models.local_ports = (1, server.port)
        await rig.opened.workspace_controller.restore_last()
        welcome = rig.window.welcome
        assert server.asked == []
        press(welcome, "find_servers")
        await until(lambda: "GET /v1/models" in server.asked and not welcome.found_servers.text(), "found")
        press(welcome.found_servers, "add")
        await until(lambda: "qwen3.gguf answers from now on" in welcome.found_servers.text(), "connected")
        assert rig.opened.services.settings.model == "llama.cpp/qwen3.gguf"

        await rig.open_folder("project")
        assert rig.talk.model.label == "llama.cpp/qwen3.gguf"
        assert rig.talk.model.window == 16_384


async def test_the_sample_asked_for_twice_at_once_is_copied_once(qapp: QApplication, tmp_path: Path) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        for _ in range(2):
            rig.window.welcome.sample_requested.emit()
        await until(
            lambda: rig.opened.workspace_controller.session_controller.conversation is not None,
            "the sample's session",
        )
        await rig.opened.workspace_controller.open_sample()
        assert rig.banners() == ""
        assert [one.name for one in rig.opened.services.registry.list_workspaces()] == ["tidewatch"]


async def test_where_nothing_answers_it_says_so(qapp: QApplication, tmp_path: Path) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        rig.opened.services.models.local_ports = (1,)
        await rig.opened.workspace_controller.restore_last()
        press(rig.window.welcome, "find_servers")
        await until(lambda: "No model server answers" in rig.window.welcome.found_servers.text(), "said so")


async def test_the_sample_asks_once_for_real_and_says_what_holds(qapp: QApplication, tmp_path: Path) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        await rig.opened.workspace_controller.open_sample()
        await rig.opened.settings.show("permissions")
        page = rig.opened.settings.dialog.permissions
        group = page.findChild(QWidget, "demo_rules")
        assert group is not None
        assert not group.isHidden()
        record = rig.opened.services.registry.get(rig.room.id)
        assert (record.rules, record.demo_calls) == ((), "once")

        rig.composer.set_text((await rig.opened.services.sample_messages(rig.room.id))[0])
        rig.composer.editor.submitted.emit()
        question = await rig.decide("once")
        assert question.tool == "run_command"
        await rig.turn_over()
        given = rig.facts(ApprovalGiven)
        assert (given[0].decision, given[0].rule) == ("once", "")
        assert all(one.rule for one in given[1:])
        assert rig.opened.services.registry.get(rig.room.id).demo_calls == "allow"

        page.demo_calls.click()
        await until(lambda: rig.opened.services.registry.get(rig.room.id).demo_calls == "ask", "asking again")
        await rig.open_folder("project")
        await rig.opened.settings.show("permissions")
        assert group.isHidden()
        rig.opened.settings.close()
