"""Deleting, cleaning up and redacting in the window."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QMenu

from helix_desktop.agent.ports import StoreRetention
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.events.conversation import Attachment, ToolAnswered, UserSpoke
from helix_desktop.domain.file_history.changes import Capture
from helix_desktop.domain.retention import DAY_MS, RetentionRule
from helix_desktop.domain.store import Commit, Content
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.file_history.database import FILE_NAME, FileHistoryDatabase
from helix_desktop.store.retention import RowRetention
from helix_desktop.ui.chat.actions import ToggleSection
from helix_desktop.ui.chat.rows.row_texts import accessible_name
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.chat.session_drafts import OutgoingMessage, UnsavedDraft
from helix_desktop.ui.chat.viewport.interactions import menu_groups
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.kit.intents import OpenOutput, RefreshLists, RemoveSecret, TrashSession
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.outputs.entry_actions import TrashEntries
from helix_desktop.ui.outputs.filter_bar import state_option
from helix_desktop.ui.window.redaction import RedactDialog, confirmation_word
from helix_desktop.ui.window.session_lists import DELETED_SESSION
from helix_desktop.words.times import format_date
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.store.builders import make_content, make_summary, tool_answer_event
from tests.support.window.buttons import find_buttons, press
from tests.support.window.chat_geometry import click_area
from tests.support.window.window_rig import TIMEOUT_S, WindowRig, until

pytestmark = pytest.mark.qt_loop


async def forget_dialog(rig: WindowRig) -> RedactDialog:
    """Return the dialog once it is open."""
    redaction = rig.wiring.redaction
    return await until(lambda: redaction.dialog, "the dialog")


def labels(dialog: QDialog) -> str:
    """Return all visible text of the dialog."""
    return "\n".join(label.text() for label in dialog.findChildren(QLabel) if label.isVisibleTo(dialog))


def note_of(text: str) -> Attachment:
    return Attachment("0" * 64, "notes.txt", text, 5, len(text))


async def add_unsaved_draft(rig: WindowRig, session_id: str, text: str) -> None:
    """Do as if a draft could not be saved when its session was left."""
    conversation = await rig.workspace.open_session(session_id)
    error = StoreWriteFailed(verbatim("The disk is full."))
    draft = UnsavedDraft(rig.workspace, conversation, text, is_whole=True, error=error)
    drafts = rig.wiring.windows.drafts
    async with drafts.locks[session_id]:  # its draft may still be on its way to the store
        drafts.add_unsaved(draft)


def add_late_message(rig: WindowRig, text: str) -> OutgoingMessage:
    """Return a message on its way, with a note, that never settles."""
    message = OutgoingMessage(rig.workspace, rig.conversation, text, [note_of(text)])
    rig.wiring.windows.drafts.outgoing.append(message)
    return message


def check_redacted(rig: WindowRig, message: OutgoingMessage, secret: str) -> None:
    """Check that a message on its way lost the secret, and let go of it."""
    (notes,) = message.attachments
    assert "[FORGOTTEN " in message.text
    assert notes.text == message.text
    assert secret not in message.text
    rig.wiring.windows.drafts.outgoing.remove(message)


async def answer_question(rig: WindowRig, choice: str) -> str:
    """Answer the question on screen; return its words."""
    question = await until(
        lambda: next((box for box in rig.window.findChildren(QuestionDialog) if box.isVisible()), None),
        "the question",
    )
    words = labels(question)
    press(question, choice)
    await until(lambda: not question.isVisible(), "its end")
    return words


SECRET = "sk-live-Zq83hd02jfQ"


def advance_clock(retention: StoreRetention, by_ms: int) -> None:
    """Let a clean-up of the durable store see a later time."""
    assert isinstance(retention, RowRetention)
    access = retention._access
    retention._access = replace(access, clock=lambda: access.clock() + by_ms)


def on_screen(rig: WindowRig) -> str:
    """The session on screen; empty while there is none."""
    return rig.wiring.session.id


async def leaked(rig: WindowRig, server: ChatServer, folder: str = "project") -> str:
    """Run a turn in which a secret was sent, read and repeated; return the session."""
    await rig.open_folder(folder, {"env.txt": f"KEY={SECRET}\n"})
    await rig.use_server(server)
    await rig.run_turn(f"My key is {SECRET}, look into env.txt.")
    return rig.conversation.session.id


def reading() -> StreamedReply:
    """Return the model's call to read the file with the secret."""
    return StreamedReply(Call("read_file", '{"path": "env.txt"}', id="r"))


