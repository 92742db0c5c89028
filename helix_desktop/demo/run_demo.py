"""The guided demo: the real window, offscreen, driven through a sample project, with numbers."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import time
from pathlib import Path

from PySide6.QtWidgets import QApplication

from helix_desktop.app.crash_log import close_window_logs, open_window_logs
from helix_desktop.app.qt_loop import QtLoop
from helix_desktop.app.run import shut_down, wire_app
from helix_desktop.app.window_context import create_window_context
from helix_desktop.app.window_frame import build_frame, set_application_identity
from helix_desktop.app.window_state import WINDOW_STATE_FILE, WindowStateFile
from helix_desktop.config.paths import DataDir
from helix_desktop.demo.tour import DemoCheck, DemoTour, PictureOptions, ScreenshotWriter
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext, folder_reason
from helix_desktop.system.files import non_folder_in
from helix_desktop.words.times import format_exact_duration
from helix_desktop.words.translation import Translator

tr = Translator("Demo")
text = TextContext("Demo")

_OWN_NAMES = ("data", "projects")  # what a former run left in the folder; pictures are overwritten
# Says that they are a former run's: the user may have folders of these names.
_MARKER_FILE = ".helix-desktop-demo"

_FILE = "screen.json"
_LARGE_PX = (1920, 1200)


def use_offscreen_platform(folder: Path, size: tuple[int, int] | None = None, scale: int = 1) -> None:
    """Have Qt draw without a display, on a screen as large as a window of `size`; before QApplication.

    Qt's own such screen has 800 x 800 pixels, and every dialog stays within its screen. The size and `scale`
    (1 or 2) are in pixels; Qt reads them from a file that is written to `folder`.
    """
    width, height = size or _LARGE_PX
    screen = {"name": "offscreen", "x": 0, "y": 0, "width": width * scale, "height": height * scale}
    path = folder / _FILE
    path.write_text(json.dumps({"screens": [screen | {"logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}]}))
    platform = "offscreen"
    if ":" not in str(path):  # which would end the argument: Qt separates a plugin's arguments by colons
        platform += f":configfile={path}"
    os.environ["QT_QPA_PLATFORM"] = platform


def demo(args: argparse.Namespace) -> int:
    """Run the tour, save its screenshots, print the checks; return 0 if all passed."""
    return run_tour(args.out.absolute(), PictureOptions(), DemoTour)


def run_tour(out: Path, options: PictureOptions, tour_type: type[DemoTour]) -> int:
    """Run a tour on empty data, and print its checks; return 0 if all passed. Raises InvalidInput."""
    data = _empty_data_dir(out)
    use_offscreen_platform(data.root, options.size, options.scale)
    app = QApplication(sys.argv[:1])
    set_application_identity(app)
    started_at = time.monotonic()
    stacks = open_window_logs(data.logs_dir)
    try:
        with asyncio.Runner(loop_factory=lambda: QtLoop(app)) as runner:
            checks, screenshots = runner.run(_drive_window(app, data, out, options, tour_type))
    finally:
        close_window_logs(stacks)
    return _report(checks, screenshots, time.monotonic() - started_at)


def _empty_data_dir(out: Path) -> DataDir:
    """Create an empty data directory under `out`; delete only what a previous run left there.

    Raises InvalidInput, DataDirUnavailable.
    """
    marker = out / _MARKER_FILE
    foreign = [] if os.path.isfile(marker) else [name for name in _OWN_NAMES if os.path.lexists(out / name)]
    if foreign:
        raise InvalidInput(
            text("{path} already exists.", path=out / foreign[0]),
            text("The demo would have to replace it, but didn't create it."),
            text("Choose another folder with {option}.", option="--out"),
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        marker.touch()
        for name in _OWN_NAMES:
            shutil.rmtree(out / name, ignore_errors=True)
    except OSError as error:
        raise InvalidInput(
            text("{path} can't be used.", path=out),
            folder_reason(error, out, non_folder_in(out)),
            text("Choose another folder with {option}.", option="--out"),
        ) from error
    data = DataDir(out / "data")
    data.ensure()
    return data


async def _drive_window(
    app: QApplication, data_dir: DataDir, out: Path, options: PictureOptions, tour_type: type[DemoTour]
) -> tuple[list[DemoCheck], ScreenshotWriter]:
    window_context = create_window_context(
        build_frame(app, WindowStateFile(data_dir.root / WINDOW_STATE_FILE))
    )
    window_context.window.show()
    await asyncio.sleep(0)
    controllers = wire_app(data_dir, window_context, demo_pause_s=0.0)
    screenshots = ScreenshotWriter(window_context, out, options)
    tour = tour_type(window_context, controllers, screenshots, out / "projects")
    try:
        return await tour.run(), screenshots
    finally:
        await shut_down(window_context, controllers)


def _report(checks: list[DemoCheck], screenshots: ScreenshotWriter, duration_s: float) -> int:
    failures = [check for check in checks if not check.passed]
    for check in checks:
        _print_row("ok" if check.passed else "FAIL", check.name, check.text)
    saved = tr("{count} in {folder}", count=len(screenshots.saved), folder=screenshots.folder)
    _print_row("", tr("screenshots"), saved)
    _print_row("", tr("time"), format_exact_duration(round(duration_s * 1000)))
    if failures:
        failed = tr.plural(
            len(failures), "%n of {checks} checks failed", "%n of {checks} checks failed", checks=len(checks)
        )
        sys.stdout.write(f"{failed}\n")
    return 1 if failures else 0


def _print_row(mark: str, name: str, finding: str) -> None:
    sys.stdout.write(f"{mark:<4}  {name:<28} {finding}\n")
