"""A notice appears with the workspace and the session that it is about."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.errors import HelixError, StoreWriteFailed
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.chat.actions import EditMessage
from helix_desktop.ui.chat.rows.row_types import UserRow
from helix_desktop.ui.kit.intents import TrashSession
from helix_desktop.ui.kit.notices import Notice
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop
FAULT = "The lamp went out."


async def test_a_notice_stands_where_it_belongs_as_long_as_it_holds(
    qapp: QApplication, tmp_path: Path
) -> None:
    """A failed write, a fault of a session, an event of a workspace."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_a_failed_write(rig)
        await _check_a_fault(rig)
        await _check_events(rig)


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


async def _check_events(rig: WindowRig) -> None:
    """Events of one workspace are not reported in another."""
    first = await rig.open_folder("quiet")
    await rig.run_turn("Hello")
    other = await rig.open_folder("deleted")
    rig.window.perform(TrashSession(rig.conversation.session.id))
    await until(lambda: "moved to the trash" in rig.banner_text(), "the notice")
    await rig.wiring.workspace_controller.open_workspace(first)
    assert "moved to the trash" not in rig.banner_text()
    await rig.wiring.workspace_controller.open_workspace(other)
    assert "moved to the trash" in rig.banner_text()


async def test_in_a_low_window_undo_is_seen_above_what_the_opened_session_says(
    qapp: QApplication, tmp_path: Path
) -> None:
    """The deletion of the session on screen opens another one, which brings a notice of its own."""
    async with open_window(qapp, tmp_path) as rig:
        rig.window.resize(1024, 680)
        rig.window.notices.notify(Notice("crash", "It didn't close properly.", level="warning"))
        await rig.open_folder("low")
        await rig.run_turn("Hello")
        original = rig.conversation.session.id
        await rig.wiring.workspace_controller.new_session()
        await rig.run_turn("Hello again")
        other = rig.conversation.session.id
        rig.perform(EditMessage(rig.rows(UserRow)[0].key.seq))
        await until(lambda: rig.conversation.session.id != other, "the version")
        await rig.wiring.workspace_controller.open_session(original)
        await until(lambda: len(rig.window.sidebar.session_list.sessions()) == 2, "both in the list")

        rig.window.perform(TrashSession(original))
        await until(lambda: "moved to the trash" in rig.banner_text(), "the newest notice")
        assert find_button(rig.window.notices, original).isVisible()
        assert "Editing" not in rig.banner_text()
        press(rig.window.notices, "all-notices")
        assert "Editing" in rig.banner_text()
        assert "close properly" in rig.banner_text()
