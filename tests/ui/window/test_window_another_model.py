"""A session that another model answered, as `run --base-url` leaves it: nothing changes before a choice."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.errors import ModelNotChosen
from helix_desktop.ui.chat.rows.row_types import AssistantRow
from tests.support.buttons import press
from tests.support.chat_server import ChatServer, in_turn, say
from tests.support.window_rig import Rig, opened_window, until

pytestmark = pytest.mark.qt_loop
LABEL = "server/qwen3"


async def answered(folder: Path, qapp: QApplication, server: ChatServer, label: str = LABEL) -> None:
    """A session that a model answered which only this run was given."""
    async with opened_window(qapp, folder) as rig:
        await rig.open_folder("project")
        await rig.room.set_models(await rig.opened.services.models.adhoc(label, server.base_url, 32_000))
        await rig.say("Hello")
        assert [row.text for row in rig.rows(AssistantRow)] == ["Here"]


def asked(rig: Rig) -> bool:
    """Whether the window asks which model goes on."""
    return "answered in this session" in rig.banners()


async def test_it_is_shown_by_its_own_model_and_held_until_the_person_chose(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with ChatServer(in_turn(say("Here"))) as server:
        await answered(tmp_path, qapp, server)
        async with opened_window(qapp, tmp_path) as rig:
            await rig.opened.workspace_controller.restore_last()
            assert f"{LABEL} answered in this session, and is not set up here." in rig.banners()
            assert rig.window.top_bar.status() == "Ready · qwen3 · 2 messages"
            assert rig.composer.model_button.text() == "qwen3"
            rig.typed("Go on")
            await until(lambda: ModelNotChosen.WHAT in rig.banners(), "the refusal")
            assert rig.composer.text() == "Go on"
            assert not rig.talk.is_running
            with pytest.raises(ModelNotChosen):
                rig.talk.compact()
            with pytest.raises(ModelNotChosen):
                await rig.talk.continue_turn("Continue.")

            press(rig.window.banners, "go on")
            await until(lambda: not rig.talk.blocked_model, "the choice")
            await until(lambda: rig.composer.model_button.text() == "Offline demo model", "the demo")
            assert not asked(rig)
            assert ModelNotChosen.WHAT not in rig.banners()
            await rig.opened.workspace_controller.new_session()
            await rig.opened.workspace_controller.restore_last()
            assert not asked(rig)
            assert len(server.bodies) == 1


async def test_where_its_provider_is_set_up_it_goes_on_with_it(qapp: QApplication, tmp_path: Path) -> None:
    async with ChatServer(in_turn(say("Here"), say("Again"))) as server:
        await answered(tmp_path, qapp, server, "box/small")
        async with opened_window(qapp, tmp_path) as rig:
            await rig.opened.workspace_controller.restore_last()
            first = rig.talk.session.id
            await rig.open_folder("other")
            assert not asked(rig)
            await rig.use_server(server)
            await rig.opened.workspace_controller.open_folder(tmp_path / "project")
            assert rig.talk.session.id == first
            assert "this workspace uses the offline demo model" in rig.banners()
            press(rig.window.banners, "back")
            await until(lambda: rig.talk.model.label == "box/small", "its own model")
            await until(lambda: not asked(rig), "no question any more")
            await rig.say("And now?")
            assert [row.text for row in rig.rows(AssistantRow)] == ["Here", "Again"]


async def test_choosing_a_model_for_the_workspace_settles_it(qapp: QApplication, tmp_path: Path) -> None:
    async with ChatServer(in_turn(say("Here"), say("Again"))) as server:
        await answered(tmp_path, qapp, server)
        async with opened_window(qapp, tmp_path) as rig:
            await rig.opened.workspace_controller.restore_last()
            press(rig.window.banners, "choose")
            await until(rig.opened.settings.dialog.isVisible, "the page of providers")
            rig.opened.settings.dialog.hide()
            await rig.use_server(server)
            assert asked(rig), "whoever sets up another model has not chosen it yet"
            rig.opened.settings.dialog.providers.editor.use_requested.emit("box")
            await until(lambda: not asked(rig), "the choice")
            assert rig.window.top_bar.status() == "Ready · qwen3 so far, small next · 2 messages"
            await rig.say("And now?")
            assert [row.text for row in rig.rows(AssistantRow)] == ["Here", "Again"]
            assert rig.window.top_bar.status() == "Ready · small · 4 messages"
