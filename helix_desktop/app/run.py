"""Run the window once it is on screen: event loop, services, garbage collection, and shutdown.

Garbage is collected on the main thread only. Python collects cycles on whatever thread happens to allocate. A
Qt object that dies on a worker thread leaves its timers behind ("Timers cannot be stopped from another
thread"); the next event for them ends the process.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.app.crash_log import close_window_logs, open_window_logs
from helix_desktop.app.crash_recovery import LastRun, RunMarker, crash_report, find_unfinished
from helix_desktop.app.early_file_events import FileOpenEvents
from helix_desktop.app.file_open_events import TargetParser, open_target
from helix_desktop.app.launch_targets import is_folder_target
from helix_desktop.app.qt_loop import QtLoop
from helix_desktop.app.single_instance import SingleInstance
from helix_desktop.app.startup_error import show_startup_error
from helix_desktop.app.window_context import WindowContext, create_window_context
from helix_desktop.app.window_frame import WindowFrame, build_next_window
from helix_desktop.app.window_state import WindowStateFile, layout_name
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.errors import HelixError, InstanceNotResponding
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.model_service import DEMO_PAUSE_S
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.system.exit_codes import LOCKED
from helix_desktop.system.home import find_home
from helix_desktop.ui.changes.page import ChangesPage
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.comparison.page import ComparisonPage
from helix_desktop.ui.design.sized_dialog import bring_to_front
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.outputs.page import OutputsPage
from helix_desktop.ui.panel.view import ContextPanel
from helix_desktop.ui.timeline.page import Timeline
from helix_desktop.ui.window.controlled_window import ControlledWindow
from helix_desktop.ui.window.main_window import WindowPages
from helix_desktop.ui.window.panes import LAYOUT_NAMES
from helix_desktop.ui.window.quit import report_crash
from helix_desktop.ui.window.window_group import NO_SESSION, ShownSession, WindowGroup
from helix_desktop.words.translation import Translator, translate

tr = Translator("Start")

_INTERVAL_MS = 1_000


class MainThreadCollector(QObject):
    """Replaces the automatic collector while the window lives; collects when enough was allocated."""

    def __init__(self, parent: QObject) -> None:
        """Freeze all existing objects: they are assumed to stay."""
        super().__init__(parent)
        gc.disable()
        gc.freeze()
        timer = QTimer(self, interval=_INTERVAL_MS)
        timer.timeout.connect(collect_due_generation)
        timer.start()


def collect_due_generation() -> None:
    """Collect the oldest generation over its threshold, as Python itself does."""
    counts = zip(gc.get_count(), gc.get_threshold(), strict=True)
    due = [generation for generation, (count, limit) in enumerate(counts) if count > limit]
    if due:
        gc.collect(due[-1])


_WINDOWS = "windows"


class StoredWindows(msgspec.Struct, frozen=True):
    """The open windows in the order in which they were made, and the index of the one in front."""

    places: tuple[ShownSession, ...] = ()
    front: int = 0

    @property
    def first(self) -> ShownSession:
        return self.places[0] if self.places else NO_SESSION

    def index_of(self, workspace_id: str) -> int | None:
        """Return which of them showed a workspace, the one in front if it did; None if none did."""
        indexes = [index for index, place in enumerate(self.places) if place.workspace_id == workspace_id]
        return self.front if self.front in indexes else next(iter(indexes), None)


def load_windows(state: WindowStateFile) -> StoredWindows:
    """Return the windows of the last run; none if none are stored, or the file was damaged."""
    try:
        return msgspec.json.decode(state.get(_WINDOWS), type=StoredWindows)
    except msgspec.MsgspecError:
        return StoredWindows()


def open_places(windows: WindowGroup) -> StoredWindows:
    """Return what the open windows show now, but for those without a workspace."""
    still_open = [opened for opened in windows.windows if opened in windows.open_windows]
    listed = [opened for opened in still_open if opened.shown_session.workspace_id]
    front = listed.index(windows.current) if windows.current in listed else 0
    return StoredWindows(tuple(opened.shown_session for opened in listed), front)


def store_windows(state: WindowStateFile, stored: StoredWindows) -> None:
    state.put(_WINDOWS, msgspec.json.encode(stored))


def close_gaps(state: WindowStateFile, windows: WindowGroup) -> None:
    """Give the open windows the numbers that they will have at the next start, where none is closed."""
    numbers = [number for number, opened in enumerate(windows.windows, 1) if opened in windows.open_windows]
    for next_number, number in enumerate(numbers, 1):
        for name in LAYOUT_NAMES if next_number != number else ():
            state.put(layout_name(name, next_number), state.get(layout_name(name, number)))


class Launch(msgspec.Struct, frozen=True):
    """How the window was started; `marker_path` marks the data directory as in use while it is open.

    `target`: see app.launch_targets; `early_events` holds the files that the system asked to open so far.
    """

    data_dir: DataDir
    marker_path: Path
    target: str
    early_events: FileOpenEvents | None = None


def run(app: QApplication, frame: WindowFrame, launch: Launch) -> int:
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
    start_ms = wall_clock_ms()  # before the first line of its log
    stacks = open_window_logs(data_dir.logs_dir)
    marker.start(start_ms, stacks.tell())
    try:
        with asyncio.Runner(loop_factory=lambda: QtLoop(app)) as runner:
            runner.run(
                _run_window(app, create_window_context(frame), launch, instance, marker, crashed, start_ms)
            )
    finally:
        close_window_logs(stacks)
        marker.clear()
        instance.close()
    return 0


async def _run_window(
    app: QApplication,
    window_context: WindowContext,
    launch: Launch,
    instance: SingleInstance,
    marker: RunMarker,
    crashed_run: LastRun | None,
    start_ms: int,
) -> None:
    """Run until the window is closed."""
    data_dir = launch.data_dir
    stop = asyncio.Event()

    def end() -> None:
        instance.stop_listening()  # at once: what a start asks for now would be lost
        stop.set()

    _install_signal_handlers(asyncio.get_running_loop(), instance, end)
    controllers = wire_app(data_dir, window_context)
    services = controllers.services
    windows = controllers.windows
    last_windows = load_windows(window_context.window_state)

    def follow(opened: ControlledWindow) -> None:
        opened.quit_controller.confirmed.connect(end)

    def note_opened(workspace: OpenWorkspace) -> None:  # in case this run crashes
        window_context.actions.start(asyncio.to_thread(marker.add_workspace, workspace.id), "note workspace")

    windows.workspace_opened.connect(note_opened)
    follow(controllers)
    windows.created.connect(follow)

    targets = StartTargets(windows, last_windows)
    first_task = targets.open_first(launch, instance)
    if crashed_run is not None:
        window_context.actions.start(
            _report_crash(crashed_run, window_context, services, data_dir.logs_dir, first_task, start_ms),
            "tell crash",
        )
    reopening = reopen_windows(controllers, targets.last_windows, first_task)
    reopened = window_context.actions.start(reopening, "reopen windows")
    reopened.add_done_callback(
        lambda task: None if task.cancelled() else _save_progress(windows, window_context)
    )
    # It stops all threads for a moment: better now than at a key.
    window_context.actions.start(services.counter.load(), "vocabulary")
    if data_dir.refusal is not None:
        window_context.window.notices.notify(
            Notice(
                "data-unwritable",
                tr("Read-only: the data folder can't be written"),
                f"{translate(data_dir.refusal.what)} {translate(data_dir.refusal.why)}",
                tr(
                    "Sessions can be read and exported; what you change isn't saved. Make the folder "
                    "writable or free up disk space, then restart Helix."
                ),
                level="warning",
                can_dismiss=False,
            )
        )
    await stop.wait()
    # Who quits while windows are being reopened gets all of them the next time.
    await shut_down(window_context, controllers, None if reopened.done() else last_windows)


class StartTargets:
    def __init__(self, windows: WindowGroup, last_windows: StoredWindows) -> None:
        self._windows = windows
        self._file_events = TargetParser(self.open_later, self._show_error)
        self.last_windows = last_windows
        """The windows of the last run; once the first target is being opened, in front is the one with it."""

    def open_first(self, launch: Launch, instance: SingleInstance) -> asyncio.Task[None]:
        """Begin to open the target of this start, and listen for those that follow."""
        instance.activated.connect(self.open_later)
        events = launch.early_events
        early_targets = events.pass_to(self._file_events.handle) if events is not None else []
        target = launch.target or self._file_events.first_target(early_targets)
        shown_at = self._window_with_folder(target)
        if target:
            self.last_windows = msgspec.structs.replace(self.last_windows, front=shown_at or 0)
        # A folder that a window has comes back with that window: in the first one it would take its place.
        task = self._start(target if shown_at is None else "", is_first=True)
        for early_target in early_targets:
            self._file_events.handle(early_target)
        return task

    def _window_with_folder(self, target: str) -> int | None:
        """Return which window of the last run has the folder of a target; None if none has it."""
        registry = self._current().services.registry
        record = registry.find_by_path(Path(target)) if is_folder_target(target) else None
        return self.last_windows.index_of(record.id) if record is not None and record.listed else None

    def _start(self, target: str, is_first: bool = False) -> asyncio.Task[None]:
        controllers = self._current()
        target_opening = open_target(target, controllers, is_first, self.last_windows.first)
        return controllers.async_actions.start(target_opening, "begin")

    def _current(self) -> ControlledWindow:
        current = self._windows.current
        assert isinstance(current, ControlledWindow)
        return current

    def open_later(self, target: str) -> None:
        """Open a target in the window that the user looked at last, and bring that to the front."""
        self._windows.show()
        bring_to_front(self._windows.current.window)
        self._start(target)

    def _show_error(self, error: HelixError) -> None:
        self._windows.current.show_error(error)


async def reopen_windows(
    first: ControlledWindow, stored: StoredWindows, first_task: asyncio.Task[None]
) -> None:
    """Open the windows that were open beside the first one when the app ended last.

    The one that `stored` has in front comes to the front.
    """
    await asyncio.wait({first_task})
    windows = first.windows
    known_ids = {record.id for record in first.services.registry.list_workspaces()}
    front = first.window
    for index, place in enumerate(stored.places[1:], 1):
        is_shown = place.session_id and any(place == opened.shown_session for opened in windows.open_windows)
        if place.workspace_id in known_ids and not is_shown:
            await windows.open_window(*place, is_restored=True)
            front = windows.current.window if index == stored.front else front
    if not windows.is_only_one(first.window):
        bring_to_front(front)


def _save_progress(windows: WindowGroup, first: WindowContext) -> None:
    """Save which windows are open, what they show and how they look, in case this run crashes."""

    def save_state(*_: object) -> None:
        store_windows(first.window_state, open_places(windows))
        first.actions.start(_save_window_state(first), "keep look")

    def follow(opened: ControlledWindow) -> None:
        opened.window.layout_changed.connect(save_state)
        opened.session.changed.connect(save_state)

    for opened in windows.windows:
        assert isinstance(opened, ControlledWindow)
        follow(opened)
    windows.created.connect(follow)
    windows.opened_or_closed.connect(save_state)
    first.appearance.changed.connect(save_state)
    save_state()


async def _report_crash(
    crashed_run: LastRun,
    window_context: WindowContext,
    services: AppServices,
    logs_dir: Path,
    first_task: asyncio.Task[None],
    started_at_ms: int,
) -> None:
    """Show that the last run crashed and what was recovered, once the first target is on screen."""
    await asyncio.wait({first_task})
    recovery = await find_unfinished(services, crashed_run)

    def read_log() -> str:
        return crash_report(logs_dir, crashed_run, started_at_ms, find_home())

    report_crash(window_context.window, window_context.actions, read_log, logs_dir, recovery)


def _install_signal_handlers(
    loop: asyncio.AbstractEventLoop, instance: SingleInstance, on_signal: Callable[[], None]
) -> None:
    def mark_ending(*_: object) -> None:
        instance.is_ending = True

    if sys.platform == "win32":
        # Loops of Windows take no handlers; a console that started the window sends these two.
        for number in (signal.SIGINT, signal.SIGBREAK):
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(on_signal))
    else:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as below nohup
                loop.add_signal_handler(number, on_signal)  # runs in a later round of the loop
                signal.signal(number, mark_ending)  # runs at once


def wire_app(
    data_dir: DataDir, window_context: WindowContext, demo_pause_s: float = DEMO_PAUSE_S
) -> ControlledWindow:
    """Create the services and the screens, and bind the window to them; others are built when asked for."""
    services = AppServices(data_dir, os.environ, demo_pause_s=demo_pause_s)
    MainThreadCollector(window_context.window)
    windows = WindowGroup(
        lambda number: _wire_window(
            create_window_context(build_next_window(window_context.frame, number)), services, windows
        )
    )
    first = _wire_window(window_context, services, windows)
    windows.add(first)
    return first


def _wire_window(
    window_context: WindowContext, services: AppServices, windows: WindowGroup
) -> ControlledWindow:
    _build_pages(window_context)
    return ControlledWindow(
        window_context.window, services, window_context.actions, windows, window_context.appearance
    )


def _build_pages(window_context: WindowContext) -> None:
    window = window_context.window
    start = window_context.actions.start
    parent = window.session_pages
    window_state = window_context.window_state
    chat = ChatPage(parent)
    panel = ContextPanel(window.panel_pane)
    window.key_bindings.add_page(panel.keys)

    def build_outputs() -> OutputsPage:
        outputs = OutputsPage(start, parent=parent)
        outputs.preview.content.remember(window_state.get, window_state.put)
        window.key_bindings.add_page(outputs.keys)
        return outputs

    def build_changes() -> ChangesPage:
        changes = ChangesPage(start, parent=parent)
        changes.detail.remember(window_state.get, window_state.put)
        window.key_bindings.add_page(changes.keys)
        return changes

    window.add_pages(
        WindowPages(
            chat,
            panel,
            build_outputs,
            lambda: Timeline(parent=parent),
            build_changes,
            lambda: ComparisonPage(parent),
        )
    )


async def _save_window_state(window_context: WindowContext) -> None:
    """Save sizes, theme and text size for the next first frame, in case this run crashes."""
    window_context.window_state.set_appearance(
        window_context.appearance.mode, window_context.appearance.text_px
    )
    await asyncio.to_thread(window_context.window_state.save)


async def shut_down(
    window_context: WindowContext, controllers: ControlledWindow, last_windows: StoredWindows | None = None
) -> None:
    """Close everything in order: the sessions on screen, tasks, services, the windows.

    `last_windows` is stored as the open windows, else those that are open are.
    """
    windows = controllers.windows.windows
    stored = last_windows or open_places(controllers.windows)
    for opened in windows:
        opened.window.setEnabled(False)
        await opened.hide_session()
        await opened.save_drafts()
    for opened in windows:
        await opened.end_tasks()  # a timer may still fire while the services close
    await controllers.services.close()
    for opened in windows:
        opened.window.allow_close()
    store_windows(window_context.window_state, stored)
    close_gaps(window_context.window_state, controllers.windows)
    await _save_window_state(window_context)
    for opened in windows[1:]:
        opened.window.deleteLater()
