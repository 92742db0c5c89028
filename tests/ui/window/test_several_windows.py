"""Several windows, each with a session of its own; files and sessions from outside find theirs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu

from helix_desktop.agent.session import CompactionProgress
from helix_desktop.app.file_open_events import open_target
from helix_desktop.app.launch_targets import IMPORT_PREFIX, SESSION_PREFIX
from helix_desktop.app.run import StartTargets, StoredWindows, load_windows, open_places
from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.chat.actions import EditMessage
from helix_desktop.ui.chat.composer.attachment_chips import AttachmentChip, AttachText
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, UserRow
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.kit.intents import (
    OpenInNewWindow,
    OpenListedSession,
    Quit,
    RefreshLists,
    RestoreSession,
    TrashSession,
)
from helix_desktop.ui.window.controlled_window import ControlledWindow
from helix_desktop.ui.window.sidebar.rail import WorkspaceButton
from helix_desktop.ui.window.window_group import ShownSession
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import press, trigger
from tests.support.window.window_rig import WindowRig, act, new_window, open_window, restart, row_of, until

pytestmark = pytest.mark.qt_loop


async def test_each_window_has_a_session_of_its_own_and_closing_one_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, rig: WindowRig
) -> None:
    """What comes from outside finds its window, and a draft goes with its session from window to window."""
    await rig.open_folder("project")
    second = await new_window(rig)
    drafted = await _check_two_sessions(rig, second)
    await _check_the_session_on_screen_elsewhere(rig)
    await _check_deleting_a_session_that_another_window_shows(rig)
    await _check_a_session_that_both_open_at_once(rig, second, drafted)
    await _check_an_edit_of_a_session_that_another_window_shows(rig, second)
    await _check_a_workspace_that_is_opened_again(rig, second, rig.folder / "project.helix")
    await _check_a_workspace_that_is_closed(rig, second)
    second = await _check_a_session_from_outside(rig)
    await _check_a_message_of_a_closed_window(rig, second)
    await _check_an_unknown_session(rig)
    await _check_drafts(rig, monkeypatch)


async def _check_two_sessions(rig: WindowRig, second: ControlledWindow) -> str:
    """Both windows list both sessions, and a session comes to the front where it is; that with the draft."""
    first = rig.app_window
    workspace_id, first_session = first.shown_session
    second_session = second.shown_session[1]
    assert second.shown_session[0] == workspace_id
    assert second_session != first_session
    await until(lambda: "(2)" in second.window.windowTitle(), "a number behind the title that both have")
    assert "(2)" not in rig.window.windowTitle()
    await rig.run_turn("Say hello.")
    await until(lambda: row_of(second, first_session) == "Say hello.", "the title in the other window")
    await until(lambda: rig.window.windowTitle().startswith("Say hello. ·"), "the title of this window")
    await until(lambda: "(2)" not in second.window.windowTitle(), "no number: the titles differ")
    await act(lambda: second.window.perform(OpenListedSession(first_session)))
    await until(rig.window.isActiveWindow, "the window that shows the session")
    assert second.shown_session[1] == second_session
    second.composer.widget.editor.setPlainText("A draft.")
    await act(second.window.close)
    assert not second.window.isVisible()
    assert rig.window.isVisible()
    assert rig.window.windowTitle() == "project — Helix Desktop"
    await act(lambda: rig.window.perform(OpenListedSession(second_session)))
    await until(lambda: first.shown_session[1] == second_session, "its session in the first window")
    await until(lambda: rig.composer.editor.toPlainText() == "A draft.", "its draft")
    return second_session


async def _check_the_session_on_screen_elsewhere(rig: WindowRig) -> None:
    """A session with messages moves to another window, the one that was closed; this one gets a new one."""
    first = rig.app_window
    windows = rig.wiring.windows
    await act(lambda: rig.window.perform(OpenListedSession(_session_titled(rig, "Say hello."))))
    await until(lambda: first.shown_session[1] == _session_titled(rig, "Say hello."), "the first session")
    moved = first.shown_session[1]
    await act(lambda: rig.window.perform(OpenInNewWindow(moved)))
    await until(lambda: not windows.is_only_one(rig.window), "a window of its own")
    await until(lambda: windows.current.shown_session[1] == moved, "the session there")
    assert windows.current.window is not rig.window
    assert len(windows.windows) == 2
    assert first.shown_session[1] not in {moved, ""}


def _session_titled(rig: WindowRig, title: str) -> str:
    sessions = rig.window.sidebar.session_list.sessions()
    return next(session.id for session in sessions if session.title == title)


async def _check_deleting_a_session_that_another_window_shows(rig: WindowRig) -> None:
    other = rig.wiring.windows.other_with(rig.window, *rig.wiring.windows.current.shown_session)
    assert other is not None
    deleted = other.shown_session[1]
    await act(lambda: rig.window.perform(TrashSession(deleted)))
    await until(lambda: not row_of(rig.app_window, deleted), "the session out of the list")
    await until(lambda: other.shown_session[1] != deleted, "another session in its window")
    assert rig.app_window.shown_session[1] not in {deleted, other.shown_session[1]}


async def _check_a_session_that_both_open_at_once(
    rig: WindowRig, second: ControlledWindow, session_id: str
) -> None:
    """One shows it: their drafts would overwrite each other."""
    await asyncio.gather(
        *(
            opened.workspace_controller.show_session(rig.workspace, session_id)
            for opened in (rig.wiring, second)
        )
    )
    shown = [opened.shown_session[1] for opened in (rig.app_window, second)]
    assert shown.count(session_id) == 1
    assert len(set(shown)) == 2


async def _check_an_edit_of_a_session_that_another_window_shows(
    rig: WindowRig, second: ControlledWindow
) -> None:
    """Canceled, the other window comes to the front; this one goes on with another session."""
    await act(second.window.close)
    await rig.wiring.workspace_controller.new_session()
    original = rig.app_window.shown_session.session_id
    await rig.run_turn("Say hello.")
    rig.conversation.session.publish(CompactionProgress("summarize"))
    await act(lambda: rig.perform(EditMessage(rig.rows(UserRow)[0].key.seq)))
    await until(lambda: rig.app_window.shown_session.session_id != original, "the branch")
    branch = rig.app_window.shown_session.session_id
    await until(lambda: row_of(rig.app_window, branch), "the branch in the list")
    await act(lambda: rig.window.perform(OpenInNewWindow(original)))
    await until(lambda: second.shown_session.session_id == original, "the original in another window")
    assert second.window.pages.chat.composer.work_text(), "what runs in it since before there was the window"
    await act(lambda: press(rig.window.notices, "editing:cancel"))
    await until(lambda: not row_of(rig.app_window, branch), "the branch out of the list")
    assert rig.app_window.shown_session.session_id not in {branch, original}
    assert second.shown_session.session_id == original


async def _check_a_workspace_that_is_opened_again(
    rig: WindowRig, second: ControlledWindow, archive: Path
) -> None:
    """As for an import: the windows come back to their sessions and drafts."""
    workspace_id = rig.workspace.id
    await rig.wiring.services.backup.export(workspace_id, archive)
    places = [rig.app_window.shown_session, second.shown_session]
    second.composer.widget.editor.setPlainText("A draft.")
    await rig.wiring.workspace_controller.reopen(workspace_id)
    assert [rig.app_window.shown_session, second.shown_session] == places
    assert second.composer.widget.editor.toPlainText() == "A draft."
    assert second.session.workspace is rig.workspace
    await rig.wiring.import_export.merge_file(workspace_id, archive)
    assert second.shown_session == places[1]


async def _check_a_workspace_that_is_closed(rig: WindowRig, other: ControlledWindow) -> None:
    """A window whose workspace is removed in another one closes with it, whatever it shows."""
    windows = rig.wiring.windows
    await other.settings.show("about")
    changed = rig.app_window.session.changed

    def read_again() -> None:
        for _ in range(20):
            rig.window.perform(RefreshLists())

    changed.connect(read_again)
    await rig.wiring.workspace_controller.close_workspace(rig.app_window.shown_session.workspace_id)
    changed.disconnect(read_again)
    assert "The workspace is closed." not in rig.window.notices.names(), "of what still read it"
    assert not other.window.isVisible()
    assert windows.is_only_one(rig.window)


async def test_a_window_follows_what_happens_in_another_one_until_both_are_quit(rig: WindowRig) -> None:
    await rig.open_folder("project")
    second = await new_window(rig)
    await rig.open_folder("other")
    names = [button.workspace.name for button in second.window.rail.findChildren(WorkspaceButton)]
    await until(lambda: _workspace_names(second) == ["other", "project"], f"the new workspace in {names}")
    await _check_a_session_that_waits_elsewhere(rig, second)
    await rig.wiring.workspace_controller.open_workspace(second.shown_session.workspace_id)
    await _check_deleting_and_restoring(rig, second)
    await _check_trust_and_models(rig, second)
    await _check_quit_ends_all(rig, second)
    await _check_what_is_not_saved(rig, second)
    await _check_quit_asks_once(rig)


def _workspace_names(app_window: ControlledWindow) -> list[str]:
    buttons = app_window.window.rail.findChildren(WorkspaceButton)
    return sorted(button.workspace.name for button in buttons)


async def _check_a_session_that_waits_elsewhere(rig: WindowRig, second: ControlledWindow) -> None:
    """A window that never showed a workspace says when a session of it waits, and lists a new provider."""
    asking = replies_in_order(
        StreamedReply(Call("run_command", '{"command": "sleep 0"}')), text_reply("Ended.")
    )
    await second.settings.show("providers")
    theirs = second.settings.view.providers.list
    rig.window.activateWindow()
    await until(lambda: rig.wiring.windows.current is rig.app_window, "the first window in front")
    async with ChatServer(asking) as server:
        await rig.use_server(server)
        await until(lambda: theirs.count() == 2, "the provider in the other window, which stays behind")
        assert "box" in theirs.item(1).text()
        second.window.leave_settings()
        rig.type_message("Run it.")
        await until(lambda: "waits for you" in second.window.windowTitle(), "the waiting session")
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()
        await until(lambda: "waits for you" not in second.window.windowTitle(), "none that waits")


async def _check_deleting_and_restoring(rig: WindowRig, second: ControlledWindow) -> None:
    session_id = rig.app_window.shown_session.session_id
    await until(lambda: row_of(second, session_id), "the session in the list of the other window")
    await act(lambda: rig.window.perform(TrashSession(session_id)))
    await until(lambda: not row_of(second, session_id), "the session out of the list of the other window")
    assert rig.window.places.empty.get().isVisible()
    assert "No session open" in [label.text() for label in rig.window.places.empty.get().findChildren(QLabel)]
    await act(lambda: rig.window.perform(RestoreSession()))
    await until(lambda: row_of(second, session_id), "the session back in both lists")


async def _check_trust_and_models(rig: WindowRig, second: ControlledWindow) -> None:
    """The other window can send as soon as the folder is trusted here, and names the model chosen here."""
    workspace_id = second.shown_session.workspace_id
    composer = second.composer.widget
    strip = second.window.pages.chat.trust_strip
    await rig.wiring.trust.set_trusted(workspace_id, False)
    assert strip.isVisible()
    assert not composer.editor.isEnabled()
    await rig.wiring.trust.set_trusted(workspace_id, True)
    assert not strip.isVisible()
    assert composer.editor.isEnabled()
    async with ChatServer(lambda _: text_reply("Hello.")) as server:
        await rig.use_server(server, model="tiny")
        assert "tiny" in composer.model_button.text()


async def _check_quit_ends_all(rig: WindowRig, second: ControlledWindow) -> None:
    second.window.activateWindow()
    await until(second.window.isActiveWindow, "the second window in front")
    agreed: list[str] = []
    rig.wiring.quit_controller.confirmed.connect(lambda: agreed.append("first"))
    second.quit_controller.confirmed.connect(lambda: agreed.append("second"))
    QTest.keyClick(second.window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: bool(agreed), "Ctrl+Q with two windows")
    await asyncio.sleep(0)
    assert agreed == ["second"]
    rig.window.activateWindow()
    await until(lambda: rig.wiring.windows.current is rig.app_window, "the first window in front")
    QTest.keyClick(rig.window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: len(agreed) > 1, "Ctrl+Q in the first window")
    assert agreed == ["second", "first"]


async def _check_quit_asks_once(rig: WindowRig) -> None:
    asking = StreamedReply(Call("run_command", '{"command": "sleep 0"}'))
    async with rig.answered_by(lambda _: asking, "project"):
        rig.type_message("Run it.")
        await until(lambda: rig.rows(ApprovalRow), "the approval")
        second = await new_window(rig)
        rig.window.perform(Quit())
        await until(lambda: _questions(rig.app_window), "the question")
        second.window.perform(Quit())
        await until(_questions(rig.app_window)[0].isActiveWindow, "the same question in front")
        assert not _questions(second)
        _questions(rig.app_window)[0].reject()
        await until(lambda: not _questions(rig.app_window), "the question gone")
        second.window.perform(Quit())
        await until(lambda: _questions(second), "the question over the other window")
        _questions(second)[0].reject()


async def _check_what_is_not_saved(rig: WindowRig, second: ControlledWindow) -> None:
    """What is saved is shown in each; what isn't saved stays, and is asked about where it is."""
    await second.settings.show("mcp")
    theirs = second.settings.view
    theirs.mcp.open_add()
    theirs.mcp.add_box.paste.setPlainText("{")
    assert second.unsaved_settings()
    await second.settings.show("instructions")
    rig.window.activateWindow()
    await until(rig.window.isActiveWindow, "the first window in front")
    await rig.wiring.settings.show("instructions")
    assert (rig.window.page(), second.window.page()) == ("settings", "settings")
    assert not rig.app_window.unsaved_settings()
    path = rig.wiring.services.user_instructions.path()
    path.write_text("Be brief.", encoding="utf-8")
    second.window.activateWindow()
    await until(lambda: theirs.instructions.personal.excerpt.text() == "Be brief.", "what was saved")
    assert second.unsaved_settings()
    await _check_they_are_asked_about_once(rig, second)


