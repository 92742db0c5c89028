"""Switching, quitting, and errors around a window: each reported in place, and nothing lost or mixed up."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from helix_desktop.agent.session import CompactionProgress
from helix_desktop.app.run import StartTargets, StoredWindows
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown, StoreWriteFailed
from helix_desktop.domain.events.summary import ObservationsMade
from helix_desktop.domain.passages import PassageQuery
from helix_desktop.domain.store import Commit
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.remote.client import connect
from helix_desktop.ui.chat.actions import ControlTurn
from helix_desktop.ui.chat.rows.row_texts import figures_text
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, AssistantRow, NoticeRow, ToolRow, UserRow
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.kit.intents import Export, Quit, RemoveWorkspace
from helix_desktop.ui.window.notifications import Tray
from tests.support.intents import performed
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    Wait,
    replies_in_order,
    text_reply,
)
from tests.support.small_disk import fill_disk, mount_small_disk
from tests.support.store.builders import make_content, make_summary, user_message_event
from tests.support.store.damage import compact_tables, flip_bit_near
from tests.support.timeline_pane import find_card
from tests.support.window.buttons import press
from tests.support.window.list_contents import workspaces_in
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def test_switching_loses_nothing_and_mixes_nothing_up(qapp: QApplication, tmp_path: Path) -> None:
    """What runs, waits or is typed belongs to its session; each step has a workspace of its own."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_a_turn_in_the_background(rig)
        await _check_quick_switches(rig)
        await _check_a_long_session(rig)
        await _check_a_message_on_its_way(rig)
        await _check_a_message_refused_while_its_draft_is_saved(rig)
        await _check_a_draft_behind_an_unsaved_one(rig)
        await _check_a_draft_that_cannot_be_read(rig)
        await _check_a_place_that_cannot_be_saved(rig, tmp_path / "data")
        await _check_separate_data(rig)
        await _check_sessions_of_another_process(rig)
        drafted = await _check_drafts(rig)
        rig.context.appearance.set_mode("dark")
        rig.window.resize(700, 600)

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        assert rig.workspace.id == drafted
        assert rig.composer.text() == "half a thought, and more"
        assert [row.text for row in rig.rows(UserRow)] == ["Hello"]
        assert rig.context.appearance.mode == "dark"
        assert (rig.window.width(), rig.window.height()) == (700, 600)


async def _check_a_turn_in_the_background(rig: WindowRig) -> None:
    """It is complete on return."""
    go = asyncio.Event()
    reply = StreamedReply(Text("One "), Wait(go), Text("two"), Call("list_directory", "{}"))
    async with ChatServer(replies_in_order(reply, text_reply("Three"))) as server:
        first = await rig.open_folder("background", {"a.txt": "words"})
        await rig.use_server(server)
        rig.type_message("Go")
        await until(lambda: rig.conversation.response.text == "One ", "the beginning")
        conversation = rig.conversation
        rig.window.show_page("timeline")
        other = await rig.open_folder("foreground")
        conversation.session.publish(CompactionProgress("summarize"))
        assert not rig.rows(UserRow)
        assert not rig.composer.work_text()
        assert not rig.composer.is_running
        assert conversation.is_running

        await rig.wiring.workspace_controller.open_workspace(first)
        assert rig.composer.is_running
        assert rig.composer.work_text() == "Summarizing older messages…", "it began off screen"
        assert rig.window.jobs.isHidden(), "nothing covers the page"
        assert rig.composer.stop_work.isVisible()
        made = ObservationsMade(0, 1, (), (), "", "", 0, 1, 1, 1, "model")
        conversation.session.publish(made)
        conversation.session.publish(CompactionProgress("idle"))
        assert not rig.composer.work_text()
        assert not rig.composer.stop_work.isVisible()
        conversation.session.publish(CompactionProgress("summarize"))
        assert find_card(rig.views.timeline.get(), "running") is not None
        live = [row for row in rig.rows(AssistantRow) if row.streaming]
        assert [row.text for row in live] == ["One "]

        await rig.wiring.workspace_controller.open_workspace(other)
        go.set()
        await until(lambda: not conversation.is_running, "the unseen turn ended")
        conversation.session.publish(CompactionProgress("idle"))
        await rig.wiring.workspace_controller.open_workspace(first)
        assert [row.text for row in rig.rows(AssistantRow)] == ["One two", "Three"]
        assert [row.state for row in rig.rows(ToolRow)] == ["ok"]
        assert not rig.composer.is_running
        assert not rig.composer.work_text()


