"""The first run: a model server of this machine is found when somebody looks, and one click connects it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from tests.support.model_servers import LLAMA_CPP, serving
from tests.support.window_rig import opened_window, press, until

pytestmark = pytest.mark.qt_loop


async def test_a_local_server_is_two_clicks_away(qapp: QApplication, tmp_path: Path) -> None:
    async with serving(LLAMA_CPP) as server, opened_window(qapp, tmp_path) as rig:
        rig.opened.desk.models.ports = (1, server.port)
        await rig.opened.shell.begin()
        welcome = rig.window.welcome
        assert server.asked == []
        press(welcome, "Find local servers")
        await until(lambda: "GET /v1/models" in server.asked and not welcome.found.text(), "found")
        press(welcome.found, "Add")
        await until(lambda: "qwen3.gguf answers from now on" in welcome.found.text(), "connected")
        assert rig.opened.desk.settings.model == "llama.cpp/qwen3.gguf"

        await rig.open_folder("project")
        assert rig.talk.model.label == "llama.cpp/qwen3.gguf"
        assert rig.talk.model.window == 16_384


async def test_the_sample_asked_for_twice_at_once_is_copied_once(qapp: QApplication, tmp_path: Path) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        for _ in range(2):
            rig.window.welcome.sample_requested.emit()
        await until(lambda: rig.opened.shell.work.conversation is not None, "the sample's session")
        await rig.opened.shell.open_sample()
        assert rig.banners() == ""
        assert [one.name for one in rig.opened.desk.registry.listed()] == ["tidewatch"]


async def test_where_nothing_answers_it_says_so(qapp: QApplication, tmp_path: Path) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        rig.opened.desk.models.ports = (1,)
        await rig.opened.shell.begin()
        press(rig.window.welcome, "Find local servers")
        await until(lambda: "No model server answers" in rig.window.welcome.found.text(), "said so")
