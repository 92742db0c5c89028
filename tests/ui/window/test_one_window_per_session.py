"""A session is on screen in one window at a time, also while two of them open it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.window.controlled_window import ControlledWindow
from tests.support.window.window_rig import open_window, until

pytestmark = pytest.mark.qt_loop


async def test_of_two_windows_that_open_a_session_at_once_one_shows_it(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Their drafts would overwrite each other."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.run_turn("Say hello.")
        workspace_id, session_id = rig.app_window.shown_session
        await rig.wiring.workspace_controller.begin_session(rig.workspace)
        rig.window.commands.new_window.trigger()
        await until(lambda: len(rig.wiring.windows.open_windows) == 2, "another window")
        second = rig.wiring.windows.current
        assert isinstance(second, ControlledWindow)
        await until(lambda: second.shown_session[0] == workspace_id, "its session")
        await asyncio.gather(
            *(
                controllers.workspace_controller.show_session(rig.workspace, session_id)
                for controllers in (rig.wiring, second)
            )
        )
        shown = [opened.shown_session[1] for opened in (rig.app_window, second)]
        assert shown.count(session_id) == 1
        assert len(set(shown)) == 2
