"""What the user is told: notices where they belong, desktop notifications, the git state."""

from __future__ import annotations

import asyncio
from functools import partial

import msgspec
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.agent.session import CompactionProgress, Update
from helix_desktop.domain.errors import HelixError, StoreWriteFailed
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.changes.page import ChangesPage
from helix_desktop.ui.chat.rows.row_types import ApprovalRow
from helix_desktop.ui.design.git_label import GitLabel
from helix_desktop.ui.design.viewer.content_viewer import TextsDialog
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.notifications import LONG_TURN_S, NotificationController, NotifiedUpdate, Tray
from helix_desktop.ui.window.quit import RecoverySummary, report_crash
from tests.support.git_checkouts import git, make_checkout, needs_git
from tests.support.manual_clock import ManualClock
from tests.support.model_servers.chat_server import api_error, text_reply
from tests.support.window.buttons import find_child, press
from tests.support.window.list_contents import workspaces_in
from tests.support.window.window_rig import WindowRig, calls_for_each_message, until

pytestmark = pytest.mark.qt_loop

FAULT = "The lamp went out."


async def test_notices_stand_where_they_belong_and_what_the_user_misses_notifies(rig: WindowRig) -> None:
    """A failed write and a fault of a session; approvals, errors, jobs and long turns."""
    await _check_a_failed_write(rig)
    await _check_a_fault(rig)
    await _check_an_approval(rig)
    await _check_errors_and_jobs(rig)
    await _check_a_long_turn(rig)
    await _check_a_crash(rig)


async def _check_a_failed_write(rig: WindowRig) -> None:
    """A draft that was not saved says so; the message that is saved after it ends the alarm."""

    async def fail() -> None:
        raise StoreWriteFailed(verbatim(FAULT), verbatim("It is full."), verbatim("Make room."))

    await rig.open_folder("full")
    await rig.context.actions.start(fail(), "fail")
    assert FAULT in rig.banner_text()
    await rig.run_turn("Hello")
    assert FAULT not in rig.banner_text()


async def _check_a_fault(rig: WindowRig) -> None:
    """A fault stays with the session where it occurred."""
    go = asyncio.Event()

    async def fail() -> None:
        await go.wait()
        raise HelixError(verbatim(FAULT), verbatim("It was old."), verbatim("Change it."))

    workspaces = rig.wiring.workspace_controller
    first = await rig.open_folder("first")
    await rig.run_turn("Hello")
    session_id = rig.conversation.session.id
    work = rig.context.actions.start(fail(), "fail")
    await workspaces.new_session()
    go.set()
    await work
    assert FAULT not in rig.banner_text(), "it is about another session"
    assert rig.window.notices.isHidden()

    await workspaces.open_session(session_id)
    assert FAULT in rig.banner_text()
    await rig.open_folder("second")
    assert FAULT not in rig.banner_text()

    await workspaces.open_workspace(first)
    await workspaces.open_session(session_id)
    assert FAULT in rig.banner_text(), "it still holds"
    rig.window.notices.end(FAULT)
    await workspaces.new_session()
    await workspaces.open_session(session_id)
    assert FAULT not in rig.banner_text(), "dismissed is dismissed"


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


async def _check_an_approval(rig: WindowRig) -> None:
    two_calls = calls_for_each_message("run_command", '{"command": "sleep 0"}', '{"command": "sleep 1"}')
    async with rig.answered_by(two_calls, "project"):
        first = rig.workspace.id
        session_id = rig.conversation.session.id
        _, messages = listening(rig)
        rig.type_message("Go")
        await until(lambda: len(rig.rows(ApprovalRow)) == 2, "both questions")
        assert messages.messages == [], "the user looks at it"
        await rig.answer_approval("deny")
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()

        conversation = rig.conversation
        await rig.open_folder("elsewhere")
        other = await another_in_front(rig)
        await conversation.send("Again")
        await until(lambda: len(conversation.asks) == 2, "both questions")
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
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()


async def _check_errors_and_jobs(rig: WindowRig) -> None:
    async with rig.answered_by(lambda _: api_error(400, "No."), "errors"):
        watch = ManualClock()
        beeps = []
        messages = Messages(rig.window)
        services = rig.wiring.services
        session_id = rig.conversation.session.id
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
    async with rig.answered_by(lambda _: text_reply("Done."), "turns"):
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


