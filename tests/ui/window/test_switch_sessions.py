"""Two workspaces and several sessions in one window."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.agent.session import CompactionProgress
from helix_desktop.domain.errors import DigestUnknown, StoreWriteFailed
from helix_desktop.domain.store import Commit
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.store.remote.client import connect
from helix_desktop.ui.chat.rows.row_types import AssistantRow, ToolRow, UserRow
from helix_desktop.ui.design.dialogs import QuestionDialog
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    Text,
    Wait,
    replies_in_order,
    text_reply,
)
from tests.support.store.builders import make_summary, user_message_event
from tests.support.timeline_pane import find_card
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def test_switching_loses_nothing_and_mixes_nothing_up(qapp: QApplication, tmp_path: Path) -> None:
    """What runs, waits or is typed belongs to its session; each step has a workspace of its own."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_a_turn_in_the_background(rig)
        await _check_quick_switches(rig)
        await _check_a_draft_that_loads(rig)
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
        assert not rig.window.jobs.job_ids()
        assert not rig.composer.is_running
        assert conversation.is_running

        await rig.wiring.workspace_controller.open_workspace(first)
        assert rig.composer.is_running
        assert rig.window.jobs.job_ids() == ("compaction",), "what began while another one was on screen"
        assert find_card(rig.views.timeline.get(), "running") is not None
        rig.window.show_page("timeline")
        assert not rig.window.jobs.job_ids(), "its card is there, with its Stop"
        rig.window.show_page("chat")
        assert rig.window.jobs.job_ids() == ("compaction",)
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
        assert not rig.window.jobs.job_ids()


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


async def _check_a_draft_that_loads(rig: WindowRig) -> None:
    await rig.open_folder("drafts")
    await rig.run_turn("Hello")
    rig.type_message("draft", send=False)
    old = rig.conversation.session.id
    await rig.wiring.workspace_controller.new_session()
    switching = asyncio.ensure_future(rig.wiring.workspace_controller.open_session(old))  # noqa: TID251 - awaited below
    await until(lambda: rig.app_window.shown_session.session_id == old, "the other session is on its way")
    rig.type_message(" typed", send=False)
    await switching
    assert rig.composer.text() == "draft typed"


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
    composer, workspaces = rig.wiring.composer, rig.wiring.workspace_controller
    sender, store = rig.conversation, rig.workspace.store
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
    workspace, conversation = rig.workspace, rig.conversation
    store, save = workspace.store, workspace.store.save_draft
    saving, is_saved, is_refused = asyncio.Event(), asyncio.Event(), asyncio.Event()

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
    composer, other = rig.wiring.composer, (rig.workspace, rig.conversation)
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
    assert "in 2 sessions" in question.windowTitle()
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
    rig.window.show_page("cache")
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
    shown, conversation = rig.wiring.session, rig.conversation
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
