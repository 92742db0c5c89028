"""Pinning and archiving sessions in the window."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.agent.open_workspace import delete_session
from helix_desktop.domain.events.session import SessionArchived
from helix_desktop.domain.store import ListPlace, SessionSummary
from helix_desktop.ui.chat.rows.row_types import ApprovalRow
from helix_desktop.ui.kit.intents import ArchiveSession
from tests.support.cli_rig import Cli
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    Text,
    Wait,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def summary_of(rig: WindowRig, session_id: str) -> SessionSummary:
    """Return the line of a session in the stored list."""
    return next(summary for summary in await rig.workspace.store.sessions() if summary.id == session_id)


async def test_a_session_is_archived_by_key_restored_by_undo_and_pinned_over_a_restart(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        session_id, commands = rig.conversation.session.id, rig.window.commands
        sessions = rig.window.sidebar.session_list
        await until(lambda: sessions.index_of(session_id).isValid(), "the list")
        used = (await summary_of(rig, session_id)).updated
        sessions.setCurrentIndex(sessions.index_of(session_id))
        QTest.keyClick(sessions, Qt.Key.Key_A)
        await until(lambda: "archived." in rig.banner_text(), "the banner")
        await until(lambda: not sessions.sessions(), "the list without it")
        await until(lambda: commands.archive_session.text() == "Unarchive session", "the menu")
        press(rig.window.notices, session_id)
        await until(lambda: sessions.index_of(session_id).isValid(), "the session again")
        await until(lambda: "archived." not in rig.banner_text(), "no banner")

        rig.type_message("/pin")
        await until(lambda: "pinned." in rig.banner_text(), "the banner")
        await until(lambda: commands.pin_session.text() == "Unpin session", "the menu again")
        await rig.workspace.move_in_list(session_id, archived=True)
        await delete_session(rig.workspace, session_id)
        await rig.workspace.store.retention.restore_session(session_id)
        stored = await summary_of(rig, session_id)
        assert stored.place == ListPlace(pinned=True, archived=True)
        assert stored.updated == used
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        assert rig.conversation.session.transcript.place == ListPlace(pinned=True, archived=True)
        rig.window.commands.pin_session.trigger()  # it unpins; archived stays archived
        await until(lambda: "unpinned." in rig.banner_text(), "the banner")
        assert (await summary_of(rig, session_id)).place == ListPlace(archived=True)
        cli = Cli(tmp_path, tmp_path / "data")
        listed = await cli("sessions", "--workspace", "project", "--archived", "--json")
        assert [(row["session"], row["archived"], row["pinned"]) for row in listed.json] == [
            (session_id, True, False)
        ]
        assert "archived" in (await cli("sessions", "--workspace", "project")).out.decode()

        await _check_a_session_that_waits(rig)


async def _check_a_session_that_waits(rig: WindowRig) -> None:
    """An archived session comes back when it waits for the user."""
    go = asyncio.Event()
    begins = StreamedReply(Text("One"), Wait(go), Call("run_command", '{"command": "sleep 0"}', id="c"))
    async with ChatServer(replies_in_order(begins, text_reply("Two"))) as server:
        await rig.open_folder("waiting")
        await rig.use_server(server)
        session_id = rig.conversation.session.id
        rig.type_message("Go")
        await until(lambda: rig.conversation.response.text == "One", "the beginning")
        rig.window.commands.archive_session.trigger()
        await until(lambda: "archived." in rig.banner_text(), "the banner")
        go.set()
        await until(lambda: rig.rows(ApprovalRow), "a question")
        await until(lambda: not rig.conversation.session.transcript.place.archived, "it came back")
        await until(lambda: "archived." not in rig.banner_text(), "the banner gone with it")
        rig.window.perform(ArchiveSession(session_id))
        await until(lambda: "It is waiting for you." in rig.banner_text(), "a refusal")
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()
        assert [event.archived for event in rig.events(SessionArchived)] == [True, False]