async def test_sessions_are_deleted_and_restored_and_a_secret_is_forgotten(rig: WindowRig) -> None:
    """One of two sessions, the only one; a secret by its text and from the cache, and what isn't there."""
    await _check_a_deleted_session(rig)
    await _check_a_secret_in_a_session(rig)
    await _check_an_output_of_the_cache(rig)


async def _check_a_deleted_session(rig: WindowRig) -> None:
    """A deleted session leaves the list and undo restores it."""
    async with ChatServer(replies_in_order(text_reply("One."), text_reply("Two."))) as server:
        await rig.open_folder("two")
        await rig.use_server(server)
        await rig.run_turn("The first")
        first = rig.conversation.session.id
        await rig.wiring.workspace_controller.new_session()
        await rig.run_turn("The second")
        second = rig.conversation.session.id
        sessions = rig.window.sidebar.session_list
        sessions.setCurrentIndex(sessions.index_of(second))
        sessions.setFocus()
        QTest.keyClick(sessions, Qt.Key.Key_Delete)
        await until(lambda: "moved to the trash" in rig.banner_text(), "the banner")
        await until(lambda: on_screen(rig) == first, "the other session")
        await until(lambda: [session.id for session in sessions.sessions()] == [first], "the list")
        await until(sessions.hasFocus, "the list keeps the keyboard")
        QTest.keyClick(sessions, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: on_screen(rig) == second, "the session again")
        await until(lambda: len(sessions.sessions()) == 2, "the list again")
        assert rig.events(UserSpoke)[0].text == "The second"
        await until(lambda: "moved to the trash" not in rig.banner_text(), "no banner")
        await add_unsaved_draft(rig, first, "kept")
        assert "could not be saved" in rig.banner_text()
        rig.window.perform(TrashSession(first))
        await until(lambda: "moved to the trash" in rig.banner_text(), "the banner")
        assert "could not be saved" not in rig.banner_text(), "there is nothing to go back to"
        press(rig.window.notices, first)
        await until(lambda: rig.composer.text() == "kept", "the session again, with what was written in it")
        await add_unsaved_draft(rig, second, "goes with its session")
        store = rig.workspace.store
        assert await store.retention.trash_session(second)
        await store.retention.empty_trash()
        assert await rig.wiring.composer.drafts.save_all() == []
        assert not (await store.draft(second)).text


async def _check_an_output_of_the_cache(rig: WindowRig) -> None:
    async with ChatServer(replies_in_order(reading(), text_reply("Read."))) as server:
        await leaked(rig, server, "from-the-cache")
        output = rig.events(ToolAnswered)[0]
        rig.perform(RemoveSecret(output.digest))
        dialog = await forget_dialog(rig)
        assert "Read env.txt" in labels(dialog)
        press(dialog, "search")
        await until(lambda: dialog.step == "found", "what was found")
        dialog.confirm_input.setText("no")
        assert not dialog.redact_button.isEnabled()
        dialog.confirm_input.setText(confirmation_word())
        press(dialog, "redact")
        await until(lambda: dialog.step == "done", "the end")
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        await until(lambda: on_screen(rig), "the session again")
        assert rig.events(ToolAnswered)[0].text.startswith("[FORGOTTEN ")
        assert rig.events(UserSpoke)[0].text.startswith(f"My key is {SECRET}")
        await _check_the_card_of_a_removed_output(rig, output.digest)


