"""The first run, a model server found by a scan, folders that are opened, and a data directory that moves."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock
from msgspec.structs import replace
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QLineEdit, QProgressBar, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.app.data_move_window import MoveDataWindow, move_with_window
from helix_desktop.config.paths import DataDir
from helix_desktop.config.settings import ModelEntry
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.errors import WorkspaceMissing
from helix_desktop.domain.events.conversation import ApprovalGiven, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.services.samples import PREPARED_TASKS
from helix_desktop.ui.chat.rows.row_types import AssistantRow, ToolRow, UserRow
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.design.style.theme import reduce_motion
from helix_desktop.ui.kit.commands import OPEN_WORKSPACE
from helix_desktop.ui.kit.intents import OpenSample
from helix_desktop.ui.settings.providers.models import ProviderDraft
from helix_desktop.ui.settings.view import SettingsPage
from helix_desktop.ui.window.trust import TrustDialog
from tests.support.image_bytes import png
from tests.support.model_servers.local_servers import LLAMA_CPP, run_server
from tests.support.window.buttons import find_button, find_buttons, find_child, press
from tests.support.window.drops import drop
from tests.support.window.several_windows import new_window
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def _notices(rig: WindowRig) -> str:
    """Return the notices above the buttons of the page of providers."""
    footer = rig.settings.providers.editor.footer
    return "\n".join(widget.accessibleName() for widget in footer.findChildren(QWidget))


async def test_the_first_provider_answers_in_a_folder_that_the_demo_model_would_answer(
    rig: WindowRig,
) -> None:
    """Its next message and those of new sessions go to it; a session on the demo says so."""
    async with run_server(LLAMA_CPP) as server:
        await rig.open_folder("project")
        assert rig.conversation.model.demo
        assert rig.composer.editor.placeholderText() == "Connect a model to work in this folder"
        assert rig.chat.empty_state.sentence.text().startswith("Only the demo model is here")
        press(rig.chat.empty_state, "empty_action")
        await until(rig.settings.isVisible, "the providers")
        assert rig.settings.current_page() == "providers"
        editor = rig.settings.providers.editor
        models = (ModelEntry(name="qwen3.gguf"),)
        form = ProviderDraft("", "box", f"http://127.0.0.1:{server.port}/v1", models=models)
        editor.saved.emit(replace(form, default_model="qwen3.gguf"))
        await until(lambda: "box/qwen3.gguf is now the default model" in _notices(rig), "saved")
        assert "New workspaces start with it too." in _notices(rig)
        assert rig.wiring.services.registry.get(rig.workspace.id).model == "", "it follows the default"
        assert rig.conversation.model.label == "box/qwen3.gguf"
        assert rig.composer.editor.placeholderText().startswith("Message: @ for files")
        assert rig.chat.empty_state.sentence.text().startswith("Start a conversation.")
        rig.window.leave_settings()
        await rig.open_folder("second")
        assert rig.conversation.model.label == "box/qwen3.gguf"
        rig.type_message("/model demo")
        await until(lambda: rig.conversation.model.demo, "the demo model by choice")
        await until(lambda: "demo model" in rig.composer.editor.placeholderText(), "it says so")
        rig.type_message("/model box")
        await until(lambda: not rig.conversation.model.demo, "the other one again")
        assert rig.composer.editor.placeholderText().startswith("Message")


async def test_the_first_saved_provider_is_the_default(rig: WindowRig) -> None:
    """A folder that is opened then has its model, not the demo's; a second provider leaves it."""
    async with run_server(LLAMA_CPP) as server:
        await rig.wiring.workspace_controller.restore_last()
        await rig.wiring.settings.show("providers")
        page = rig.settings.providers
        form = ProviderDraft("", "My Box", f"http://127.0.0.1:{server.port}/v1")
        page.add()
        page.editor.models_requested.emit(form)
        await until(lambda: "The server has one model" in _notices(rig), "the list of models")
        models = page.editor.models.entries
        page.editor.saved.emit(replace(form, models=models, default_model=models[0].name))
        await until(lambda: "my-box/qwen3.gguf is now the default model" in _notices(rig), "saved")
        assert rig.wiring.services.settings.model == "my-box/qwen3.gguf"
        page.editor.saved.emit(replace(form, name="Other", models=models, default_model=models[0].name))
        await until(lambda: "Saved: other" in _notices(rig), "the second one saved")
        assert rig.wiring.services.settings.model == "my-box/qwen3.gguf"
        press(page.editor.footer, "use_provider")
        await until(lambda: "other/qwen3.gguf is now the default model" in _notices(rig), "chosen")
        name = next(field for field in page.editor.findChildren(QLineEdit) if field.text() == "other")
        name.end(False)
        QTest.keyClicks(name, " Box")
        assert not find_buttons(page.editor.footer, "use_provider"), "its only model is the default"
        press(page.editor.footer, "save_provider")
        await until(lambda: "Saved: other-box" in _notices(rig), "saved under its new name")
        assert not page.editor.has_unsaved_edits()
        rig.window.leave_settings()
        await rig.open_folder("project")
        assert rig.conversation.model.label == "other-box/qwen3.gguf"


