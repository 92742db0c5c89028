"""Start the window: the frame is painted first, everything else comes after.

So no module that is imported here, or by the frame, may import the engine or a struct: a test looks.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QEventLoop, QMessageLogContext, Qt, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from helix_desktop.app.early_file_events import FileOpenEvents
from helix_desktop.app.launch_targets import SAMPLE_TARGET, launch_target
from helix_desktop.app.plain_startup_error import has_display
from helix_desktop.app.window_frame import WindowFrame, build_frame, set_application_identity
from helix_desktop.app.window_state import WINDOW_STATE_FILE, WindowStateFile
from helix_desktop.cli.parsers.command_line import print_error
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.errors import DataDirUnavailable, HelixError, InstanceNotResponding, InvalidInput
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.system.exit_codes import FAILED, LOCKED, USAGE
from helix_desktop.ui.design.sized_dialog import fit_screen
from helix_desktop.ui.design.style.stylesheet import new_application
from helix_desktop.words.translation import error_text

text = TextContext("Start")

_DISPLAY_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
_FIRST_FRAME_TIMEOUT_MS = 200
_THREAD_SWITCH_S = 0.0005  # how long a busy thread keeps the interpreter from a click, each time
RUN_MARKER_FILE = "window.open"  # there while a window has the data directory, and after one was killed


def show_window(args: argparse.Namespace) -> int:
    """Run the window until it is closed; a second start shows the first window. Raises InvalidInput."""
    _check_display()
    try:
        target = launch_target(args)
    except InvalidInput as error:
        if sys.stderr.isatty() or not has_display():  # else nobody may see what is printed
            raise
        return _fail_startup(_open_display(), error, _data_dir(args), USAGE)
    sys.setswitchinterval(_THREAD_SWITCH_S)
    gc.disable()  # what a start makes stays, too; MainThreadCollector takes over later
    if input_methods := qt_input_methods(os.environ):
        os.environ["QT_IM_MODULES"] = input_methods  # Qt reads it once, here
    app = _open_display()
    set_application_identity(app)
    # Only macOS names files by events; elsewhere they stand on the command line.
    early_events = FileOpenEvents(app) if sys.platform == "darwin" else None
    data = _data_dir(args)
    try:
        data.ensure()
    except DataDirUnavailable as error:
        from helix_desktop.app.single_instance import SingleInstance
        from helix_desktop.config.data_dir import open_reading_copy

        if (data.root / RUN_MARKER_FILE).exists() and SingleInstance(data.root).deliver(target):
            return 0
        try:
            data = open_reading_copy(data, error)
        except DataDirUnavailable:
            return _fail_startup(app, error, data, FAILED)
    if sys.platform == "win32":
        # A double click starts us in the file's folder, where programs are sought first.
        os.chdir(Path.home())
    marker_path = data.root / RUN_MARKER_FILE
    if marker_path.exists():
        from helix_desktop.app.single_instance import SingleInstance

        try:
            if SingleInstance(data.root).send(target):
                return 0
        except InstanceNotResponding as error:
            return _fail_startup(app, error, data, LOCKED)
    frame = build_frame(app, WindowStateFile(data.root / WINDOW_STATE_FILE))
    if target == SAMPLE_TARGET:
        frame.window.opening_page.show_sample()
    else:
        frame.window.announce(_first_workspace(target, frame.window.last_workspace()))
    fit_screen(frame.window)  # it may be larger: its first size, or one kept from another screen
    _paint_first_frame(frame)
    from helix_desktop.app.run import Launch, run

    return run(app, frame, Launch(data, marker_path, target, early_events))


def _first_workspace(target: str, last: str) -> str:
    """Return the name of the workspace that a start opens; empty if that is known only later."""
    if not target:
        return last
    folder = Path(target)
    return folder.name if folder.is_absolute() else ""


def _data_dir(args: argparse.Namespace) -> DataDir:
    return DataDir.locate(getattr(args, "data_dir", None), os.environ)


def _fail_startup(app: QApplication, error: HelixError, data_dir: DataDir, exit_code: int) -> int:
    from helix_desktop.app.startup_error import show_startup_error

    return show_startup_error(app, error, WindowStateFile(data_dir.root / WINDOW_STATE_FILE), exit_code)


def _check_display() -> None:
    """Raise InvalidInput where there is no display: Qt would abort the process."""
    if not has_display() and not os.environ.get("QT_QPA_PLATFORM"):
        raise InvalidInput(
            text("The window can't open without a display."),
            text("Neither {first} nor {second} is set.", first="DISPLAY", second="WAYLAND_DISPLAY"),
            text("Start it in a desktop session, or use a command: {help}.", help="helix-desktop --help"),
        )


def _open_display() -> QApplication:
    """Make the application. Where Qt can't open the display it would abort: say so, and end the process."""
    messages: list[str] = []

    def on_message(level: QtMsgType, _: QMessageLogContext, message: str) -> None:
        if level == QtMsgType.QtFatalMsg:
            print_error(error_text(_unusable_display([*messages, message])))
            sys.stderr.flush()
            os._exit(USAGE)
        messages.append(message)

    qInstallMessageHandler(on_message)
    try:
        app = new_application()
    finally:
        qInstallMessageHandler(None)
    for message in messages:
        sys.stderr.write(f"{message}\n")
    return app


def _unusable_display(messages: Sequence[str]) -> InvalidInput:
    values = (f"{name}={os.environ[name]}" for name in _DISPLAY_VARIABLES if os.environ.get(name))
    return InvalidInput(
        text("The window can't open on this display ({variables}).", variables=", ".join(values)),
        text("Qt reports: {message}.", message=messages[0].strip().rstrip(".")),
        text("Start it in a desktop session, or use a command: {help}.", help="helix-desktop --help"),
    )


def _paint_first_frame(frame: WindowFrame) -> None:
    """Show the window and return after its first frame, or after a moment if the system shows it later."""
    loop = QEventLoop()  # its own: quitting the application asks windows to close, and ours refuses
    timeout = QTimer(singleShot=True, interval=_FIRST_FRAME_TIMEOUT_MS)
    timeout.timeout.connect(loop.quit)
    frame.window.first_frame.connect(loop.quit, Qt.ConnectionType.QueuedConnection)
    timeout.start()
    frame.window.show()
    loop.exec()
    timeout.stop()
    frame.window.first_frame.disconnect()


def qt_input_methods(environment: Mapping[str, str]) -> str:
    """Return a value for QT_IM_MODULES where Qt would find no plugin for the user's choice, else "".

    The Qt of Helix has the plugin of ibus only; that of fcitx is for the version of Qt that the system has.
    Fcitx answers to clients of ibus too, so that plugin is the second choice.
    """
    choice = environment.get("QT_IM_MODULE", "")
    return f"{choice};ibus" if choice in ("fcitx", "fcitx5") and not environment.get("QT_IM_MODULES") else ""
