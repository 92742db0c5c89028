"""Run the window once it is on screen: event loop, services, and shutdown."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import qasync
from PySide6.QtWidgets import QApplication

from helix_desktop.app.crash_log import close_window_logs, open_window_logs
from helix_desktop.app.crash_report import crash_report
from helix_desktop.app.data_move_window import relaunch
from helix_desktop.app.early_file_events import EarlyFileOpenEvents
from helix_desktop.app.exit_codes import LOCKED
from helix_desktop.app.file_open_events import FileOpenEvents, open_target
from helix_desktop.app.gc_policy import MainThreadCollector
from helix_desktop.app.recovery import find_unfinished
from helix_desktop.app.run_marker import LastRun, RunMarker
from helix_desktop.app.single_instance import SingleInstance
from helix_desktop.app.startup_error import show_startup_error
from helix_desktop.app.window_context import WindowContext, create_window_context
from helix_desktop.app.window_frame import WindowFrame, build_next_window
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.errors import InstanceNotResponding
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.models import DEMO_PAUSE_S
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.cache.view import CacheBrowser
from helix_desktop.ui.changes.view import ChangesPage
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.window_placement import bring_to_front
from helix_desktop.ui.inspector.view import Inspector
from helix_desktop.ui.session.controller_context import ControllerContext, SessionViews
from helix_desktop.ui.session.window_group import WindowGroup
from helix_desktop.ui.shell.crash_notice import CrashNotice
from helix_desktop.ui.shell.main_window import WindowPages
from helix_desktop.ui.timeline.view import Timeline
from helix_desktop.ui.workspaces.window_controllers import WindowControllers

WINDOWS = "windows"
"""In the window state: workspaces and sessions of the windows beside the one in front, as JSON."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How the window was started; `marker_path` marks the data directory as in use while it is open.

    `target`: see app.launch_targets; `early_events` holds the files that the system asked to open so far.
    """

    data_dir: DataDir
    marker_path: Path
    target: str
    early_events: EarlyFileOpenEvents | None = None


def run(app: QApplication, frame: WindowFrame, launch: Launch) -> int:
    """Run a window that is on screen until it is closed; return the exit code."""
    data_dir = launch.data_dir
    instance = SingleInstance(data_dir.root)
    try:
        is_delivered = instance.send(launch.target)  # another start may have come first, by less than a frame
    except InstanceNotResponding as error:
        frame.window.allow_close()
        return show_startup_error(app, error, frame.window_state, LOCKED)
    if is_delivered:
        frame.window.allow_close()
        return 0
    instance.claim()
    marker = RunMarker(launch.marker_path)
    crashed = marker.crashed_run()
    stacks = open_window_logs(data_dir.logs_dir)
    marker.start(wall_clock_ms(), stacks.tell())
    try:
        with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(app)) as runner:
            relaunch_args = runner.run(
                _run_window(app, create_window_context(frame), launch, instance, marker, crashed)
            )
    finally:
        close_window_logs(stacks)
        marker.clear()
        instance.close()
    if relaunch_args:
        relaunch(*relaunch_args)
    return 0


async def _run_window(
    app: QApplication,
    window_context: WindowContext,
    launch: Launch,
    instance: SingleInstance,
    marker: RunMarker,
    crashed_run: LastRun | None,
) -> tuple[str, ...]:
    """Run until the window is closed; return the arguments to relaunch with, if any."""
    data_dir, relaunch_args = launch.data_dir, list[str]()

    def move(target: str, remove_old: bool) -> None:
        options = ["--remove-old"] if remove_old else []
        relaunch_args[:] = ["move-data", target, "--window", "--data-dir", str(data_dir.root), *options]
        stop.set()

    stop = asyncio.Event()
    _install_signal_handlers(asyncio.get_running_loop(), stop.set)
    controllers = wire_app(data_dir, window_context)
    services, windows = controllers.services, controllers.windows
    beside_first = window_context.window_state.get(WINDOWS)

    def follow(opened: WindowControllers) -> None:
        opened.quit_controller.move_confirmed.connect(move)
        opened.quit_controller.confirmed.connect(stop.set)
        _save_progress(opened, window_context, marker)

    follow(controllers)
    windows.created.connect(follow)

    def start_target(text: str, is_first: bool = False) -> asyncio.Task[None]:
        current = windows.current
        assert isinstance(current, WindowControllers)
        return window_context.actions.start(open_target(text, current, is_first), "begin")

    def wake(text: str) -> None:
        bring_to_front(windows.current.window)
        start_target(text)

    instance.activated.connect(wake)
    file_events = FileOpenEvents(app, wake, window_context.actions.show_error)
    early_targets = file_events.listen(launch.early_events) if launch.early_events else []
    start_ms = wall_clock_ms()
    first_task = start_target(launch.target or file_events.first_target(early_targets), is_first=True)
    if crashed_run is not None:
        window_context.actions.start(
            _report_crash(crashed_run, window_context, services, data_dir.logs_dir, first_task, start_ms),
            "tell crash",
        )
    for early_target in early_targets:
        file_events.handle(early_target)
    if not launch.target:
        window_context.actions.start(reopen_windows(controllers, beside_first, first_task), "reopen windows")
    # It stops all threads for a moment: better now than at a key.
    window_context.actions.start(services.counter.load(), "vocabulary")
    await stop.wait()
    instance.stop_listening()
    await shut_down(window_context, controllers)
    return tuple(relaunch_args)


async def reopen_windows(first: WindowControllers, stored: bytes, first_task: asyncio.Task[None]) -> None:
    """Open the windows that were open beside the one on screen when the app ended last."""
    await asyncio.wait({first_task})
    with suppress(msgspec.MsgspecError):  # none are stored, or the file was damaged
        sessions = msgspec.json.decode(stored, type=list[tuple[str, str]])
        known_ids = {record.id for record in first.services.registry.list_workspaces()}
        reopened = [place for place in sessions if place[0] in known_ids]
        for place in reopened:
            await first.windows.open_window(*place)
        if reopened:
            bring_to_front(first.window)


def _save_progress(opened: WindowControllers, first: WindowContext, marker: RunMarker) -> None:
    """Save which workspaces a window opens and how it looks, in case this run crashes."""
    start = first.actions.start

    def save_state(*_: object) -> None:
        _note_windows(first, opened.windows.sessions_beside_current())
        start(_save_window_state(first), "keep look")

    opened.workspace_controller.workspace_opened.connect(
        lambda workspace_id: start(asyncio.to_thread(marker.add_workspace, workspace_id), "note workspace")
    )
    for changed in (opened.window.layout_changed, first.appearance.changed):
        changed.connect(save_state)


async def _report_crash(
    crashed_run: LastRun,
    window_context: WindowContext,
    services: AppServices,
    logs_dir: Path,
    first_task: asyncio.Task[None],
    started_at_ms: int,
) -> None:
    """Show that the last run crashed and what was recovered, once the first target is on screen."""
    notice = CrashNotice(
        window_context.window,
        window_context.actions,
        lambda: crash_report(logs_dir, crashed_run, Path.home()),
        logs_dir,
    )
    await asyncio.wait({first_task})
    notice.show(await find_unfinished(services, crashed_run, started_at_ms))


def _install_signal_handlers(loop: asyncio.AbstractEventLoop, on_signal: Callable[[], None]) -> None:
    """Close the window in order on the signals that ask a program to end."""
    if sys.platform == "win32":
        # Loops of Windows take no handlers; a console that started the window sends these two.
        for number in (signal.SIGINT, signal.SIGBREAK):
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(on_signal))
    else:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as below nohup
                loop.add_signal_handler(number, on_signal)


def wire_app(
    data_dir: DataDir, window_context: WindowContext, demo_pause_s: float = DEMO_PAUSE_S
) -> WindowControllers:
    """Create the services and the screens, and bind the window to them; others are built when asked for."""
    services = AppServices(data_dir, os.environ, demo_pause_s=demo_pause_s)
    MainThreadCollector(window_context.window)
    windows = WindowGroup(
        lambda number: _wire_window(
            create_window_context(build_next_window(window_context.frame, number)), services, windows
        )
    )
    controllers = _wire_window(window_context, services, windows)
    windows.add(controllers)
    return controllers


def _wire_window(
    window_context: WindowContext, services: AppServices, windows: WindowGroup
) -> WindowControllers:
    """Build the screens of a window and bind them to the services."""
    views = _build_views(window_context)
    context = ControllerContext(window_context.window, views, window_context.actions, services, windows)
    return WindowControllers(context, window_context.appearance)


def _build_views(window_context: WindowContext) -> SessionViews:
    """Build the screens and add them to the window."""
    window, start = window_context.window, window_context.actions.start
    pages, window_state = window.session_pages, window_context.window_state
    chat, cache = ChatPage(pages), CacheBrowser(start, parent=pages)
    cache.preview.content.remember(window_state.get, window_state.put)
    timeline, changes = Timeline(parent=pages), ChangesPage(start, parent=pages)
    inspector = Inspector(window.inspector_pane)
    appearance = window_context.appearance

    def zoom(theme: Theme) -> None:
        chat.set_theme(theme, appearance.text_px / fonts.BASE_PX)

    window.add_pages(WindowPages(chat, cache, timeline, changes, inspector))
    appearance.changed.connect(zoom)
    zoom(appearance.theme)
    return SessionViews(chat, cache, timeline, changes, inspector)


def _note_windows(first: WindowContext, sessions: list[tuple[str, str]]) -> None:
    """Note for the next start what the windows beside the one in front show."""
    first.window_state.put(WINDOWS, msgspec.json.encode(sessions))


async def _save_window_state(window_context: WindowContext) -> None:
    """Save sizes, theme and text size for the next first frame, in case this run crashes."""
    window_context.window_state.set_appearance(
        window_context.appearance.mode, window_context.appearance.text_px
    )
    await asyncio.to_thread(window_context.window_state.save)


async def shut_down(window_context: WindowContext, controllers: WindowControllers) -> None:
    """Close everything in order: the sessions on screen, tasks, services, the windows."""
    windows = controllers.windows.windows
    beside_current = controllers.windows.sessions_beside_current()
    for opened in windows:
        opened.window.setEnabled(False)
        if opened.settings_dialog is not None:
            opened.settings_dialog.close()
        await opened.hide_session()
        await opened.save_drafts()
    for opened in windows:
        await opened.end_tasks()  # a timer may still fire while the services close
    await controllers.services.close()
    for opened in windows:
        opened.window.allow_close()
    _note_windows(window_context, beside_current)
    await _save_window_state(window_context)
    for opened in windows[1:]:
        opened.window.deleteLater()