async def _check_quick_switches(rig: WindowRig) -> None:
    first = await rig.open_folder("quick-first", {"README.md": "# First"})
    await rig.run_turn("What is the first?")
    second = await rig.open_folder("quick-second", {"README.md": "# Second"})
    await rig.run_turn("What is the second?")
    shell = rig.wiring.workspace_controller
    for session_id, words in ((first, "What is the first?"), (second, "What is the second?")):
        other = second if session_id == first else first
        await asyncio.gather(
            shell.open_workspace(session_id), shell.open_workspace(other), shell.open_workspace(session_id)
        )
        await until(partial(_shows, rig, session_id, words), "the last one")
        assert rig.workspace.id == session_id == rig.wiring.session.workspace_id
        assert rig.window.sidebar.session_list.sessions()[0].title == words


def _shows(rig: WindowRig, workspace_id: str, words: str) -> bool:
    is_shown = rig.app_window.shown_session.workspace_id == workspace_id
    return is_shown and [row.text for row in rig.rows(UserRow)] == [words]


async def _check_a_long_session(rig: WindowRig) -> None:
    """Its draft, title and mark in the list come together, and no row of the session before stays."""
    await rig.open_folder("long")
    await rig.run_turn("Hello")
    messages = [user_message_event(seq, "Long") for seq in range(1, 2_100)]
    await rig.workspace.store.commit(Commit("long", messages, summary=make_summary("long")))
    await rig.workspace.store.save_draft("long", "draft", ())
    seen: list[tuple[str, set[str], bool, str, list[str]]] = []

    def note() -> None:
        marked = [session.id for session in rig.window.sidebar.session_list.sessions() if session.active]
        texts = {row.text for row in rig.rows(UserRow)}
        is_invited = rig.chat.empty_state.isVisibleTo(rig.chat)
        seen.append((rig.composer.text(), texts, is_invited, rig.window.top_bar.title.title(), marked))

    await rig.wiring.sidebar.refresh()  # what is written into the store directly announces itself to nobody
    assert len(rig.window.sidebar.session_list.sessions()) == 2
    draft_shown = rig.wiring.composer.attachments.changed
    draft_shown.connect(note)
    await rig.wiring.workspace_controller.open_session("long")
    draft_shown.disconnect(note)
    assert seen == [("draft", set(), False, "New session", ["long"])]
    assert {row.text for row in rig.rows(UserRow)} == {"Long"}


async def _check_a_message_on_its_way(rig: WindowRig) -> None:
    """Until it is recorded the draft begins with it, wherever the user is: it may never get there."""
    await rig.open_folder("on-its-way")
    composer = rig.wiring.composer
    workspaces = rig.wiring.workspace_controller
    sender = rig.conversation
    store = rig.workspace.store
    session_id = sender.session.id
    async with sender._count_lock:  # its tokens are counted before it is recorded
        rig.type_message("on its way")
        rig.composer.text_paused.emit(rig.composer.text())
        await asyncio.sleep(0)  # the empty draft is on its way to the disk
        rig.type_message(", next", send=False)
        assert await composer.drafts.save_all() == []
        assert (await store.draft(session_id)).text == "on its way, next"
        await workspaces.new_session()
        assert (await store.draft(session_id)).text == "on its way, next"
        await workspaces.open_session(session_id)
        assert rig.composer.text() == ", next"
        await workspaces.new_session()
        assert await composer.drafts.save_all() == []
        assert (await store.draft(session_id)).text == "on its way, next"
    await until(lambda: sender.session.transcript.messages.turns == 1, "the message recorded")
    while (await store.draft(session_id)).text != ", next":
        assert (await store.draft(session_id)).text in ("on its way, next", ", next")
    await sender.stop()


async def _check_a_message_refused_while_its_draft_is_saved(rig: WindowRig) -> None:
    """The draft that is being saved has it already: it does not stand there twice."""
    await rig.open_folder("refused")
    workspace = rig.workspace
    conversation = rig.conversation
    store = workspace.store
    save = workspace.store.save_draft
    saving = asyncio.Event()
    is_saved = asyncio.Event()
    is_refused = asyncio.Event()

    async def send(*_: object) -> int:
        await saving.wait()
        is_refused.set()
        raise StoreWriteFailed(verbatim("The disk is full."))

    async def save_draft(*draft: Any) -> None:
        saving.set()
        await is_saved.wait()
        await save(*draft)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversation, "send", send)
        patch.setattr(store, "save_draft", save_draft)
        rig.type_message("refused")
        leaving = asyncio.get_running_loop().create_task(rig.wiring.session.show(None, None))
        await is_refused.wait()
        is_saved.set()
        await leaving
        await until(lambda: not rig.wiring.windows.drafts.outgoing, "the message back in its draft")
    assert (await store.draft(conversation.session.id)).text == "refused"
    await rig.wiring.session.show(workspace, conversation)