async def test_enter_copies_the_sample_once_and_it_asks_for_approval_once(rig: WindowRig) -> None:
    """Enter on the first page and another request at the same time, then its next message and call.

    It keeps its model when a first provider is saved.
    """
    await _check_concurrent_requests(rig)
    await _check_its_next_message(rig)
    await _check_a_first_provider(rig)


async def _check_concurrent_requests(rig: WindowRig) -> None:
    """Enter requests the sample at once; a second request beside it copies nothing."""
    requests: list[None] = []
    find_button(rig.window.places.welcome.get(), "suggestion:play").clicked.connect(
        lambda: requests.append(None)
    )
    await rig.wiring.workspace_controller.restore_last()
    focused = QApplication.focusWidget()
    assert focused is not None, "the keyboard is on the page without Tab"
    QTest.keyClick(focused, Qt.Key.Key_Return)
    assert len(requests) == 1
    rig.perform(OpenSample())
    await until(
        lambda: rig.wiring.session.has_conversation,
        "the sample's session",
    )
    await rig.wiring.workspace_controller.open_sample()
    assert rig.banner_text() == ""
    (handover,) = rig.events(HandoverMade)
    assert handover.trigger is HandoverTrigger.THRESHOLD, "the session is prepared, once"
    assert len(rig.events(UserSpoke)) == PREPARED_TASKS
    in_use = rig.wiring.services.registry.load_policy(rig.workspace.id)
    assert in_use == ContextPolicy(), "the sample is judged by the policy that everybody starts with"
    assert [workspace.name for workspace in rig.wiring.services.registry.list_workspaces()] == ["tidewatch"]


