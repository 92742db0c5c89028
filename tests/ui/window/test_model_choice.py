"""Which model does what, with how much effort and which key; what of it and of other settings persists."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QMenu

from helix_desktop.agent.session import ModelChange
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.errors import ModelNotChosen
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.session import EffortChosen, ModelChosen
from helix_desktop.ui.chat.actions import EditMessage, RetryAnswer
from helix_desktop.ui.chat.rows.row_types import AssistantRow, DividerRow, NoticeRow, TurnFooterRow, UserRow
from helix_desktop.ui.kit.intents import Intent
from helix_desktop.ui.panel.from_window import request_text
from helix_desktop.workspaces.registry import MAIN
from tests.support.model_servers.chat_server import ChatServer, Reply, api_error, replies_in_order, text_reply
from tests.support.window.buttons import find_button, find_child, press
from tests.support.window.window_rig import WindowRig, act, open_window, until

pytestmark = pytest.mark.qt_loop


def _model_menu(rig: WindowRig) -> QMenu:
    """Open the menu of the model's name."""
    rig.composer.model_button.click()
    return next(menu for menu in rig.composer.findChildren(QMenu) if menu.isVisible())


async def _choose(rig: WindowRig, label: str) -> list[str]:
    """Select a model in the menu of the model's name; return the names checked before."""
    menu = _model_menu(rig)
    checked = [action.objectName() for action in menu.actions() if action.isChecked()]
    action = find_child(menu, QAction, f"model:{label}")
    facts = len(rig.events(ModelChosen))
    action.trigger()
    menu.close()
    await until(lambda: len(rig.events(ModelChosen)) > facts, "the choice on record")
    expected = label or rig.wiring.services.registry.get(rig.workspace.id).model
    await until(lambda: rig.conversation.model.label == expected, "the model that was chosen")
    await rig.wiring.session.show_model()
    return checked


async def _ask_for_a_new_provider(rig: WindowRig) -> None:
    """Begin to add a provider from the menu of models."""
    menu = _model_menu(rig)
    action = find_child(menu, QAction, "page:add_provider")
    action.trigger()
    menu.close()
    dialog = rig.settings
    await until(dialog.isVisible, "the settings")
    await until(dialog.providers.new_server.isVisible, "the question for its address")
    press(dialog, "cancel_server")
    dialog.close()


def script(request: dict[str, object]) -> Reply:
    """Refuse to think less than a little."""
    if request.get("reasoning_effort") == "minimal":
        return api_error(400, "reasoning_effort: 'minimal' is not supported")
    return text_reply("Done.")


async def _use_three_models(rig: WindowRig, server: ChatServer) -> None:
    """A workspace on a provider with three models, the first its default."""
    await rig.open_folder("project")
    large = ModelEntry(name="large", window=32_000, reserve=1_000, efforts=("minimal", "low", "high"))
    models = (large, *(replace(large, name=name) for name in ("small", "vast")))
    await rig.use_models(server, *models)


async def test_models_of_sessions_and_roles_are_chosen_saved_and_missed(
    qapp: QApplication, tmp_path: Path
) -> None:
    """One workspace follows its models: for a session, with an effort, for each role, when they are gone."""
    async with ChatServer(script) as server:
        async with open_window(qapp, tmp_path) as rig:
            await _use_three_models(rig, server)
            first = rig.conversation.session.id
            await _check_a_model_of_a_session(rig, server)
            await _check_efforts(rig, server)
            await _check_a_refused_effort(rig)
            await _check_roles(rig, server)
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            assert _roles(rig) == {"main": "large", "fast": "small", "long": "vast"}
            await rig.wiring.workspace_controller.open_session(first)
            await _check_the_model_of_the_run_before(rig)
            await _check_a_missing_model(rig)
            await _check_a_renamed_provider(rig)
            await _check_a_new_provider(rig)