async def _check_a_draft_behind_an_unsaved_one(rig: WindowRig) -> None:
    """A draft that cannot be saved costs no other one, and is there again on return, to be saved."""
    second = await rig.open_folder("draft-second")
    rig.type_message("stored", send=False)
    first = await rig.open_folder("draft-first")
    await rig.run_turn("Hello")
    rig.type_message("unsaved", send=False)
    session_id = rig.conversation.session.id
    await rig.wiring.services.close_workspace(first)
    await rig.wiring.workspace_controller.open_workspace(second)
    assert rig.composer.text() == "stored"
    assert "What you wrote in “Hello” could not be saved. The workspace is closed." in rig.banner_text()
    unsaved = rig.wiring.windows.drafts.unsaved
    assert [(draft.workspace.id, draft.text) for draft in unsaved.values()] == [(first, "unsaved")]
    agreed: list[bool] = []
    rig.wiring.quit_controller.confirmed.connect(lambda: agreed.append(True))
    rig.window.close()
    press(await rig.dialog(QuestionDialog), "cancel")

    await rig.wiring.workspace_controller.open_workspace(first)
    assert rig.composer.text() == "unsaved"
    assert "could not be saved" not in rig.banner_text()
    rig.window.close()
    await until(lambda: agreed, "nothing is unsaved: no question")
    assert (await rig.workspace.store.draft(session_id)).text == "unsaved"


async def _check_a_draft_that_cannot_be_read(rig: WindowRig) -> None:
    """What is typed meanwhile never takes its place, also when the session is left and shown again."""
    second = await rig.open_folder("unread-second")
    composer = rig.wiring.composer
    other = (rig.workspace, rig.conversation)
    first = await rig.open_folder("unread-first")
    rig.type_message("stored", send=False)
    closed = rig.workspace, rig.conversation
    await rig.wiring.session.show(*other)
    await rig.wiring.services.close_workspace(first)
    for words in (" and typed", " and more"):
        await rig.wiring.session.show(*closed)
        rig.type_message(words, send=False)
        rig.composer.text_paused.emit(rig.composer.text())
        await rig.wiring.session.show(*other)
    assert [draft.text for draft in await composer.drafts.save_all()] == [" and typed and more"]

    rig.type_message("elsewhere", send=False)
    await rig.wiring.services.close_workspace(second)
    rig.window.close()
    question = await rig.dialog(QuestionDialog)
    assert texts(question, "What you wrote in 2 sessions isn't saved.")
    press(question, "cancel")
    await rig.wiring.workspace_controller.open_workspace(first)
    assert rig.composer.text() == "stored and typed and more"
    assert "could not be saved" in rig.banner_text(), "that of a session with the same title"
    assert [draft.text for draft in await composer.drafts.save_all()] == ["elsewhere"]
    assert (await rig.workspace.store.draft(rig.conversation.session.id)).text == rig.composer.text()
    await rig.wiring.workspace_controller.open_workspace(second)
    assert rig.composer.text() == "elsewhere"
    assert "could not be saved" not in rig.banner_text()


async def _check_a_place_that_cannot_be_saved(rig: WindowRig, data: Path) -> None:
    """A disk that refuses what was opened last keeps nobody from opening something else."""
    other = await rig.open_folder("place-second")
    await rig.open_folder("place-first")
    await rig.run_turn("Hello")
    old = rig.conversation.session.id
    await rig.wiring.workspace_controller.new_session()
    blocked = [data / "workspaces.lock", data / "settings.toml"]
    former = [path.rename(path.with_suffix(".aside")) for path in blocked if path.exists()]
    for path in blocked:
        path.mkdir()
    await rig.wiring.workspace_controller.open_session(old)
    assert "The list of workspaces wasn't saved." in rig.banner_text()
    active = [session.id for session in rig.window.sidebar.session_list.sessions() if session.active]
    assert active == [old]
    await rig.wiring.workspace_controller.open_workspace(other)
    assert rig.workspace.id == other
    for path in blocked:
        path.rmdir()
    for path in former:
        path.rename(path.with_suffix(".toml" if path.stem == "settings" else ".lock"))


