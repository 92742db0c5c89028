"""Opening a session by a click in the list, and typing at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.store import ListPlace
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


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


async def test_what_is_typed_right_after_a_click_on_a_session_is_for_it(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        first = rig.conversation.session.id
        await rig.conversation.rename("First")
        await rig.wiring.workspace_controller.new_session()
        second = rig.conversation.session.id
        await rig.conversation.rename("Second")
        await _check_typing(rig, first)
    async with open_window(qapp, tmp_path) as rig:  # the other one is read from the store
        await rig.wiring.workspace_controller.restore_last()
        shown = rig.conversation.session.id
        await _check_typing(rig, second if shown == first else first)
        await _check_the_timeline(rig, shown)


async def _check_the_timeline(rig: WindowRig, session_id: str) -> None:
    """Where another page than the chat is in front, that one gets the keyboard."""
    sessions = rig.window.sidebar.session_list
    rig.window.show_page("timeline")
    _click(rig, session_id)
    await until(lambda: rig.app_window.shown_session.session_id == session_id, "the session")
    await until(lambda: rig.window.focusWidget() is not sessions, "the keyboard")
    assert rig.views.timeline.get().isAncestorOf(rig.window.focusWidget())
