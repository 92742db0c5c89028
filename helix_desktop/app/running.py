"""Runs the window once it is on screen: event loop, desk, and the end of everything."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import qasync
from PySide6.QtWidgets import QApplication

from helix_desktop.app.crash import close_logs, open_logs
from helix_desktop.app.crash_report import crash_report
from helix_desktop.app.desk import Desk, now_ms
from helix_desktop.app.early_openings import EarlyOpenings
from helix_desktop.app.exit_codes import LOCKED
from helix_desktop.app.front import Front, front_of
from helix_desktop.app.garbage import MainThreadGarbage
from helix_desktop.app.knocking import FileOpenings, fulfil
from helix_desktop.app.last_run import LastRun, RunMarker
from helix_desktop.app.models import DEMO_PAUSE_S
from helix_desktop.app.moving_window import open_again
from helix_desktop.app.recovery import recovery_of
from helix_desktop.app.refusal import refuse
from helix_desktop.app.screens import build_screens
from helix_desktop.app.single_instance import SingleInstance
from helix_desktop.app.window import Frame
from helix_desktop.config.paths import DataDir
from helix_desktop.context.errors import WindowSilent
from helix_desktop.ui.crash_notice import CrashNotice
from helix_desktop.ui.on_screen import bring_forward
from helix_desktop.ui.opening import Opening
from helix_desktop.ui.settings.presenter import SettingsPresenter
from helix_desktop.ui.shell import Shell


def run(
    app: QApplication,
    frame: Frame,
    data: DataDir,
    trace: Path,
    wish: str,
    early: EarlyOpenings | None = None,
) -> int:
    """Run a window that is on screen until it is closed; the exit code.

    `trace` marks the data directory as taken while the window is open; `wish` is one of app.targets;
    `early` holds what the system named besides.
    """
    instance = SingleInstance(data.root)
    try:
        told = instance.tell(wish)  # another start may have come first, by less than a frame
    except WindowSilent as error:
        frame.window.allow_close()
        return refuse(app, error, frame.layout, LOCKED)
    if told:
        frame.window.allow_close()
        return 0
    instance.claim()
    marker = RunMarker(trace)
    crashed = marker.crashed()
    stacks = open_logs(data.logs_dir)
    marker.begin(now_ms(), stacks.tell())
    try:
        with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(app)) as runner:
            afterwards = runner.run(_run(app, front_of(frame), data, instance, wish, early, marker, crashed))
    finally:
        close_logs(stacks)
        marker.end()
        instance.close()
    if afterwards:
        open_again(*afterwards)
    return 0


async def _run(
    app: QApplication,
    front: Front,
    data: DataDir,
    instance: SingleInstance,
    wish: str,
    early: EarlyOpenings | None,
    marker: RunMarker,
    crashed: LastRun | None,
) -> tuple[str, ...]:
    """Run until the window is closed; the words of the start that is to come after it, if any."""
    afterwards: list[str] = []

    def move(target: str, remove_old: bool) -> None:
        options = ["--remove-old"] if remove_old else []
        afterwards[:] = ["move-data", target, "--window", "--data-dir", str(data.root), *options]
        stop.set()

    stop = asyncio.Event()
    _heed_signals(asyncio.get_running_loop(), stop.set)
    desk, shell, settings, opening = open_desk(data, front)
    settings.move_agreed.connect(move)
    shell.quit.agreed.connect(stop.set)

    def asked(text: str, fresh: bool = False) -> asyncio.Task[None]:
        return front.intents.start(fulfil(text, shell, opening, fresh), "begin")

    def wake(text: str) -> None:
        bring_forward(front.window)
        asked(text)

    instance.woken.connect(wake)
    openings = FileOpenings(app, wake, front.intents.tell)
    named = early.hand_over() if early else []
    shell.workspace_opened.connect(
        lambda identity: front.intents.start(asyncio.to_thread(marker.add, identity), "note workspace")
    )
    started = now_ms()
    began = asked(wish or openings.first(named), fresh=True)
    if crashed is not None:
        front.intents.start(_tell_crash(crashed, front, desk, data.logs_dir, began, started), "tell crash")
    for one in named:
        openings.take(one)
    # It stops all threads for a moment: better now than at a key.
    front.intents.start(desk.counter.load(), "vocabulary")
    for changed in (front.appearance.changed, front.window.layout_changed):
        changed.connect(lambda *_: front.intents.start(_keep_look(front), "keep look"))
    await stop.wait()
    instance.deafen()
    settings.close()
    await end(front, shell, desk)
    return tuple(afterwards)


async def _tell_crash(
    crashed: LastRun, front: Front, desk: Desk, logs: Path, began: asyncio.Task[None], started: int
) -> None:
    """Say that the last run did not end well, and what is there again, once the window shows something."""
    notice = CrashNotice(front.window, front.intents, lambda: crash_report(logs, crashed, Path.home()), logs)
    await asyncio.wait({began})
    notice.show(await recovery_of(desk, crashed, started))


def _heed_signals(loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
    """Let the signals that ask a program to end close the window in order."""
    if sys.platform == "win32":
        # Loops of Windows take no handlers; a console that started the window sends these two.
        for number in (signal.SIGINT, signal.SIGBREAK):
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(end))
    else:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end)


class Opened(NamedTuple):
    """The desk, and the presenters that bind the window to it."""

    desk: Desk
    shell: Shell
    settings: SettingsPresenter
    opening: Opening


def open_desk(data: DataDir, front: Front, pause_s: float = DEMO_PAUSE_S) -> Opened:
    """Make the desk and the screens, and bind the window to them."""
    desk = Desk(data, os.environ, pause_s=pause_s)
    shell = Shell(front.window, build_screens(front), front.intents, desk)
    MainThreadGarbage(front.window)
    settings = SettingsPresenter(front.window, shell, front.appearance, front.intents, desk)
    return Opened(desk, shell, settings, Opening(front.window, desk, shell))


async def _keep_look(front: Front) -> None:
    """Keep sizes, theme and text size for the next first frame, also should this run end badly."""
    front.layout.keep_look(front.appearance.mode, front.appearance.text_px)
    await asyncio.to_thread(front.layout.save)


async def end(front: Front, shell: Shell, desk: Desk) -> None:
    """Close everything in order: what is on screen, what runs, what is stored, the window."""
    front.window.setEnabled(False)
    await shell.work.show(None, None)
    await front.scope.close(for_good=True)  # a timer may still ring while the desk is closed
    await desk.close()
    front.window.allow_close()
    await _keep_look(front)
