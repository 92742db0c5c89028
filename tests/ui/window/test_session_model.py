"""The composer's model button chooses for this session; the settings choose the workspace's default."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QMenu

from helix_desktop.agent.session import ModelChange
from helix_desktop.config.settings import ModelEntry
from helix_desktop.domain.events.session import ModelChosen
from helix_desktop.ui.chat.rows.row_types import DividerRow
from tests.support.model_servers.chat_server import ChatServer, replies_in_order, text_reply
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def _set_up(rig: WindowRig, server: ChatServer, folder: str) -> None:
    """Open a workspace whose default is the larger of a provider's two models."""
    await rig.open_folder(folder)
    entries = (ModelEntry(name=name, window=32_000, reserve=1_000) for name in ("large", "small"))
    await rig.use_models(server, *entries)


async def _choose(rig: WindowRig, label: str) -> list[str]:
    """Select a model in the menu of the model's name; return the names checked before."""
    rig.composer.model_clicked.emit()
    menu = next(menu for menu in rig.composer.findChildren(QMenu) if menu.isVisible())
    checked = [action.objectName() for action in menu.actions() if action.isChecked()]
    action = menu.findChild(QAction, f"model:{label}")
    assert isinstance(action, QAction)
    facts = len(rig.events(ModelChosen))
    action.trigger()
    menu.close()
    await until(lambda: len(rig.events(ModelChosen)) > facts, "the choice on record")
    expected = label or rig.wiring.services.registry.get(rig.workspace.id).model
    await until(lambda: rig.conversation.model.label == expected, "the model that was chosen")
    await rig.wiring.session.show_model()
    return checked


async def _open_new_form(rig: WindowRig) -> None:
    """Add a provider from the menu of models."""
    rig.composer.model_clicked.emit()
    menu = next(menu for menu in rig.composer.findChildren(QMenu) if menu.isVisible())
    action = menu.findChild(QAction, "page:add_provider")
    assert isinstance(action, QAction)
    action.trigger()
    menu.close()
    dialog = rig.settings
    await until(dialog.isVisible, "the settings")
    await until(lambda: dialog.providers.list.count() == 3, "the offline demo, box and a new provider")
    dialog.close()


async def test_a_model_can_be_set_for_one_session_is_saved_and_missed(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with ChatServer(replies_in_order(text_reply("ready"))) as server:
        async with open_window(qapp, tmp_path) as rig:
            await _set_up(rig, server, "project")
            first = rig.conversation.session.id
            button = rig.composer.model_button
            assert button.toolTip().startswith("Default model for this workspace")
            await _open_new_form(rig)
            assert await _choose(rig, "box/small") == ["model:"]
            assert (button.text(), button.toolTip()) == ("small", "Model for this session")
            assert [row.text for row in rig.rows(DividerRow)] == ["Model for this session: box/small"]
            await rig.run_turn("Hello")
            assert server.bodies[-1]["model"] == "small"
            assert rig.wiring.services.registry.get(rig.workspace.id).model == "box/large"

            await rig.wiring.workspace_controller.new_session()
            assert button.text() == "large"
            await rig.run_turn("And here?")
            assert server.bodies[-1]["model"] == "large"
            await rig.wiring.workspace_controller.open_session(first)
            assert button.text() == "small"

        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await rig.wiring.workspace_controller.open_session(first)
            assert rig.composer.model_button.text() == "small"
            await rig.wiring.services.use_model(rig.workspace.id, "demo/offline")
            assert rig.conversation.model.label == "box/small"
            assert await _choose(rig, "") == ["model:box/small"]
            assert rig.conversation.model.demo
            assert rig.events(ModelChosen) == [
                ModelChosen("box/small"),
                ModelChosen("", accepted="demo/offline"),
            ]

            await _set_up(rig, server, "missing")
            await _check_a_missing_model(rig)


async def _check_a_missing_model(rig: WindowRig) -> None:
    """It blocks its session until it is back, or the user continues with the workspace's."""
    await _choose(rig, "box/small")
    services = rig.wiring.services
    await services.use_model(rig.workspace.id, "demo/offline")
    before = services.settings
    await services.save_settings(before.with_provider_removed("box"))
    await rig.wiring.session.show_model()
    assert "box/small is chosen for this session, but isn't set up." in rig.banner_text()
    assert rig.conversation.model_choice.pending == ModelChange("box/small", True, False)

    await services.save_settings(before)
    await rig.wiring.session.show_model()
    assert rig.conversation.model_choice.pending is None
    assert rig.conversation.model.label == "box/small"

    await services.save_settings(before.with_provider_removed("box"))
    await rig.wiring.session.show_model()
    press(rig.window.notices, "continue")
    await until(lambda: not rig.conversation.model_choice.pending, "the choice")
    assert rig.conversation.model.demo