async def _check_separate_data(rig: WindowRig) -> None:
    await rig.open_folder("separate-first", {"README.md": "# Secret of the first"})
    await rig.run_turn("Look")
    digest = rig.last_output("read_file").digest
    entries = await rig.workspace.store.totals()
    assert entries.entries > 0
    await rig.open_folder("separate-second", {"other.txt": "words"})
    rig.window.show_page("outputs")
    await until(rig.views.outputs.get().empty.isVisible, "an empty cache")
    with pytest.raises(DigestUnknown):
        await rig.workspace.contents.attach(digest)
    assert await rig.workspace.store.find(digest[:12]) == []
    assert rig.window.sidebar.session_list.session_count() == 1


async def _check_sessions_of_another_process(rig: WindowRig) -> None:
    identity = await rig.open_folder("shared")
    await rig.run_turn("Hello")
    listed = rig.window.sidebar.session_list
    guest = await connect(rig.wiring.services.registry.store_folder(identity), identity)
    try:
        await guest.commit(
            Commit("of-a-guest", [user_message_event(1, "From outside")], summary=make_summary("of-a-guest"))
        )
        await until(lambda: "a title" in [session.title for session in listed.sessions()], "the session")
        await guest.retention.trash_session("of-a-guest")
        await until(lambda: "a title" not in [session.title for session in listed.sessions()], "it gone")
    finally:
        await guest.close()


async def _check_drafts(rig: WindowRig) -> str:
    """Each belongs to its session; return the workspace on screen."""
    first = await rig.open_folder("drafted")
    await rig.run_turn("Hello")
    rig.type_message("half a thought", send=False)
    await rig.wiring.workspace_controller.new_session()
    assert rig.composer.text() == ""
    rig.type_message("another", send=False)
    await rig.open_folder("undrafted")
    assert rig.composer.text() == ""
    await rig.wiring.workspace_controller.open_workspace(first)
    assert rig.composer.text() == "another"
    saved = {session.title: session.id for session in await rig.workspace.sessions()}
    await rig.wiring.workspace_controller.open_session(saved["Hello"])
    assert rig.composer.text() == "half a thought"
    await _type_while_a_draft_is_loaded(rig)
    return first


async def _type_while_a_draft_is_loaded(rig: WindowRig) -> None:
    """What is typed before the stored draft is on screen stands behind it once."""
    shown = rig.wiring.session
    conversation = rig.conversation
    loading = asyncio.get_running_loop().create_task(shown.show(rig.workspace, conversation))
    await asyncio.sleep(0)
    assert rig.composer.text() == ""
    rig.type_message(", and", send=False)
    rig.composer.text_paused.emit(rig.composer.text())
    again = asyncio.get_running_loop().create_task(shown.show(rig.workspace, conversation))
    await asyncio.sleep(0)
    assert rig.composer.text() == ""
    rig.type_message(" more", send=False)
    rig.composer.text_paused.emit(rig.composer.text())
    await asyncio.gather(loading, again)
    assert rig.composer.text() == "half a thought, and more"


class TrayIcon(Tray):
    def is_available(self) -> bool:
        return True

    def hide_window(self) -> None:
        self._window.hide()


def question(rig: WindowRig) -> list[QuestionDialog]:
    return [dialog for dialog in rig.window.findChildren(QuestionDialog) if dialog.isVisible()]


@pytest.mark.expect_errors("task record .* failed")
async def test_ctrl_w_never_quits_and_quitting_asks_about_what_would_be_lost(rig: WindowRig) -> None:
    if sys.platform != "win32":  # where files that are open can't be moved
        await _check_a_deleted_data_folder(rig)
    await _check_keys(rig)
    await _check_a_running_turn(rig)


