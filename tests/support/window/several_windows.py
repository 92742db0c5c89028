"""More windows beside the first one of a rig, and the start that brings them back."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QApplication

from helix_desktop.app.run import Launch, StartTargets, load_windows, reopen_windows
from helix_desktop.app.single_instance import SingleInstance
from helix_desktop.config.paths import DataDir
from helix_desktop.ui.window.controlled_window import ControlledWindow
from tests.support.window.window_rig import WindowRig, act, until


async def new_window(rig: WindowRig) -> ControlledWindow:
    """Open a window by its key; it shows a new session of the same workspace."""
    windows = rig.wiring.windows
    count = len(windows.open_windows)
    assert not rig.window.commands.new_window.autoRepeat()
    await act(rig.window.commands.new_window.trigger)
    assert len(windows.open_windows) == count + 1
    opened = windows.current
    assert isinstance(opened, ControlledWindow)
    await until(lambda: row_of(opened, opened.shown_session.session_id), "its session in its list")
    return opened


def row_of(app_window: ControlledWindow, session_id: str) -> str:
    """Return the title that a window's session list has for a session; empty if it lists none."""
    sessions = app_window.window.sidebar.session_list.sessions()
    return next((session.title for session in sessions if session.id == session_id), "")


async def restart(app: QApplication, rig: WindowRig, target: str = "") -> None:
    """Open the windows of the last run, and a launch target, as a start does."""
    data = DataDir(rig.folder / "data")
    targets = StartTargets(rig.wiring.windows, load_windows(rig.context.window_state))
    launch = Launch(data, Path(data.root / "marker"), target)
    first_task = targets.open_first(launch, SingleInstance(data.root))
    await reopen_windows(rig.wiring, targets.last_windows, first_task)