async def _check_they_are_asked_about_once(rig: WindowRig, second: ControlledWindow) -> None:
    """Who closes the window without saving is not asked again by Quit."""
    second.window.close()
    await until(lambda: _questions(second), "the question about the settings")
    press(_questions(second)[0], "quit")
    await until(lambda: not second.window.isVisible(), "the second window closed")
    agreed: list[bool] = []
    rig.wiring.quit_controller.confirmed.connect(lambda: agreed.append(True))
    rig.window.perform(Quit())
    await until(lambda: agreed, "no question at the end")


def _questions(app_window: ControlledWindow) -> list[QuestionDialog]:
    dialogs = app_window.window.findChildren(QuestionDialog)
    return [dialog for dialog in dialogs if dialog.isVisible()]


async def _check_a_session_from_outside(rig: WindowRig) -> ControlledWindow:
    await rig.open_folder("project")
    place = rig.app_window.shown_session
    await rig.run_turn("Say hello.")
    rig.window.show_page("changes")
    second = await new_window(rig)
    target = f"{SESSION_PREFIX}{place.session_id[:12]}"
    (rig.folder / "other").mkdir()
    rig.wiring.services.registry.add(rig.folder / "other", trusted=True)
    await second.workspace_controller.open_folder(rig.folder / "other")
    places = second.shown_session
    second.window.show_page("outputs")
    await open_target(target, second, is_first=False)
    await until(rig.window.isActiveWindow, "the window that shows the session")
    assert rig.window.page() == "chat"
    assert (second.shown_session, second.window.page()) == (places, "outputs")
    return second