async def _check_a_secret_in_a_session(rig: WindowRig) -> None:
    """A secret is looked for and forgotten."""
    answers = replies_in_order(reading(), text_reply(f"It is {SECRET}."), text_reply("Well."))
    async with ChatServer(answers) as server:
        patch = pytest.MonkeyPatch()
        session_id = await leaked(rig, server)
        output = rig.events(ToolAnswered)[0]
        await rig.wiring.workspace_controller.new_session()
        elsewhere = rig.conversation.session.id
        await rig.wiring.workspace_controller.open_session(session_id)
        await add_unsaved_draft(rig, elsewhere, f"unsaved {SECRET}")
        composer = rig.wiring.composer
        drafts = rig.wiring.windows.drafts
        composer.attachments.change(elsewhere, [note_of(f"see {SECRET}")])
        go = asyncio.Event()
        send = rig.conversation.send
        settle = drafts.settle

        async def send_late(*message: Any) -> int:
            await go.wait()
            return await send(*message)

        async def settle_now(workspace_id: str) -> None:
            go.set()
            await settle(workspace_id)

        patch.setattr(rig.conversation, "send", send_late)
        patch.setattr(drafts, "settle", settle_now)
        rig.type_message(f"on its way {SECRET}")
        late = add_late_message(rig, f"late {SECRET}")
        rig.type_message(f"and {SECRET} again", send=False)
        rig.window.commands.forget.trigger()
        dialog = await forget_dialog(rig)
        assert not dialog.search_button.isEnabled()
        dialog.text_input.setPlainText("abc")
        press(dialog, "search")
        await until(lambda: "at least 4 characters" in labels(dialog), "the refusal")
        assert dialog.step == "ask"
        dialog.text_input.setPlainText(SECRET + "\n")
        press(dialog, "search")
        await until(lambda: dialog.step == "found", "what was found")
        assert "1 output: removed permanently" in labels(dialog)
        assert "session events: rewritten" in labels(dialog)
        assert not dialog.redact_button.isEnabled()
        QTest.keyClicks(dialog.confirm_input, confirmation_word())
        press(dialog, "redact")
        await until(lambda: dialog.step == "done", "the end")
        go.set()
        patch.undo()
        press(dialog, "cancel")
        await until(lambda: on_screen(rig) == session_id, "the session again")
        assert rig.events(UserSpoke)[0].text.startswith("My key is [FORGOTTEN ")
        assert rig.events(UserSpoke)[-1].text.startswith("on its way [FORGOTTEN ")
        assert SECRET not in repr(rig.conversation.session.log)
        await until(lambda: rig.composer.text().startswith("and [FORGOTTEN "), "the draft")
        await rig.wiring.workspace_controller.open_session(elsewhere)
        await until(lambda: rig.composer.text().startswith("unsaved [FORGOTTEN "), "the unsaved draft")
        assert [attached.text[:15] for attached in composer.attachments.current()] == ["see [FORGOTTEN "]
        check_redacted(rig, late, SECRET)
        await rig.wiring.workspace_controller.open_session(session_id)
        assert await rig.workspace.store.redaction.redacted_at(output.digest)
        assert _files_with_the_secret(rig) == []
        await _check_the_card_of_a_removed_output(rig, output.digest)


async def _check_the_card_of_a_removed_output(rig: WindowRig, digest: str) -> None:
    """It says when that was and leads nowhere, as a link of a card in the timeline does."""
    await until(lambda: any(row.removed_at_ms for row in rig.rows(ToolRow)), "the card")
    row = rig.rows(ToolRow)[0]
    viewport = rig.chat.view.chat_viewport
    assert "removed as a secret" in accessible_name(row)
    assert "in context" not in accessible_name(row)
    assert [entry.name for group in menu_groups(row) for entry in group] == []
    click_area(rig.chat.view, row.key, "open:card")
    index = viewport.model.index_of(row.key)
    assert index is not None
    await until(lambda: viewport.item(index).hit_area_for(ToggleSection), "the open card")
    item = viewport.item(index)
    words = "\n".join(text.document.toPlainText() for text in item.texts)
    assert f"You removed this output as a secret on {format_date(row.removed_at_ms)}." in words
    assert item.hit_area("cache:open") is None
    rig.perform(OpenOutput(digest))
    await until(lambda: "You removed this output as a secret on" in rig.banner_text(), "the notice")
    assert rig.views.chat.isVisible(), "not a page without the entry"