async def _check_a_model_of_a_session(rig: WindowRig, server: ChatServer) -> None:
    """The menu lists what there is; a choice is of its session."""
    first = rig.conversation.session.id
    button = rig.composer.model_button
    assert button.toolTip().startswith("Default model for this workspace")
    menu = _model_menu(rig)
    words = [(action.text(), action.isChecked()) for action in menu.actions() if action.text()]
    assert words[:6] == [
        ("Model for this session", False),
        ("Workspace default (box/large)", True),
        ("box/large", False),
        ("box/small", False),
        ("box/vast", False),
        ("Offline demo model", False),
    ]
    menu.close()
    await _ask_for_a_new_provider(rig)
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
    await rig.wiring.workspace_controller.new_session()


async def _check_the_model_of_the_run_before(rig: WindowRig) -> None:
    """The workspace's model changes nothing for a session with a model of its own."""
    assert rig.composer.model_button.text() == "small · Low", "with the effort of the workspace"
    await rig.wiring.services.use_model(rig.workspace.id, "demo/offline")
    assert _roles(rig) == {"main": "offline"}, "nobody else is asked beside the offline demo model"
    assert rig.conversation.model.label == "box/small"
    assert await _choose(rig, "") == ["model:box/small"]
    assert rig.conversation.model.demo
    assert rig.events(ModelChosen) == [ModelChosen("box/small"), ModelChosen("", accepted="demo/offline")]


async def _check_a_missing_model(rig: WindowRig) -> None:
    """It blocks its session until it is back, or the user continues with the workspace's."""
    await _choose(rig, "box/small")
    services = rig.wiring.services
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
    await services.save_settings(before)


def _choose_effort(menu: QMenu, name: str) -> None:
    action = menu.findChild(QAction, name)
    assert isinstance(action, QAction), name
    action.trigger()
    menu.close()


async def _open_menu(rig: WindowRig) -> QMenu:
    rig.window.commands.choose_effort.trigger()
    return await rig.dialog(QMenu)


async def _check_efforts(rig: WindowRig, server: ChatServer) -> None:
    """It is chosen by mouse and keys, and stands beside the model."""
    button = rig.composer.model_button
    assert button.text() == "large"
    menu = _model_menu(rig)
    names = [action.objectName() for action in menu.findChildren(QAction)]
    assert [name for name in names if name.startswith("effort:")] == [
        "effort:", "effort:default", "effort:minimal", "effort:low", "effort:high",
    ]  # fmt: skip
    _choose_effort(menu, "effort:high")
    await until(lambda: button.text() == "large · High", "the level beside the model")
    assert "Reasoning effort: High" in button.toolTip()
    await rig.run_turn("Hello")
    assert server.bodies[-1]["reasoning_effort"] == "high"

    _choose_effort(await _open_menu(rig), "workspace_effort:low")
    registry = rig.wiring.services.registry
    await until(lambda: registry.get(rig.workspace.id).effort == "low", "the workspace's level")
    assert button.text() == "large · High", "the session has its own"
    _choose_effort(await _open_menu(rig), "effort:")
    await until(lambda: button.text() == "large · Low", "that of the workspace")
    assert rig.events(EffortChosen) == [EffortChosen("high"), EffortChosen("")]
    assert [row.text for row in rig.rows(DividerRow)] == [
        "Reasoning effort for this session: High",
        "Reasoning effort for this session: workspace default",
    ]
    window, _ = rig.conversation.window.measure()
    assert "== fields\neffort: low" in request_text(window, rig.conversation.window.items())

    rig.type_message("/effort minimal")
    await until(lambda: rig.events(EffortChosen)[-1] == EffortChosen("minimal"), "the typed level")
    rig.type_message("/effort huge")
    await until(lambda: "isn't an effort" in rig.banner_text(), "what is wrong")


async def _check_a_refused_effort(rig: WindowRig) -> None:
    """It is a notice in the chat."""
    await rig.wiring.workspace_controller.new_session()
    _choose_effort(await _open_menu(rig), "effort:minimal")
    await until(lambda: bool(rig.events(EffortChosen)), "the choice on record")
    await rig.run_turn("Hello")
    (notice,) = rig.rows(NoticeRow)
    assert notice.what == (
        "box/large doesn't accept this reasoning effort: Minimal. Requests continue without it."
    )
    assert rig.composer.model_button.text() == "large", "it is not sent, so it is not beside the name"


