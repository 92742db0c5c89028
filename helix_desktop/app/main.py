"""Starts the window, and ends everything when it closes."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import qasync
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from helix_desktop.app.crash import close_logs, open_logs
from helix_desktop.app.layout import LayoutFile
from helix_desktop.app.window import Front, build_front, name_application
from helix_desktop.config.paths import DataDir
from helix_desktop.context.errors import DataDirUnusable

if TYPE_CHECKING:
    from helix_desktop.app.desk import Desk
    from helix_desktop.app.single_instance import SingleInstance
    from helix_desktop.ui.shell import Shell

LAYOUT_FILE = "window.toml"
TRACE_FILE = "window.open"  # there while a window has the data directory, and after one was killed
SAMPLE_WISH = "sample:"
_FRAMES = 50  # turns of the event loop that a first paint may take


def show_window(given: argparse.Namespace) -> int:
    """Run the window until it is closed; a second start shows the first window instead."""
    gc.disable()  # until the window is furnished: what a start makes stays, so looking for garbage is waste
    app = QApplication(sys.argv[:1])
    name_application(app)
    data = DataDir.locate(getattr(given, "data_dir", None), os.environ)
    try:
        data.ensure()
    except DataDirUnusable as error:
        from helix_desktop.app.refusal import refuse

        return refuse(app, error)
    wish = SAMPLE_WISH if given.demo else str(given.workspace.absolute()) if given.workspace else ""
    if (data.root / TRACE_FILE).exists() and _instance(data).tell(wish):
        return 0
    stacks = open_logs(data.logs_dir)
    try:
        with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(app)) as runner:
            runner.run(_run(app, data, wish))
    finally:
        close_logs(stacks)
    return 0


def _instance(data: DataDir) -> SingleInstance:

    return SingleInstance(data.root)


async def _run(app: QApplication, data: DataDir, wish: str) -> None:
    layout = LayoutFile(data.root / LAYOUT_FILE)
    front = build_front(app, layout, *layout.look())
    stop = asyncio.Event()
    front.window.closing.connect(stop.set)
    for name in ("SIGINT", "SIGTERM"):
        asyncio.get_running_loop().add_signal_handler(getattr(signal, name), stop.set)
    front.window.show()
    await first_frame(front)
    instance = _instance(data)
    if instance.tell(wish):  # another start came first by less than a frame
        front.window.allow_close()
        return
    await _serve(front, data, instance, wish, stop)


async def first_frame(front: Front) -> None:
    """Return when the window has painted, or when it cannot (it is minimised)."""
    for _ in range(_FRAMES):
        await asyncio.sleep(0)
        if front.window.painted:
            return


async def _serve(
    front: Front, data: DataDir, instance: SingleInstance, wish: str, stop: asyncio.Event
) -> None:
    """Everything between the first frame and the last."""
    instance.claim()
    trace = data.root / TRACE_FILE
    trace.touch()
    try:
        desk, shell = open_desk(data, front)
        gc.freeze()
        gc.enable()
        instance.woken.connect(lambda text: _wake(front, shell, text))
        front.intents.start(_begin(shell, wish), "begin")
        await stop.wait()
        await end(front, shell, desk)
    finally:
        trace.unlink(missing_ok=True)
        instance.close()


def open_desk(data: DataDir, front: Front, pause_s: float | None = None) -> tuple[Desk, Shell]:
    """Make the desk and the screens, and bind the window to them."""
    from helix_desktop.app.desk import Desk
    from helix_desktop.app.models import DEMO_PAUSE_S
    from helix_desktop.app.screens import build_screens
    from helix_desktop.ui.settings.presenter import SettingsPresenter
    from helix_desktop.ui.shell import Shell

    pause = DEMO_PAUSE_S if pause_s is None else pause_s
    desk = Desk(data, os.environ, pause_s=pause)
    shell = Shell(front.window, build_screens(front), front.intents, desk)
    SettingsPresenter(front.window, shell, front.appearance, front.intents, desk)
    return desk, shell


async def _begin(shell: Shell, wish: str) -> None:
    if wish == SAMPLE_WISH:
        await shell.begin(sample=True)
    else:
        await shell.begin(Path(wish) if wish else None)


def _wake(front: Front, shell: Shell, wish: str) -> None:
    """Another start asked for this window."""
    window = front.window
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()
    if wish:
        front.intents.start(_begin(shell, wish), "begin")


async def end(front: Front, shell: Shell, desk: Desk) -> None:
    """Close everything in order: what is on screen, what runs, what is stored, the window."""
    front.window.setEnabled(False)
    await shell.work.show(None, None)
    await front.scope.close()
    await desk.close()
    front.window.allow_close()
    front.layout.keep_look(front.appearance.mode, front.appearance.text_px)
    front.layout.save()