async def _check_a_message_of_a_closed_window(rig: WindowRig, second: ControlledWindow) -> None:
    place = second.shown_session
    await act(second.window.close)
    await until(lambda: not second.window.isVisible(), "the second window closed")
    await act(lambda: second.quit_controller.tray.clicked.emit(*place))
    await until(lambda: rig.app_window.shown_session == place, "the session in the first window")
    assert not second.window.isVisible()


async def _check_an_unknown_session(rig: WindowRig) -> None:
    """The window that the user looked at shows it, and a closed window comes back as a new one."""
    second = await new_window(rig)
    second.window.activateWindow()  # no window manager does it here
    await until(second.window.isActiveWindow, "the new window is in front")
    targets = StartTargets(rig.wiring.windows, StoredWindows())
    second.window.show_page("outputs")
    second.window.sidebar.search.setText("words")
    targets.open_later("session:none")  # ids are hexadecimal digits
    await until(second.window.notices.names, "the error in the window in front")
    assert not rig.window.notices.names()
    await act(second.window.close)
    await until(lambda: not second.window.isVisible(), "the second window closed")
    moved = rig.app_window.shown_session.session_id
    await rig.run_turn("Say hello.")
    await act(lambda: rig.window.perform(OpenInNewWindow(moved)))
    await until(lambda: second.shown_session.session_id == moved, "the session in the window")
    assert not second.window.notices.names()
    assert second.window.sidebar.search.text() == ""
    assert second.window.page() == "chat"


