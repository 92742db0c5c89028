"""A user in another window is notified of a pending approval, or of the end of a long turn."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.agent.session import CompactionProgress, Update
from helix_desktop.ui.chat.rows.row_types import ApprovalRow
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.style.theme import is_motion_reduced, reduce_motion
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.quit import LONG_TURN_S, NotificationController, NotifiedUpdate, Tray
from tests.support.manual_clock import ManualClock
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    api_error,
    text_reply,
)
from tests.support.window.buttons import find_button
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


class Messages(Tray):
    """Messages as the system would show them."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.messages: list[tuple[str, str]] = []
        self.places: list[tuple[str, str]] = []
        self.withdrawn = 0

    def show(self, title: str, text: str, place: tuple[str, str]) -> None:
        """Record it."""
        self.places.append(place)
        self.messages.append((title, text))

    def clear_message(self) -> None:
        """Count it."""
        self.withdrawn += 1


def asking_model(request: dict[str, object]) -> Reply:
    """A model that runs one command for each message, then says so."""
    messages = request["messages"]
    assert isinstance(messages, list)
    if messages[-1]["role"] == "user":
        return StreamedReply(Call("run_command", '{"command": "sleep 0"}', id=f"call{len(messages)}"))
    return text_reply("Ended.")


def listening(rig: WindowRig, watch: ManualClock | None = None) -> tuple[NotificationController, Messages]:
    """Record the notifications of the current workspace, in addition to the window's own."""
    messages = Messages(rig.window)
    notifying = NotificationController(rig.window, rig.wiring.services, messages, watch or ManualClock())
    workspace = rig.workspace
    workspace.on(
        NotifiedUpdate, lambda session_id, update: notifying.on_update(workspace, session_id, update)
    )
    return notifying, messages


async def another_in_front(rig: WindowRig) -> QWidget:
    other = QWidget()
    other.show()
    other.activateWindow()
    await until(lambda: not rig.window.isActiveWindow(), "another window in front")
    return other


async def test_approvals_long_turns_errors_and_jobs_notify(qapp: QApplication, tmp_path: Path) -> None:
    """Each step has a workspace of its own."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_an_approval(rig)
        await _check_errors_and_jobs(rig)
        await _check_a_long_turn(rig)


async def _check_an_approval(rig: WindowRig) -> None:
    async with ChatServer(asking_model) as server:
        await rig.open_folder("project")
        await rig.use_server(server)
        first, session_id = rig.workspace.id, rig.conversation.session.id
        _, messages = listening(rig)
        rig.type_message("Go")
        await until(lambda: rig.rows(ApprovalRow), "a question")
        assert messages.messages == [], "the user looks at it"
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()

        conversation = rig.conversation
        await rig.open_folder("elsewhere")
        other = await another_in_front(rig)
        await conversation.send("Again")
        await until(lambda: messages.messages, "the message")
        ((title, text),) = messages.messages
        assert title == "The agent is waiting for your approval · project"
        assert text.startswith("Run a command in the workspace")
        rig.wiring.windows.activated.connect(messages.clear_message)
        rig.wiring.quit_controller.tray.clicked.emit(*messages.places[0])
        await until(lambda: rig.app_window.shown_session == (first, session_id), "the session")
        await until(rig.window.isActiveWindow, "the window in front")
        assert messages.withdrawn
        other.close()
        other.deleteLater()
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()


async def _check_errors_and_jobs(rig: WindowRig) -> None:
    async with ChatServer(lambda _: api_error(400, "No.")) as server:
        await rig.open_folder("errors")
        await rig.use_server(server)
        watch, beeps, messages = ManualClock(), [], Messages(rig.window)
        services, session_id = rig.wiring.services, rig.conversation.session.id
        notifying = NotificationController(
            rig.window, services, messages, watch, lambda: beeps.append(len(messages.messages))
        )
        workspace = rig.workspace
        workspace.on(
            NotifiedUpdate, lambda session_id, update: notifying.on_update(workspace, session_id, update)
        )
        other = await another_in_front(rig)
        await rig.conversation.run("Fail")
        assert [title for title, _ in messages.messages] == ["The agent stopped with an error · errors"]
        assert not beeps
        await services.save_settings(
            msgspec.structs.replace(services.settings, notify_sound=True, notify_off=("error",))
        )
        await rig.conversation.run("Fail again")
        assert len(messages.messages) == 1
        for seconds in (LONG_TURN_S / 2, LONG_TURN_S * 2):
            notifying.on_update(workspace, session_id, CompactionProgress("summarize"))
            watch.now += seconds
            notifying.on_update(workspace, session_id, CompactionProgress("idle"))
            notifying.on_job_ended("Exporting", seconds)
        assert [title for title, _ in messages.messages[1:]] == [
            "A background job has ended · errors", "A background job has ended",
        ]  # fmt: skip
        assert beeps == [1, 2]
        other.close()
        other.deleteLater()


async def _check_a_long_turn(rig: WindowRig) -> None:
    async with ChatServer(lambda _: text_reply("Done.")) as server:
        await rig.open_folder("turns")
        await rig.use_server(server)
        watch = ManualClock()
        notifying, messages = listening(rig, watch)
        other = await another_in_front(rig)
        rig.workspace.on(Update, lambda _, update: setattr(watch, "now", watch.now + LONG_TURN_S / 100))
        await rig.conversation.run("Short")
        assert messages.messages == []
        await rig.conversation.rename("The long one")
        rig.workspace.on(Update, lambda _, update: setattr(watch, "now", watch.now + LONG_TURN_S))
        await rig.conversation.run("Long")
        assert messages.messages == [("The agent is done · turns", "The long one")]
        services = rig.wiring.services
        await services.save_settings(msgspec.structs.replace(services.settings, notify=False))
        await rig.conversation.run("Long again")
        assert len(messages.messages) == 1, "it is switched off"
        other.close()
        other.deleteLater()
        assert notifying.parent() is rig.window


async def test_the_choices_are_saved(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.wiring.settings.show("appearance")
        page = rig.settings.appearance
        assert find_button(page, "notify").isChecked()
        find_button(page, "notify_job").click()
        find_button(page, "notify_sound").click()
        services = rig.wiring.services
        await until(lambda: services.settings.notify_off == ("job",), "one of them is off")
        await until(lambda: services.settings.notify_sound, "there is a sound")
        motion = page.controls["reduce_motion"]
        assert isinstance(motion, ComboBox)
        motion.setCurrentIndex(motion.findData("on"))
        motion.activated.emit(motion.currentIndex())
        await until(lambda: services.settings.reduce_motion == "on", "motion is reduced")
        assert is_motion_reduced()
        reduce_motion("off")
        find_button(page, "notify").click()
        await until(lambda: not services.settings.notify, "it is off")
        assert not page.controls["notify_sound"].isEnabled()
        rig.window.leave_settings()
    async with open_window(qapp, tmp_path) as rig:
        assert not rig.wiring.services.settings.notify
