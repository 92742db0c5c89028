"""Several windows: each shows a session of its own, and closing one ends nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.app.run import WINDOWS, reopen_windows
from helix_desktop.ui.workspaces.window_controllers import WindowControllers
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def _new_window(rig: WindowRig) -> WindowControllers:
    """Open a window by its key; it shows a new session of the same workspace."""
    windows = rig.wiring.windows
    count = len(windows.open_windows)
    rig.window.commands.new_window.trigger()
    await until(lambda: len(windows.open_windows) == count + 1, "another window")
    opened = windows.current
    assert isinstance(opened, WindowControllers)
    await until(lambda: bool(opened.shown_session[1]), "its session")
    return opened


def _row_of(window_controllers: WindowControllers, session_id: str) -> str:
    """Return the title that a window's session list has for a session; empty if it lists none."""
    sessions = window_controllers.window.sidebar.session_list.sessions()
    return next((session.title for session in sessions if session.id == session_id), "")


async def test_each_window_has_a_session_of_its_own_and_closing_one_ends_nothing(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await _check_two_sessions(rig)
        await _check_the_session_on_screen_elsewhere(rig)
        await _check_deleting_a_session_that_another_window_shows(rig)
        await _check_a_workspace_that_is_closed(rig)


async def _check_two_sessions(rig: WindowRig) -> None:
    """Both windows list both sessions, and a session comes to the front where it is."""
    first, second = rig.wiring, await _new_window(rig)
    workspace_id, first_session = first.shown_session
    second_session = second.shown_session[1]
    assert second.shown_session[0] == workspace_id
    assert second_session != first_session
    await rig.run_turn("Say hello.")
    await until(lambda: _row_of(second, first_session) == "Say hello.", "the title in the other window")
    assert rig.window.windowTitle().startswith("Say hello. ·")
    second.window.sidebar.session_selected.emit(first_session)
    await until(rig.window.isActiveWindow, "the window that shows the session")
    assert second.shown_session[1] == second_session
    second.session_controller.composer.widget.editor.setPlainText("A draft.")
    second.window.close()
    await until(lambda: not second.window.isVisible(), "the second window closed")
    assert rig.window.isVisible()
    assert rig.window.windowTitle() == "project — Helix Desktop"
    rig.window.sidebar.session_selected.emit(second_session)
    await until(lambda: first.shown_session[1] == second_session, "its session in the first window")
    await until(lambda: rig.composer.editor.toPlainText() == "A draft.", "its draft")


async def _check_the_session_on_screen_elsewhere(rig: WindowRig) -> None:
    """A session with messages moves to another window, the one that was closed; this one gets a new one."""
    first, windows = rig.wiring, rig.wiring.windows
    rig.window.sidebar.session_selected.emit(_session_titled(rig, "Say hello."))
    await until(lambda: first.shown_session[1] == _session_titled(rig, "Say hello."), "the first session")
    moved = first.shown_session[1]
    rig.window.sidebar.session_list.window_requested.emit(moved)
    await until(lambda: not windows.is_only_one(rig.window), "a window of its own")
    await until(lambda: windows.current.shown_session[1] == moved, "the session there")
    assert windows.current.window is not rig.window
    assert len(windows.windows) == 2
    assert first.shown_session[1] not in {moved, ""}


def _session_titled(rig: WindowRig, title: str) -> str:
    sessions = rig.window.sidebar.session_list.sessions()
    return next(session.id for session in sessions if session.title == title)


async def _check_deleting_a_session_that_another_window_shows(rig: WindowRig) -> None:
    """The other window goes on with another session, or with none."""
    other = rig.wiring.windows.other_with(rig.window, *rig.wiring.windows.current.shown_session)
    assert other is not None
    deleted = other.shown_session[1]
    rig.window.sidebar.session_deleted.emit(deleted)
    await until(lambda: not _row_of(rig.wiring, deleted), "the session out of the list")
    await until(lambda: other.shown_session[1] != deleted, "another session in its window")
    assert rig.wiring.shown_session[1] not in {deleted, other.shown_session[1]}


async def _check_a_workspace_that_is_closed(rig: WindowRig) -> None:
    """A window whose workspace is closed in another one closes with it, the settings stay with one window."""
    windows = rig.wiring.windows
    other = next(opened for opened in windows.open_windows if opened.window is not rig.window)
    assert isinstance(other, WindowControllers)
    await other.settings.show("about")
    await rig.wiring.settings.show("providers")
    assert rig.wiring.settings_dialog is None
    assert other.settings_dialog is not None
    other.settings.close()
    await rig.wiring.workspace_controller.reopen(rig.wiring.shown_session[0])
    assert not other.window.isVisible()
    assert windows.is_only_one(rig.window)


async def test_a_restart_opens_the_windows_again(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        second = await _new_window(rig)
        shown = {rig.wiring.shown_session, second.shown_session}
    async with open_window(qapp, tmp_path) as rig:
        start = rig.context.actions.start
        first_task = start(rig.wiring.workspace_controller.restore_last(), "restore")
        await reopen_windows(rig.wiring, rig.context.window_state.get(WINDOWS), first_task)
        assert {opened.shown_session for opened in rig.wiring.windows.open_windows} == shown
        await until(rig.window.isActiveWindow, "the first window in front")


async def test_quit_ends_all_windows_at_once(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        second = await _new_window(rig)
        agreed: list[str] = []
        rig.wiring.quit_controller.confirmed.connect(lambda: agreed.append("first"))
        second.quit_controller.confirmed.connect(lambda: agreed.append("second"))
        QTest.keyClick(second.window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: bool(agreed), "Ctrl+Q with two windows")
        await asyncio.sleep(0)
        assert agreed == ["second"]
        rig.window.activateWindow()
        await until(lambda: rig.wiring.windows.current is rig.wiring, "the first window in front")
        QTest.keyClick(rig.window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: len(agreed) > 1, "Ctrl+Q in the first window")
        assert agreed == ["second", "first"]
