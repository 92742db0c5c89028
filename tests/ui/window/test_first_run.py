"""The first run: a scan finds a model server of this machine, and one click connects it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QWidget

from helix_desktop.config.settings import ModelEntry
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.events.conversation import ApprovalGiven, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.services.samples import PREPARED_TASKS
from helix_desktop.ui.chat.rows.row_types import AssistantRow, ToolRow, UserRow
from helix_desktop.ui.kit.intents import OpenSample
from helix_desktop.ui.settings.providers.models import ProviderDraft
from tests.support.image_bytes import png
from tests.support.model_servers.local_servers import LLAMA_CPP, run_server
from tests.support.window.buttons import find_button, find_buttons, press
from tests.support.window.drops import drop
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def _notices(rig: WindowRig) -> str:
    """Return the notices above the buttons of the page of providers."""
    footer = rig.settings.providers.editor.footer
    return "\n".join(widget.accessibleName() for widget in footer.findChildren(QWidget))


async def test_the_first_provider_answers_in_a_folder_that_the_demo_model_would_answer(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Its next message and those of new sessions go to it; a session on the demo says so."""
    async with run_server(LLAMA_CPP) as server, open_window(qapp, tmp_path) as rig:
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


async def test_the_sample_keeps_the_demo_model_when_a_first_provider_is_saved(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with run_server(LLAMA_CPP) as server, open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        rig.perform(OpenSample())
        await until(lambda: rig.wiring.session.has_conversation, "the sample")
        await rig.wiring.settings.show("providers")
        models = (ModelEntry(name="qwen3.gguf"),)
        form = ProviderDraft("", "box", f"http://127.0.0.1:{server.port}/v1", models=models)
        rig.settings.providers.editor.saved.emit(replace(form, default_model="qwen3.gguf"))
        notice = "box/qwen3.gguf is now the default model. This workspace still uses Offline demo model."
        await until(lambda: notice in _notices(rig), "saved")
        assert rig.wiring.services.settings.model == "box/qwen3.gguf"
        assert rig.conversation.model.demo
        assert "demo model" in rig.composer.editor.placeholderText()


async def test_the_first_saved_provider_is_the_default(qapp: QApplication, tmp_path: Path) -> None:
    """A folder that is opened then has its model, not the demo's; a second provider leaves it."""
    async with run_server(LLAMA_CPP) as server, open_window(qapp, tmp_path) as rig:
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


async def test_enter_copies_the_sample_once_and_it_asks_for_approval_once(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Enter on the first page and another request at the same time, then its next message and call."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_concurrent_requests(rig)
        await _check_its_next_message(rig)


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
    """It keeps the draft and its image; its calls ask until all are allowed, which is displayed."""
    await rig.wiring.workspace_controller.open_sample()
    await rig.wiring.settings.show("permissions")
    page = rig.settings.permissions
    group = page.findChild(QWidget, "demo_rules")
    assert group is not None
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


async def test_the_welcome_page_takes_a_pasted_key_and_connects_a_local_server(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Nothing is found; then a key is pasted; then there is a server."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_a_scan_without_servers(rig)
        await _check_a_pasted_key(rig)
        await _check_a_local_server_in_settings(rig)
        await _check_a_local_server(rig)


async def _check_a_scan_without_servers(rig: WindowRig) -> None:
    rig.wiring.services.models.local_ports = (1,)
    await rig.wiring.workspace_controller.restore_last()
    press(rig.window.places.welcome.get(), "find_servers")
    await until(
        lambda: "No model server found" in rig.window.places.welcome.get().found_servers.text(), "said so"
    )


async def _check_a_pasted_key(rig: WindowRig) -> None:
    """The form of a provider opens at once; a pasted key names its provider and is ready for a test."""
    await rig.wiring.workspace_controller.restore_last()
    press(rig.window.places.welcome.get(), "suggestion:plug")
    dialog = rig.settings
    editor = dialog.providers.editor
    await until(lambda: dialog.isVisible() and not editor.isHidden(), "the form at once")
    assert [row.text() for row in dialog.providers.list.selectedItems()] == ["New provider"]
    rig.window.leave_settings()
    field = rig.window.places.welcome.get().findChild(QLineEdit, "pasted_key")
    assert field is not None
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
        assert any(line.startswith("llama.cpp/qwen3.gguf answers") for line in words)
        assert "Connect a model" not in words
        assert rig.window.focusWidget() is welcome.findChild(QPushButton, "suggestion:folder-open")

        await rig.open_folder("project")
        assert rig.conversation.model.label == "llama.cpp/qwen3.gguf"
        assert rig.conversation.model.window == 16_384