async def _check_drafts(rig: WindowRig, monkeypatch: pytest.MonkeyPatch) -> None:
    async with rig.answered_by(lambda _: text_reply("Hello."), "drafts"):
        second = await new_window(rig)
        session_id = rig.app_window.shown_session.session_id
        await _check_attachments(rig, second, session_id)
        await _check_an_unsaved_draft(rig, second, session_id, monkeypatch)
        await rig.wiring.workspace_controller.new_session()
        await _check_a_message_that_was_not_sent(rig, second)


async def _show(app_window: ControlledWindow, session_id: str) -> None:
    windows = app_window.windows
    other = windows.other_with(app_window.window, *app_window.shown_session[:1], session_id)
    if isinstance(other, ControlledWindow):
        await other.workspace_controller.new_session()
    loaded: list[str] = []
    app_window.session.loaded.connect(lambda: loaded.append(app_window.shown_session.session_id))
    await act(lambda: app_window.window.perform(OpenListedSession(session_id)))
    await until(lambda: session_id in loaded, "the session with its draft")


async def _check_attachments(rig: WindowRig, second: ControlledWindow, session_id: str) -> None:
    """What was sent with a message in one window doesn't go along with the next one in another."""
    await rig.run_turn("Said first.")
    await act(lambda: rig.perform(AttachText("words\n" * 50)))
    await until(rig.attachment_labels, "what was pasted")
    await _show(second, session_id)
    attachments = second.composer.attachments
    await until(lambda: len(attachments.current()) == 1, "the attachment that was added here")
    second.composer.send("Said there.")
    await until(lambda: not attachments.current(), "the attachment sent")
    conversation = second.session.conversation
    assert conversation is not None
    transcript = conversation.session.transcript
    await until(lambda: transcript.messages.turns > 1 and not conversation.is_running, "the answer")
    await _show(rig.app_window, session_id)
    rig.type_message("Written after it", send=False)
    await rig.wiring.composer.drafts.save_all()
    draft = await rig.workspace.store.draft(session_id)
    assert (draft.text, draft.attachments) == ("Written after it", ())