def _files_with_the_secret(rig: WindowRig) -> list[Path]:
    files = (path for path in (rig.folder / "data").rglob("*") if path.is_file())
    return [path for path in files if SECRET.encode() in path.read_bytes()]


CONTENTS = [
    Content(digest_of(data), data, "run_command", f"make {number}")
    for number, data in enumerate([b"one", b"two" * 500, b"three"])
]
"""Outputs that no session names."""


async def old(rig: WindowRig) -> None:
    """Store the outputs as if it had been long ago."""
    await rig.workspace.store.commit(Commit("old", contents=CONTENTS))
    plan = await rig.workspace.store.retention.plan(RetentionRule(grace_ms=-DAY_MS))
    assert len(plan.to_trash) == len(CONTENTS)


def history_of_a_deleted_session(rig: WindowRig) -> FileHistoryDatabase:
    folder = rig.wiring.services.registry.data_folder(rig.workspace.id)
    database = FileHistoryDatabase(folder / FILE_NAME, lambda: 1)
    database.captures.add(Capture("1", "deleted", "tool", database.contents.put(b"a list"), 1))
    return database


async def test_the_trash_is_filled_listed_restored_and_emptied_and_a_cleanup_follows_its_rule(
    rig: WindowRig,
) -> None:
    """A clean-up comes by hand, and on opening."""
    await _check_a_key(rig)
    await _check_the_list(rig)
    await _check_sessions_in_the_trash(rig)
    await _check_deleting_for_good(rig)
    await _check_a_cleanup_by_hand(rig)
    await _check_what_is_pinned_or_needed(rig)
    await _check_very_many(rig)
    await _check_a_quota(rig)


async def _check_a_cleanup_by_hand(rig: WindowRig) -> None:
    """On the Data page: what no session uses is shown, moved and brought back; old versions are removed."""
    await old(rig)
    await until(lambda: "tidy" not in {task.get_name() for task in asyncio.all_tasks()}, "housekeeping")
    former = history_of_a_deleted_session(rig)
    advance_clock(rig.workspace.store.retention, 2 * DAY_MS)
    await rig.wiring.settings.show("data")
    data = rig.settings.data
    await until(lambda: data.removable.text().startswith("Used by no session: 3 outputs"), "the figures")
    await until(lambda: find_buttons(data, "clean_history"), "the file history")
    for choice, left in (("cancel", 1), ("delete", 0)):
        press(data, "clean_history")
        assert "Can be removed: " in await answer_question(rig, choice)
        await until(lambda: len(former.captures.all()) == left, "the answer")  # noqa: B023 - awaited here
    await until(lambda: not find_buttons(data, "clean_history"), "nothing more of it")
    press(data, "show_unused")
    outputs = rig.views.outputs.get()
    await until(lambda: rig.window.page() == "outputs" and outputs.model.rowCount() == 3, "what is unused")
    assert outputs.filter_bar.chips.texts == ["Used by no session"]
    outputs.filter_bar.clear()
    await rig.wiring.settings.show("data")
    press(data, "trash_unused")
    await until(lambda: "3 entries moved to the trash" in rig.banner_text(), "the banner")
    moved = {content.digest for content in CONTENTS}
    assert not moved.intersection(entry.digest for entry in (await rig.workspace.store.page()).entries)
    await until(lambda: "In the trash, for 30 days: 3 outputs" in data.trashed.text(), "the figures again")
    press(rig.window.notices, "undo")
    await until(lambda: "to the trash" not in rig.banner_text(), "the banner gone")
    assert moved.issubset(entry.digest for entry in (await rig.workspace.store.page()).entries)
    rig.window.leave_settings()