async def _check_a_crash(rig: WindowRig) -> None:
    """It is reported with what was recovered, and its log."""
    recovery = RecoverySummary(turns=1, drafts=2, sessions=("“a”", "“b”", "“c”", "“d”", "“e”"))
    report_crash(rig.window, rig.context.actions, lambda: "the stacks", rig.folder, recovery)
    assert "didn't close properly" in rig.banner_text()
    assert "1 interrupted turn and 2 drafts" in rig.banner_text()
    assert "See “a”, “b”, “c” and 2 more sessions." in rig.banner_text()
    press(rig.window.notices, "show")
    dialog = await rig.dialog(TextsDialog)
    assert dialog.viewer.text.toPlainText() == "the stacks"
    QTest.mouseClick(dialog.viewer.copy_button, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "the stacks"
    dialog.accept()


def _adds(page: ChangesPage, text: str) -> bool:
    """Return True once the diff on screen adds this one line."""
    diff = page.detail.diff.diff if page.detail.has_diff else None
    if diff is None:
        return False
    return [line.text for hunk in diff.hunks for line in hunk.lines if line.kind == "added"] == [text]


@needs_git
async def test_the_git_state_follows_what_is_done_outside_and_leads_to_it(rig: WindowRig) -> None:
    await _check_the_branch(rig)
    await _check_the_state(rig)


async def _check_the_branch(rig: WindowRig) -> None:
    """The branch leads to what differs from the last commit."""
    make_checkout(rig.folder / "branch", {"a.txt": "1\n", "b.txt": "1\n"})
    for name, text in (("a.txt", "2\n"), ("b.txt", "3\n")):
        (rig.folder / "branch" / name).write_text(text)
    await rig.open_folder("branch")
    label = find_child(rig.window.sidebar, GitLabel, "git_state")
    await until(label.isVisible, "the branch")
    sidebar = rig.window.sidebar
    search = sidebar.search.geometry()
    label.hide()  # as before the folder is trusted
    layout = sidebar.layout()
    assert layout is not None
    layout.activate()
    assert sidebar.search.geometry() == search, "nothing moves below the mouse"
    label.show()
    QTest.mouseClick(label, Qt.MouseButton.LeftButton)
    page = rig.views.changes.get()
    await until(lambda: page.detail.has_diff, "the diff of the first")
    assert rig.window.page() == "changes"
    page.list.setFocus()
    page.list.step(-1)
    for added in ("2", "3"):
        await until(partial(_adds, page, added), "the diff")
        assert page.list.hasFocus(), "a diff leaves the keyboard where it is"
        QTest.keyClick(page.list, Qt.Key.Key_Down)


async def _check_the_state(rig: WindowRig) -> None:
    """The state follows what is done outside."""
    make_checkout(rig.folder / "state", {"a.txt": "1\n"})
    await rig.open_folder("state")
    in_sidebar, in_bar = (
        place.findChild(GitLabel, "git_state") for place in (rig.window.sidebar, rig.window.top_bar)
    )
    assert in_sidebar is not None
    assert in_bar is not None
    await until(lambda: in_sidebar.accessibleName() == "Git: main", "the branch")
    assert not in_bar.isVisible()

    git(rig.folder / "state", "checkout", "-q", "-b", "fix/it")
    (rig.folder / "state" / "a.txt").write_text("2\n")
    QApplication.sendEvent(rig.window, QEvent(QEvent.Type.ActivationChange))
    await until(lambda: in_sidebar.accessibleName() == "Git: fix/it · 1 changed", "the change")
    assert in_sidebar.toolTip().startswith("Branch fix/it\n1 changed file\n")
    rig.window.commands.switch_workspace.trigger()
    rows = workspaces_in(rig.window.picker)
    assert [row.git.on_one_line for row in rows if row.name == "state"] == ["fix/it · 1 changed"]
    rig.window.picker.hide()

    rig.window.resize(1440, 900)
    rig.window.commands.toggle_sidebar.trigger()
    await until(in_bar.isVisible, "the state without a sidebar")
    rig.window.resize(600, 900)
    await until(lambda: not in_bar.isVisible(), "room for the title")
    rig.window.resize(1440, 900)
    await until(in_bar.isVisible, "the state again")
    await rig.open_folder("plain")
    await until(lambda: not in_bar.isVisible(), "a folder that is in no checkout")