async def _check_its_next_message(rig: WindowRig) -> None:
    """It keeps the draft and its image; its calls ask until all are allowed, which is displayed.

    Another window says it, too: its session is another, and gets no update.
    """
    await rig.wiring.workspace_controller.open_sample()
    await rig.wiring.settings.show("permissions")
    page = rig.settings.permissions
    group = find_child(page, QWidget, "demo_rules")
    assert not group.isHidden()
    registry = rig.wiring.services.registry
    record = registry.get(rig.workspace.id)
    assert (record.rules, record.demo_calls) == ((), "once")
    assert not find_button(page, "runs_demo_calls").isChecked(), "it asks"
    rig.window.leave_settings()

    await until(rig.next_message_lines, "a message is proposed")
    texts = [words.text() for words in rig.chat.next_messages.findChildren(QLabel)]
    assert any("open Timeline" in text for text in texts), "and where to look"
    rig.composer.editor.setPlainText("My own words")
    (rig.folder / "lamp.png").write_bytes(png(320, 200, 7))
    drop(rig, rig.folder / "lamp.png")
    await until(rig.attachment_labels, "the image stands above the text")
    prepared = len(rig.events(ApprovalGiven))
    second = await new_window(rig)
    other, empty = second.window.pages.chat, second.window.pages.chat.empty_state
    assert other.composer.mode_button.accessibleName() == "Mode: Ask"
    assert not any("Demo calls" in label.text() for label in empty.findChildren(QLabel))
    press(rig.window, "send_suggestion")
    question = await rig.answer_approval("once")
    assert question.request.tool == "run_command"
    assert registry.get(rig.workspace.id).demo_calls == "once", "it allowed one call"
    assert rig.composer.mode_button.accessibleName() == "Mode: Ask"
    assert (await rig.answer_approval("demo")).request.offers_demo_calls
    await until(
        lambda: rig.composer.mode_button.accessibleName() == "Mode: Ask, except demo calls",
        "the mode is shown",
    )
    assert other.composer.mode_button.accessibleName() == "Mode: Ask, except demo calls", "at once"
    assert any("Demo calls run" in label.text() for label in empty.findChildren(QLabel))
    second.window.close()
    await rig.wait_for_turn_end()
    assert [row.text for row in rig.rows(UserRow)] == [event.text for event in rig.events(UserSpoke)]
    tools = rig.rows(ToolRow)
    assert len(tools) == len(rig.events(ToolAnswered)) > 15
    assert {row.state for row in tools} <= {"ok", "failed"}
    assert not [row for row in rig.rows(AssistantRow) if row.streaming]
    assert "Early on you read" in rig.next_message_lines()[0]
    assert rig.window.sidebar.session_list.sessions()[0].title.startswith("Get to know")
    (event,) = rig.events(UserSpoke)[PREPARED_TASKS:]
    assert event.attachments == ()
    assert rig.composer.text() == "My own words"
    assert rig.attachment_labels()[0].startswith(f"{rig.folder}/lamp.png · ")
    approvals = rig.events(ApprovalGiven)[prepared:]
    answers = [(approval.decision, approval.rule) for approval in approvals[:2]]
    assert answers == [("once", ""), ("always", "")]
    assert all(approval.rule for approval in approvals[2:])
    assert registry.get(rig.workspace.id).demo_calls == "allow"

    await rig.wiring.settings.show("permissions")
    assert find_button(page, "runs_demo_calls").isChecked()
    find_button(page, "runs_demo_calls").click()
    await until(lambda: registry.get(rig.workspace.id).demo_calls == "ask", "asking again")
    await until(lambda: rig.composer.mode_button.accessibleName() == "Mode: Ask", "the mode is shown")
    await rig.open_folder("project")
    await rig.wiring.settings.show("permissions")
    assert group.isHidden()
    rig.window.leave_settings()


async def _check_a_first_provider(rig: WindowRig) -> None:
    """It is the default; the sample keeps the demo model, and that is said."""
    await rig.wiring.workspace_controller.open_sample()
    async with run_server(LLAMA_CPP) as server:
        await rig.wiring.settings.show("providers")
        models = (ModelEntry(name="qwen3.gguf"),)
        form = ProviderDraft("", "box", f"http://127.0.0.1:{server.port}/v1", models=models)
        rig.settings.providers.editor.saved.emit(replace(form, default_model="qwen3.gguf"))
        notice = "box/qwen3.gguf is now the default model. This workspace still uses Offline demo model."
        await until(lambda: notice in _notices(rig), "saved")
        assert rig.wiring.services.settings.model == "box/qwen3.gguf"
        assert rig.conversation.model.demo
        assert "demo model" in rig.composer.editor.placeholderText()


async def test_the_welcome_page_takes_a_pasted_key_and_connects_a_local_server(rig: WindowRig) -> None:
    """A key is pasted; then there is a server."""
    await _check_a_pasted_key(rig)
    await _check_a_local_server_in_settings(rig)
    await _check_a_local_server(rig)