async def _check_keys(rig: WindowRig) -> None:
    """Ctrl+W closes the page and never the app."""
    await rig.open_folder("project")
    rig.window.activateWindow()
    await until(rig.window.isActiveWindow, "the window in front")
    agreed: list[bool] = []
    rig.wiring.quit_controller.confirmed.connect(lambda: agreed.append(True))
    rig.window.show_page("timeline")
    QTest.keyClick(rig.window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert rig.window.page() == "chat"
    QTest.keyClick(rig.window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    await asyncio.sleep(0)
    assert rig.window.isVisible()
    assert not agreed
    QTest.keyClick(rig.window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: agreed, "Ctrl+Q quits when nothing runs")


async def _check_a_running_turn(rig: WindowRig) -> None:
    """The user can go on, hide the window, or quit."""
    go = asyncio.Event()
    reply = StreamedReply(Text("One "), Wait(go), Text("two"))
    async with rig.answered_by(lambda _: reply, "busy"):
        agreed: list[bool] = []
        rig.wiring.quit_controller.confirmed.connect(lambda: agreed.append(True))
        rig.type_message("Count slowly")
        await until(lambda: rig.conversation.response.text == "One ", "the beginning")

        rig.window.close()
        await until(lambda: question(rig), "the question")
        assert any("Count slowly" in label.text() for label in question(rig)[0].findChildren(QLabel))
        rig.window.close()
        await asyncio.sleep(0)
        assert len(question(rig)) == 1, "asked once"
        press(question(rig)[0], "cancel")
        await until(lambda: not question(rig), "the question gone")
        assert rig.conversation.is_running
        assert not agreed

        windows = rig.wiring.windows
        await windows.open_window(rig.workspace.id)
        shown_sessions = [opened.shown_session for opened in windows.windows]
        rig.wiring.quit_controller.tray = TrayIcon(rig.window)
        rig.window.perform(Quit())
        await until(lambda: question(rig), "the question with a tray")
        press(question(rig)[0], "hide")
        await until(lambda: not rig.window.isVisible(), "the window hidden")
        assert not any(opened.window.isVisible() for opened in windows.windows)
        assert rig.conversation.is_running
        StartTargets(windows, StoredWindows()).open_later("")
        assert all(opened.window.isVisible() for opened in windows.windows), "all are back"
        assert [opened.shown_session for opened in windows.open_windows] == shown_sessions

        rig.window.perform(Quit())
        await until(lambda: question(rig), "the question again")
        press(question(rig)[0], "quit")
        await until(lambda: agreed, "it ends")
        go.set()


async def _check_a_deleted_data_folder(rig: WindowRig) -> None:
    """It is said, and asked about."""
    data = rig.folder / "data"
    away = rig.folder / "away"
    async with rig.answered_by(lambda _: StreamedReply(Text("One")), "deleted"):
        await rig.run_turn("Count")
        stored = list(rig.conversation.session.log)
        data.rename(away)
        rig.type_message("Go on")
        await until(lambda: texts(rig.window, "workspace data is gone"), "a notice")
        await until(lambda: rig.composer.text() == "Go on", "the message where it was written")
        await until(lambda: rig.rows(NoticeRow), "the reason in the chat")
        assert list(rig.conversation.session.log) == stored

        agreed: list[bool] = []
        rig.wiring.quit_controller.confirmed.connect(lambda: agreed.append(True))
        rig.window.perform(Quit())
        await until(lambda: question(rig), "the question")
        assert texts(question(rig)[0], "was deleted or moved")
        with performed(rig.window) as intents:
            press(question(rig)[0], "export")
            await until(lambda: intents == [Export(rig.workspace.id)], "the way to save it")
        assert not agreed

        away.rename(data)
        rig.window.perform(Quit())
        await until(lambda: agreed, "no question once it is back")


def texts(widget: QWidget, words: str) -> list[str]:
    return [label.text() for label in widget.findChildren(QLabel) if words in label.text()]


def _words(pane: QWidget) -> list[str]:
    return [label.text() for label in pane.findChildren(QLabel) if label.isVisible()]


async def test_what_is_missing_in_use_or_damaged_is_reported_and_nothing_is_lost(
    qapp: QApplication, tmp_path: Path
) -> None:
    content = random.Random(1).randbytes(5000)
    async with open_window(qapp, tmp_path) as rig:
        first = await rig.open_folder("first", {"README.md": "# First"})
        await rig.run_turn("Look")
        second = await rig.open_folder("second", {"README.md": "# Second"})
        await rig.run_turn("Look")
        await rig.workspace.store.commit(Commit("s", contents=[make_content(content)]))
        store = rig.wiring.services.registry.store_folder(second)
        missing = await rig.open_folder("project", {"README.md": "# Here"})
        await rig.run_turn("Look")
        await _check_a_folder_that_is_moved(rig, missing)

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        await _check_a_missing_folder(rig, missing)
        await _check_a_workspace_in_use(rig, first, second)
        await rig.wiring.workspace_controller.open_workspace(second)
    compact_tables(store)
    (store / "db" / "CURRENT").unlink()

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        _check_a_repaired_store(rig)
        rig.wiring.services.registry.change(first, model="gone/model")
    compact_tables(store)
    assert flip_bit_near(store, content[2000:2020]) == 1
    (tmp_path / "data" / "settings.toml").write_text("theme = [broken")

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        await until(lambda: "settings.toml is damaged" in rig.banner_text(), "the banner")
        assert (tmp_path / "data" / "settings.damaged-1.toml").read_text() == "theme = [broken"
        await rig.wiring.workspace_controller.open_workspace(second)
        await _check_later_damage(rig, digest_of(content))
        await rig.wiring.workspace_controller.open_workspace(first)
        await _check_a_model_that_is_gone(rig, first)
        await _check_removing(rig, missing, second, first)


async def _check_a_folder_that_is_moved(rig: WindowRig, identity: str) -> None:
    """It is reported as soon as the user is back, until it is there again or its page says so."""
    place = rig.folder / "project"
    moved = rig.folder / "moved"
    assert "folder-missing" not in rig.window.notices.names()
    place.rename(moved)
    QApplication.sendEvent(rig.window, QEvent(QEvent.Type.ActivationChange))
    assert "folder-missing" in rig.window.notices.names()
    moved.rename(place)
    QApplication.sendEvent(rig.window, QEvent(QEvent.Type.ActivationChange))
    assert "folder-missing" not in rig.window.notices.names()
    place.rename(moved)
    await rig.wiring.workspace_controller.open_workspace(identity)
    assert "folder-missing" in rig.window.notices.names()
    await rig.wiring.workspace_controller.reopen(identity)
    assert rig.window.places.missing.get().isVisible()
    assert "folder-missing" not in rig.window.notices.names(), "the page says it"


async def _check_a_missing_folder(rig: WindowRig, identity: str) -> None:
    """It is reported and can be located."""
    assert rig.window.places.missing.get().isVisible()
    assert "Folder not found. Sessions are kept." in _words(rig.window.sidebar)
    rig.window.commands.switch_workspace.trigger()
    assert sorted(row.badge for row in workspaces_in(rig.window.picker)) == ["", "", "missing"]
    rig.window.picker.hide()
    rig.wiring.services.registry.relocate(identity, rig.folder / "moved")
    await rig.wiring.workspace_controller.open_workspace(identity)
    assert not rig.window.places.missing.get().isVisible()
    assert rig.window.sidebar.session_list.isVisible()
    assert [row.text for row in rig.rows(UserRow)] == ["Look"]


async def _check_a_workspace_in_use(rig: WindowRig, first: str, second: str) -> None:
    """Open elsewhere, it is reported; it opens when it is free."""
    folder = rig.wiring.services.registry.store_folder(first)
    other = await LevelDbStore.open(folder, first)
    await rig.wiring.workspace_controller.open_workspace(first)
    assert "is already open here" in rig.banner_text()
    assert "Not open. Sessions are kept." in _words(rig.window.sidebar)
    assert not rig.wiring.session.has_conversation
    await rig.wiring.workspace_controller.open_workspace(second)
    assert "is already open here" not in rig.banner_text()
    await other.close()
    await rig.wiring.workspace_controller.open_workspace(first)
    assert [row.text for row in rig.rows(UserRow)] == ["Look"]


def _check_a_repaired_store(rig: WindowRig) -> None:
    assert rig.window.opening_page.text().startswith("Repairing second…\nIts data was damaged.")
    assert not rig.window.is_opening
    assert "has been repaired" in rig.banner_text()
    assert "CURRENT, the file that names all others, is missing" in rig.banner_text()
    assert "Nothing was lost." in rig.banner_text()
    assert [row.text for row in rig.rows(UserRow)] == ["Look"]


async def _check_later_damage(rig: WindowRig, digest: str) -> None:
    """It is reported once."""
    assert "repaired" not in rig.banner_text()
    for _ in range(2):
        with pytest.raises(ContentDamaged):
            await rig.workspace.store.get(digest)
    await until(lambda: "is damaged and was not used" in rig.banner_text(), "the banner")
    assert rig.banner_text().count("is damaged and was not used") == 1
    assert "storing the same output repairs the entry" in rig.banner_text()


async def _check_a_model_that_is_gone(rig: WindowRig, identity: str) -> None:
    assert "Provider gone not found" in rig.banner_text()
    rig.settings.providers.editor.use_requested.emit("demo")
    await until(lambda: rig.wiring.services.registry.get(identity).model == "demo/offline", "the demo model")
    await rig.wiring.workspace_controller.open_workspace(identity)
    assert [row.text for row in rig.rows(UserRow)] == ["Look"]
    assert "Provider gone not found" not in rig.banner_text()


def _is_not_listed(rig: WindowRig, identity: str) -> bool:
    return identity not in [record.id for record in rig.wiring.services.registry.list_workspaces()]


async def _check_removing(rig: WindowRig, *identities: str) -> None:
    """A workspace that is removed and opened again has its sessions."""
    for identity in identities:
        rig.window.perform(RemoveWorkspace(identity))
        press(await rig.dialog(QuestionDialog), "remove")
        await until(partial(_is_not_listed, rig, identity), "it gone")
    await until(rig.window.places.welcome.get().isVisible, "the welcome page")
    await rig.wiring.workspace_controller.open_folder(rig.folder / "first")
    assert [row.text for row in rig.rows(UserRow)] == ["Look"]


@pytest.mark.expect_errors("task record .* failed")
async def test_a_full_disk_is_reported_until_saving_works_and_its_call_is_over(
    qapp: QApplication, tmp_path: Path
) -> None:
    # More than what an index gives back that finds no room any more.
    command = "cat /dev/zero > ballast; head -c 500000 /dev/urandom | base64"
    fill = StreamedReply(Call("run_command", json.dumps({"command": command})))

    def answer(request: dict[str, Any]) -> Reply:
        return fill if request["messages"][-1]["content"] == "Fill it" else text_reply("Hi.")

    with mount_small_disk(tmp_path, "48m"):
        async with ChatServer(answer) as server, open_window(qapp, tmp_path) as rig:
            await rig.open_folder("message")
            await rig.use_server(server)
            await _check_an_error_of_saving(rig)
            await rig.open_folder("call")
            await rig.use_server(server)
            await _check_an_output_that_is_not_saved(rig)


async def _check_an_error_of_saving(rig: WindowRig) -> None:
    """It is red until the next event is saved, then it says since when."""
    await rig.run_turn("Hello")
    await _index_all(rig, "hello")
    fill_disk(rig.folder / "ballast")
    # More than what is left of the store's last page on disk, also when it is compressed.
    rig.composer.set_text("Not saved " + random.Random(1).randbytes(8_192).hex())
    rig.type_message(".")
    await until(lambda: [row for row in rig.rows(NoticeRow) if row.level == "error"], "the error")
    (rig.folder / "ballast").unlink()
    await rig.run_turn("Again")
    await _index_all(rig, "again")
    (row,) = rig.rows(NoticeRow)
    assert row.level == "info"
    assert "Saving resumed at" in row.what
    assert "No space left" in row.why


async def _index_all(rig: WindowRig, word: str) -> None:
    """Wait for the indexes: what finds no room for its index gives back the room that it has."""
    store = rig.workspace.store
    query = PassageQuery((word,), limit=1)
    while (await store.search(word, limit=1)).unindexed or (await store.find_passages(query)).unindexed:
        pass


async def _check_an_output_that_is_not_saved(rig: WindowRig) -> None:
    """The command itself filled the disk: its card said "running" for good, in a session that is ready.

    Retry goes on from there: "try again" stood there without a button.
    """
    rig.type_message("Fill it")
    await until(lambda: rig.rows(ApprovalRow), "the question")
    await _index_all(rig, "fill")
    await rig.answer_approval("once")
    await until(lambda: [row for row in rig.rows(NoticeRow) if row.level == "error"], "the error")
    await until(lambda: rig.rows(ToolRow)[0].state == "interrupted", "the card")
    assert figures_text(rig.rows(ToolRow)[0]) == "output not saved"
    (rig.folder / "call" / "ballast").unlink()
    (error,) = [row for row in rig.rows(NoticeRow) if row.level == "error"]
    assert error.actions[-1] == ControlTurn("retry")
    rig.perform(error.actions[-1])
    await until(lambda: [row.text for row in rig.rows(AssistantRow)][-1:] == ["Hi."], "the answer")
    assert rig.rows(ToolRow)[0].answer_seq