async def _check_a_quota(rig: WindowRig) -> None:
    """A workspace enforces its quota when it is opened."""
    identity = rig.workspace.id
    rig.wiring.services.registry.change(identity, quota=1)
    services = rig.wiring.services
    await rig.wiring.workspace_controller.close_workspace(identity)
    moved = await services.open_workspace(identity)
    keep = moved.store.retention
    advance_clock(keep, 4 * DAY_MS)  # what the clean-up by hand brought back was used two days from now
    await rig.wiring.workspace_controller.open_workspace(identity)
    expected = {content.digest for content in CONTENTS}
    async with asyncio.timeout(TIMEOUT_S):
        while expected - {entry.digest for entry in (await keep.trash()).entries}:  # noqa: ASYNC110 - housekeeping sets no asyncio.Event
            await asyncio.sleep(0.01)


async def _check_a_key(rig: WindowRig) -> None:
    """An entry is trashed with a key and restored."""
    await rig.open_folder("key")
    await rig.workspace.store.commit(Commit("old", contents=CONTENTS))
    rig.window.show_page("outputs")
    table = rig.views.outputs.get().table
    await until(lambda: table.model().rowCount() == 3, "the entries")
    table.focus_table()
    await until(lambda: bool(table.selected_rows()), "what is known of it")
    (digest,) = table.selected_digests()
    QTest.keyClick(table, Qt.Key.Key_Delete)
    await until(lambda: "1 entry moved to the trash" in rig.banner_text(), "the banner")
    await until(lambda: table.model().rowCount() == 2, "the others")
    assert [entry.digest for entry in (await rig.workspace.store.retention.trash()).entries] == [digest]
    QTest.keyClick(table, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: table.model().rowCount() == 3, "all of them")
    await until(lambda: "to the trash" not in rig.banner_text(), "no banner")


async def _check_very_many(rig: WindowRig) -> None:
    """Del with all rows selected gave no answer while a large store was looked through."""
    data = [b"%d of very many" % number for number in range(1_001)]
    contents = [Content(digest_of(each), each, "grep", "a.py", "of very many", 4) for each in data]
    await rig.workspace.store.commit(Commit("old", contents=contents))
    rig.perform(TrashEntries(tuple(content.digest for content in contents)))
    dialog = await until(QApplication.activeModalWidget, "the question")
    assert dialog.windowTitle() == "Move 1,001 entries to the trash?"
    press(dialog, "cancel")
    await until(lambda: not QApplication.activeModalWidget(), "its end")
    assert (await rig.workspace.store.retention.trash()).entries == ()


async def _check_deleting_for_good(rig: WindowRig) -> None:
    """Of the trash on the Outputs page one is deleted after a question; the Data page empties it."""
    store = rig.workspace.store
    await store.retention.collect([content.digest for content in CONTENTS], grace_ms=-DAY_MS)
    rig.window.commands.trash.trigger()
    outputs = rig.views.outputs.get()
    await until(lambda: outputs.model.rowCount() == 3, "the trash")
    assert outputs.filter_bar.chips.texts == ["State: In trash"]
    for choice, left in (("cancel", 3), ("delete", 2)):
        row = await until(outputs.table.current_row, "a row")
        assert row.state == "in_trash"
        outputs.entry_actions.move_to_trash()
        assert "This deletes 1 output, which frees " in await answer_question(rig, choice)
        await until(lambda: outputs.model.rowCount() == left, "the answer")  # noqa: B023 - awaited here
    outputs.filter_bar.clear()
    await rig.wiring.settings.show("data")
    await until(lambda: "2 outputs" in rig.settings.data.trashed.text(), "the figures")
    for choice in ("cancel", "delete"):
        press(rig.settings.data, "empty_trash")
        assert "This deletes 2 outputs, which frees " in await answer_question(rig, choice)
    await until(lambda: not find_buttons(rig.settings.data, "empty_trash"), "nothing to empty")
    assert (await store.retention.trash()).entries == ()
    rig.window.leave_settings()