async def _check_a_pasted_key(rig: WindowRig) -> None:
    """The form of a provider opens at once; a pasted key names its provider and is ready for a test."""
    await rig.wiring.workspace_controller.restore_last()
    press(rig.window.places.welcome.get(), "suggestion:plug")
    dialog = rig.settings
    editor = dialog.providers.editor
    await until(lambda: dialog.isVisible() and not editor.isHidden(), "the form at once")
    assert [row.text() for row in dialog.providers.list.selectedItems()] == ["New provider"]
    rig.window.leave_settings()
    field = find_child(rig.window.places.welcome.get(), QLineEdit, "pasted_key")
    QTest.keyClicks(field, "gsk_0123456789abcdef01234567")
    QTest.keyClick(field, Qt.Key.Key_Return)
    await until(lambda: dialog.findChild(QLineEdit, "api_key"), "the page of providers")
    key = dialog.findChild(QLineEdit, "api_key")
    await until(lambda: key is not None and key.text().startswith("gsk_"), "the key is filled in")
    addresses = [line.text() for line in dialog.findChildren(QLineEdit)]
    assert any("api.groq.com" in address for address in addresses)
    assert field.text() == ""
    rig.window.leave_settings()


async def _check_a_local_server_in_settings(rig: WindowRig) -> None:
    """Without a workspace its model is the default once it is added, as on the first page."""
    services, dialog = rig.wiring.services, rig.settings
    async with run_server(LLAMA_CPP) as server:
        services.models.local_ports = (1, server.port)
        await rig.wiring.settings.show("providers")
        found = dialog.providers.found_servers
        press(dialog, "find_servers")
        await until(lambda: server.request_lines and not found.text(), "found")
        press(found, "add")
        await until(lambda: services.settings.model == "llama.cpp/qwen3.gguf", "the default")
        labels = rig.window.places.welcome.get().findChildren(QLabel)
        await until(lambda: "A model is connected" in [label.text() for label in labels], "said so")
        rig.window.leave_settings()
    assert services.settings.with_provider_removed("llama.cpp").model == ""
    await services.save_settings(services.settings.with_provider_removed("llama.cpp"))
    await rig.wiring.settings.show("providers")
    rig.window.leave_settings()


async def _check_a_local_server(rig: WindowRig) -> None:
    """It is two clicks away; nothing asks it before."""
    async with run_server(LLAMA_CPP) as server:
        rig.wiring.services.models.local_ports = (1, server.port)
        await rig.wiring.workspace_controller.restore_last()
        welcome = rig.window.places.welcome.get()
        assert rig.window.top_bar.status() == "No session open"
        assert server.request_lines == []
        press(welcome, "find_servers")
        await until(
            lambda: "GET /v1/models" in server.request_lines and not welcome.found_servers.text(), "found"
        )
        press(welcome.found_servers, "add")
        await until(lambda: "qwen3.gguf is now the default" in welcome.found_servers.text(), "connected")
        assert rig.wiring.services.settings.model == "llama.cpp/qwen3.gguf"
        words = [label.text() for label in welcome.findChildren(QLabel)]
        assert "A model is connected" in words
        assert any(line.startswith("llama.cpp/qwen3.gguf is ready") for line in words)
        assert "Connect a model" not in words
        assert rig.window.focusWidget() is welcome.findChild(QPushButton, "suggestion:folder-open")

        await rig.open_folder("project")
        assert rig.conversation.model.label == "llama.cpp/qwen3.gguf"
        assert rig.conversation.model.window == 16_384


