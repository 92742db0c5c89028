"""A session that another model answered, as `run --base-url` leaves it: nothing changes before a choice."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.errors import ModelNotChosen
from helix_desktop.ui.chat.actions import EditMessage, RetryAnswer
from helix_desktop.ui.chat.rows.row_types import AssistantRow, TurnFooterRow, UserRow
from helix_desktop.ui.kit.intents import Intent
from tests.support.model_servers.chat_server import ChatServer, replies_in_order, text_reply
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, act, open_window, until

pytestmark = pytest.mark.qt_loop
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


async def test_it_waits_for_a_choice_or_for_its_provider(qapp: QApplication, tmp_path: Path) -> None:
    """Two workspaces, each answered in the run before."""
    answers = [text_reply(words) for words in ("Here", "Here", "Again")]
    async with ChatServer(replies_in_order(*answers)) as server:
        async with open_window(qapp, tmp_path) as rig:
            await _answered(rig, server, "set-up", "box/small")
            await _answered(rig, server, "waiting")
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await _check_the_refusal(rig, server)
            await rig.wiring.workspace_controller.open_folder(tmp_path / "set-up")
            await _check_its_own_provider(rig, server)


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

    press(rig.window.notices, "continue")
    await until(lambda: not rig.conversation.model_choice.pending, "the choice")
    await until(lambda: rig.composer.model_button.text() == "Offline demo model", "the demo")
    assert not is_question_open(rig)
    assert ModelNotChosen.WHAT not in rig.banner_text()
    await rig.wiring.workspace_controller.new_session()
    await rig.wiring.workspace_controller.restore_last()
    assert not is_question_open(rig)
    assert len(server.bodies) == requests


async def _check_its_own_provider(rig: WindowRig, server: ChatServer) -> None:
    """With its provider set up it continues."""
    first = rig.conversation.session.id
    await rig.open_folder("other")
    assert not is_question_open(rig)
    await rig.use_server(server)
    await rig.wiring.workspace_controller.open_folder(rig.folder / "set-up")
    assert rig.conversation.session.id == first
    assert "The workspace now uses the offline demo model" in rig.banner_text()
    press(rig.window.notices, "back")
    await until(lambda: rig.conversation.model.label == "box/small", "its own model")
    await until(lambda: not is_question_open(rig), "no question any more")
    await rig.run_turn("And now?")
    assert [row.text for row in rig.rows(AssistantRow)] == ["Here", "Again"]


async def test_choosing_a_model_for_the_workspace_resolves_it(qapp: QApplication, tmp_path: Path) -> None:
    async with ChatServer(replies_in_order(text_reply("Here"), text_reply("Again"))) as server:
        async with open_window(qapp, tmp_path) as rig:
            await _answered(rig, server, "project")
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            press(rig.window.notices, "choose")
            await until(rig.settings.isVisible, "the page of providers")
            rig.window.leave_settings()
            await rig.use_server(server)
            assert is_question_open(rig), "whoever sets up another model has not chosen it yet"
            rig.settings.providers.editor.use_requested.emit("box")
            await until(lambda: not is_question_open(rig), "the choice")
            await until(
                lambda: (
                    rig.window.top_bar.status() == "Ready · qwen3 → small from the next turn · 2 messages"
                ),
                "the status",
            )
            await rig.run_turn("And now?")
            assert [row.text for row in rig.rows(AssistantRow)] == ["Here", "Again"]
            await until(lambda: rig.window.top_bar.status() == "Ready · small · 4 messages", "the status")


async def test_the_model_that_continues_goes_along_to_branches_and_stays_after_a_restart(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Nothing was sent since the choice."""
    async with ChatServer(replies_in_order(text_reply("Here"), text_reply("There"))) as server:
        async with open_window(qapp, tmp_path) as rig:
            await _answered(rig, server, "project")
            await rig.run_turn("And there?")
            original = rig.conversation.session.id
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            press(rig.window.notices, "continue")
            await until(lambda: not rig.conversation.model_choice.pending, "the choice")
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            assert rig.conversation.session.id == original
            assert not is_question_open(rig)
            await _branch(rig, EditMessage(rig.rows(UserRow)[1].key.seq))
            await rig.wiring.workspace_controller.open_session(original)
            await _branch(rig, RetryAnswer(rig.rows(TurnFooterRow)[1].key.seq))
            transcript = rig.conversation.session.transcript
            await until(lambda: transcript.last_model == "demo/offline", "the answer of the demo model")
            await rig.conversation.stop()
            await rig.wait_for_turn_end()
        assert len(server.bodies) == 2


async def _branch(rig: WindowRig, action: Intent) -> None:
    """Branch the session on screen by a button below a message; the branch asks for no model."""
    original = rig.conversation.session.id
    await act(lambda: rig.perform(action))
    await until(lambda: rig.conversation.session.id != original, "the branch")
    assert not rig.conversation.model_choice.pending
    assert not is_question_open(rig)
