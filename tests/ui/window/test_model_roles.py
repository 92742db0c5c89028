"""Which model does what: set in menu and settings, used in the next turn, kept over a restart."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication, QComboBox, QMenu

from helix_desktop.config.settings import ModelEntry
from helix_desktop.ui.settings.providers.draft import ProviderDraft
from helix_desktop.workspaces.registry import MAIN
from tests.support.model_servers.chat_server import ChatServer, replies_in_order, text_reply
from tests.support.window.window_rig import WindowRig, act, open_window, until

pytestmark = pytest.mark.qt_loop


async def _set_up(rig: WindowRig, server: ChatServer, folder: str = "project") -> None:
    """A workspace on a provider with three models."""
    await rig.open_folder(folder)
    names = ("large", "small", "vast")
    await rig.use_models(server, *(ModelEntry(name=name, window=32_000, reserve=1_000) for name in names))


def _roles(rig: WindowRig) -> dict[str, str]:
    roles = rig.workspace.models.shared.roles
    models = {"main": roles.main, "fast": roles.fast, "summary": roles.summary, "long": roles.long}
    return {role: model.info.name for role, model in models.items() if model is not None}


def _shown_role(rig: WindowRig, role: str) -> str:
    choice = rig.settings.roles.form.controls[f"role:{role}"]
    assert isinstance(choice, QComboBox)
    return str(choice.currentData())


async def _choose_here(rig: WindowRig, role: str, label: str) -> str:
    rig.composer.model_clicked.emit()
    menu = next(menu for menu in rig.composer.findChildren(QMenu) if menu.isVisible())
    part = menu.findChild(QMenu, f"role:{role}")
    assert isinstance(part, QMenu)
    actions = part.actions()
    marked = next(action.text() for action in actions if action.isChecked())
    next(action for action in actions if action.objectName() == f"role:{role}:{label}").trigger()
    menu.close()
    await until(lambda: getattr(rig.wiring.services.registry.get(rig.workspace.id), role) == label, "saved")
    return marked


async def test_roles_are_set_per_workspace_and_globally_and_saved(qapp: QApplication, tmp_path: Path) -> None:
    async with (
        ChatServer(replies_in_order(text_reply("ready"))) as server,
        open_window(qapp, tmp_path) as rig,
    ):
        await _set_up(rig, server)
        assert _roles(rig) == {"main": "large"}
        await rig.wiring.settings.show("roles")
        roles = rig.settings.roles
        rig.window.leave_settings()
        services = rig.wiring.services
        await services.save_settings(msgspec.structs.replace(services.settings, model="box/large"))
        await rig.wiring.settings.show("roles")
        suggestion = "Your server may drop large for another model. Load both there first"
        assert suggestion in roles.form.rows["role:fast"].note_text()

        roles.form.write("role:summary", "box/small")
        await _choose_here(rig, "fast", "box/small")
        await _choose_here(rig, "long", "box/vast")
        await until(lambda: len(_roles(rig)) == 4, "all four roles")
        assert _roles(rig) == {"main": "large", "fast": "small", "summary": "small", "long": "vast"}
        await until(lambda: _shown_role(rig, "summary") == "box/small", "shown")
        assert await _choose_here(rig, "summary", MAIN) == "Default (box/small)"
        await until(lambda: "summary" not in _roles(rig), "the main model again")
        rig.window.leave_settings()
        await rig.run_turn("Hello")
        assert server.bodies[-1]["model"] == "large"

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        assert _roles(rig) == {"main": "large", "fast": "small", "long": "vast"}
        await rig.wiring.services.use_model(rig.workspace.id, "demo/offline")
        assert _roles(rig) == {"main": "offline"}, "nobody else is asked beside the offline demo model"


async def test_a_workspace_follows_its_models_when_they_change_or_go(
    qapp: QApplication, tmp_path: Path
) -> None:
    """From the menu of models, from a role, and when a provider is renamed, removed or new."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_the_menu(rig)
        await _check_a_model_that_is_gone(rig)
        await _check_a_renamed_provider(rig)
        await _check_a_new_provider(rig)


