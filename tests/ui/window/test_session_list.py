"""The list of sessions: opened by a click, pinned, archived, titled, interrupted, left unused."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.session import SessionArchived
from helix_desktop.domain.store import ListPlace, SessionSummary
from helix_desktop.ui.chat.rows.row_types import ApprovalRow
from helix_desktop.ui.kit.intents import ArchiveSession
from helix_desktop.ui.window.sidebar.rail import WorkspaceButton
from helix_desktop.ui.window.switcher import SessionRow
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
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def summary_of(rig: WindowRig, session_id: str) -> SessionSummary:
    return next(summary for summary in await rig.workspace.store.sessions() if summary.id == session_id)


async def test_sessions_are_archived_pinned_marked_and_hidden_over_a_restart(
    qapp: QApplication, tmp_path: Path
) -> None:
    more = asyncio.Event()
    script = lambda _: StreamedReply(Text("Look"), Wait(more))  # noqa: E731 - a script
    async with ChatServer(script) as server:
        async with open_window(qapp, tmp_path) as rig:
            await _check_an_unused_session(rig)
            pinned = await _check_archive_and_pin(rig)
            cut_off = await _check_a_turn_that_runs(rig, server)
            await rig.open_folder("second")
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await _check_a_turn_that_ended_with_the_app(rig, cut_off)
            await _check_a_pinned_session(rig, pinned)
            await _check_a_session_that_waits(rig)
        more.set()


async def _check_archive_and_pin(rig: WindowRig) -> str:
    """By key, taken back by undo, and pinned; none of it counts as use. The session's id."""
    await rig.open_folder("first")
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
    await until(lambda: commands.pin_session.text() == "Unpin from top", "the menu again")
    await rig.workspace.move_in_list(session_id, archived=True)
    assert (await summary_of(rig, session_id)).updated == used
    return session_id


async def _check_a_pinned_session(rig: WindowRig, session_id: str) -> None:
    """It is unpinned after a restart; archived stays archived."""
    await rig.wiring.workspace_controller.open_session(session_id)
    assert rig.conversation.session.transcript.place == ListPlace(pinned=True, archived=True)
    rig.window.commands.pin_session.trigger()
    await until(lambda: "unpinned." in rig.banner_text(), "the banner")
    assert (await summary_of(rig, session_id)).place == ListPlace(archived=True)


async def _check_a_session_that_waits(rig: WindowRig) -> None:
    """An archived session comes back when it waits for the user."""
    go = asyncio.Event()
    begins = StreamedReply(Text("One"), Wait(go), Call("run_command", '{"command": "sleep 0"}', id="c"))
    async with rig.answered_by(replies_in_order(begins, text_reply("Two"))):
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


def _click(rig: WindowRig, session_id: str) -> None:
    sessions = rig.window.sidebar.session_list
    sessions.setFocus()
    place = sessions.visualRect(sessions.index_of(session_id)).center()
    QTest.mouseClick(sessions.viewport(), Qt.MouseButton.LeftButton, pos=place)


async def _check_typing(rig: WindowRig, session_id: str) -> None:
    sessions = rig.window.sidebar.session_list
    await until(lambda: sessions.index_of(session_id).isValid(), "the list")
    before = rig.conversation.session.id
    _click(rig, session_id)
    QTest.keyClicks(sessions, "a pl")
    QTest.keyClick(sessions, Qt.Key.Key_Delete)
    QTest.keyClick(sessions, Qt.Key.Key_Backspace)
    assert rig.conversation.session.id == before
    await until(lambda: rig.app_window.shown_session.session_id == session_id, "the session")
    await until(lambda: rig.composer.text() == "a p", "what was typed")
    assert rig.window.focusWidget() is rig.composer.editor
    places = {summary.place for summary in await rig.workspace.store.sessions()}
    assert places == {ListPlace()}
    assert sessions.take_typed_text() is None


def titles(rig: WindowRig) -> list[str]:
    return [row.title for row in rig.window.sidebar.session_list.sessions()]


def answer(request: dict[str, object]) -> Reply:
    messages = request["messages"]
    assert isinstance(messages, list)
    is_title = str(messages[-1]["content"]).startswith("Name this conversation.")
    return text_reply("Port range check" if is_title else "Done.")