async def _check_an_unsaved_draft(
    rig: WindowRig, second: ControlledWindow, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one window could not save is shown by the one that the session goes to."""

    async def refuse(*_: object) -> None:
        raise StoreWriteFailed(verbatim("The disk is full."))

    rig.composer.set_text("Written on a full disk")
    with monkeypatch.context() as full_disk:
        full_disk.setattr(rig.workspace.store, "save_draft", refuse)
        await rig.wiring.workspace_controller.new_session()
        await until(lambda: "could not be saved" in rig.banner_text(), "the notice")
    assert f"unsaved-draft-{session_id}" in second.window.notices.names()
    await _show(second, session_id)
    composer = second.composer.widget
    await until(lambda: composer.text() == "Written on a full disk", "the draft that was not saved")
    assert "could not be saved" not in rig.banner_text()


async def test_a_start_with_a_folder_opens_all_windows_of_the_last_run(
    qapp: QApplication, tmp_path: Path
) -> None:
    """The folder is in front: in the window that has it, else in the first one."""
    async with open_window(qapp, tmp_path) as rig:
        places = await _open_three(rig)
    async with open_window(qapp, tmp_path) as rig:
        await restart(qapp, rig, str(tmp_path / "other"))
        windows = rig.wiring.windows.windows
        assert [opened.shown_session for opened in windows] == places
        assert [opened.window.page() for opened in windows] == ["timeline", "changes", "outputs"]
        assert windows[1].window.width() == 700
        await until(windows[1].window.isActiveWindow, "the window with the folder in front")
        windows[2].window.activateWindow()
        await until(lambda: rig.wiring.windows.current is windows[2], "the last window in front")
        await act(rig.window.close)
        await until(lambda: not rig.window.isVisible(), "the first window closed")
    (tmp_path / "new").mkdir()
    async with open_window(qapp, tmp_path) as rig:
        rig.wiring.services.registry.add(tmp_path / "new", trusted=True)
        assert load_windows(rig.context.window_state).front == 1, "the one that was in front"
        await restart(qapp, rig, str(tmp_path / "new"))
        assert rig.wiring.services.registry.get(rig.workspace.id).name == "new"
        assert [place.session_id for place in open_places(rig.wiring.windows).places] == [
            *(rig.app_window.shown_session.session_id, places[2].session_id)
        ], "what stayed when the first window was closed"
        assert rig.window.width() == 700, "the next one is the first"
        await until(rig.window.isActiveWindow, "the first window in front")


async def _open_three(rig: WindowRig) -> list[ShownSession]:
    """Open three windows, on two workspaces and three pages; return what they show."""
    await rig.open_folder("project")
    sizes: list[int] = []
    rig.window.layout_changed.connect(lambda: sizes.append(rig.window.width()))
    rig.window.resize(600, 450)
    await until(lambda: sizes == [600], "the size stored, which another window takes")
    second = await new_window(rig)
    third = await new_window(rig)
    corners = {opened.window.x() for opened in rig.wiring.windows.windows}
    assert len(corners) == len(rig.wiring.windows.windows), "each window stands beside the others"
    second.window.resize(700, 500)
    (rig.folder / "other").mkdir()
    rig.wiring.services.registry.add(rig.folder / "other", trusted=True)
    await second.workspace_controller.open_folder(rig.folder / "other")
    for opened, page in zip(rig.wiring.windows.windows, ("timeline", "changes", "outputs"), strict=True):
        opened.window.show_page(page)
    rig.window.activateWindow()
    await until(lambda: rig.wiring.windows.current is rig.app_window, "the first window in front")
    return [opened.shown_session for opened in (rig.app_window, second, third)]


async def _move(rig: WindowRig, second: ControlledWindow, session_id: str) -> None:
    """Let the first window go on with another session, and show its session in the second one."""
    await rig.wiring.workspace_controller.new_session()
    loaded: list[str] = []
    second.session.loaded.connect(lambda: loaded.append(second.shown_session.session_id))
    second.window.perform(OpenListedSession(session_id))
    await until(lambda: session_id in loaded, "the session with its draft")


async def _check_a_save_that_comes_late(rig: WindowRig, session_id: str) -> None:
    """It stores what is written by then, not over it what was written when it began."""
    rig.composer.set_text("Written later")
    await rig.wiring.composer.drafts.save(rig.workspace, rig.conversation, "Written first")
    assert (await rig.workspace.store.draft(session_id)).text == "Written later"
    rig.composer.set_text("")


async def _check_a_message_that_was_not_sent(rig: WindowRig, second: ControlledWindow) -> None:
    """Nothing is stored over it: it stands in front of what is written there, with what goes along."""
    session_id = rig.app_window.shown_session.session_id
    await rig.run_turn("Said first.")
    composer = second.composer
    await _check_a_save_that_comes_late(rig, session_id)
    async with rig.wiring.windows.drafts.attaching_lock:
        rig.perform(AttachText("words\n" * 50))
        rig.wiring.composer.send("Not sent. ")
        await _move(rig, second, session_id)
        composer.widget.editor.insertPlainText("Written there")
    await until(lambda: composer.widget.text() == "Not sent. Written there", "the message and what was typed")
    chips = composer.widget.findChildren(AttachmentChip)
    assert len([chip for chip in chips if not chip.isHidden()]) == 1
    assert await composer.drafts.save_all() == []
    draft = await rig.workspace.store.draft(session_id)
    assert (draft.text, len(draft.attachments)) == ("Not sent. Written there", 1)


DIGEST = "f" * 64


def request_target(rig: WindowRig, target: str, fresh: bool = False) -> asyncio.Task[None]:
    """Request something, as another start does; the task ends when it is done, or refused in a banner."""
    return rig.context.actions.start(open_target(target, rig.wiring, fresh), "knock")


def dialog_text(dialog: QuestionDialog) -> str:
    return "\n".join(label.text() for label in dialog.findChildren(QLabel))


def entry(menu: QMenu, name: str) -> None:
    trigger(menu, name)
    menu.deleteLater()


async def test_files_and_links_from_outside_are_opened(qapp: QApplication, tmp_path: Path) -> None:
    """A first start asks for the folder of a file; what is broken is reported and changes nothing."""
    place = tmp_path / "Fern & Söhne.helix"
    async with open_window(qapp, tmp_path / "there") as rig:
        await _check_sessions_by_id(rig)
        await _check_a_file(rig, place)
        await _check_an_invalid_file(rig)
    await _check_a_first_start(qapp, tmp_path, place)


async def _check_a_file(rig: WindowRig, place: Path) -> None:
    """Into the workspace it comes from, else into the one on screen."""
    garden = rig.workspace.id
    await rig.wiring.services.backup.export(garden, place)
    shed = await rig.open_folder("shed")
    importing = request_target(rig, IMPORT_PREFIX + str(place))
    dialog = await rig.dialog(QuestionDialog)
    assert "into garden?" in dialog_text(dialog)
    assert "exported from this workspace" in dialog_text(dialog)
    press(dialog, "here")
    await importing
    assert "imported." in rig.banner_text()
    assert rig.workspace.id == garden

    await rig.wiring.workspace_controller.open_workspace(shed)
    await rig.wiring.workspace_controller.close_workspace(garden)
    rig.wiring.services.registry.remove(garden)
    before = len(await rig.workspace.sessions())
    for answer, count in (("cancel", before), ("here", before + 2)):
        importing = request_target(rig, IMPORT_PREFIX + str(place))
        dialog = await rig.dialog(QuestionDialog)
        assert "Import Fern & Söhne.helix into shed?" in dialog_text(dialog)
        assert "exported from garden on" in dialog_text(dialog)
        assert "2 sessions and" in dialog_text(dialog)
        press(dialog, answer)
        await importing
        assert rig.workspace.id == shed
        assert len(await rig.workspace.sessions()) == count


async def _check_a_first_start(qapp: QApplication, tmp_path: Path, place: Path) -> None:
    (tmp_path / "new").mkdir()
    async with open_window(qapp, tmp_path / "here") as rig:
        importing = request_target(rig, IMPORT_PREFIX + str(place), fresh=True)
        press(await rig.dialog(QuestionDialog), "cancel")
        await importing
        assert rig.window.places.welcome.get().isVisible()
        rig.window.commands.import_any.trigger()
        await rig.pick(place)
        press(await rig.dialog(QuestionDialog), "folder")
        await rig.pick(tmp_path / "new")
        await until(lambda: "imported." in rig.banner_text(), "the notice")
        await until(lambda: rig.wiring.session.has_conversation, "its session on screen")
        assert len(await rig.workspace.sessions()) == 2


async def _check_an_invalid_file(rig: WindowRig) -> None:
    """An invalid file is reported without a question."""
    (rig.folder / "broken.helix").write_bytes(b"nothing")
    await request_target(rig, IMPORT_PREFIX + str(rig.folder / "broken.helix"))
    assert "This file can't be imported." in rig.banner_text()
    await request_target(rig, IMPORT_PREFIX + str(rig.folder / "gone.helix"))
    assert "can't be read" in rig.banner_text()
    assert not rig.window.findChildren(QuestionDialog)


async def _check_sessions_by_id(rig: WindowRig) -> None:
    """One of a workspace that is open or not comes on screen; an unknown one changes nothing."""
    garden = await rig.open_folder("garden", {"a.txt": "words"})
    await rig.run_turn("What is in this folder?")
    session_id = rig.conversation.session.id
    shed = await rig.open_folder("shed")
    await request_target(rig, SESSION_PREFIX + "0" * 32)
    assert "No session of any workspace starts with 0000" in rig.banner_text()
    assert rig.workspace.id == shed
    await request_target(rig, SESSION_PREFIX + session_id[:12])
    assert (rig.workspace.id, rig.conversation.session.id) == (garden, session_id)
    await rig.wiring.workspace_controller.open_workspace(shed)
    await rig.wiring.workspace_controller.close_workspace(garden)
    await request_target(rig, SESSION_PREFIX + session_id)
    assert (rig.workspace.id, rig.conversation.session.id) == (garden, session_id)
    assert rig.window.page() == "chat"
    await rig.wiring.workspace_controller.new_session()
    await request_target(rig, SESSION_PREFIX)
    assert "Several sessions start with" in rig.banner_text()
