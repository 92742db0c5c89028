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

from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.app.crash_log import close_window_logs, open_window_logs
from helix_desktop.app.qt_language import load_language
from helix_desktop.app.qt_loop import QtLoop
from helix_desktop.app.run import shut_down, wire_app
from helix_desktop.app.window_context import create_window_context
from helix_desktop.app.window_frame import build_frame, set_application_identity
from helix_desktop.app.window_state import WINDOW_STATE_FILE, WindowStateFile
from helix_desktop.config.languages import LANGUAGE_VARIABLE, catalog_codes, find_catalog, unknown_language
from helix_desktop.config.paths import DataDir, resources_dir
from helix_desktop.demo.screenshots import PictureOptions, ScreenshotWriter
from helix_desktop.demo.session_checks import DemoCheck
from helix_desktop.demo.tour import DemoTour
from helix_desktop.domain.errors import InvalidInput, SettingsDamaged
from helix_desktop.domain.translatable_text import TextContext, folder_reason
from helix_desktop.system.files import non_folder_in
from helix_desktop.ui.design.style.stylesheet import ThemeMode
from helix_desktop.words.times import format_exact_duration
from helix_desktop.words.translation import Translator, use_language

tr = Translator("Demo")
text = TextContext("Demo")

_MODES: dict[str, tuple[ThemeMode, ...]] = {"light": ("light",), "dark": ("dark",), "both": ("dark", "light")}
_OWN_NAMES = ("data", "projects")  # what a former run left in the folder; pictures are overwritten
_MARKER_FILE = (
    ".helix-desktop-demo"  # says that they are a former run's: the user may have folders of these names
)

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
    return _run_tour(args.out.absolute(), PictureOptions(), every_screen=False)


def screenshots(args: argparse.Namespace) -> int:
    """Run the same tour with a screenshot of every screen; the size, scale, modes and language are chosen."""
    os.environ["QT_SCALE_FACTOR"] = args.scale
    if args.language:
        _use_language(args.language, resources_dir() / "languages")
    options = PictureOptions(args.size, _MODES[args.theme], int(args.scale))
    return _run_tour(args.out.absolute(), options, every_screen=True)


def _use_language(choice: str, folder: Path) -> None:
    """Use the language of a code or of a compiled catalog. Raises InvalidInput."""
    environ = {LANGUAGE_VARIABLE: choice}
    fix = text("Choose one with {option}, or the path of a compiled catalog (.qm).", option="--language")
    if unknown_language(environ, folder):
        languages = text("Helix Desktop has: {languages}.", languages=catalog_codes(folder))
        raise InvalidInput(text("Unknown language: {code}.", code=choice), languages, fix)
    catalog = find_catalog(environ, folder)
    if catalog is None:
        return
    try:
        use_language(load_language(catalog))
    except SettingsDamaged as error:
        raise InvalidInput(text("{path} isn't a compiled catalog.", path=catalog), fix=fix) from error


def _run_tour(out: Path, options: PictureOptions, *, every_screen: bool) -> int:
    data = _empty_data_dir(out)
    use_offscreen_platform(data.root, options.size, options.scale)
    app = QApplication(sys.argv[:1])
    set_application_identity(app)
    started_at = time.monotonic()
    stacks = open_window_logs(data.logs_dir)
    try:
        with asyncio.Runner(loop_factory=lambda: QtLoop(app)) as runner:
            checks, screenshots = runner.run(_drive_window(app, data, out, options, every_screen))
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
    app: QApplication, data_dir: DataDir, out: Path, options: PictureOptions, every_screen: bool
) -> tuple[list[DemoCheck], ScreenshotWriter]:
    window_context = create_window_context(
        build_frame(app, WindowStateFile(data_dir.root / WINDOW_STATE_FILE))
    )
    window_context.window.show()
    if options.size is not None:
        _resize(window_context.window, options.size)
    await asyncio.sleep(0)
    controllers = wire_app(data_dir, window_context, demo_pause_s=0.0)
    screenshots = ScreenshotWriter(window_context, out, options)
    tour = DemoTour(window_context, controllers, screenshots, out / "projects", every_screen)
    try:
        return await tour.run(), screenshots
    finally:
        await shut_down(window_context, controllers)


def _resize(window: QWidget, size: tuple[int, int]) -> None:
    """Give the window its size in pixels. Raises InvalidInput for one that it can't have."""
    window.resize(*size)
    if (window.width(), window.height()) != size:
        least = window.minimumSize()
        raise InvalidInput(
            text("The window can't be {width} × {height} pixels.", width=size[0], height=size[1]),
            text("The smallest is {width} × {height}.", width=least.width(), height=least.height()),
            text("Choose another size with {option}.", option="--size"),
        )


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