async def _check_the_menu(rig: WindowRig) -> None:
    async with ChatServer(replies_in_order(text_reply("ready"))) as server:
        await _set_up(rig, server)
        rig.composer.model_clicked.emit()
        menu = next(menu for menu in rig.composer.findChildren(QMenu) if menu.isVisible())
        words = [(action.text(), action.isChecked()) for action in menu.actions() if action.text()]
        assert words[:6] == [
            ("Model for this session", False),
            ("Workspace default (box/large)", True),
            ("box/large", False),
            ("box/small", False),
            ("box/vast", False),
            ("Offline demo model", False),
        ]
        next(action for action in menu.actions() if action.objectName() == "model:box/small").trigger()
        menu.close()
        await until(lambda: rig.conversation.model.label == "box/small", "another model")


async def _check_a_model_that_is_gone(rig: WindowRig) -> None:
    """A role whose model is gone falls back to the main one."""
    async with ChatServer(replies_in_order(text_reply("ready"))) as server:
        await _set_up(rig, server, "gone")
        services = rig.wiring.services
        await services.use_model(rig.workspace.id, "nobody/gone", "fast")
        assert _roles(rig) == {"main": "large"}
        assert await _choose_here(rig, "fast", "") == "nobody/gone"


async def _check_a_renamed_provider(rig: WindowRig) -> None:
    async with ChatServer(replies_in_order(text_reply("ready"))) as server:
        await _set_up(rig, server, "renamed")
        services, editor = rig.wiring.services, rig.settings.providers.editor
        await services.use_model(rig.workspace.id, "box/small", "fast")
        await services.save_settings(msgspec.structs.replace(services.settings, long="box/vast"))
        box = services.settings.provider("box")
        assert box is not None
        editor.saved.emit(replace(ProviderDraft.of(box), name="crate"))
        await until(lambda: rig.conversation.model.label == "crate/large", "renamed")
        await until(lambda: services.registry.get(rig.workspace.id).fast == "crate/small", "the role too")
        assert services.settings.long == "crate/vast"
        assert _roles(rig) == {"main": "large", "fast": "small", "long": "vast"}

        await act(lambda: editor.remove_requested.emit("crate"))
        await until(lambda: rig.conversation.model.demo, "the demo model")
        assert (services.registry.get(rig.workspace.id).fast, services.settings.long) == ("", "")


async def _check_a_new_provider(rig: WindowRig) -> None:
    """From the catalog, without a request, it fills roles and says why; what the user sets then stays."""
    services, settings = rig.wiring.services, rig.wiring.settings
    vendor = next(vendor for vendor in services.models.catalog.vendors if vendor.name == "anthropic")
    entries = tuple(ModelEntry(name=name) for name in vendor.begin)
    form = ProviderDraft("", "anthropic", vendor.base_url, vendor.dialect, entries, vendor.begin[0])
    await settings.show("providers")
    await act(lambda: settings.view.providers.editor.saved.emit(form))
    await until(lambda: services.settings.fast, "the role")
    assert services.settings.fast == "anthropic/claude-haiku-5-5"
    await settings.show("roles")
    row = settings.view.roles.form.rows["role:fast"]
    height = row.height()
    assert "Chosen by Helix" in row.note_text()
    assert "claude-opus-5-5 costs" in row.note_text()
    await act(lambda: settings.view.roles.form.write("role:fast", ""))
    await until(lambda: not services.settings.fast, "the main model")
    assert (services.settings.catalog_roles, services.settings.user_roles) == ((), ("fast",))
    await until(lambda: "Chosen by Helix" not in row.note_text(), "no reason any more")
    assert row.height() == height, "no field moves"
    rig.window.leave_settings()
