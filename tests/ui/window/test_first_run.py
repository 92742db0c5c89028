"""The first run: a model is connected, the sample is tried, folders are opened."""

from __future__ import annotations

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QWidget

from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.domain.errors import WorkspaceMissing
from helix_desktop.domain.events.conversation import ApprovalGiven, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.services.samples import PREPARED_TASKS
from helix_desktop.ui.chat.rows.row_types import AssistantRow, ToolRow, UserRow
from helix_desktop.ui.kit.commands import OPEN_WORKSPACE
from helix_desktop.ui.kit.intents import OpenSample
from helix_desktop.ui.window.trust import TrustDialog
from tests.support.image_bytes import png
from tests.support.model_servers.local_servers import LLAMA_CPP, run_server
from tests.support.window.buttons import find_button, find_child, press
from tests.support.window.window_rig import WindowRig, drop, new_window, until

pytestmark = pytest.mark.qt_loop


def _notices(rig: WindowRig) -> str:
    """Return the notices below the buttons of the page of providers."""
    view = rig.settings.providers.editor.check_view
    return "\n".join(widget.accessibleName() for widget in view.findChildren(QWidget))


async def _add_server(rig: WindowRig, port: int, name: str) -> None:
    """Add a server by its address, and enter its name and that of a model."""
    page = rig.settings.providers
    page.add()
    page.new_server.form.line("base_url").setText(f"http://127.0.0.1:{port}/v1")
    press(page, "add_server")
    await until(lambda: page.editor.provider.base_url.endswith(f":{port}/v1"), "the provider")
    field = page.editor.form.line("name")
    field.clear()
    QTest.keyClicks(field, name)
    QTest.keyClick(field, Qt.Key.Key_Return)
    page.editor.models.add("qwen3.gguf")
    await until(lambda: _has_model(rig, name), "stored")


def _has_model(rig: WindowRig, name: str) -> bool:
    provider = rig.wiring.services.settings.provider(name)
    return provider is not None and bool(provider.models)


async def test_from_the_first_page_a_model_is_connected_and_answers(rig: WindowRig) -> None:
    """A key is pasted, then a local server is found: its model is the default of folders opened later.

    The page comes in place of a folder that is gone.
    """
    services = rig.wiring.services
    page = rig.settings.providers
    with pytest.raises(WorkspaceMissing):
        await rig.wiring.workspace_controller.restore_last(rig.folder / "gone")
    welcome = rig.window.places.welcome.get()
    assert welcome.isVisible()
    assert rig.window.top_bar.status() == "No session open"
    press(welcome, "suggestion:plug")
    await until(lambda: rig.settings.isVisible() and page.new_server.isVisible(), "the question at once")
    assert page.new_server.form.line("base_url").hasFocus()
    rig.window.leave_settings()
    field = find_child(welcome, QLineEdit, "pasted_key")
    QTest.keyClicks(field, "gsk_0123456789abcdef01234567")
    QTest.keyClick(field, Qt.Key.Key_Return)
    await until(lambda: services.settings.model.startswith("groq/"), "its model answers")
    assert (await services.secrets.get("groq")).value.startswith("gsk_")
    await until(find_button(page, "test_provider").hasFocus, "the keyboard at the test")
    assert "api.groq.com" in page.editor.provider.base_url
    assert field.text() == ""
    rig.window.leave_settings()

    async with run_server(LLAMA_CPP) as server:
        services.models.local_ports = (1, server.port)
        assert server.request_lines == [], "nothing asks it before the user does"
        press(welcome, "find_servers")
        await until(
            lambda: "GET /v1/models" in server.request_lines and not welcome.found_servers.text(), "found"
        )
        press(welcome.found_servers, "add")
        await until(lambda: "qwen3.gguf is now the default" in welcome.found_servers.text(), "connected")
        assert services.settings.model == "llama.cpp/qwen3.gguf"
        words = [label.text() for label in welcome.findChildren(QLabel)]
        assert "A model is connected" in words
        assert "Connect a model" not in words
        assert rig.window.focusWidget() is welcome.findChild(QPushButton, "suggestion:folder-open")
        await rig.open_folder("project")
        assert (rig.conversation.model.label, rig.conversation.model.window) == (
            "llama.cpp/qwen3.gguf",
            16_384,
        )
        await _check_a_second_provider(rig, server.port)


async def _check_a_second_provider(rig: WindowRig, port: int) -> None:
    """The workspace uses it once the user says so."""
    await rig.wiring.settings.show("providers")
    services = rig.wiring.services
    editor = rig.settings.providers.editor
    await _add_server(rig, port, "other")
    assert services.settings.model == "llama.cpp/qwen3.gguf"
    press(editor, "use_provider")
    await until(lambda: "other/qwen3.gguf is now the default model" in _notices(rig), "chosen")
    rig.window.leave_settings()
    assert rig.conversation.model.label == "other/qwen3.gguf"


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
    await until(lambda: rig.wiring.session.has_conversation, "the sample's session")
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
    other = second.window.pages.chat
    empty = second.window.pages.chat.empty_state
    assert other.composer.mode_button.accessibleName() == "Mode: Ask first"
    assert not any("Demo calls" in label.text() for label in empty.findChildren(QLabel))
    press(rig.window, "send_suggestion")
    question = await rig.answer_approval("once")
    assert question.request.tool == "run_command"
    assert registry.get(rig.workspace.id).demo_calls == "once", "it allowed one call"
    assert rig.composer.mode_button.accessibleName() == "Mode: Ask first"
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
    await until(lambda: rig.composer.mode_button.accessibleName() == "Mode: Ask first", "the mode is shown")
    await rig.open_folder("project")
    await rig.wiring.settings.show("permissions")
    assert group.isHidden()
    rig.window.leave_settings()


async def _check_a_first_provider(rig: WindowRig) -> None:
    """It is the default; the sample keeps the demo model, and that is said."""
    await rig.wiring.workspace_controller.open_sample()
    async with run_server(LLAMA_CPP) as server:
        await rig.wiring.settings.show("providers")
        await _add_server(rig, server.port, "box")
        notice = "box/qwen3.gguf is now the default model. This workspace still uses Offline demo model."
        await until(lambda: notice in _notices(rig), "saved")
        assert rig.wiring.services.settings.model == "box/qwen3.gguf"
        assert rig.conversation.model.demo
        assert "demo model" in rig.composer.editor.placeholderText()


async def test_folders_of_the_start_and_later_ones_are_opened(rig: WindowRig) -> None:
    await _check_folders_of_the_start(rig)
    await _check_a_new_folder(rig)
    await _check_a_workspace_that_cannot_be_opened(rig)


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
    assert rig.composer.editor.placeholderText() == "Connect a model to work in this folder"
    press(rig.chat.empty_state, "empty_action")
    await until(rig.settings.isVisible, "the providers")
    assert rig.settings.current_page() == "providers"
    rig.window.leave_settings()
    await rig.run_turn("Hello")


async def _check_a_workspace_that_cannot_be_opened(rig: WindowRig) -> None:
    """It says why, and turns off what needs it; its page opens it again.

    The menus say at the pointer what an entry that is off needs.
    """
    assert not rig.banner_text()
    identity = await rig.open_folder("locked")
    services = rig.wiring.services
    commands = rig.window.commands
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
    assert commands.import_any.isEnabled()

    store.unlink()
    store.with_name("elsewhere").rename(store)
    press(rig.window.places.closed.get(), "retry")
    await until(lambda: rig.wiring.session.has_conversation, "it can be opened again")
    assert all(action.isEnabled() and not action.statusTip() for action in of_workspace)