async def _check_a_turn_that_runs(rig: WindowRig, server: ChatServer) -> str:
    """Begin a turn that the end of the app cuts off; its session."""
    await rig.wiring.workspace_controller.new_session()
    await rig.use_server(server)
    rig.type_message("Work on this.")
    await server.waiting.wait()
    cut_off = rig.conversation.session.id
    rig.window.commands.new_session.trigger()
    await until(lambda: rig.conversation.session.id != cut_off, "another session")
    await until(lambda: badges(rig) == {"first": "running", "unused": ""}, "it runs")
    return cut_off


async def _check_a_turn_that_ended_with_the_app(rig: WindowRig, cut_off: str) -> None:
    """Marked until somebody looks: in the list, and on the workspace's square, also while that is closed."""
    await until(
        lambda: badges(rig) == {"first": "interrupted", "second": "", "unused": ""}, "marked while closed"
    )
    await rig.open_folder("first")
    await until(lambda: interrupted(rig) == [cut_off], "the session is marked")
    assert badges(rig)["first"] == "interrupted"
    await rig.wiring.workspace_controller.open_session(cut_off)
    await until(lambda: interrupted(rig) == [], "it was looked at")
    await until(lambda: badges(rig) == {"first": "", "second": "", "unused": ""}, "no mark is left")


def badges(rig: WindowRig) -> dict[str, str]:
    buttons = rig.window.rail.findChildren(WorkspaceButton)
    return {button.workspace.name: button.workspace.badge for button in buttons}


def interrupted(rig: WindowRig) -> list[str]:
    return [row.id for row in rig.window.sidebar.session_list.sessions() if row.state == "interrupted"]


def listed(rig: WindowRig) -> list[str]:
    return [session.id for session in rig.window.sidebar.session_list.sessions()]


def found(rig: WindowRig) -> list[str]:
    """Return the sessions that Ctrl+K lists, by id."""
    lines = rig.window.switcher.list_view.rows
    return [line.value.id for line in lines if isinstance(line.value, SessionRow)]


async def _begin(rig: WindowRig) -> str:
    before = rig.conversation.session.id
    await rig.wiring.workspace_controller.new_session()
    assert rig.conversation.session.id != before
    return rig.conversation.session.id


async def _check_an_unused_session(rig: WindowRig) -> None:
    """It is in no list and comes back as the new one.

    What is typed right after a click on another one is for that.
    """
    await rig.open_folder("unused")
    first, opener = rig.conversation.session.id, rig.wiring.workspace_controller
    await until(lambda: listed(rig) == [first], "the only one is listed")
    await rig.run_turn("Hello")
    other = await _begin(rig)
    await rig.run_turn("Hello again")
    await _check_typing(rig, first)
    rig.composer.set_text("")
    await _check_typing(rig, other)
    rig.composer.set_text("")
    empty = await _begin(rig)
    await until(lambda: listed(rig) == [empty, other, first], "it is listed while it is on screen")
    await opener.open_session(first)
    await until(lambda: listed(rig) == [other, first], "it is gone")
    rig.window.commands.switch_workspace.trigger()
    await until(lambda: found(rig) == [other], "in Ctrl+K, too")
    rig.window.switcher.close()
    assert {info.id for info in await rig.workspace.sessions()} == {first, other, empty}, "none is deleted"
    assert await _begin(rig) == empty
    await until(lambda: listed(rig) == [empty, other, first], "it is back")
    await _check_what_was_used_stays(rig, [other, first], empty)


async def _check_what_was_used_stays(rig: WindowRig, others: list[str], drafted: str) -> None:
    """A draft, a name, a pin and a choice keep a session in the list; what has a draft is not new."""
    opener = rig.wiring.workspace_controller
    rig.composer.editor.setPlainText("To be continued")
    await opener.open_session(others[0])
    await until(lambda: listed(rig) == [drafted, *others], "the one with a draft")
    named = await _begin(rig)
    assert named != drafted
    assert rig.composer.text() == ""
    await rig.conversation.rename("Ideas")
    await opener.open_session(others[0])
    pinned = await _begin(rig)
    await rig.conversation.set_place(ListPlace(pinned=True))
    await opener.open_session(others[0])
    planned = await _begin(rig)
    await rig.conversation.set_mode("plan")
    await opener.open_session(others[0])
    await until(lambda: set(listed(rig)) == {*others, drafted, named, pinned, planned}, "all of them")
