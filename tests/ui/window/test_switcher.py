"""Ctrl+K in a window with real workspaces: sessions, messages at their place, commands."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from helix_desktop.ui.chat.rows.row_types import UserRow
from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.ui.window.switcher import MessageRow, Switcher
from tests.support.model_servers.chat_server import ChatServer, replies_in_order, text_reply
from tests.support.window.window_rig import TIMEOUT_S, WindowRig, until

pytestmark = pytest.mark.qt_loop


def lines(switcher: Switcher) -> list[str]:
    """Return what is listed, headings in brackets."""
    listed = switcher.list_view.rows
    return [f"[{line.words}]" if line.is_heading else line.words for line in listed]


def marked_words(switcher: Switcher) -> list[str]:
    rows = [line.value for line in switcher.list_view.rows if isinstance(line.value, MessageRow)]
    return [row.hit.excerpt[start:end] for row in rows for start, end in row.marks]


def painted_marks(switcher: Switcher, line: str) -> int:
    """Return how many words of a line are painted on the color of what was searched for."""
    place = lines(switcher).index(line)
    box = switcher.list_view.visualRect(switcher.list_view.row_model.index(place))
    picture = switcher.list_view.viewport().grab(box).toImage()
    color = QColor(current_theme().warn_soft)
    heights = range(picture.height())
    columns = [any(picture.pixelColor(x, y) == color for y in heights) for x in range(picture.width())]
    return sum(here and not before for before, here in pairwise((False, *columns)))


def chosen(switcher: Switcher) -> str:
    return str(switcher.list_view.currentIndex().data())


def press(
    switcher: Switcher, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
) -> None:
    QTest.keyClick(switcher.search, key, modifier)


async def test_it_leads_to_workspaces_sessions_messages_and_commands(rig: WindowRig) -> None:
    async with ChatServer(
        replies_in_order(text_reply("The lexer is fixed"), text_reply("Fine"), text_reply("Done"))
    ) as server:
        first = await rig.open_folder("first")
        await rig.use_server(server)
        await rig.run_turn("Look at the lexer")
        session_id = rig.conversation.session.id
        await rig.wiring.workspace_controller.new_session()
        await rig.run_turn("Write the invoices")
        second = await rig.open_folder("second")
        await rig.run_turn("Something else")
        switcher, commands = rig.window.switcher, rig.window.commands

        commands.switch_workspace.trigger()
        everything = [
            "[Workspaces]", "first", "second", "[Sessions]", "Write the invoices", "Look at the lexer",
        ]  # fmt: skip
        await until(lambda: lines(switcher) == everything, "workspaces and sessions")
        assert chosen(switcher) == "first"

        # A message of another workspace and session, at its place.
        QTest.keyClicks(switcher.search, "lexer fixed")
        assert lines(switcher) == []
        await until(lambda: lines(switcher) == ["[Messages]", "The lexer is fixed"], "the message alone")
        _check_marks(switcher)
        press(switcher, Qt.Key.Key_Return)
        await until(lambda: rig.wiring.session.workspace_id == first, "the other workspace")
        await until(lambda: rig.app_window.shown_session.session_id == session_id, "its session")
        await until(lambda: [row.text for row in rig.rows(UserRow)] == ["Look at the lexer"], "its rows")
        await until(rig.composer.editor.hasFocus, "the end of the way there")
        await until(lambda: rig.chat.find_bar.count.text == "2", "its word marked and counted")
        await _check_the_list_of_sessions(rig, session_id)

        # The signs limit what is searched; a command is run, and listed first from now on.
        commands.switch_workspace.trigger()
        QTest.keyClicks(switcher.search, "@i")
        await until(lambda: "Write the invoices" in lines(switcher), "the sessions")
        assert all(line == "[Sessions]" or "[" not in line for line in lines(switcher))
        switcher.search.setText(">larger text")
        assert lines(switcher) == ["[Commands]", "Larger text"]
        press(switcher, Qt.Key.Key_Return)
        commands.switch_workspace.trigger()
        await until(lambda: "Larger text" in lines(switcher), "the command that was used")
        switcher.search.setText("zzzz")
        await until(lambda: switcher.empty_text == "No results", "the end of the search")

        # Ctrl+Enter begins a session in the workspace of the line.
        switcher.search.setText("second")
        press(switcher, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        await until(
            lambda: rig.wiring.session.workspace_id == second and not rig.rows(UserRow), "a new session"
        )
        await _check_an_opening_workspace(rig, first)


def _check_marks(switcher: Switcher) -> None:
    """Each word is marked where it stands, the last one of the line, too."""
    assert marked_words(switcher) == ["lexer", "fixed"]
    assert painted_marks(switcher, "The lexer is fixed") == 2


async def _check_the_list_of_sessions(rig: WindowRig, session_id: str) -> None:
    """It finds a session of this workspace by a message, and opens it there."""
    assert not rig.window.switcher.isVisible()
    await rig.wiring.workspace_controller.new_session()
    sidebar = rig.window.sidebar
    sidebar.search.setFocus()
    QTest.keyClicks(sidebar.search, "lexer fixed")
    await until(lambda: bool(sidebar.session_list.sessions()), "the session")
    QTest.keyClick(sidebar.search, Qt.Key.Key_Return)
    await until(lambda: rig.app_window.shown_session.session_id == session_id, "its session")
    await until(lambda: rig.chat.find_bar.count.text == "2", "its word marked and counted")


async def _check_an_opening_workspace(rig: WindowRig, workspace_id: str) -> None:
    """Closed, its messages are found in its store alone; while it is being opened it is named."""
    switcher, services = rig.window.switcher, rig.wiring.services
    await rig.wiring.workspace_controller.close_workspace(workspace_id)
    rig.window.commands.switch_workspace.trigger()
    QTest.keyClicks(switcher.search, "lexer fixed")
    await until(lambda: "The lexer is fixed" in lines(switcher), "the message")
    assert workspace_id not in services.open_workspaces
    press(switcher, Qt.Key.Key_Escape)
    async with asyncio.timeout(TIMEOUT_S), services.borrow_store(workspace_id) as store:
        assert await store.sessions(), "the panel let go of the store"
    opening = asyncio.get_running_loop().create_task(
        rig.wiring.workspace_controller.open_workspace(workspace_id)
    )
    await asyncio.sleep(0)
    rig.window.commands.switch_workspace.trigger()
    QTest.keyClicks(switcher.search, "lexer fixed")
    assert switcher.note.text().startswith("Still opening: first.")
    await opening
    await until(lambda: lines(switcher) == ["[Messages]", "The lexer is fixed"], "the message")
    assert "Still opening" not in switcher.note.text()
