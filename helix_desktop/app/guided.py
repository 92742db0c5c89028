"""The guided demo: the real window, offscreen, driven through a sample project, with numbers."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import time
from pathlib import Path

import qasync
from PySide6.QtWidgets import QApplication

from helix_desktop.app.album import Album
from helix_desktop.app.crash import close_logs, open_logs
from helix_desktop.app.front import front_of
from helix_desktop.app.layout import LAYOUT_FILE, LayoutFile
from helix_desktop.app.running import end, open_desk
from helix_desktop.app.tour import Finding, Tour
from helix_desktop.app.window import build_frame, name_application
from helix_desktop.config.paths import DataDir
from helix_desktop.context.errors import InputUnusable

_OWN = ("data", "projects")  # what a former run left in the folder; pictures are overwritten
_MARK = ".helix-desktop-demo"  # says that they are a former run's: a person may have folders of these names


def demo(given: argparse.Namespace) -> int:
    """Run the tour, save its pictures, print what happened; 0 when everything was as promised."""
    return _tour(given.out.absolute(), every_screen=False)


def screenshots(given: argparse.Namespace) -> int:
    """The same tour, with a picture of every screen."""
    return _tour(given.out.absolute(), every_screen=True)


def _tour(out: Path, every_screen: bool) -> int:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    data = _fresh(out)
    app = QApplication(sys.argv[:1])
    name_application(app)
    began = time.monotonic()
    stacks = open_logs(data.logs_dir)
    try:
        with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(app)) as runner:
            findings, album = runner.run(_run(app, data, out, every_screen))
    finally:
        close_logs(stacks)
    return _report(findings, album, time.monotonic() - began)


def _fresh(out: Path) -> DataDir:
    """An empty data directory under `out`; only what a former run left there makes way.

    Raises InputUnusable, DataDirUnusable.
    """
    mark = out / _MARK
    foreign = [] if mark.is_file() else [name for name in _OWN if os.path.lexists(out / name)]
    if foreign:
        raise InputUnusable(
            f"{out / foreign[0]} is already there.",
            "The guided demo did not make it, and would have to replace it.",
            "Choose another folder with --out.",
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        mark.touch()
        for name in _OWN:
            shutil.rmtree(out / name, ignore_errors=True)
    except OSError as error:
        raise InputUnusable(
            f"{out} cannot be used.", f"{error.strerror or error}.", "Choose another folder with --out."
        ) from error
    data = DataDir(out / "data")
    data.ensure()
    return data


async def _run(
    app: QApplication, data: DataDir, out: Path, every_screen: bool
) -> tuple[list[Finding], Album]:
    front = front_of(build_frame(app, LayoutFile(data.root / LAYOUT_FILE)))
    front.window.show()
    await asyncio.sleep(0)
    opened = open_desk(data, front, pause_s=0.0)
    album = Album(front, out)
    tour = Tour(front, opened, album, out / "projects", every_screen)
    try:
        return await tour.run(), album
    finally:
        await end(front, opened.shell, opened.desk)


def _report(findings: list[Finding], album: Album, seconds: float) -> int:
    failed = [one for one in findings if not one.good]
    for one in findings:
        sys.stdout.write(f"{'ok  ' if one.good else 'FAIL'}  {one.name:<28} {one.text}\n")
    sys.stdout.write(f"      {'pictures':<28} {len(album.saved)} in {album.folder}\n")
    sys.stdout.write(f"      {'time':<28} {seconds:.1f} s\n")
    if failed:
        sys.stdout.write(f"{len(failed)} of {len(findings)} findings are not as promised\n")
    return 1 if failed else 0