def _roles(rig: WindowRig) -> dict[str, str]:
    roles = rig.workspace.models.shared.roles
    models = {"main": roles.main, "fast": roles.fast, "summary": roles.summary, "long": roles.long}
    return {role: model.info.name for role, model in models.items() if model is not None}


def _shown_role(rig: WindowRig, role: str) -> str:
    choice = rig.settings.roles.form.controls[f"role:{role}"]
    assert isinstance(choice, QComboBox)
    return str(choice.currentData())


async def _choose_here(rig: WindowRig, role: str, label: str) -> str:
    menu = _model_menu(rig)
    part = find_child(menu, QMenu, f"role:{role}")
    actions = part.actions()
    marked = next(action.text() for action in actions if action.isChecked())
    next(action for action in actions if action.objectName() == f"role:{role}:{label}").trigger()
    menu.close()
    await until(lambda: getattr(rig.wiring.services.registry.get(rig.workspace.id), role) == label, "saved")
    return marked


async def _check_roles(rig: WindowRig, server: ChatServer) -> None:
    """Per workspace and globally; a model that isn't set up falls back to the main one."""
    await rig.wiring.workspace_controller.new_session()
    assert _roles(rig) == {"main": "large"}
    services = rig.wiring.services
    await services.use_model(rig.workspace.id, "nobody/gone", "fast")
    assert _roles(rig) == {"main": "large"}
    assert await _choose_here(rig, "fast", "") == "nobody/gone"
    await rig.wiring.settings.show("roles")
    roles = rig.settings.roles
    rig.window.leave_settings()
    await services.save_settings(replace(services.settings, model="box/large"))
    await rig.wiring.settings.show("roles")
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


async def _check_a_renamed_provider(rig: WindowRig) -> None:
    """Workspace, roles and session follow it, and a removed one."""
    await rig.wiring.services.use_model(rig.workspace.id, "box/large")
    await rig.wiring.workspace_controller.new_session()
    services = rig.wiring.services
    editor = rig.settings.providers.editor
    await services.use_model(rig.workspace.id, "box/small", "fast")
    await services.save_settings(replace(services.settings, long="box/vast"))
    await rig.wiring.settings.show("providers")
    rig.settings.providers.select("box")
    editor.form.write("name", "crate")
    await until(lambda: rig.conversation.model.label == "crate/large", "renamed")
    await until(lambda: services.registry.get(rig.workspace.id).fast == "crate/small", "the role too")
    assert services.settings.long == "crate/vast"
    assert _roles(rig) == {"main": "large", "fast": "small", "long": "vast"}

    await act(lambda: editor.remove_requested.emit("crate"))
    await until(lambda: rig.conversation.model.demo, "the demo model")
    assert (services.registry.get(rig.workspace.id).fast, services.settings.long) == ("", "")


async def _check_a_new_provider(rig: WindowRig) -> None:
    """From the catalog, without a request, it fills roles; what the user sets then stays."""
    services = rig.wiring.services
    settings = rig.wiring.settings
    vendor = next(vendor for vendor in services.models.catalog.vendors if vendor.name == "anthropic")
    await settings.show("providers")
    await act(lambda: settings.view.providers.add_vendor(vendor))
    await until(lambda: services.settings.fast, "the role")
    assert services.settings.fast == "anthropic/claude-haiku-5-5"
    await settings.show("roles")
    await act(lambda: settings.view.roles.form.write("role:fast", ""))
    await until(lambda: not services.settings.fast, "the main model")
    assert services.settings.user_roles == ("summary", "fast")
    rig.window.leave_settings()


LABEL = "server/qwen3"


async def _answered(rig: WindowRig, server: ChatServer, folder: str, label: str = LABEL) -> None:
    await rig.open_folder(folder)
    services = rig.wiring.services
    await services.save_settings(replace(services.settings, titles=False))  # each would take an answer
    await rig.workspace.set_models(await rig.wiring.services.models.adhoc(label, server.base_url, 32_000))
    await rig.run_turn("Hello")
    assert [row.text for row in rig.rows(AssistantRow)] == ["Here"]