async def _check_sessions_in_the_trash(rig: WindowRig) -> None:
    """They are a folded group of the list; one is restored, one is deleted with its output, and its Undo."""
    store = rig.workspace.store
    content = make_content(b"only here")
    await store.commit(
        Commit("gone", [tool_answer_event(1, content.data)], [content], summary=make_summary("gone"))
    )
    other = make_content(b"of the other")
    await store.commit(
        Commit("back", [tool_answer_event(1, other.data)], [other], summary=make_summary("back"))
    )
    for session_id in ("gone", "back"):
        await store.retention.trash_session(session_id)
    await rig.wiring.session.run(RefreshLists())
    sessions = rig.window.sidebar.session_list
    heading = await until(lambda: sessions.index_of_key("#trash").isValid(), "the group")
    assert heading
    assert not sessions.index_of("gone").isValid(), "it is folded"
    rig.window.commands.trash.trigger()
    assert sessions.index_of("gone").isValid()
    items = {item.id: item for item in sessions.sessions()}
    assert [item.id for item in sessions.sessions()][-2:] in (["gone", "back"], ["back", "gone"])
    assert items["gone"].is_trashed

    restore = sessions.menu_for(sessions.index_of("back")).findChild(QAction, "restore")
    assert restore is not None
    restore.trigger()
    await until(lambda: on_screen(rig) == "back", "the restored session")
    assert [session.id for session in (await store.retention.trash()).sessions] == ["gone"]

    undos = DELETED_SESSION, "cleanup"
    for name in undos:
        rig.window.notices.notify(Notice(name, "Moved", workspace_id=rig.workspace.id))
    sessions.setCurrentIndex(sessions.index_of("gone"))
    QTest.keyClick(sessions, Qt.Key.Key_Delete)
    assert "This deletes 1 session with its messages and 1 output, " in await answer_question(rig, "delete")
    await until(lambda: not sessions.index_of_key("#trash").isValid(), "the group gone")
    assert await store.events("gone") == []
    assert not await store.find(content.digest)
    await until(lambda: not set(undos) & set(rig.window.notices.names()), "the end of what Undo can't do")


async def _check_the_list(rig: WindowRig) -> None:
    """The trash is listed on the Outputs page and restores."""
    await rig.open_folder("project", {"env.txt": "KEY=1\n"})
    await old(rig)
    await rig.workspace.store.retention.collect(
        [content.digest for content in CONTENTS[:2]], grace_ms=-DAY_MS
    )
    rig.window.show_page("outputs")
    outputs = rig.views.outputs.get()

    def listed() -> list[str]:
        return [outputs.model.digest_at(number) for number in range(outputs.model.rowCount())]

    await until(lambda: listed() == [CONTENTS[2].digest], "what is not in the trash")
    outputs.filter_bar.toggle(state_option("in_trash"))
    await until(lambda: set(listed()) == {content.digest for content in CONTENTS[:2]}, "what is")
    row = await until(outputs.table.current_row, "a row")
    assert row.state == "in_trash"
    outputs.table.menu_requested.emit(outputs.mapToGlobal(outputs.rect().center()))
    (menu,) = [menu for menu in outputs.table.findChildren(QMenu) if menu.isVisible()]
    (action,) = [action for action in menu.actions() if action.objectName() == "cache-restore"]
    action.trigger()
    menu.close()
    await until(lambda: len(listed()) == 1, "one less")
    assert (await rig.workspace.store.entry(row.digest)).trashed == 0
    outputs.filter_bar.clear()
    await until(lambda: len(listed()) == 2, "both that are not in the trash")


async def _check_what_is_pinned_or_needed(rig: WindowRig) -> None:
    """It stays, with the reason."""
    async with rig.answered_by(replies_in_order(reading(), text_reply("Read."))):
        await rig.run_turn("Look into env.txt.")
        digest = rig.events(ToolAnswered)[0].digest
        rig.window.show_page("outputs")
        await rig.workspace.store.retention.pin(CONTENTS[0].digest, True)
        rig.perform(TrashEntries((digest,)))
        await until(lambda: "Used in 1 place in sessions." in rig.banner_text(), "the reason")
        rig.perform(TrashEntries((CONTENTS[0].digest,)))
        await until(lambda: "It is pinned." in rig.banner_text(), "the other reason")
        rig.window.show_page("chat")
        assert "It is pinned." not in rig.banner_text(), "it is about the cache"
        assert (await rig.workspace.store.retention.trash()).entries == ()
        await rig.workspace.store.retention.pin(CONTENTS[0].digest, False)