async def test_folders_of_the_start_and_later_ones_are_opened(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await _check_folders_of_the_start(rig)
        await _check_a_new_folder(rig)

    async with open_window(qapp, tmp_path / "other") as rig:
        with pytest.raises(WorkspaceMissing):
            await rig.wiring.workspace_controller.restore_last(tmp_path / "gone")
        assert rig.window.places.welcome.get().isVisible()
        await _check_a_folder_with_sessions(rig)
        await _check_a_workspace_that_cannot_be_opened(rig)
        await _check_the_attach_dialog(rig)


async def _check_folders_of_the_start(rig: WindowRig) -> None:
    """The welcome page comes if the first one cannot be opened; until then the window says what it opens.

    Also while another target of the start is opened.
    """
    (rig.folder / "first").mkdir()
    (rig.folder / "second").mkdir()
    assert rig.window.is_opening
    openings = [
        asyncio.get_running_loop().create_task(
            rig.wiring.workspace_controller.restore_last(rig.folder / name)
        )
        for name in ("gone", "first", "second")
    ]
    welcomes = []
    for opening in openings:
        opening.add_done_callback(lambda _: welcomes.append(rig.window.places.welcome.get().isVisible()))
    await until(rig.window.opening_page.text, "what is being opened")
    assert rig.window.opening_page.isVisible()
    assert rig.window.opening_page.text() in {"Opening first…", "Opening second…"}
    await asyncio.wait(openings)
    await asyncio.sleep(0)
    assert not rig.window.is_opening
    assert welcomes == [False, False, False]
    assert rig.wiring.services.registry.get(rig.workspace.id).path == str(rig.folder / "second")
    assert isinstance(openings[0].exception(), WorkspaceMissing)
    press(await rig.dialog(TrustDialog), "trust")


async def _check_a_new_folder(rig: WindowRig) -> None:
    """It needs trust, and then accepts typing."""
    (rig.folder / "new").mkdir()
    await rig.wiring.workspace_controller.open_folder(rig.folder / "new")
    question = await rig.dialog(TrustDialog)
    assert rig.conversation.session.transcript.messages.items == []
    assert rig.chat.empty_state.sentence.text() == "No messages yet."
    press(question, "trust")
    await until(lambda: rig.window.focusWidget() is rig.composer.editor, "the composer in focus")
    assert rig.chat.empty_state.sentence.text().startswith("Only the demo model is here")
    await rig.run_turn("Hello")


async def _check_a_folder_with_sessions(rig: WindowRig) -> None:
    """The last one comes back, in the chat."""
    await rig.open_folder("project")
    await rig.run_turn("Hello")
    session_id = rig.conversation.session.id
    rig.window.show_page("cache")
    await rig.wiring.workspace_controller.open_folder(rig.folder / "project")
    assert rig.conversation.session.id == session_id
    assert rig.window.page() == "chat"
    assert rig.composer.editor.hasFocus()
    assert len(await rig.workspace.sessions()) == 1


async def _check_a_workspace_that_cannot_be_opened(rig: WindowRig) -> None:
    """It says why, and turns off what needs it; its page opens it again.

    The menus say at the pointer what an entry that is off needs.
    """
    assert not rig.banner_text()
    identity = await rig.open_folder("locked")
    services, commands = rig.wiring.services, rig.window.commands
    store = services.registry.store_folder(identity)
    await services.close_workspace(identity)
    store.rename(store.with_name("elsewhere"))
    store.write_text("no folder")
    await rig.wiring.workspace_controller.open_workspace(identity)
    await until(rig.window.places.closed.get().isVisible, "its page")
    assert "Not a directory" in rig.banner_text()
    own = commands.commands.items()
    of_workspace = [commands.action(name) for name, each in own if OPEN_WORKSPACE in each.needs]
    assert not any(action.isEnabled() for action in of_workspace)
    assert {action.statusTip() for action in of_workspace} == {"Needs an open workspace"}
    for action in (commands.compact_now, commands.toggle_inspector):
        assert (action.isEnabled(), action.statusTip()) == (False, "Needs an open session")
    assert commands.import_file.isEnabled()

    store.unlink()
    store.with_name("elsewhere").rename(store)
    press(rig.window.places.closed.get(), "retry")
    await until(lambda: rig.wiring.session.has_conversation, "it can be opened again")
    assert all(action.isEnabled() and not action.statusTip() for action in of_workspace)


async def _check_the_attach_dialog(rig: WindowRig) -> None:
    """It starts in the workspace, and then in the last folder."""
    pictures = rig.folder / "pictures"
    pictures.mkdir()
    (pictures / "a.png").write_bytes(png(8, 8, 1))
    await rig.open_folder("images")
    dialog = await file_dialog(rig)
    assert Path(dialog.directory().absolutePath()) == rig.folder / "images"
    field = find_child(dialog, QLineEdit)
    field.setText(str(pictures / "a.png"))
    dialog.accept()
    await until(rig.attachment_labels, "the image")

    dialog = await file_dialog(rig)
    assert Path(dialog.directory().absolutePath()) == pictures
    dialog.reject()
    await rig.open_folder("other")
    dialog = await file_dialog(rig)
    assert Path(dialog.directory().absolutePath()) == rig.folder / "other"
    dialog.reject()


async def file_dialog(rig: WindowRig) -> QFileDialog:
    """The dialog behind the paper clip."""
    (clip,) = rig.composer.findChildren(IconButton, "attach")
    QTest.mouseClick(clip, Qt.MouseButton.LeftButton)
    return await rig.dialog(QFileDialog)


async def ask_for(rig: WindowRig, target: Path, page: SettingsPage) -> None:
    """Press Move on a page, and choose a folder."""
    await rig.wiring.settings.show(page)
    press(getattr(rig.settings, page), "move_data")
    dialog = await rig.dialog(QFileDialog)
    dialog.setDirectory(str(target))
    dialog.accept()
    await until(lambda: not dialog.isVisible(), "the dialog gone")


def words(rig: WindowRig, page: SettingsPage) -> str:
    labels = getattr(rig.settings, page).findChildren(QLabel)
    return "\n".join(label.text() for label in labels if not label.isHidden())


def refused(rig: WindowRig, page: SettingsPage) -> bool:
    """Return True if a page says that a folder is in use."""
    return "isn't empty" in words(rig, page)


async def test_it_moves_after_confirmation_and_the_sessions_are_there(
    qapp: QApplication, tmp_path: Path
) -> None:
    target, full = tmp_path / "new", tmp_path / "full"
    target.mkdir()
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    agreed: list[tuple[str, bool]] = []
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.run_turn("Hello")
        rig.wiring.quit_controller.move_confirmed.connect(lambda *args: agreed.append(args))
        pages: tuple[SettingsPage, ...] = ("about", "data")
        for page in pages:
            await ask_for(rig, full, page)
            await until(partial(refused, rig, page), "the refusal")
            assert str(tmp_path / "data") in words(rig, page)
            await ask_for(rig, target, page)
            press(await rig.dialog(QuestionDialog), "cancel")
            assert not refused(rig, page)
        await ask_for(rig, target, "data")
        press(await rig.dialog(QuestionDialog), "remove")
        await until(lambda: agreed, "the user's word")
    assert agreed == [(str(target), True)]

    appearance = Appearance(qapp)
    assert await move_with_window(DataDir(tmp_path / "data"), target, True, appearance) == target
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["moved.json"]
    moved = DataDir.locate(tmp_path / "data", {})
    assert moved.root == target
    (tmp_path / "data").rename(tmp_path / "former")
    target.rename(tmp_path / "data")
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        assert [event.text for event in rig.events(UserSpoke)] == ["Hello"]


async def test_a_canceled_move_changes_nothing(qapp: QApplication, tmp_path: Path) -> None:
    data = DataDir(tmp_path / "old")
    data.ensure()
    data.settings_file.write_text('theme = "dark"\n')

    in_use = FileLock(f"{data.workspaces_dir}.lock")
    in_use.acquire()  # the move waits for it, so that it cannot end before the click

    def cancel() -> None:
        window = next(
            window for window in QApplication.topLevelWidgets() if isinstance(window, MoveDataWindow)
        )
        find_button(window, "cancel_move").click()
        in_use.release()

    QTimer.singleShot(0, cancel)
    assert await move_with_window(data, tmp_path / "new", True, Appearance(qapp)) == data.root
    assert DataDir.locate(data.root, {}) == data
    assert data.settings_file.read_text() == 'theme = "dark"\n'


def test_nothing_moves_before_the_first_file_with_reduced_motion(qtbot: QtBot, tmp_path: Path) -> None:
    """The bar stands at its beginning then, instead of running to and fro."""
    reduce_motion("on")
    try:
        window = MoveDataWindow(tmp_path)
    finally:
        reduce_motion("off")
    qtbot.addWidget(window)
    bar = find_child(window, QProgressBar)
    assert bar.maximum() > bar.value() == 0