def is_question_open(rig: WindowRig) -> bool:
    """Return True if the window asks which model continues."""
    return "answered in this session" in rig.banner_text()


async def test_a_model_that_is_gone_waits_for_a_choice_or_its_provider(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Each workspace was answered in the run before; what continues stays after another restart."""
    answers = [
        text_reply(words)
        for words in ("Here", "Here", "Here", "Here", "There", "Again", "Again", "Once more")
    ]
    async with ChatServer(replies_in_order(*answers)) as server:
        async with open_window(qapp, tmp_path) as rig:
            for folder, label in (("set-up", "box/small"), ("waiting", LABEL), ("chosen", LABEL)):
                await _answered(rig, server, folder, label)
            await _answered(rig, server, "continued")
            await rig.run_turn("And there?")
            original = rig.conversation.session.id
        async with open_window(qapp, tmp_path) as rig:
            open_folder = rig.wiring.workspace_controller.open_folder
            await open_folder(tmp_path / "waiting")
            await _check_the_refusal(rig, server)
            await open_folder(tmp_path / "set-up")
            assert is_question_open(rig), "its provider isn't set up yet"
            await _check_its_own_provider(rig, server)
            await open_folder(tmp_path / "chosen")
            await _check_a_choice_for_the_workspace(rig, server)
            await open_folder(tmp_path / "continued")
            press(rig.window.notices, "continue")
            await until(lambda: not rig.conversation.model_choice.pending, "the choice")
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            assert rig.conversation.session.id == original
            await _check_branches(rig)
        assert len(server.bodies) == len(answers)


async def _check_branches(rig: WindowRig) -> None:
    """The model that continues goes along, though nothing was sent since the choice."""
    original = rig.conversation.session.id
    assert not is_question_open(rig)
    await _branch(rig, EditMessage(rig.rows(UserRow)[1].key.seq))
    await rig.wiring.workspace_controller.open_session(original)
    await _branch(rig, RetryAnswer(rig.rows(TurnFooterRow)[1].key.seq))
    await rig.wait_for_turn_end()
    assert rig.conversation.session.transcript.last_model == "box/small"
    assert rig.rows(AssistantRow)[-1].text == "Once more"


async def _check_the_refusal(rig: WindowRig, server: ChatServer) -> None:
    """It displays its own model, and sends nothing before a choice."""
    requests = len(server.bodies)
    assert f"{LABEL} answered in this session, but isn't set up." in rig.banner_text()
    assert "tokens are counted for Offline demo model" in rig.banner_text()
    await until(lambda: rig.window.top_bar.status() == "Ready · qwen3 · 2 messages", "the status")
    assert rig.composer.model_button.text() == "qwen3"
    rig.type_message("Go on")
    await until(lambda: ModelNotChosen.WHAT in rig.banner_text(), "the refusal")
    assert rig.composer.text() == "Go on"
    assert not rig.conversation.is_running
    with pytest.raises(ModelNotChosen):
        rig.conversation.handovers.start()
    with pytest.raises(ModelNotChosen):
        await rig.conversation.continue_turn("Continue.")

    press(rig.window.notices, "choose")
    await until(rig.settings.isVisible, "the page of providers")
    rig.window.leave_settings()
    press(rig.window.notices, "continue")
    await until(lambda: not rig.conversation.model_choice.pending, "the choice")
    await until(lambda: rig.composer.model_button.text() == "Offline demo model", "the demo")
    assert not is_question_open(rig)
    assert ModelNotChosen.WHAT not in rig.banner_text()
    await rig.wiring.workspace_controller.new_session()
    await rig.wiring.workspace_controller.restore_last()
    assert not is_question_open(rig)
    assert len(server.bodies) == requests


async def _check_a_choice_for_the_workspace(rig: WindowRig, server: ChatServer) -> None:
    """Setting up another model is no choice yet; using it for the workspace is."""
    await rig.use_server(server)
    assert is_question_open(rig)
    rig.settings.providers.editor.use_requested.emit("box")
    await until(lambda: not is_question_open(rig), "the choice")
    status = rig.window.top_bar.status
    await until(lambda: status() == "Ready · qwen3 → small from the next turn · 2 messages", "the status")
    await rig.run_turn("And now?")
    assert [row.text for row in rig.rows(AssistantRow)] == ["Here", "Again"]
    await until(lambda: status() == "Ready · small · 4 messages", "the status")


async def _check_its_own_provider(rig: WindowRig, server: ChatServer) -> None:
    """With its provider set up it continues; a new session asks nothing."""
    first = rig.conversation.session.id
    await rig.wiring.workspace_controller.new_session()
    assert not is_question_open(rig)
    await rig.use_server(server)
    await rig.wiring.services.use_model(rig.workspace.id, "")
    await rig.wiring.workspace_controller.open_session(first)
    assert "The workspace now uses the offline demo model" in rig.banner_text()
    press(rig.window.notices, "back")
    await until(lambda: rig.conversation.model.label == "box/small", "its own model")
    await until(lambda: not is_question_open(rig), "no question any more")
    await rig.run_turn("And now?")
    assert [row.text for row in rig.rows(AssistantRow)] == ["Here", "Again"]


async def _branch(rig: WindowRig, action: Intent) -> None:
    """Branch the session on screen by a button below a message; the branch asks for no model."""
    original = rig.conversation.session.id
    await act(lambda: rig.perform(action))
    await until(lambda: rig.conversation.session.id != original, "the branch")
    assert not rig.conversation.model_choice.pending
    assert not is_question_open(rig)


async def _with_key(folder: Path, qapp: QApplication, server: ChatServer) -> str:
    """Enter a key in a run without keychain; the workspace's id."""
    async with open_window(qapp, folder) as rig:
        identity = await rig.open_folder("project")
        services = rig.wiring.services
        entry = ModelEntry(name="small", window=32_000, reserve=1_000)
        await services.save_settings(
            services.settings.with_provider(Provider(name="lab", base_url=server.base_url, models=(entry,)))
        )
        await services.save_key("lab", "sesame")
        await services.use_model(identity, "lab/small")
        await rig.wiring.session.show_model()
        await rig.run_turn("Hello")
        assert server.requests[-1].headers["authorization"] == "Bearer sesame"
        assert not _asks_for_key(rig)
        return identity


def _files_with(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


def _asks_for_key(rig: WindowRig) -> bool:
    return "missing-key" in rig.window.notices.names() or rig.chat.key_strip.isVisible()


async def test_a_key_of_one_run_is_missing_in_the_next_unless_the_environment_has_it(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ChatServer(replies_in_order(text_reply("Here"))) as server:
        identity = await _with_key(tmp_path, qapp, server)
        assert _files_with(tmp_path, b"sesame") == []
        monkeypatch.setenv("HELIX_LAB_KEY", "given")
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.open_workspace(identity)
            assert await rig.wiring.services.missing_keys() == ()
            assert not _asks_for_key(rig)
        monkeypatch.delenv("HELIX_LAB_KEY")
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.open_workspace(identity)
            await until(rig.chat.key_strip.isVisible, "the strip above the message field")
            assert rig.chat.key_strip.accessibleName() == "API key for lab is missing"
            await until(lambda: "The API key for lab is missing." in rig.banner_text(), "the banner")

            press(rig.chat.key_strip, "strip_action")
            dialog = rig.settings
            await until(dialog.isVisible, "the settings")
            editor = dialog.providers.editor
            key = editor.findChild(QLineEdit, "api_key")
            assert isinstance(key, QLineEdit)
            await until(lambda: dialog.focusWidget() is key, "the keyboard in the key")
            assert editor.provider.name == "lab"
            QTest.keyClicks(key, "open")
            QTest.keyClick(key, Qt.Key.Key_Return)
            await until(lambda: not _asks_for_key(rig), "no word of it any more")
            await rig.run_turn("And now?")
            assert server.requests[-1].headers["authorization"] == "Bearer open"
            assert key.placeholderText() == "Entered. Type to replace it."
            press(editor, "remove_key")
            await until(lambda: key.placeholderText() == "Optional", "the key is gone")
            services = rig.wiring.services
            await services.save_settings(msgspec.structs.replace(services.settings, run_keys=("lab",)))
            await rig.wiring.session.show_model()
            rig.window.leave_settings()
            await until(rig.chat.key_strip.isVisible, "as if it were missing")
            await rig.run_turn("Without a key?")
            assert "authorization" not in server.requests[-1].headers
            await until(lambda: not _asks_for_key(rig), "none is needed")
            rig.window.leave_settings()


async def test_a_provider_policy_theme_text_size_and_enter_take_effect_and_persist(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        identity = await rig.open_folder("project")
        async with ChatServer(lambda _: text_reply("Hello.")) as server:
            await _check_a_saved_provider(rig, server)
        bigger = await _check_what_is_general(rig)
        rig.window.show_page("outputs")
        await rig.wiring.settings.show("mcp")

    async with open_window(qapp, tmp_path) as rig:
        assert rig.context.appearance.mode == "dark"
        assert rig.context.appearance.text_px == bigger
        assert not rig.composer.editor.enter_sends
        await rig.wiring.workspace_controller.restore_last()
        assert (rig.workspace.id, rig.window.page()) == (identity, "outputs"), "and not the settings"


async def _check_a_saved_provider(rig: WindowRig, server: ChatServer) -> None:
    """It answers from then on, with the headers and fields of the file; a secret one is in no file."""
    services = rig.wiring.services
    page = rig.settings.providers
    await rig.wiring.settings.show("providers")
    await act(lambda: page.new_server.add_requested.emit(server.base_url, "sesame"))
    await until(lambda: page.editor.provider.name == "local", "added")
    await act(lambda: page.editor.form.write("name", "my-box"))
    await act(lambda: page.editor.models.add("small"))
    assert services.settings.model == "my-box/small"
    await services.secrets.set_secret_header("my-box", "", "X-Token", "open-up")
    file = services.data_dir.settings_file
    extras = 'headers = { X-Title = "Helix" }\nsecret_headers = ["X-Token"]\n'
    extras += 'body = { service_tier = "flex" }\n'
    _insert_below(file, 'name = "my-box"\n', extras)
    await page.refresh()
    page.editor.use_requested.emit("my-box/small")
    await until(lambda: rig.conversation.model.label == "my-box/small", "in use")
    rig.window.leave_settings()
    await rig.run_turn("Hello")
    assert rig.events(AssistantSpoke)[0].model == "my-box/small"
    assert server.bodies[-1]["service_tier"] == "flex"
    headers = server.requests[-1].headers
    assert headers["authorization"] == "Bearer sesame"
    assert (headers["x-title"], headers["x-token"]) == ("Helix", "open-up")
    (row,) = (row for row in rig.conversation.window.items() if row.kind == "fields")
    assert (row.why, "open-up" in row.text) == ("X-Title, X-Token, service_tier", False)
    files = [path for path in (rig.folder / "data").rglob("*") if path.is_file()]
    assert not [path for path in files if b"open-up" in path.read_bytes()]


def _insert_below(file: Path, line: str, lines: str) -> None:
    words = file.read_text(encoding="utf-8")
    assert line in words
    file.write_text(words.replace(line, line + lines), encoding="utf-8")


async def _check_what_is_general(rig: WindowRig) -> int:
    """What is in force is shown, whatever changed it; return the larger text size."""
    await rig.wiring.settings.show("appearance")
    page = rig.settings.appearance
    rig.window.commands.theme_dark.trigger()
    rig.window.commands.zoom_in.trigger()
    bigger = rig.context.appearance.text_px
    assert find_button(page, "theme:dark").isChecked()
    assert any(box.currentText() == f"{bigger} px" for box in page.findChildren(QComboBox))
    find_button(page, "enter_sends").click()
    await until(lambda: not rig.wiring.services.settings.enter_sends, "kept")
    rig.type_message("first")
    rig.type_message("second", send=False)
    assert rig.composer.text() == "first\nsecond"
    await until(lambda: rig.wiring.services.settings.theme == "dark", "the theme is kept")
    return bigger
